"""An alarm is no throttle: it may be a drill, an early warning, or ring because a load fell. No more is told than was seen."""

from dataclasses import replace

import pytest

from tests.report.samples import at_step, hot_index, inconclusive, minutes, pool_hog, provisioned_capacity, recovered
from tests.report.told import tell, whole
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.incident import Incident
from unthrottle.plan import Action, Plan
from unthrottle.report import shell
from unthrottle.report.moments import Step, head, message
from unthrottle.report.page import page
from unthrottle.report.picture import Picture

NOTHING = Plan(action=Action.NONE, why="Nothing is throttled now.")


def over(base: Incident) -> Incident:
    return replace(
        base,
        diagnosis=Diagnosis(cause=Cause.ALREADY_OVER, confidence=Confidence.HIGH),
        plan=NOTHING,
        closed_at=minutes(5),
    )


def first(incident: Incident, step: Step) -> tuple[str, str]:
    """Return the header and the sentence under it."""
    shown = head(incident, step).blocks
    return str(shown[0]["text"]["text"]), str(shown[1]["text"]["text"])  # type: ignore[index]


def test_an_early_warning_that_passes_says_that_nobody_was_throttled() -> None:
    header, sentence = first(over(replace(pool_hog(), early_warning=True)), Step.OVER)
    assert header == (
        "⚪ An early warning rang for Lambda functions at 04:33; nobody was throttled: the shared pool has room"
        " · nothing had to be changed"
    )
    assert sentence == (
        "An early warning rang for Lambda functions at 04:33 UTC; nobody was throttled: the shared pool has room."
        " Nothing had to be changed."
    )


def test_an_early_warning_that_was_acted_on_was_near_the_limit_and_is_no_longer() -> None:
    base = pool_hog()
    assert base.diagnosis is not None
    incident = recovered(replace(base, early_warning=True, diagnosis=replace(base.diagnosis, victims=())))
    assert first(incident, Step.RECOVERED)[1].startswith(
        "Lambda functions ran near the limit at 04:33 UTC (early warning): "
    )


def test_before_the_look_only_the_alarm_is_told() -> None:
    opened = at_step(provisioned_capacity(), Step.OPENED)
    assert first(opened, Step.OPENED)[1] == (
        "An alarm has rung for table `dagy-runs-develop` since 04:33 UTC. Finding out why; nothing was changed."
    )
    assert message(opened, Step.OPENED, number=1).text == (
        "#1 04:33 alarm `unthrottle-table-throttles` went off at 04:33 UTC for table `dagy-runs-develop`; finding out why "
        "(INC-3D9T1ABC)"
    )


def test_a_drill_ends_without_a_word_of_throttling() -> None:
    assert first(over(provisioned_capacity()), Step.OVER)[1] == (
        "An alarm rang for table `dagy-runs-develop` at 04:33 UTC: no throttle was seen when it was looked at. "
        "Nothing had to be changed."
    )


def test_what_could_not_be_read_is_not_told_as_throttled() -> None:
    assert "throttled" not in first(inconclusive(), Step.ESCALATED)[1]


def test_a_person_who_asked_is_not_told_as_an_alarm() -> None:
    asked = replace(over(provisioned_capacity()), requested_by="U0OPS", alarm_name="")
    assert first(asked, Step.OVER)[1].startswith("A look at table `dagy-runs-develop` was asked for at 04:33 UTC: no ")
    throttled = replace(provisioned_capacity(), requested_by="U0OPS", alarm_name="")
    assert first(throttled, Step.DIAGNOSED)[0].startswith("🔴 Table dagy-runs-develop throttled (asked for at 04:33): ")


def test_alarm_and_proof_of_recovery_are_not_told_as_the_time_of_throttling() -> None:
    """Both come minutes after what they tell of, as the chart beside them shows."""
    shown = whole(head(recovered(pool_hog()), Step.RECOVERED))
    assert "were throttled (alarm 04:33 UTC, recovered by 04:38 UTC): " in shown
    assert "*When*\nalarm 04:33 UTC, recovered by 04:38 UTC · 29 alarms" in shown


def test_the_tables_note_names_the_minutes_that_were_measured() -> None:
    assert "The 7 minutes to 04:31 UTC, sorted by concurrency" in whole(tell(pool_hog(), Step.DIAGNOSED)[1])
    rows = Picture(columns=("table or index",), rows=(), charts=())
    assert "UTC, units a second" not in whole(message(hot_index(), Step.DIAGNOSED, number=2, picture=rows))


def test_until_it_is_verified_a_lease_says_that_it_will_be_counted_anew() -> None:
    anew = "Given back at 06:34 UTC (the lease is counted anew from the recovery); renewed"
    assert anew in tell(pool_hog(), Step.APPLIED)[1].text
    assert "counted anew" not in whole(
        message(recovered(pool_hog()), Step.APPLIED, number=6, detail="The lease begins.")
    )


def test_what_the_line_of_a_page_has_said_is_not_said_again_below_it() -> None:
    incident = hot_index()
    assert incident.plan is not None
    shown = message(replace(incident, escalated=True), Step.ESCALATED, detail=incident.plan.why, number=3)
    assert sum(incident.plan.why in str(block) for block in shown.blocks) == 1


@pytest.mark.parametrize(
    ("step", "command"),
    [
        (Step.APPROVAL_NEEDED, "`unthrottle approve INC-7Q2M4K8X:3 --stack ops-unthrottle --region eu-central-1`"),
        (Step.REMINDER, "`unthrottle reject INC-7Q2M4K8X:3 --stack ops-unthrottle --region eu-central-1`"),
    ],
)
def test_our_commands_name_the_deployment_that_asks(step: Step, command: str) -> None:
    """The Region is the stack's, which is not always that of the incident."""
    shell.reported_by("ops-unthrottle", "eu-central-1")
    assert command in whole(tell(pool_hog(), step)[1])
    assert "unthrottle incidents INC-7Q2M4K8X --stack ops-unthrottle --region eu-central-1" in page(pool_hog())[1]


@pytest.mark.parametrize("step", [Step.DIAGNOSED, Step.APPROVAL_NEEDED, Step.ACTING, Step.WOULD, Step.REVERTED])
def test_aws_commands_name_the_region_of_the_incident(step: Step) -> None:
    shown = whole(tell(replace(pool_hog(), region="ap-south-1"), step)[1])
    called = [line for line in shown.splitlines() if line.startswith("aws ")]
    assert called
    assert [line for line in called if not line.endswith(" --region ap-south-1")] == []
    paged = [line for line in page(replace(pool_hog(), region="ap-south-1"))[1].splitlines() if "- aws " in line]
    assert len(paged) == 3
    assert [line for line in paged if not line.endswith(" --region ap-south-1")] == []
