"""How each cause and each action is told, from first to last: one reviewed text for each, as read in a terminal.

The plans are those the bot makes. Write the texts anew after a change on purpose, then read the difference:
``REWRITE_GOLDENS=1 pytest tests/report/test_each_cause_and_action.py``.
"""

from dataclasses import replace

import pytest

from tests.report import samples
from tests.report.reviewed import GOLDEN, in_a_terminal, same
from unthrottle.actions.planning import make_plan
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding
from unthrottle.incident import Incident
from unthrottle.plan import Action
from unthrottle.report.moments import Step
from unthrottle.report.page import page
from unthrottle.settings import Settings
from unthrottle.subjects import FunctionSubject

CHANGED = {
    Cause.POOL_HOG: samples.pool_hog,
    Cause.PROVISIONED_CAPACITY: samples.provisioned_capacity,
    Cause.RUNAWAY_BACKFILL: samples.runaway_backfill,
}
OF_A_TABLE = {
    Cause.HOT_KEY: "Key-range throttles at 240 of 4,000 write units: 3,100 a minute.",
    Cause.HOT_INDEX: "by-status: 3,100 key-range throttles a minute at 240 of 4,000 write units.",
    Cause.ON_DEMAND_RAMP: "9,000 write units a second, 4.5 times the peak of the last half hour.",
    Cause.ON_DEMAND_CEILING: "2,000 of at most 2,000 write units a second.",
    Cause.TABLE_QUOTA: "40,000 of at most 40,000 write units a second.",
    Cause.CAPACITY_CHANGE_IN_PROGRESS: "The table is UPDATING since 04:31 UTC.",
}
OF_A_FUNCTION = {
    Cause.OWN_RESERVATION: "40 of its 40 reserved executions are in use; the pool has 600 left.",
    Cause.SWITCHED_OFF: "Its reserved concurrency is 0.",
    Cause.REQUEST_RATE: "9,800 requests a second at 1,000 executions, 98 ms each.",
    Cause.SCALING_RATE: "From 20 to 1,400 executions within 20 seconds.",
}
OF_THE_POOL = {
    Cause.POOL_GROWTH: "31 functions grew together; the largest holds 9 %.",
    Cause.OVER_RESERVATION: "820 of 1,000 executions are reserved, 35 of them in use.",
    Cause.ALREADY_OVER: "No throttle since 04:30 UTC.",
    Cause.INCONCLUSIVE: "ConcurrentExecutions of the account has no datapoint since 04:11 UTC.",
}
LAST = {Action.ESCALATE: Step.ESCALATED, Action.WAIT: Step.WAITING, Action.NONE: Step.OVER}
WITH_A_CHANGE = (
    Step.DIAGNOSED,
    Step.APPROVAL_NEEDED,
    Step.REMINDER,
    Step.SNOOZED,
    Step.EXPIRED,
    Step.REJECTED,
    Step.WOULD,
    Step.REFUSED,
    Step.UNRESOLVED,
    Step.ACTING,
    Step.APPLIED,
    Step.RECOVERED,
    Step.RENEWED,
    Step.EXTENDED,
    Step.RETURNED,
    Step.NOT_RECOVERED,
    Step.INCONCLUSIVE,
    Step.PUT_OFF,
    Step.GOES_ON,
    Step.REVERTED,
    Step.KEPT,
    Step.DRIFTED,
    Step.FAILED,
)
"""Every state to which an incident with a change can come after the alarm."""
WITHOUT_A_CHANGE = {
    Action.ESCALATE: (Step.DIAGNOSED, Step.ESCALATED, Step.PUT_OFF, Step.GOES_ON, Step.UNRESOLVED, Step.OVER),
    Action.WAIT: (Step.DIAGNOSED, Step.WAITING, Step.ESCALATED, Step.PUT_OFF, Step.GOES_ON, Step.UNRESOLVED, Step.OVER),
    Action.NONE: (Step.DIAGNOSED, Step.OVER),
}
NEVER_OF_A_BACKFILL = {
    Step.RENEWED,
    Step.EXTENDED,
    Step.RETURNED,
    Step.PUT_OFF,
    Step.GOES_ON,
    Step.REVERTED,
    Step.KEPT,
    Step.DRIFTED,
}
"""There is nothing to give back, and so no lease."""


