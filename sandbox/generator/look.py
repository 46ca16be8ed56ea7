"""Play a drawn incident until somebody looks, and have the real readers, causes, plans and guardrails say what they say.

Nothing is changed and no workflow runs: this is about being right, a thousand times in a few minutes. What is refused in
the model decides when somebody looks; the diagnosis sees only what CloudWatch shows by then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.cloudwatch_api import CloudWatchApi
from sandbox.aws.cloudwatch_store import MetricStore
from sandbox.dagy import DagyState
from sandbox.generator.case import Case
from sandbox.generator.eyes import Eyes, losing
from sandbox.model.world import TickFacts, World
from sandbox.rehearsal.furnish import furnished, planned
from unthrottle.actions.planning import make_plan
from unthrottle.backfills import Backfill, BackfillsUnavailable, CancelAnswer, CancelUnknown
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause, Diagnosis
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.read_pool import read_pool
from unthrottle.evidence.read_table import read_table
from unthrottle.evidence.table import TableEvidence
from unthrottle.guardrails import Context, judge
from unthrottle.incident import Decision
from unthrottle.plan import Plan
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings
from unthrottle.subjects import TableSubject

HISTORY_MINUTES = 60
"""Minutes of quiet before minute 0 that CloudWatch remembers."""
EARLY = 0.8
VISIBLE = 3
"""The visible minutes in which something must have been refused for the incident to be still on when somebody looks."""
SETTINGS = Settings(mode=Mode.AUTO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What came out. `truth` is the case's cause, or `already-over` where it had ended by the time that can be seen.

    `decision` is the guard's in mode auto; `calls` are the AWS calls of the look.
    """

    truth: Cause
    diagnosis: Diagnosis
    plan: Plan
    decision: Decision
    calls: int
    minute: int

    @property
    def changed(self) -> frozenset[str]:
        """Name what would be changed without asking anybody."""
        return (
            frozenset(change.target for change in self.plan.changes)
            if self.decision is Decision.ALLOWED
            else frozenset()
        )


class _Dagy:
    """The orchestrator's list at one minute."""

    def __init__(self, state: DagyState, start: datetime, minute: Callable[[], int], *, answers: bool) -> None:
        self._state, self._start, self._minute, self._answers = state, start, minute, answers

    def running(self, environment: str | None = None) -> tuple[Backfill, ...]:
        if not self._answers:
            raise BackfillsUnavailable("it answered 503")
        minute = self._minute()
        return tuple(
            Backfill(
                id=one.id,
                state="running",
                flow=one.flow,
                environment=one.environment,
                requested_by=one.requested_by,
                started_at=self._start + timedelta(minutes=one.start),
                runs_total=one.runs_total,
                runs_dispatched=self._state.runs_dispatched(one.id, minute),
                dispatch_rate_per_minute=one.dispatch_rate_per_minute,
            )
            for one in self._state.running(minute)
            if environment is None or one.environment == environment
        )

    def cancel(self, backfill_id: str) -> CancelAnswer:
        return CancelUnknown(backfill_id=backfill_id)


