"""Whatever is done to the store, in whatever order and by whoever has an old record: the table does what its twin in memory does.

A state machine draws the calls; after each, both have answered alike and hold the same, and what must always hold does.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from sandbox.memory_incidents import MemoryIncidents
from sandbox.races.ground import ACCOUNT, REGION, Ground, arn_of, ground
from sandbox.races.stand_ins import NOW
from unthrottle.errors import Busy, Conflict, OverBudget
from unthrottle.incident import Incident, Settling, Status, Wish
from unthrottle.plan import Action, CapConcurrency, Plan
from unthrottle.ports import Incidents
from unthrottle.subjects import TableSubject, fingerprint, incident_id

TARGETS = ("one", "two")
BUDGET = 2
PICKED = st.integers(0, 3)


def _cap(function: str) -> CapConcurrency:
    return CapConcurrency(function=function, arn=arn_of(function), before=None, after=250, peak=841)


def _opening(table: str, key: str, target: str) -> Incident:
    mark = fingerprint(ACCOUNT, REGION, TableSubject(table=table))
    return Incident(
        id=incident_id(mark, key),
        fingerprint=mark,
        account=ACCOUNT,
        region=REGION,
        kind="dynamodb",
        subject=TableSubject(table=table),
        opened_at=NOW,
        alarm_name=key,
        plan=Plan(action=Action.CAP_CONCURRENCY, why="drawn", changes=(_cap(target),)),
    )


class Store(RuleBasedStateMachine):
    """Two stores, and the records people and workflows have in their hands, old ones too."""

    ground: Ground

    def __init__(self) -> None:
        super().__init__()
        self.ground.clear()
        self.table: Incidents = self.ground.table
        self.twin = MemoryIncidents()
        self.known: list[Incident] = []
        self.lines = 0

    def _both(self, call: Callable[[Incidents], Any]) -> Any:
        """Ask both; an error is an answer. Returns the table's."""
        answers = []
        for store in (self.table, self.twin):
            try:
                answers.append(call(store))
            except (Busy, Conflict, OverBudget) as error:
                answers.append(type(error))
        assert answers[0] == answers[1]
        return answers[0]

    def _line(self, record: Incident) -> Incident:
        self.lines += 1
        return record.told(NOW, f"line-{self.lines}")

    def _pick(self, number: int) -> Incident | None:
        return self.known[number % len(self.known)] if self.known else None

    def _keep(self, answer: Any) -> None:
        if isinstance(answer, Incident):
            self.known.append(answer)

    @rule(table=st.sampled_from("ab"), key=st.sampled_from("xyz"), function=st.sampled_from(TARGETS))
    def an_alarm(self, table: str, key: str, function: str) -> None:
        record = _opening(table, key, function)
        outcome = self._both(lambda store: store.open_or_join(record, f"{table}/{key}"))
        self._keep(getattr(outcome, "incident", None))

    @rule(number=PICKED)
    def somebody_writes(self, number: int) -> None:
        record = self._pick(number)
        if record is not None and record.is_open:
            written = self._line(record)
            self._keep(self._both(lambda store: store.save(written)))

    @rule(number=PICKED)
    def somebody_acts(self, number: int) -> None:
        record = self._pick(number)
        if record is not None and record.is_open:
            written = self._line(record)
            self._keep(self._both(lambda store: store.record_intent(written, NOW, budget=BUDGET)))

    @rule(number=PICKED, by=st.sampled_from(("U0ANN", "U0BOB")), do=st.sampled_from(("keep", "revert")))
    def a_person_wishes(self, number: int, by: str, do: Any) -> None:
        record = self._pick(number)
        if record is not None:
            wish = Wish(do=do, by=by, at=NOW + timedelta(seconds=self.lines))
            self._both(lambda store: store.wish(record.id, wish))

    @rule(number=PICKED)
    def somebody_begins_the_end(self, number: int) -> None:
        record = self._pick(number)
        if record is not None and record.is_open:
            written = replace(self._line(record), settling=Settling(by="sweep", at=NOW))
            self._keep(self._both(lambda store: store.save(written)))

    @rule(number=PICKED, status=st.sampled_from((Status.NONE, Status.DENIED)))
    def somebody_closes(self, number: int, status: Status) -> None:
        record = self._pick(number)
        if record is not None and record.is_open:
            written = replace(self._line(record), closed_at=NOW, settling=None, status=status)
            self._keep(self._both(lambda store: store.close(written)))

    @invariant()
    def both_hold_the_same(self) -> None:
        marks = [incident.fingerprint for incident in self.table.open_incidents()]
        assert self.table.open_incidents() == self.twin.open_incidents()
        assert len(marks) == len(set(marks))
        arns = [arn_of(target) for target in TARGETS]
        ledger = self.table.ledger(ACCOUNT, REGION, arns, NOW)
        assert ledger == self.twin.ledger(ACCOUNT, REGION, arns, NOW)
        assert len(ledger.acted) <= BUDGET
        for record in {one.id: one for one in self.known}.values():
            assert self.table.load(record.id) == self.twin.load(record.id)


def test_the_table_and_its_twin_answer_alike_whatever_is_asked() -> None:
    """Old records, wishes, ends that have begun, budgets, locks: no call is answered otherwise, and nothing differs."""
    with ExitStack() as stack:
        Store.ground = stack.enter_context(ground())
        run_state_machine_as_test(
            Store,
            settings=settings(
                max_examples=8, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
