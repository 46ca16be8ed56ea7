"""What is planned for hogs: in the pool that the diagnosis saw, by the knob that reaches what they run, claiming only that."""

from dataclasses import replace

import pytest

from tests.causes.asked import look, text
from tests.causes.builders import ONSET, Steps, details, function, nothing, points, pool, series
from unthrottle.actions import cap_concurrency
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.evidence.pool import AsyncSettings, Candidate, EventSource, PoolEvidence, SourceKind
from unthrottle.guardrails import Context, judge
from unthrottle.incident import Decision, Verdict
from unthrottle.plan import Action, CapConcurrency, CapEventSource, Plan
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings

AUTO = Settings(mode=Mode.AUTO)
QUEUE = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")
STREAM = EventSource(uuid="u2", kind=SourceKind.KINESIS, source_arn="arn", parallelization_factor=1)


def planned(evidence: PoolEvidence) -> Plan:
    return make_plan(diagnose(evidence, AUTO, itself=frozenset()), evidence, AUTO)


def judged(evidence: PoolEvidence) -> Verdict:
    context = Context(
        now=evidence.end,
        settings=AUTO,
        diagnosis=diagnose(evidence, AUTO, itself=frozenset()),
        ledger=Ledger(),
        incident_id="INC-TEST0001",
        seen_at=evidence.end,
    )
    return judge(planned(evidence), context)


def asked_for(evidence: PoolEvidence) -> set[str]:
    verdict = judged(evidence)
    assert verdict.decision is not Decision.DENIED
    return {reason.guardrail for reason in verdict.reasons}


def held_by(*candidates: Candidate, held: float = 840, use: Steps | None = None) -> PoolEvidence:
    """A pool of 1,000 that these functions hold, each from 20 on to as much."""
    return pool(
        use=use or {0: 100, ONSET: 998},
        functions=[function(one.name, {0: 20, ONSET: held}) for one in candidates],
        throttled={"victim": {ONSET: 40}},
        candidates=candidates,
    )


def fed(*sources: EventSource, queued: float = 0, ended: float = 1000) -> PoolEvidence:
    """A hog that holds 840, with these event sources; of so many ended invocations so many were queued events."""
    hog = details("hog", invocations=points({50: ended}))
    return held_by(replace(hog, event_sources=sources, async_events=points({50: queued})))


# --- which pool -------------------------------------------------------------------------------------------------


def shared_with_provisioned(use: Steps, *functions: tuple[str, float, float]) -> PoolEvidence:
    """A limit of 1,000, of which 600 are provisioned for somebody else."""
    return pool(
        use=use,
        claimed=series({minute: (value or 0) + 600 for minute, value in use.items()}),
        functions=[function(name, {0: before, ONSET: held}) for name, before, held in functions],
        throttled={"victim": {ONSET: 40}},
        candidates=[details(name) for name, _, _ in functions],
    )


def test_a_cap_is_made_for_the_pool_that_provisioned_concurrency_leaves() -> None:
    """Of 400 the others use 158 and are left twice as much, or half of the rest; 240 of 1,000 would free nothing of 240."""
    evidence = shared_with_provisioned({0: 100, ONSET: 398}, ("hog", 20, 240))
    plan = planned(evidence)
    (change,) = plan.changes
    assert isinstance(change, CapConcurrency)
    assert change.after == 400 - 279
    assert plan.why.startswith("hog holds 240 of 400 executions")
    assert plan.effect.startswith("Frees about 119 executions for the others")


def test_where_only_the_account_was_measured_its_use_counts() -> None:
    """As in the diagnosis: with nothing reserved, all executions draw on the one pool."""
    evidence = pool(
        use={0: 400, ONSET: 998},
        functions=[function("hog", {0: 20, ONSET: 400}), function("steady", {0: 300})],
        throttled={"victim": {ONSET: 40}},
    )
    plan = planned(replace(evidence, unreserved_in_use=nothing()))
    (change,) = plan.changes
    assert isinstance(change, CapConcurrency)
    assert change.after == 1000 - 799
    assert "in use 998, others use 598;" in plan.effect