def states_of(incident: Incident) -> tuple[Step, ...]:
    """Name the states this incident can come to, as its plan is."""
    assert incident.plan is not None
    if not incident.plan.changes:
        return WITHOUT_A_CHANGE[incident.plan.action]
    if incident.plan.action is Action.CANCEL_BACKFILL:
        return tuple(step for step in WITH_A_CHANGE if step not in NEVER_OF_A_BACKFILL)
    return WITH_A_CHANGE


def of_cause(cause: Cause) -> Incident:
    """Return an incident with this diagnosis and the plan that the bot makes for it."""
    if cause in CHANGED:
        return CHANGED[cause]()
    is_table = cause in OF_A_TABLE
    base = samples.provisioned_capacity() if is_table else samples.pool_hog()
    victims: tuple[str, ...] = (samples.TABLE,) if is_table else samples.victims(3)
    if cause in OF_A_FUNCTION:
        victims = ("svc-orders",)
        base = replace(base, subject=FunctionSubject(function="svc-orders"))
    found = Finding(text={**OF_A_TABLE, **OF_A_FUNCTION, **OF_THE_POOL}[cause])
    sure = Confidence.LOW if cause is Cause.INCONCLUSIVE else Confidence.HIGH
    index = "by-status" if cause is Cause.HOT_INDEX else None
    diagnosis = Diagnosis(cause=cause, confidence=sure, victims=victims, findings=(found,), index=index)
    evidence = samples.table_evidence() if is_table else samples.pool_evidence()
    return replace(base, diagnosis=diagnosis, plan=make_plan(diagnosis, evidence, Settings()))


def of_action(action: Action) -> Incident:
    """Return an incident whose plan is this action."""
    match action:
        case Action.SWITCH_TO_ON_DEMAND:
            return samples.provisioned_capacity()
        case Action.RAISE_CAPACITY:
            return samples.short_index()
        case Action.CANCEL_BACKFILL:
            return samples.runaway_backfill()
        case Action.CAP_CONCURRENCY:
            return samples.pool_hog()
        case Action.CAP_EVENT_SOURCE:
            both = samples.two_hogs_one_on_a_queue()
            assert both.plan is not None
            assert both.diagnosis is not None
            plan = replace(
                both.plan,
                action=action,
                why="svc-import holds 345 of 1,000 executions.",
                effect="Its queue waits instead.",
                changes=both.plan.changes[1:],
                commands=both.plan.commands[1:],
                way_back_commands=(f"{both.plan.commands[1].partition(' --scaling')[0]} --scaling-config {{}}",),
                follow_up="",
            )
            return replace(both, plan=plan, diagnosis=replace(both.diagnosis, targets=("svc-import",)))
        case Action.ESCALATE:
            return of_cause(Cause.HOT_KEY)
        case Action.WAIT:
            return of_cause(Cause.ON_DEMAND_RAMP)
        case Action.NONE:
            return of_cause(Cause.ALREADY_OVER)


@pytest.mark.parametrize("cause", Cause)
def test_each_cause_is_told_as_reviewed(cause: Cause) -> None:
    """Every state an incident of this cause can come to, and the page; within Slack's limits, also without charts and tables."""
    incident = of_cause(cause)
    assert incident.plan is not None
    if cause is Cause.SWITCHED_OFF:
        assert "esolved itself" not in in_a_terminal(incident, (LAST[incident.plan.action],))
    subject, text = page(incident, incident.plan.why)
    same(f"causes/{cause}.txt", f"{in_a_terminal(incident, states_of(incident))}\n==== page\n{subject}\n\n{text}\n")


@pytest.mark.parametrize("action", Action)
def test_each_action_is_told_as_reviewed(action: Action) -> None:
    """Every state of it: asked, put off, a dry run, refused, acting, done, not enough, given back, kept, drifted, failed."""
    incident = of_action(action)
    assert incident.plan is not None
    assert incident.plan.action is action
    steps = states_of(incident) if incident.plan.changes else (Step.WOULD, *states_of(incident))
    same(f"actions/{action}.txt", f"{in_a_terminal(incident, steps)}")


def test_no_cause_and_no_action_is_told_in_the_words_of_another() -> None:
    causes = {(GOLDEN / f"causes/{cause}.txt").read_text(encoding="utf-8") for cause in Cause}
    actions = {(GOLDEN / f"actions/{action}.txt").read_text(encoding="utf-8") for action in Action}
    assert (len(causes), len(actions)) == (17, 8)
