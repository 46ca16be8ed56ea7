"""A scenario file with a fault is refused with a text that names the file, the key, what was found, what is allowed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.scenario import ScenarioError, load

Problems = Callable[..., list[str]]

ON_DEMAND = {"name": "runs", "billing": "on-demand"}
PROVISIONED = {"name": "orders", "billing": "provisioned", "read": 5, "write": 5}


def test_the_text_names_the_file_and_says_that_nothing_was_run(write: Callable[[object], Path]) -> None:
    file = write({"version": 1, "name": "x", "minutes": 5, "function": []})
    with pytest.raises(ScenarioError) as caught:
        load(file)
    assert str(caught.value).splitlines()[0] == f"Cannot use scenario {file}: 1 problem. Nothing was run."


def test_all_problems_are_listed_at_once(problems: Problems) -> None:
    found = problems(minutes=0, slack="upp", functions=[{"name": "f", "trigger": {"tpye": "sqs"}}])
    assert [problem.split(":")[0] for problem in found] == ["minutes", "functions[0].trigger.tpye", "slack.steps[0][1]"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        pytest.param(
            {"functions": [{"name": "f", "trigger": {"tpye": "sqs"}}]},
            "functions[0].trigger.tpye: unknown key 'tpye'; did you mean 'type'? Allowed: type, ",
            id="a mistyped key",
        ),
        pytest.param(
            {"functions": [{"name": "f", "asynch": {}}]},
            "did you mean 'async'? Allowed: name, count",
            id="an alias",
        ),
        pytest.param({"colour": 1}, "colour: unknown key 'colour'; allowed: version, name", id="no close match"),
        pytest.param(
            {"functions": [{"name": "f", "trigger": {"type": "sqss"}}]},
            "functions[0].trigger.type: found 'sqss'; did you mean 'sqs'? Allowed: eventbridge, ",
            id="a mistyped value",
        ),
        pytest.param({"minutes": 0}, "minutes: found 0; it must be at least 1", id="no minutes"),
        pytest.param({"minutes": "60"}, "minutes: found '60'; it must be a whole number", id="a number as text"),
        pytest.param({"minutes": True}, "minutes: found true; it must be a whole number", id="a truth as number"),
        pytest.param({"account": {"id": 111122223333}}, "it must be text; write it in quotes", id="an unquoted id"),
        pytest.param({"start": 5}, "start: found 5; this is no moment; write for example", id="a number as start"),
        pytest.param({"start": "2026-08-24T04:00:30Z"}, "minute 0 is a whole minute", id="a start with seconds"),
        pytest.param({"start": "2026-08-24T04:00:00"}, "with its time zone", id="a start without a zone"),
        pytest.param({"dagy": {"api": 500}}, "dagy.api: found '500'; allowed: up, down, slow, 401", id="unknown api"),
        pytest.param({"people": {}}, "people: found a mapping with no keys; it must be a list", id="no list"),
        pytest.param(
            {"functions": [{"name": "f", "demand": [[0, 1], [5, -1]]}]},
            "functions[0].demand[1][1]: found -1; it must be at least 0",
            id="negative demand",
        ),
        pytest.param(
            {"functions": [{"name": "f", "demand": [[0, 1], [30, 5], [20, 2]]}]},
            "functions[0].demand[2]: found minute 20 after minute 30",
            id="unsorted demand",
        ),
        pytest.param({"functions": [{"name": "f", "demand": []}]}, "found an empty list", id="empty demand"),
        pytest.param({"functions": [{"name": "f", "demand": [[0]]}]}, "a pair is needed, such as [0, 20]", id="half"),
        pytest.param({"functions": [{"name": "f", "demand": [[0, 1, 2]]}]}, "demand[0]: found a list of 3", id="three"),
        pytest.param({"functions": [{"name": "a b"}]}, "'a b' is no legal function name", id="illegal name"),
        pytest.param(
            {"functions": [{"name": "f" * 62 + "{i:03d}", "count": 2}]}, "is no legal function name", id="too long"
        ),
        pytest.param(
            {"functions": [{"name": "f", "count": 3}]}, "add where the number goes, as in f-{i:03d}", id="count"
        ),
        pytest.param(
            {"functions": [{"name": "f-{n}"}]}, "braces hold the number only, once: {i} or {i:03d}", id="braces"
        ),
        pytest.param(
            {"functions": [{"name": "f-{i}", "count": 3}, {"name": "f-2"}]},
            "functions: function 'f-2' is there 2 times",
            id="the same function twice",
        ),
        pytest.param(
            {"functions": [{"name": "f", "trigger": {"type": "api", "shards": 3}}]},
            "functions[0].trigger.shards: a trigger of type 'api' takes no further keys",
            id="a key of another trigger",
        ),
        pytest.param(
            {
                "functions": [
                    {"name": "f", "trigger": {"type": "sqs", "maximum_concurrency": 5, "provisioned_pollers": 2}}
                ]
            },
            "exclude each other in AWS",
            id="two limits on a queue",
        ),
        pytest.param(
            {"functions": [{"name": "f", "trigger": {"type": "api"}, "async": {"on_failure": True}}]},
            "functions[0].async: trigger type 'api' is not asynchronous; allowed with eventbridge, s3, sns",
            id="async of a synchronous function",
        ),
        pytest.param(
            {"functions": [{"name": "f", "duration_ms": 60000, "timeout_s": 30}]}, "cannot outlast", id="duration"
        ),
        pytest.param(
            {"functions": [{"name": "f-{i}", "count": 10, "reserved": 95}]},
            "add up to 950; with concurrency_limit 1000 and unreserved_floor 100 AWS allows at most 900",
            id="reserved beyond the limit",
        ),
        pytest.param(
            {"tables": [PROVISIONED | {"write": None}]},
            "tables[0].write: required with billing 'provisioned'",
            id="provisioned without capacity",
        ),
        pytest.param(
            {"tables": [ON_DEMAND | {"read": 5}]},
            "tables[0].read: found 5; an on-demand table and its indexes have none, leave it out",
            id="capacity on-demand",
        ),
        pytest.param(
            {"tables": [PROVISIONED | {"indexes": [{"name": "by-day", "read": 5}]}]},
            "tables[0].indexes[0].write: required with billing 'provisioned'",
            id="an index without capacity",
        ),
        pytest.param(
            {"tables": [ON_DEMAND | {"indexes": [{"name": "by-day", "write": 5}]}]},
            "tables[0].indexes[0].write: found 5",
            id="an index with capacity on-demand",
        ),
        pytest.param(
            {"tables": [ON_DEMAND | {"billing_summary": "absent"}]},
            "tables[0].billing_summary: found 'absent'; AWS always shows it on an on-demand table; allowed: present",
            id="an impossible billing summary",
        ),
        pytest.param(
            {"tables": [PROVISIONED | {"billing_summary": "absent", "switches_last_24h": 1}]},
            "AWS omits it only on a table that never was on-demand",
            id="switches without a billing summary",
        ),
        pytest.param(
            {"tables": [PROVISIONED, PROVISIONED]}, "table 'orders' is there 2 times", id="the same table twice"
        ),
        pytest.param(
            {"tables": [PROVISIONED | {"autoscaling": {"write": {"min": 9, "max": 5}}}]},
            "tables[0].autoscaling.write.min: found 9; it cannot exceed max, which is 5",
            id="scaling bounds",
        ),
        pytest.param(
            {"dagy": {"backfills": [{"id": "b", "start": 9, "end": 9}]}},
            "must come after start",
            id="an empty backfill",
        ),
        pytest.param(
            {"outside": [{"at": 3, "set": {"function": "g", "reserved": 1}}]},
            "outside[0].set.function: this scenario has no function 'g'; it has: none",
            id="outside, an unknown function",
        ),
        pytest.param(
            {"tables": [PROVISIONED], "outside": [{"at": 3, "set": {"table": "orders", "reserved": 1}}]},
            "outside[0].set.reserved: a table takes only billing, read, write",
            id="outside, a key of the other kind",
        ),
        pytest.param(
            {"tables": [PROVISIONED], "outside": [{"at": 3, "set": {"table": "orders"}}]},
            "says nothing to set",
            id="outside, nothing to set",
        ),
        pytest.param({"people": [{"at": 3, "when": "acted", "do": "keep"}]}, "exactly one of at", id="two moments"),
        pytest.param({"people": [{"at": 3}]}, "exactly one of do", id="a person who does nothing"),
        pytest.param({"people": [{"at": 3, "do": "kep"}]}, "did you mean 'keep'?", id="a mistyped deed"),
        pytest.param({"events": [{"at": 3}]}, "exactly one of file", id="an event without content"),
        pytest.param({"events": [{"at": 3, "file": "none.json"}]}, "there is no file 'none.json'", id="no event file"),
        pytest.param({"faults": [{"call": "put", "error": "Throttled"}]}, "faults[0].call: found 'put'", id="no call"),
        pytest.param(
            {"slack": {"steps": [[5, "up"], [5, "down"]]}}, "slack.steps[1]: found minute 5", id="slack steps"
        ),
        pytest.param(
            {"metrics": [{"namespace": "N", "name": "M", "period_s": 45, "values": [1]}]},
            "metrics[0].period_s: found 45",
            id="a period that is no minute",
        ),
    ],
)
def test_a_fault_is_told_with_its_key_and_what_is_allowed(
    problems: Problems, keys: dict[str, object], text: str
) -> None:
    found = problems(**keys)
    assert len(found) == 1, found
    assert text in found[0]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("", "found an empty file; a scenario is a mapping that starts with version: 1", id="empty"),
        pytest.param("- 1\n- 2\n", "found a list of 2; a scenario is a mapping", id="a list"),
        pytest.param("version: 1\nname: [\n", "line 3, column 1: it is not valid YAML", id="broken"),
        pytest.param("version: 1\nname: a\nname: b\n", "key 'name' is there twice", id="a key twice"),
        pytest.param("version: 1\n\tname: a\n", "it is not valid YAML", id="a tab"),
        pytest.param("version: 1\nname: !!python/object:os.system x\n", "it is not valid YAML", id="a python object"),
        pytest.param(
            "version: 2\nnewkey: 1\n", "version: found 2; this program reads scenario format version 1", id="v2"
        ),
        pytest.param("version: '1'\n", "version: found '1'; this program reads", id="version as text"),
        pytest.param(
            "version: 1\nname: a\nminutes: 5\n7: 1\n", "the file: found the key 7; keys are words", id="a number"
        ),
        pytest.param("name: a\nminutes: 5\n", "version: this key is required", id="no version"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(problems: Problems, content: str, text: str) -> None:
    assert text in problems(content)[0]


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there is no such file"):
        load(tmp_path / "nowhere.yaml")
    with pytest.raises(ScenarioError, match="this is a directory"):
        load(tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_bytes(b"\xff\xfe\x00version")
    with pytest.raises(ScenarioError, match="not UTF-8 text"):
        load(tmp_path / "case.yaml")


@pytest.mark.parametrize(("content", "text"), [("{", "is not valid JSON"), ("[1]", "holds a list of 1")])
def test_an_event_file_that_is_no_event_is_refused(write: Callable[[object], Path], content: str, text: str) -> None:
    file = write({"version": 1, "name": "x", "minutes": 5, "events": [{"at": 1, "file": "event.json"}]})
    (file.parent / "event.json").write_text(content, encoding="utf-8")
    with pytest.raises(ScenarioError, match=text):
        load(file)