def test_what_is_freed_is_counted_from_the_cap_as_planned() -> None:
    """One more than the 300 provisioned may stay; of them only one is withdrawn from the pool."""
    plan = planned(held_by(details("hog", provisioned=300), held=900))
    assert plan.effect.startswith("Frees about 599 executions for the others")
    assert "the reservation itself withdraws 1 from the shared pool" in plan.effect


def test_a_cap_that_frees_nothing_is_no_plan() -> None:
    """Its provisioned concurrency lets it keep all it holds."""
    hog = details("hog", provisioned=839)
    evidence = held_by(hog, held=840)
    plan = make_plan(replace(look(held_by(details("hog"))), targets=("hog",)), evidence, AUTO)
    assert (plan.action, plan.changes) == (Action.ESCALATE, ())
    assert "No cap would free anything for the others" in plan.why


# --- which knob -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "action", "reasons"),
    [
        pytest.param(fed(QUEUE), Action.CAP_EVENT_SOURCE, set(), id="a queue alone"),
        pytest.param(fed(QUEUE, queued=490), Action.CAP_EVENT_SOURCE, set(), id="most is the queue's"),
        pytest.param(fed(QUEUE, queued=510), Action.CAP_CONCURRENCY, {"loses-events"}, id="most are queued events"),
        pytest.param(fed(QUEUE, queued=6, ended=6), Action.CAP_EVENT_SOURCE, set(), id="six pings, long runs"),
        pytest.param(
            fed(replace(QUEUE, maximum_concurrency=300)),
            Action.CAP_CONCURRENCY,
            {"synchronous", "loses-events"},
            id="its queue may have 300 of 840",
        ),
        pytest.param(fed(replace(QUEUE, maximum_concurrency=420)), Action.CAP_EVENT_SOURCE, set(), id="420 of 840"),
        pytest.param(
            fed(replace(QUEUE, maximum_pollers=41)),
            Action.CAP_CONCURRENCY,
            {"synchronous", "loses-events"},
            id="pollers for 410 of 840",
        ),
        pytest.param(
            fed(replace(QUEUE, maximum_concurrency=300), STREAM),
            Action.CAP_EVENT_SOURCE,
            set(),
            id="a stream beside it",
        ),
        pytest.param(fed(STREAM), Action.CAP_CONCURRENCY, {"synchronous"}, id="a stream without a factor to lower"),
        pytest.param(fed(STREAM, queued=600), Action.CAP_CONCURRENCY, set(), id="queued events beside a stream"),
    ],
)
def test_an_event_source_is_turned_down_only_where_it_can_hold_most(
    evidence: PoolEvidence, action: Action, reasons: set[str]
) -> None:
    """A reservation is the only knob that covers all (AWS Lambda guide); what it may cost, a person is asked."""
    assert planned(evidence).action is action
    assert asked_for(evidence) == reasons


