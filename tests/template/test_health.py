"""The alarms and the dashboard about the bot itself look at what the bot really writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.metrics import MetricUnit

from tests.template.resolved import HUB, REGION, ROOT, hub, member
from unthrottle.adapters.figures import write_figures

TOPIC = f"arn:aws:sns:{REGION}:{HUB}:on-call"
LIBRARY = ROOT / "layers/unthrottle/unthrottle"
NAMES = ("Intake", "Respond", "Slack", "Sweep", "Audit")


@pytest.fixture(scope="module")
def widgets() -> dict[str, dict[str, Any]]:
    """The dashboard's widgets by the beginning of their titles."""
    body = json.loads(hub(EscalationTopicArn=TOPIC).resources["Dashboard"]["Properties"]["DashboardBody"])
    return {re.split(r"[,:(]", one["properties"]["title"])[0].strip(): one for one in body["widgets"]}


def _written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the deployed sweep writes its figures as: namespace, dimensions with their values, names."""
    deployed = hub(EscalationTopicArn=TOPIC).functions["SweepFunction"].environment
    for name, value in deployed.items():
        monkeypatch.setenv(name, value)
    names = re.findall(r'"(\w+)": \([\w.]+, MetricUnit', (LIBRARY / "entry/sweep.py").read_text())
    assert names
    write_figures(dict.fromkeys(names, (1.0, MetricUnit.Count)), stack=deployed["UNTHROTTLE_STACK"])
    line = json.loads(capsys.readouterr().out)
    (metrics,) = line["_aws"]["CloudWatchMetrics"]
    (dimensions,) = metrics["Dimensions"]
    return {
        "namespace": metrics["Namespace"],
        "dimensions": {name: line[name] for name in dimensions},
        "names": {one["Name"] for one in metrics["Metrics"]},
    }


def test_the_alarm_about_unsent_reports_reads_the_figure_that_the_sweep_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written, alarm = _written(capsys, monkeypatch), hub(EscalationTopicArn=TOPIC).alarms["UnsentAlarm"]
    assert alarm["Namespace"] == written["namespace"]
    assert {one["Name"]: one["Value"] for one in alarm["Dimensions"]} == written["dimensions"]
    assert alarm["MetricName"] in written["names"]


def test_the_dashboard_shows_both_figures_about_unsent_reports(
    widgets: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = _written(capsys, monkeypatch)
    (dimension,) = written["dimensions"].items()
    shown = [one[:4] for one in widgets["Unreported steps"]["properties"]["metrics"]]
    assert sorted(shown) == sorted([written["namespace"], name, *dimension] for name in written["names"])


@pytest.mark.parametrize(
    ("title", "event"),
    [("Seconds from alarm to change", "action.applied"), ("Seconds from alarm to recovery", "symptom.recovered")],
)
def test_times_are_those_that_the_bot_logs_with_the_event(
    widgets: dict[str, dict[str, Any]], title: str, event: str
) -> None:
    """A difference of time stamps would count from the last alarm that joined, too."""
    query = widgets[title]["properties"]["query"]
    assert f"filter message = '{event}'" in query
    assert "avg(seconds)" in query
    assert "max(seconds)" in query
    assert "toMillis" not in query
    lines = [line for file in LIBRARY.rglob("*.py") for line in file.read_text().splitlines() if f'"{event}"' in line]
    assert [line for line in lines if "log.info" in line and '"seconds": seconds' in line]


def test_errors_of_every_function_are_shown_with_what_lambda_itself_calls_them(
    widgets: dict[str, dict[str, Any]],
) -> None:
    """Of an exception that nobody caught Lambda writes errorMessage and errorType (AWS: Lambda guide, JSON log format)."""
    query = widgets["Errors"]["properties"]["query"]
    sources = re.findall(r"SOURCE '/aws/lambda/unthrottle-(\w+)'", query)
    assert sorted(sources) == sorted(name.lower() for name in NAMES)
    shown = re.split(r", ", query.split("| fields ")[1].split(" | ")[0])
    assert {"level", "message", "error", "errorMessage"} <= set(shown)
    assert "level in ['ERROR', 'CRITICAL'] or ispresent(errorMessage)" in query


def test_the_cost_is_reckoned_in_money_with_the_memory_that_is_deployed(widgets: dict[str, dict[str, Any]]) -> None:
    widget = widgets["USD an hour for run time and table requests"]["properties"]
    resources = hub().resources
    run_time = widget["metrics"][0][0]
    for name in NAMES:
        memory = resources[f"{name}Function"]["Properties"]["MemorySize"] / 1024
        seconds = dict.fromkeys((n.lower() for n in NAMES), 0.0) | {name.lower(): 1000.0}  # a second, in ms
        assert _reckoned(run_time["expression"], seconds) == pytest.approx(memory * 0.0000133334)
    requests = widget["metrics"][1][0]
    assert _reckoned(requests["expression"], {"written": 1e6, "read": 0.0}) == pytest.approx(0.625)
    assert _reckoned(requests["expression"], {"written": 0.0, "read": 1e6}) == pytest.approx(0.125)
    for one in (run_time, requests):
        assert re.search(r"0\.\d+ .*\(us-east-1", one["label"])


def _reckoned(expression: str, values: dict[str, float]) -> float:
    """Metric math of sums and products only."""
    assert re.fullmatch(r"[A-Za-z0-9_(), .*/+]+", expression)
    plain = re.sub(r"FILL\((\w+), 0\)", lambda found: repr(values[found[1]]), expression)
    assert re.fullmatch(r"[0-9e(). */+]+", plain)
    result: float = eval(plain)  # numbers and operators only, as just asserted
    return result


def test_every_metric_that_is_reckoned_with_is_given_and_not_drawn(widgets: dict[str, dict[str, Any]]) -> None:
    metrics = widgets["USD an hour for run time and table requests"]["properties"]["metrics"]
    asked = {name for one in metrics[:2] for name in re.findall(r"FILL\((\w+), 0\)", one[0]["expression"])}
    assert {one[-1]["id"] for one in metrics[2:]} == asked
    assert not any(one[-1]["visible"] for one in metrics[2:])


def test_no_widget_lies_on_another(widgets: dict[str, dict[str, Any]]) -> None:
    places = [
        (x, y)
        for one in widgets.values()
        for x in range(one["x"], one["x"] + one["width"])
        for y in range(one["y"], one["y"] + one["height"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24


def test_the_errors_alarm_counts_every_function_whose_failures_do_not_end_in_the_failures_queue() -> None:
    """Slack's requests are answered at once: nobody tries again, and no queue keeps them. Intake and sweep: see sooner."""
    stack = hub(EscalationTopicArn=TOPIC)
    (reckoned, *read) = stack.alarms["ErrorsAlarm"]["Metrics"]
    watched = {one["MetricStat"]["Metric"]["Dimensions"][0]["Value"]: one["Id"] for one in read}
    assert set(watched) == {stack.functions[f"{name}Function"].name for name in ("Intake", "Sweep", "Slack")}
    assert set(re.findall(r"FILL\((\w+), 0\)", reckoned["Expression"])) == set(watched.values())
    synchronous = [key for key in stack.functions if any(key in name for name in _http_routes(stack.resources))]
    assert [stack.functions[key].name for key in synchronous if stack.functions[key].name not in watched] == []


def _http_routes(resources: dict[str, Any]) -> list[str]:
    """Permissions by which API Gateway calls a function, by logical id."""
    return [
        key
        for key, one in resources.items()
        if one["Type"] == "AWS::Lambda::Permission" and one["Properties"]["Principal"] == "apigateway.amazonaws.com"
    ]


def test_a_member_pages_when_an_alarm_could_not_be_forwarded() -> None:
    stack = member(EscalationTopicArn=TOPIC.replace(HUB, "222222222222"), Alarms="false")
    (alarm,) = stack.alarms.values()
    assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": "unthrottle-UndeliveredQueue"}]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
    assert alarm["AlarmActions"] == [TOPIC.replace(HUB, "222222222222")]


@pytest.mark.parametrize("file", ["template.yaml", "member.yaml"])
def test_whoever_names_a_topic_is_told_that_alarms_reach_only_their_own_region(file: str) -> None:
    text = " ".join(Path(ROOT / file).read_text().split())
    assert "in the same Region as this stack" in text.split(" EscalationTopicArn: Type:")[1][:700]