class _Play:
    """A case being played: the account, its metrics, and the minute it is."""

    def __init__(self, case: Case) -> None:
        scenario = case.scenario
        self.case, self.scenario = case, scenario
        self.start = scenario.start.astimezone(UTC)
        self.account: EmbeddedAccount = furnished(scenario)
        self.store = MetricStore(
            self.start, scenario.minutes, history=HISTORY_MINUTES, delay_minutes=scenario.metric_delay_minutes
        )
        self.dagy = DagyState(planned(scenario))
        self.world = World(scenario, self.account, self.store, self.dagy, history_minutes=HISTORY_MINUTES)
        self.minute = 0
        self._remember(case.earlier or {}, scenario.minutes)

    def _remember(self, earlier: Mapping[str, float], minutes: int) -> None:
        """Publish what functions, and the account with them, ran in the same hours one and seven days before."""
        if not earlier:
            return
        name, namespace = "ConcurrentExecutions", "AWS/Lambda"
        rows = [self.store.row(namespace, name, {"FunctionName": function}) for function in earlier]
        rows.append(self.store.row(namespace, name, {}))
        values = [*earlier.values(), sum(earlier.values())]
        for day in (7, 1):
            for minute in range(-HISTORY_MINUTES, minutes):
                self.store.put_block(rows, minute - day * 24 * 60, values)

    @property
    def now(self) -> datetime:
        return self.start + timedelta(minutes=self.minute, seconds=25)

    def until_somebody_looks(self) -> list[TickFacts]:
        """Serve minute after minute; the one in which somebody looks is not served yet."""
        served: list[TickFacts] = []
        looks_at = self.case.at
        for minute in range(self.scenario.minutes):
            self.minute = minute
            for change in self.scenario.outside:
                if change.at == self.minute and change.set.table is not None and change.set.billing is not None:
                    self.account.set_billing(change.set.table, change.set.billing, self.now)
            self.account.settle(self.now)
            if looks_at is not None and self.minute >= looks_at:
                break
            facts = self.world.tick(self.minute)
            served.append(facts)
            if looks_at is None and self._is_symptom(facts):
                looks_at = self.minute + 1 + self.scenario.metric_delay_minutes + self.case.lag
        return served

    def _is_symptom(self, facts: TickFacts) -> bool:
        if self.case.early:
            return facts.concurrency >= EARLY * self.account.concurrency_limit
        if isinstance(self.case.subject, TableSubject):
            return self.case.subject.table in facts.throttled_tables
        return bool(facts.throttled_functions)

    def truth(self, served: list[TickFacts]) -> Cause:
        """Say what was really wrong, in the minutes that can be seen."""
        if self.case.blind:
            return self.case.cause
        if self.case.early:
            return self.case.cause if any(map(self._is_symptom, served)) else Cause.ALREADY_OVER
        newest = self.minute - 1 - self.scenario.metric_delay_minutes
        visible = served[max(0, newest - VISIBLE + 1) : newest + 1]
        return self.case.cause if any(self._is_symptom(facts) for facts in visible) else Cause.ALREADY_OVER


def look(case: Case) -> Looked:
    """Play *case* and look at it."""
    play = _Play(case)
    served = play.until_somebody_looks()
    cloudwatch = CloudWatchApi(play.store, account_id=play.account.account_id, region=play.account.region)
    eyes = Eyes(
        [cloudwatch.handle, *play.account.handlers],
        region=play.account.region,
        now=lambda: play.now,
        lost=losing(case.seed, 1.0 if case.blind else case.dropped),
    )
    evidence = _evidence(play, eyes)
    diagnosis = diagnose(evidence, SETTINGS, itself=frozenset())
    plan = make_plan(diagnosis, evidence, SETTINGS)
    verdict = judge(
        plan,
        Context(
            now=play.now,
            settings=SETTINGS,
            diagnosis=diagnosis,
            ledger=Ledger(),
            incident_id=f"INC-{case.seed:08d}",
            seen_at=evidence.end,
            early_warning=case.early and _nobody_is_throttled(evidence),
        ),
    )
    return Looked(
        truth=play.truth(served),
        diagnosis=diagnosis,
        plan=plan,
        decision=verdict.decision,
        calls=eyes.calls,
        minute=play.minute,
    )


def _evidence(play: _Play, eyes: Eyes) -> PoolEvidence | TableEvidence:
    subject = play.case.subject
    if isinstance(subject, TableSubject):
        dagy = _Dagy(play.dagy, play.start, lambda: play.minute, answers=play.case.dagy_answers)
        return read_table(eyes.observer, SETTINGS, play.now, table=subject.table, backfills=dagy)
    return read_pool(eyes.observer, SETTINGS, play.now, early_warning=play.case.early)


def _nobody_is_throttled(evidence: PoolEvidence | TableEvidence) -> bool:
    return isinstance(evidence, PoolEvidence) and evidence.throttles.is_empty
