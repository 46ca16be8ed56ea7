"""Incidents to report about: one for each kind of cause and action, brought to any step of their lives."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from unthrottle.backfills import Backfill
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.pool import ConcurrencyAccount, FunctionUse, PoolEvidence, SourceKind
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    Billing,
    Capacity,
    IndexSettings,
    RunningBackfills,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.incident import (
    AppliedChange,
    Decision,
    Incident,
    Outcome,
    Question,
    Reason,
    Status,
    Verdict,
)
from unthrottle.plan import (
    Action,
    CancelBackfill,
    CapConcurrency,
    CapEventSource,
    Change,
    Plan,
    RaiseCapacity,
    SavedTable,
    SwitchToOnDemand,
)
from unthrottle.report.moments import Step
from unthrottle.report.words import is_left
from unthrottle.settings import Mode
from unthrottle.subjects import PoolSubject, TableSubject

OPENED = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
HOG = "svc-crmpl-dev-batch-processor"
TABLE = "dagy-runs-develop"
DETAILS = {
    Step.LATE: "#4 04:34 capped svc-crmpl-dev-batch-processor at 250",
    Step.RECOVERED: "throttles fell from 812 to 0 a minute",
    Step.REJECTED: "Rejected by U0OPS; nothing was changed.",
    Step.SNOOZED: "By U0OPS",
    Step.PUT_OFF: "By U0OPS",
    Step.GOES_ON: "the others still had 812 throttles in the minute 05:31",
    Step.UNRESOLVED: "the others still had 812 throttles in the minute 06:31",
    Step.RETURNED: "Alarm lambda-throttles rings, since 05:31 UTC, though the change had helped.",
    Step.KEPT: "Kept by U0OPS; Unthrottle will not give it back.",
    Step.FAILED: "TooManyRequestsException: Rate exceeded",
    Step.DRIFTED: "reserved concurrency is now 300, not the 250 we set; run `/unthrottle check svc-x` to plan again.",
}


def minutes(moment: int) -> datetime:
    return OPENED + timedelta(minutes=moment)


def victims(number: int = 28) -> tuple[str, ...]:
    return tuple(f"svc-uat-pipe-{i:03d}" for i in range(1, number + 1))


def _lambda() -> Incident:
    return Incident(
        id="INC-7Q2M4K8X",
        fingerprint="111122223333/eu-west-1/lambda/pool",
        account="111122223333",
        region="eu-west-1",
        kind="lambda",
        subject=PoolSubject(),
        opened_at=OPENED,
        alarm_at=OPENED,
        alarm_name="unthrottle-lambda-throttles",
        triggers=29,
        mode=Mode.AUTO,
    )


def _dynamodb() -> Incident:
    return replace(
        _lambda(),
        id="INC-3D9T1ABC",
        fingerprint=f"111122223333/eu-west-1/dynamodb/{TABLE}",
        kind="dynamodb",
        subject=TableSubject(table=TABLE),
        alarm_name="unthrottle-table-throttles",
        triggers=1,
    )


CAP = CapConcurrency(
    function=HOG,
    arn=f"arn:aws:lambda:eu-west-1:111122223333:function:{HOG}",
    before=None,
    after=250,
    peak=841,
    tags={"aws:cloudformation:stack-name": "crew-roster-dev", "aws:cloudformation:logical-id": "BatchProcessor"},
)
SAVED = SavedTable(capacity=Capacity(read=100, write=50), indexes={"by-status": Capacity(read=100, write=50)})
TABLE_ARN = f"arn:aws:dynamodb:eu-west-1:111122223333:table/{TABLE}"


def pool_hog() -> Incident:
    return replace(
        _lambda(),
        diagnosis=Diagnosis(
            cause=Cause.POOL_HOG,
            confidence=Confidence.HIGH,
            targets=(HOG,),
            victims=victims(),
            findings=(
                Finding(
                    text=f"{HOG} ran 841 of the 971 executions in use at 04:31, 84 % of the account's 1,000.",
                    check="aws cloudwatch get-metric-statistics --namespace AWS/Lambda --metric-name Throttles",
                ),
                Finding(text="It ran 20 before 04:30: 42 times its baseline."),
                Finding(text="28 functions in 8 domains were throttled 43,734 times; none of them ran more than 6."),
                Finding(text="Errors stayed at 0: capacity, not code."),
            ),
            rejected=(Rejected(cause=Cause.POOL_GROWTH, because="one function holds 84 %, the next 3 %"),),
            gaps=("AsyncEventsReceived has no datapoint for 04:31",),
        ),
        plan=Plan(
            action=Action.CAP_CONCURRENCY,
            why=f"{HOG} holds 841 of 1,000 executions; one function may keep 25 %.",
            effect="Frees about 591 executions for the others. Executions already running are not stopped.",
            changes=(CAP,),
            lease_minutes=120,
            way_back="The earlier setting comes back when the lease ends.",
            commands=(
                f"aws lambda put-function-concurrency --function-name {HOG} --reserved-concurrent-executions 250",
            ),
            way_back_commands=(f"aws lambda delete-function-concurrency --function-name {HOG}",),
            follow_up=f"Set a permanent limit for {HOG} where it is defined.",
        ),
    )


def two_hogs_one_on_a_queue() -> Incident:
    one = pool_hog()
    assert one.diagnosis is not None
    assert one.plan is not None
    other = CapEventSource(
        function="svc-import",
        arn="arn:aws:lambda:eu-west-1:111122223333:function:svc-import",
        uuid="11111111-2222-3333-4444-555555555555",
        source=SourceKind.SQS,
        knob="MaximumConcurrency",
        before=None,
        after=120,
        peak=345,
        tags={"team": "orders"},
    )
    return replace(
        one,
        diagnosis=replace(one.diagnosis, targets=(HOG, "svc-import")),
        plan=replace(
            one.plan,
            changes=(CAP, other),
            commands=(
                *one.plan.commands,
                f"aws lambda update-event-source-mapping --uuid {other.uuid} --scaling-config MaximumConcurrency=120",
            ),
        ),
    )


def provisioned_capacity() -> Incident:
    change = SwitchToOnDemand(table=TABLE, arn=TABLE_ARN, before=SAVED, hourly_cost=1.2)
    return replace(
        _dynamodb(),
        diagnosis=Diagnosis(
            cause=Cause.PROVISIONED_CAPACITY,
            confidence=Confidence.HIGH,
            targets=(TABLE,),
            victims=(TABLE,),
            findings=(
                Finding(text="180 write units a second wanted, 50 provisioned; 7,800 write throttles a minute."),
            ),
        ),
        plan=Plan(
            action=Action.SWITCH_TO_ON_DEMAND,
            why="The table is short of provisioned capacity.",
            effect="The switch takes minutes, during which the old capacity stays in force.",
            changes=(change,),
            lease_minutes=1440,
            way_back="Provisioned with the saved numbers.",
            commands=(f"aws dynamodb update-table --table-name {TABLE} --billing-mode PAY_PER_REQUEST",),
            way_back_commands=(f"aws dynamodb update-table --table-name {TABLE} --billing-mode PROVISIONED",),
        ),
    )


def short_index() -> Incident:
    base = provisioned_capacity()
    assert base.diagnosis is not None
    assert base.plan is not None
    after = SavedTable(capacity=SAVED.capacity, indexes={"by-status": Capacity(read=100, write=200)})
    return replace(
        base,
        diagnosis=replace(base.diagnosis, index="by-status"),
        plan=replace(
            base.plan,
            action=Action.RAISE_CAPACITY,
            changes=(RaiseCapacity(table=TABLE, arn=TABLE_ARN, before=SAVED, after=after),),
        ),
    )


def runaway_backfill() -> Incident:
    change = CancelBackfill(
        backfill_id="bf-7f3a",
        flow="nightly-orders",
        environment="develop",
        table=TABLE,
        table_arn=TABLE_ARN,
        resume="data-eng can start backfill bf-7f3a of nightly-orders again in dagy for the 31,000 runs left",
    )
    return replace(
        _dynamodb(),
        diagnosis=Diagnosis(
            cause=Cause.RUNAWAY_BACKFILL,
            confidence=Confidence.HIGH,
            targets=("bf-7f3a",),
            victims=(TABLE,),
            findings=(Finding(text="Writes rose from 20 to 200 units a second at 04:12, when bf-7f3a started."),),
        ),
        plan=Plan(
            action=Action.CANCEL_BACKFILL,
            why="Backfill bf-7f3a explains the jump in writes.",
            changes=(change,),
            commands=("POST /backfills/bf-7f3a/cancel (dagy)",),
        ),
    )


def hot_index() -> Incident:
    return replace(
        _dynamodb(),
        subject=TableSubject(table=TABLE, index="by-status"),
        diagnosis=Diagnosis(
            cause=Cause.HOT_INDEX,
            confidence=Confidence.MEDIUM,
            victims=(TABLE,),
            index="by-status",
            findings=(Finding(text="by-status: 3,100 key-range throttles a minute at 240 of 4,000 write units."),),
            gaps=("Contributor Insights is not enabled for the index",),
        ),
        plan=Plan(
            action=Action.ESCALATE,
            why="One index partition takes more than a partition can serve; more capacity would not raise that limit.",
            follow_up="Spread the index's key: add a suffix to it (write sharding).",
        ),
    )


def inconclusive() -> Incident:
    return replace(
        _lambda(),
        diagnosis=Diagnosis(
            cause=Cause.INCONCLUSIVE,
            confidence=Confidence.LOW,
            gaps=("ConcurrentExecutions of the account has no datapoint since 04:11",),
        ),
        plan=Plan(action=Action.ESCALATE, why="No data to decide on.", follow_up="Look at the account by hand."),
    )


SAMPLES: dict[str, Callable[[], Incident]] = {
    "pool-hog": pool_hog,
    "two-hogs-one-on-a-queue": two_hogs_one_on_a_queue,
    "provisioned-capacity": provisioned_capacity,
    "short-index": short_index,
    "runaway-backfill": runaway_backfill,
    "hot-index": hot_index,
    "inconclusive": inconclusive,
}


def approval(incident: Incident) -> Incident:
    return replace(
        incident,
        mode=Mode.APPROVE,
        verdict=Verdict(
            decision=Decision.NEEDS_APPROVAL, reasons=(Reason(guardrail="mode", text="The stack's mode is approve."),)
        ),
        question=Question(about="approval", callback="cb", version=3, expires_at=minutes(31)),
    )


def applied(incident: Incident) -> Incident:
    given: tuple[Change, ...] = incident.plan.changes if incident.plan else ()
    leased = bool(incident.plan and incident.plan.lease_minutes)
    return replace(
        incident,
        status=Status.APPLIED if given else Status.NONE,
        applied=tuple(AppliedChange(change=change, at=minutes(1)) for change in given),
        acted_at=minutes(1) if given else None,
        lease_until=minutes(121) if leased else None,
    )


def recovered(incident: Incident) -> Incident:
    after = applied(incident)
    question = Question(about="lease", callback="cb", version=7, expires_at=minutes(121))
    return replace(
        after,
        outcome=Outcome.RECOVERED,
        recovered_at=minutes(5),
        question=question if after.lease_until else None,
    )


def _refused(incident: Incident) -> Incident:
    reasons = (
        Reason(guardrail="cooldown", text="The bot acted on it 12 minutes ago; it may again at 04:51 UTC."),
        Reason(guardrail="action-budget", text="5 of 5 actions were taken in the last hour."),
    )
    return replace(incident, status=Status.DENIED, verdict=Verdict(decision=Decision.DENIED, reasons=reasons))


def _closed(incident: Incident, status: Status, minute: int) -> Incident:
    return replace(recovered(incident), question=None, status=status, closed_at=minutes(minute))


def _would(incident: Incident) -> Incident:
    """Only what would be changed has the status; a look that ends without a change keeps none."""
    is_change = incident.plan is not None and bool(incident.plan.changes)
    return replace(incident, mode=Mode.DRY_RUN, status=Status.WOULD_APPLY if is_change else Status.NONE)


def _before_the_look(incident: Incident) -> Incident:
    return replace(incident, diagnosis=None, plan=None)


def _held_in_vain(incident: Incident) -> Incident:
    """Bring it to where a person was paged: the change did not help, or there is none."""
    if incident.plan is None or not incident.plan.changes:
        return replace(incident, escalated=True)
    asked = Question(about="lease", callback="cb", version=9, expires_at=minutes(121))
    return replace(applied(incident), outcome=Outcome.NOT_RECOVERED, escalated=True, question=asked)


_AT: dict[Step, Callable[[Incident], Incident]] = {
    Step.OPENED: _before_the_look,
    Step.MUTED: lambda i: replace(_before_the_look(i), muted_by="nightly-deployment"),
    Step.APPROVAL_NEEDED: approval,
    Step.REMINDER: approval,
    Step.SNOOZED: lambda i: replace(
        approval(i), question=Question(about="approval", callback="cb", version=4, expires_at=minutes(90))
    ),
    Step.EXPIRED: lambda i: replace(approval(i), question=None, status=Status.EXPIRED),
    Step.REJECTED: lambda i: replace(approval(i), question=None, status=Status.REJECTED),
    Step.REFUSED: _refused,
    Step.WOULD: _would,
    Step.APPLIED: lambda i: replace(applied(i), approved_by="U0OPS"),
    Step.RECOVERED: recovered,
    Step.NOT_RECOVERED: lambda i: replace(applied(i), outcome=Outcome.NOT_RECOVERED),
    Step.INCONCLUSIVE: lambda i: replace(applied(i), outcome=Outcome.INCONCLUSIVE),
    Step.RENEWED: lambda i: replace(recovered(i), renewals=1, lease_until=minutes(241)),
    Step.RETURNED: recovered,
    Step.EXTENDED: lambda i: replace(recovered(i), lease_until=minutes(121 + 1440)),
    Step.DRIFTED: lambda i: replace(recovered(i), question=None, status=Status.KEPT).told(
        minutes(121), "lease.drifted"
    ),
    Step.REVERTED: lambda i: replace(_closed(i, Status.REVERTED, 121), reverted_at=minutes(121)),
    Step.KEPT: lambda i: _closed(i, Status.KEPT, 40),
    Step.FAILED: lambda i: replace(i, status=Status.FAILED),
    Step.ESCALATED: lambda i: replace(i, escalated=True),
    Step.PUT_OFF: lambda i: replace(_held_in_vain(i), snoozed_until=minutes(64)),
    Step.GOES_ON: lambda i: replace(_held_in_vain(i), snoozed_until=minutes(64)),
    Step.UNRESOLVED: lambda i: replace(_refused(i) if i.plan and i.plan.changes else i, escalated=True),
    Step.OVER: lambda i: replace(i, recovered_at=None if is_left(i) else minutes(4), closed_at=minutes(4)),
}


_WITHOUT_A_CHANGE = (
    Step.OPENED,
    Step.DIAGNOSED,
    Step.WAITING,
    Step.ESCALATED,
    Step.OVER,
    Step.FAILED,
    Step.MUTED,
    Step.LATE,
    Step.PUT_OFF,
    Step.GOES_ON,
    Step.UNRESOLVED,
)


def steps_of(incident: Incident) -> tuple[Step, ...]:
    """Return the steps an incident of this kind can come to."""
    return tuple(Step) if incident.plan and incident.plan.changes else _WITHOUT_A_CHANGE


def at_step(incident: Incident, step: Step) -> Incident:
    """Bring an incident to the state in which this step is told."""
    return _AT[step](incident) if step in _AT else incident


def series(*values: float | None, start: datetime | None = None, period_s: int = 60) -> Series:
    """Return a series that ends at the minute before the look."""
    first = start or OPENED - timedelta(seconds=period_s * len(values))
    return Series(start=first, period_s=period_s, values=values)


def pool_evidence() -> PoolEvidence:
    ramp = (20.0, 21.0, 40.0, 300.0, 620.0, 841.0, 841.0, None)
    return PoolEvidence(
        start=OPENED - timedelta(minutes=8),
        end=OPENED,
        account=ConcurrencyAccount(limit=1000, unreserved_limit=971, function_count=362),
        concurrency=series(100, 102, 130, 420, 760, 970, 971, None),
        unreserved_in_use=series(100, 102, 130, 420, 760, 970, 971, None),
        claimed=series(129, 131, 159, 449, 789, 999, 1000, None),
        throttles=series(None, None, None, None, 12, 800, 812, None),
        invocations=series(900, 900, 910, 1200, 1500, 1600, 1600, None),
        ranking=(
            FunctionUse(name=HOG, concurrency=series(*ramp)),
            FunctionUse(name="svc-orders", concurrency=series(30, 31, 30, 30, 30, 30, 30, None)),
            FunctionUse(name="svc-uat-pipe-002", concurrency=series(3, 3, 3, 3, 3, 6, 6, None)),
        ),
        ranking_complete=True,
        throttled=(
            ("svc-uat-pipe-001", series(None, None, None, None, 4, 300, 310, None)),
            ("svc-uat-pipe-002", series(None, None, None, None, 8, 200, 210, None)),
            (HOG, series(None, None, None, None, None, 3, 4, None)),
        ),
        candidates=(),
    )


def table_evidence() -> TableEvidence:
    consumed = {
        Way.READ: series(*([2400.0] * 6)),
        Way.WRITE: series(1200, 1200, 3000, 3000, 3000, None),
    }
    nothing = series(*([None] * 6))
    throttled = {Throttle.PROVISIONED: series(None, None, 7000, 7800, 7800, None), Throttle.KEY_RANGE: nothing}
    own = UnitMetrics(
        index=None,
        consumed=consumed,
        provisioned={Way.WRITE: Series(start=OPENED - timedelta(minutes=5), period_s=300, values=(50.0,))},
        throttle_events={Way.WRITE: series(None, None, 7000, 7800, 7800, None), Way.READ: nothing},
        throttles={Way.WRITE: throttled, Way.READ: {Throttle.PROVISIONED: nothing}},
    )
    return TableEvidence(
        start=OPENED - timedelta(minutes=6),
        end=OPENED,
        settings=TableSettings(
            name=TABLE,
            arn=TABLE_ARN,
            status="ACTIVE",
            billing=Billing.PROVISIONED,
            capacity=SAVED.capacity,
            indexes=(IndexSettings(name="by-status", status="ACTIVE", capacity=SAVED.indexes["by-status"]),),
        ),
        units=(own, replace(own, index="by-status")),
        backfills=RunningBackfills(
            backfills=(
                Backfill(
                    id="bf-7f3a",
                    state="running",
                    flow="nightly-orders",
                    environment="develop",
                    requested_by="data-eng",
                    started_at=OPENED,
                    runs_total=40000,
                    runs_dispatched=9000,
                    dispatch_rate_per_minute=900,
                ),
            )
        ),
    )
