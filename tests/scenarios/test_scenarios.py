"""Every scenario beside this file comes out as it says: the mission's causes, in auto and in dry-run."""

import re
from pathlib import Path
from typing import Any

import pytest

from sandbox.rehearsal import rehearse
from sandbox.scenario import load

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


def _acts_in_its_own_way(file: Path) -> bool:
    """Choose one scenario for each kind of action: the dry-run files say the rest."""
    return file.stem in {
        "approve-yes",
        "cause-hog-kinesis",
        "cause-hog-queue",
        "cause-table-and-index-short-raised",
        "drift-index-appears",
        "lease-keep",
        "runaway-backfill-two-tables",
        "table-out-of-write-capacity",
        "verify-not-recovered",
    }


def _story(outcome: dict[str, Any]) -> str:
    lines = [*outcome["unmet"], *(str(error) for error in outcome["errors"])]
    for incident in outcome["incidents"]:
        lines += [f"{moment['minute']} {moment['event']} {moment['detail']}" for moment in incident["timeline"]]
    return "\n".join(lines)


def _unreported(outcome: dict[str, Any], incident_id: str) -> list[int]:
    """Return the numbers of reports that neither stand in the thread nor were paged."""
    lines = [call["text"] for call in outcome["slack"] if call["thread_ts"] and incident_id in call["text"]]
    pages = [page["text"] for page in outcome["escalations"] if incident_id in page["subject"]]
    found = [re.match(r"#(\d+) ", line) for line in lines] + [
        re.search(r"^#(\d+) ", page, re.MULTILINE) for page in pages
    ]
    numbers = {int(number[1]) for number in found if number}
    return sorted(set(range(1, max(numbers, default=1) + 1)) - numbers)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario_comes_out_as_it_says(file: Path) -> None:
    """The expectation is met, nothing broke, and one symptom is one incident at a time."""
    outcome = rehearse(load(file))
    assert outcome["expectation"] == "met", _story(outcome)
    assert not outcome["errors"], _story(outcome)
    ended: dict[str, int | None] = {}
    for incident in outcome["incidents"]:
        assert _unreported(outcome, incident["id"]) == [], "every step is told in Slack, or paged"
        before = ended.get(incident["fingerprint"], 0)
        assert before is not None, _story(outcome)
        assert before <= incident["opened_minute"], _story(outcome)
        ended[incident["fingerprint"]] = incident["closed_minute"]


@pytest.mark.parametrize("file", [file for file in FILES if _acts_in_its_own_way(file)], ids=lambda file: file.stem)
def test_dry_run_of_any_scenario_changes_nothing(file: Path) -> None:
    """Whatever a scenario would do in auto, in dry-run no call that changes the account or dagy is even tried."""
    scenario = load(file)
    outcome = rehearse(scenario.model_copy(update={"expect": {}}), mode="dry-run")
    assert outcome["mutations"] == []
    assert [call for call in outcome["dagy_calls"] if call["method"] == "POST"] == []
    assert all(incident["status"] in {"would-apply", "denied", "none"} for incident in outcome["incidents"])


@pytest.mark.parametrize(
    "name",
    [
        "pool-hog-two-functions",
        "table-out-of-write-capacity",
        "runaway-backfill-provisioned",
        "hot-index-on-demand",
        "approve-yes",
        "verify-revert-meanwhile",
        "drift-index-appears",
        "guard-cooldown",
    ],
)
def test_both_engines_tell_the_same_story(name: str) -> None:
    """The real durable SDK and simulated time give the same record, the same changes and the same Slack thread."""
    scenario = load(Path(__file__).parent / f"{name}.yaml")
    simulated, durable = rehearse(scenario, engine="simulated"), rehearse(scenario, engine="durable")
    for part in ("incidents", "mutations", "dagy_calls", "escalations", "final", "errors"):
        assert durable[part] == simulated[part], part
    told = [[(call["method"], call["text"]) for call in outcome["slack"]] for outcome in (simulated, durable)]
    assert told[0] == told[1]
