"""The worked cases of docs/diagnosis.md about Lambda's pool: what is seen, the cause, the targets and the action."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.causes.builders import ONSET, details, function, hog_incident, nothing, points, pool, series
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause
from unthrottle.evidence.pool import AsyncSettings, EventSource, PoolEvidence, SourceKind
from unthrottle.guardrails import Context, judge
from unthrottle.incident import Decision
from unthrottle.plan import Action, CapConcurrency, CapEventSource
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings

RULES = Settings()
ITSELF = frozenset({"unthrottle-respond"})
CAP, AT_SOURCE = Action.CAP_CONCURRENCY, Action.CAP_EVENT_SOURCE
HOG = ("batch-processor",)

SQS = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn")
POLLERS = replace(SQS, minimum_pollers=2, maximum_pollers=90)
KAFKA = EventSource(uuid="u2", kind=SourceKind.KAFKA, source_arn="arn")
STREAM = EventSource(uuid="u1", kind=SourceKind.KINESIS, source_arn="arn", parallelization_factor=10)


def fed_by(*sources: EventSource, **more: object) -> PoolEvidence:
    evidence = hog_incident(held=900)
    hog, *others = evidence.candidates
    changed = replace(hog, event_sources=sources, **more)  # type: ignore[arg-type]  # any other field, by its name
    return replace(evidence, candidates=(changed, *others))


def roomy(use: Mapping[int, float | None], **more: object) -> PoolEvidence:
    return pool(use=use, throttled={"f": {ONSET: 40}}, throttles={ONSET: 40}, **more)  # type: ignore[arg-type]


def skipping(name: str, **settings: object) -> PoolEvidence:
    return pool(
        functions=[function(name, {0: 50, ONSET: 900}), function("next", {0: 20, ONSET: 700})],
        throttled={"victim": {ONSET: 40}},
        candidates=[details(name, **settings), details("next")],  # type: ignore[arg-type]  # by name
    )


@pytest.mark.parametrize(
    ("evidence", "cause", "targets", "action"),
    [
        pytest.param(hog_incident(), Cause.POOL_HOG, HOG, CAP, id="L1 L4 the hog, and victims that starve"),
        pytest.param(
            pool(
                functions=[function("quiet", {0: 30, ONSET: 955}), function("victim", {0: 5, ONSET: 2})],
                throttled={"victim": {ONSET: 900}},
            ),
            Cause.POOL_HOG,
            ("quiet",),
            CAP,
            id="L2 the hog is the unthrottled one",
        ),
        pytest.param(
            pool(
                functions=[function("a", {0: 9, ONSET: 345}), function("b", {0: 9, ONSET: 502}), function("c", {0: 9})],
                throttled={"c": {ONSET: 40}},
            ),
            Cause.POOL_HOG,
            ("b", "a"),
            CAP,
            id="L3 two hogs",
        ),
        pytest.param(
            roomy({0: 120}, candidates=[details("f", reserved=1)], functions=[function("f", {0: 1})], reserved=1),
            Cause.OWN_RESERVATION,
            (),
            Action.ESCALATE,
            id="L5 a reservation of one",
        ),
        pytest.param(
            roomy({0: 120}, candidates=[details("f", reserved=0, throttles=series({ONSET: 40}))]),
            Cause.SWITCHED_OFF,
            (),
            Action.NONE,
            id="L6 switched off",
        ),
        pytest.param(
            pool(use={0: 29}, throttles=nothing()), Cause.ALREADY_OVER, (), Action.NONE, id="L7 29 in use is idle"
        ),
        pytest.param(
            pool(
                use={0: 20, ONSET: 120},
                concurrency={0: 40, ONSET: 150},
                reserved=880,
                functions=[function(f"f{number}", {0: 10, ONSET: 12}) for number in range(10)],
                throttled={"f1": {ONSET: 40}},
            ),
            Cause.OVER_RESERVATION,
            (),
            Action.ESCALATE,
            id="L8 idle reservations",
        ),
        pytest.param(skipping("top", reserved=600), Cause.POOL_HOG, ("next",), CAP, id="L9 the largest has its own"),
        pytest.param(
            skipping("top", managed_instances=True), Cause.POOL_HOG, ("next",), CAP, id="L10 Managed Instances"
        ),
        pytest.param(
            pool(use={0: 12}, throttles=nothing(), functions=[function("workflow", {0: 12})]),
            Cause.ALREADY_OVER,
            (),
            Action.NONE,
            id="L11 sleeping workflows",
        ),
        pytest.param(
            roomy({0: 200}, invocations={0: 900, ONSET: 600_000}),
            Cause.REQUEST_RATE,
            (),
            Action.ESCALATE,
            id="L12 the request rate",
        ),
        pytest.param(
            pool(
                limit=10_000,
                use={0: 0, 57: 1000},
                throttles=points({57: 80.0}),
                functions=[function("f", {0: 0, 57: 1000})],
                throttled={"victim": points({57: 80.0})},
            ),
            Cause.SCALING_RATE,
            (),
            Action.WAIT,
            id="L13 the scaling rate",
        ),
        pytest.param(
            pool(use={0: 50}, throttles=nothing(), functions=[function("sqs", {0: 50})]),
            Cause.ALREADY_OVER,
            (),
            Action.NONE,
            id="L14 L37 an event source's limit, or another API's",
        ),
        pytest.param(fed_by(SQS), Cause.POOL_HOG, HOG, AT_SOURCE, id="L15 a queue"),
        pytest.param(
            fed_by(replace(SQS, max_receive_count=1)),
            Cause.POOL_HOG,
            HOG,
            AT_SOURCE,
            id="L17 a queue that gives up after one receive is never drained unrun",
        ),
        pytest.param(fed_by(POLLERS), Cause.POOL_HOG, HOG, AT_SOURCE, id="L16 a queue with pollers"),
        pytest.param(fed_by(STREAM), Cause.POOL_HOG, HOG, AT_SOURCE, id="L18 a stream"),
        pytest.param(
            pool(
                functions=[function("batch-processor", {0: 20, ONSET: 900}), function("kafka", {0: 9, ONSET: 3})],
                throttled={"kafka": {ONSET: 9_000}, "batch-processor": {ONSET: 50}},
                candidates=[details("batch-processor"), replace(details("kafka"), event_sources=(KAFKA,))],
            ),
            Cause.POOL_HOG,
            HOG,
            CAP,
            id="L19 a Kafka consumer that runs 3 and is throttled most",
        ),
        pytest.param(
            roomy({0: 100, ONSET: 998, 50: 80}, functions=[function("hog", {0: 9, ONSET: 900, 50: 9})]),
            Cause.INCONCLUSIVE,
            (),
            Action.ESCALATE,
            id="L22 it has stopped, though something is throttled",
        ),
        pytest.param(
            pool(
                use={0: 100, ONSET: 998, 50: 80},
                throttles={ONSET: 50, 50: None},
                functions=[function("hog", {0: 9, ONSET: 900, 50: 9})],
            ),
            Cause.ALREADY_OVER,
            (),
            Action.NONE,
            id="L22 it has stopped",
        ),
        pytest.param(
            replace(hog_incident(held=800), invocations=nothing()),
            Cause.POOL_HOG,
            HOG,
            CAP,
            id="L23 no Invocations while it hogs",
        ),
        pytest.param(
            pool(
                functions=[
                    function("bursty", {0: 0, ONSET: 0, 57: 600}),
                    function("steady", {0: 90, 57: 95}),
                    *(function(f"f{number}", {0: 3}) for number in range(20)),
                ],
                throttled={"f1": {ONSET: 40}},
            ),
            Cause.POOL_HOG,
            ("bursty",),
            CAP,
            id="L24 by the Maximum at the peak minute",
        ),
        pytest.param(
            pool(
                functions=[function("f:live", {0: 9, ONSET: 900}), function("f", {0: 9, ONSET: 900})],
                throttled={"victim": {ONSET: 9}},
            ),
            Cause.POOL_HOG,
            ("f",),
            CAP,
            id="L25 an alias is not counted twice",
        ),
        pytest.param(
            pool(
                use={0: 60, ONSET: 299},
                concurrency={0: 700, ONSET: 990},
                reserved=700,
                functions=[function("hog", {0: 20, ONSET: 280}), function("reserved", {0: 640, ONSET: 700})],
                throttled={"victim": {ONSET: 40}},
                candidates=[details("hog"), details("reserved", reserved=700)],
            ),
            Cause.POOL_HOG,
            ("hog",),
            CAP,
            id="L26 700 are reserved, and AWS keeps 100",
        ),
        pytest.param(
            roomy(
                {0: 120},
                candidates=[details("f", reserved=100)],
                functions=[function("f", {0: 40, ONSET: 100})],
                reserved=100,
            ),
            Cause.OWN_RESERVATION,
            (),
            Action.ESCALATE,
            id="L29 who has a reservation is not capped below it",
        ),
        pytest.param(skipping("unthrottle-respond"), Cause.POOL_HOG, ("next",), CAP, id="L33 the bot itself"),
        pytest.param(
            hog_incident("svc-dev-batch"), Cause.POOL_HOG, ("svc-dev-batch",), CAP, id="L34 dev and UAT share one pool"
        ),
        pytest.param(
            roomy({0: 120}, candidates=[]),
            Cause.INCONCLUSIVE,
            (),
            Action.ESCALATE,
            id="L35 L38 nothing here explains it",
        ),
        pytest.param(
            pool(
                functions=[function("loop", {0: 1, ONSET: 950})],
                invocations={0: 90, ONSET: 60_000},
                throttled={"victim": {ONSET: 40}},
            ),
            Cause.POOL_HOG,
            ("loop",),
            CAP,
            id="L36 a recursive loop is a hog",
        ),
        pytest.param(
            pool(
                use={0: 100, ONSET: 1000},
                functions=[function(f"f{number}", {0: 10, ONSET: 40}) for number in range(10)],
                throttled={"f1": {ONSET: 40}},
                ranking_complete=False,
            ),
            Cause.INCONCLUSIVE,
            (),
            Action.ESCALATE,
            id="L39 the ranking explains 40 %",
        ),
        pytest.param(
            pool(use={0: 100}, reserved=250, claimed=series({0: 900}), throttles=nothing()),
            Cause.ALREADY_OVER,
            (),
            Action.NONE,
            id="L41 a cap in force counts as claimed",
        ),
    ],
)
def test_what_is_seen_of_a_pool_leads_to_its_cause_its_targets_and_its_action(
    evidence: PoolEvidence, cause: Cause, targets: tuple[str, ...], action: Action
) -> None:
    found = diagnose(evidence, RULES, itself=ITSELF)
    plan = make_plan(found, evidence, RULES)
    assert (found.cause, found.targets, plan.action) == (cause, targets, action)
    assert {change.target for change in plan.changes} == set(targets)


@pytest.mark.parametrize(
    ("source", "knob", "after"),
    [
        pytest.param(SQS, "MaximumConcurrency", 250, id="L15 a queue"),
        pytest.param(POLLERS, "MaximumPollers", 25, id="L16 a queue with pollers"),
        pytest.param(STREAM, "ParallelizationFactor", 2, id="L18 a stream of 100 shards"),
    ],
)
def test_each_kind_of_source_is_turned_down_by_its_own_knob(source: EventSource, knob: str, after: int) -> None:
    evidence = fed_by(source)
    (change,) = make_plan(diagnose(evidence, RULES, itself=ITSELF), evidence, RULES).changes
    assert isinstance(change, CapEventSource)
    assert (change.knob, change.after) == (knob, after)


SHORT_LIVED = AsyncSettings(max_event_age_s=60)


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        pytest.param(fed_by(invocations=series({0: 900})), "synchronous", id="L20 people wait behind an API"),
        pytest.param(
            fed_by(invocations=series({0: 900}), async_events=series({0: 900}), async_settings=SHORT_LIVED),
            "loses-events",
            id="L21 events of a minute, without a destination",
        ),
    ],
)
def test_a_cap_that_hurts_somebody_asks_a_person(evidence: PoolEvidence, reason: str) -> None:
    rules = Settings(mode=Mode.AUTO)
    found = diagnose(evidence, rules, itself=ITSELF)
    plan = make_plan(found, evidence, rules)
    context = Context(
        now=evidence.end,
        settings=rules,
        diagnosis=found,
        ledger=Ledger(),
        incident_id="INC-TEST0001",
        seen_at=evidence.end,
        early_warning=False,
    )
    verdict = judge(plan, context)
    assert (plan.action, verdict.decision) == (CAP, Decision.NEEDS_APPROVAL)
    assert reason in {each.guardrail for each in verdict.reasons}


def test_a_cap_leaves_what_is_provisioned_and_one_more() -> None:
    # L28: so that versions without provisioned concurrency still run
    evidence = fed_by(provisioned=300)
    (change,) = make_plan(diagnose(evidence, RULES, itself=ITSELF), evidence, RULES).changes
    assert isinstance(change, CapConcurrency)
    assert change.after == 301