@pytest.mark.parametrize(
    ("evidence", "freed"),
    [
        pytest.param(fed(QUEUE), 590, id="a queue"),
        pytest.param(fed(QUEUE, queued=400), 254, id="four tenths are queued events, and stay"),
        pytest.param(fed(replace(QUEUE, maximum_concurrency=500)), 250, id="the queue had 500 at most"),
        pytest.param(fed(replace(QUEUE, maximum_pollers=90)), 590, id="25 pollers of ten"),
        pytest.param(fed(replace(STREAM, parallelization_factor=8)), 630, id="a factor of 2 of 8"),
        pytest.param(
            fed(QUEUE, replace(QUEUE, uuid="u3", maximum_concurrency=100)), 295, id="one of two is low already"
        ),
    ],
)
def test_only_what_a_source_holds_is_said_to_be_freed(evidence: PoolEvidence, freed: int) -> None:
    plan = planned(evidence)
    assert all(isinstance(change, CapEventSource) for change in plan.changes)
    assert plan.effect.startswith(f"Frees about {freed} executions for the others, as far as event sources hold them.")


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        pytest.param((QUEUE,), "may reach the dead-letter queue without having run", id="a queue"),
        pytest.param((replace(QUEUE, enabled=False),), None, id="a queue that is turned off"),
        pytest.param((replace(QUEUE, kind=SourceKind.KINESIS),), None, id="a stream keeps its records"),
        pytest.param(
            (replace(QUEUE, kind=SourceKind.KINESIS, max_record_age_s=7199),),
            "(kinesis) may drop",
            id="records that age",
        ),
        pytest.param((replace(QUEUE, kind=SourceKind.KAFKA),), "(kafka) may drop", id="Kafka"),
    ],
)
def test_a_source_that_loses_what_a_reservation_holds_back_is_told(
    sources: tuple[EventSource, ...], told: str | None
) -> None:
    """A reservation on a function with an event source needs a person who knows what it costs."""
    lost = cap_concurrency.change(replace(details("hog"), event_sources=sources), 50, 100.0, 120).loses_events
    assert lost is None if told is None else told in (lost or "")
    aging = AsyncSettings(max_event_age_s=60)
    both = (
        cap_concurrency.change(
            replace(details("hog"), event_sources=sources, async_settings=aging), 50, 100.0, 120
        ).loses_events
        or ""
    )
    assert "dropped after 60 s" in both
    assert told is None or told in both


# --- whose tags forbid it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"), [("protected", "true"), ("protected", "Maybe"), ("mode", "off"), ("mode", " OFF ")]
)
def test_a_hog_whose_tag_forbids_it_is_left_out_where_capping_the_others_helps(key: str, value: str) -> None:
    """The next candidate is capped; the one left out is named, and what it holds is not taken for free."""
    tagged = replace(details("a"), tags={f"unthrottle:{key}": value})
    evidence = pool(
        functions=[function("a", {0: 9, ONSET: 502}), function("b", {0: 9, ONSET: 345})],
        throttled={"victim": {ONSET: 40}},
        candidates=[tagged, replace(details("b"), async_events=points({50: 900.0}))],
    )
    plan = planned(evidence)
    (change,) = plan.changes
    assert isinstance(change, CapConcurrency)
    assert (change.function, change.after) == ("b", 1000 - 827)
    assert "a is left as it is: a tag forbids any change." in plan.why
    assert plan.follow_up.startswith("Set a permanent limit for b where")
    assert judged(evidence).decision is Decision.ALLOWED
    found = look(evidence)
    assert found.targets == ("a", "b")
    assert f"a is not changed, however much it holds: its tag unthrottle:{key}" in text(found)


def test_where_all_hogs_are_protected_the_plan_is_denied_as_for_a_lone_one() -> None:
    tags = {"unthrottle:protected": "true"}
    alone = held_by(replace(details("a"), tags=tags))
    both = held_by(*(replace(details(name), tags=tags) for name in "ab"), held=420)
    for evidence in (alone, both):
        assert judged(evidence).decision is Decision.DENIED
    kafka = EventSource(uuid="u9", kind=SourceKind.KAFKA, source_arn="arn")
    no_knob = held_by(replace(details("a"), tags=tags), replace(details("b"), event_sources=(kafka,)), held=420)
    assert judged(no_knob).decision is Decision.DENIED


@pytest.mark.parametrize(("key", "value"), [("protected", "false"), ("mode", "auto"), ("mode", "approve")])
def test_a_tag_that_forbids_nothing_leaves_nobody_out(key: str, value: str) -> None:
    evidence = held_by(replace(details("a"), tags={f"unthrottle:{key}": value}), details("b"), held=420)
    plan = planned(evidence)
    assert [change.target for change in plan.changes] == ["a", "b"]
    assert "left as it is" not in plan.why
    assert "forbids" not in text(look(evidence))
