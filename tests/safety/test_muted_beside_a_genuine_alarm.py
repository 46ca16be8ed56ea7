"""A load test's muted alarm and the alarm of a real victim of the same pool, within one minute and in either order."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.rehearsal import rehearse
from sandbox.scenario import load

MUTED_ALONE = Path(__file__).parents[1] / "scenarios" / "cause-alarm-muted.yaml"


def _genuine(muted: dict[str, Any]) -> dict[str, Any]:
    """The event of another alarm, of a function of the same pool; nobody muted it."""
    found = deepcopy(muted)
    found["event"]["id"] = "5f1c1e0a-0000-4000-8000-000000000116"
    found["event"]["resources"] = ["arn:aws:cloudwatch:eu-west-1:111122223333:alarm:a victim is refused"]
    detail = found["event"]["detail"]
    detail["alarmName"] = "a victim is refused"
    detail.pop("muteDetail")
    detail["configuration"]["metrics"][0]["metricStat"]["metric"]["dimensions"] = {"FunctionName": "svc-pipe-02"}
    return found


@pytest.mark.parametrize("is_muted_first", [True, False], ids=["the muted one first", "the genuine one first"])
def test_the_genuine_alarm_is_healed_whichever_comes_first(tmp_path: Path, *, is_muted_first: bool) -> None:
    """The muted one is recorded beside it, and nothing is done about that one."""
    story = yaml.safe_load(MUTED_ALONE.read_text(encoding="utf-8"))
    del story["expect"]
    story["minutes"] = 18
    (muted,) = story["events"]
    both = [muted, _genuine(muted)]
    story["events"] = both if is_muted_first else both[::-1]
    file = tmp_path / "both.yaml"
    file.write_text(yaml.safe_dump(story), encoding="utf-8")
    outcome = rehearse(load(file))

    told = {one["fingerprint"].rsplit("/", 1)[-1]: one for one in outcome["incidents"]}
    assert sorted(told) == ["muted", "pool"]
    assert (told["pool"]["status"], told["pool"]["acted_minute"], told["pool"]["triggers"]) == ("applied", 15, 1)
    assert (told["muted"]["status"], told["muted"]["acted_minute"]) == ("none", None)
    assert told["muted"]["closed_minute"] == 15
    assert [one["call"] for one in outcome["mutations"]] == ["lambda.PutFunctionConcurrency"]
