"""A night on which everything that can happen may happen: the real workflow on simulated time, with a small account.

What is read (the look, the symptom, the pressure) is drawn at random; what is done is done to a `FakeActor`, whose state can be
compared with what it was.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import strategies as st

from sandbox.engine.simulated import SimulatedService
from sandbox.memory_incidents import MemoryIncidents
from tests.unit.fakes import NOW, FakeAccounts, FakeActor, FakeBackfills, FakePager, StillClock, arn_of
from tests.unit.fakes import incident as new_incident
from unthrottle import desk
from unthrottle.answers import Answer, write_answer
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.errors import Refused, TryAgain, UnthrottleError
from unthrottle.evidence.table import Billing, Capacity, IndexSettings, ScalingTarget, TableSettings, Way
from unthrottle.incident import Incident, Outcome, Wish
from unthrottle.look import Seen
from unthrottle.plan import Action, CapConcurrency, Change, Plan, RaiseCapacity, SavedTable, SwitchToOnDemand
from unthrottle.ports import Opened, Ports, Run
from unthrottle.pressure import Pressure
from unthrottle.report.picture import Picture
from unthrottle.settings import Mode, Settings
from unthrottle.verification import Judgement
from unthrottle.workflow import respond

TABLE = "dagy-runs"
TABLE_ARN = f"arn:aws:dynamodb:eu-west-1:111122223333:table/{TABLE}"
MOST_RESUMES = 600

units = st.integers(1, 40_000)
capacities = st.builds(Capacity, read=units, write=units)
names = st.sampled_from(["by-flow", "by-status", "by-owner", "by-day"])
saved_tables = st.builds(
    SavedTable,
    capacity=capacities,
    indexes=st.dictionaries(names, capacities, max_size=3),
    scaling=st.lists(
        st.builds(ScalingTarget, way=st.sampled_from(Way), index=st.none(), minimum=units, maximum=st.just(40_000)),
        max_size=1,
    ).map(tuple),
)


@st.composite
def caps(draw: st.DrawFn) -> tuple[CapConcurrency, ...]:
    """Caps of one to three functions, each lower than what is reserved now, where something is."""
    changes = []
    for number in range(draw(st.integers(1, 3))):
        after = draw(st.integers(1, 500))
        before = draw(st.none() | st.integers(after + 1, 1000))
        name = f"hog-{number}"
        changes.append(CapConcurrency(function=name, arn=arn_of(name), before=before, after=after, peak=900))
    return tuple(changes)


@st.composite
def raises(draw: st.DrawFn) -> tuple[RaiseCapacity, ...]:
    """More capacity for the table and each index."""
    before = draw(saved_tables)
    more = draw(st.integers(1, 1000))

    def raised(one: Capacity) -> Capacity:
        return Capacity(read=one.read + more, write=one.write + more)

    after = SavedTable(
        capacity=raised(before.capacity),
        indexes={name: raised(one) for name, one in before.indexes.items()},
        scaling=tuple(replace(one, maximum=one.maximum + more) for one in before.scaling),
    )
    return (RaiseCapacity(table=TABLE, arn=TABLE_ARN, before=before, after=after),)


switches = saved_tables.map(
    lambda before: (SwitchToOnDemand(table=TABLE, arn=TABLE_ARN, before=before, hourly_cost=1.0),)
)
some_changes: st.SearchStrategy[tuple[Change, ...]] = st.one_of(caps(), raises(), switches)


def account_before(changes: tuple[Change, ...]) -> FakeActor:
    """Make the account as the diagnosis saw it."""
    actor = FakeActor()
    for change in changes:
        if isinstance(change, CapConcurrency) and change.before is not None:
            actor.reservations[change.function] = change.before
        if isinstance(change, SwitchToOnDemand | RaiseCapacity):
            actor.tables[change.table] = table_with(change.before)
            actor.scaling[change.table] = change.before.scaling
    return actor


def table_with(numbers: SavedTable) -> TableSettings:
    return TableSettings(
        name=TABLE,
        arn=TABLE_ARN,
        status="ACTIVE",
        billing=Billing.PROVISIONED,
        capacity=numbers.capacity,
        indexes=tuple(IndexSettings(name=name, status="ACTIVE", capacity=one) for name, one in numbers.indexes.items()),
    )


def state_of(actor: FakeActor) -> tuple[object, ...]:
    """Everything that a change may change. Bounds of autoscaling that were never there are as good as none."""
    scaling = {name: targets for name, targets in actor.scaling.items() if targets}
    return deepcopy((actor.reservations, actor.tables, scaling))


def action_of(changes: tuple[Change, ...]) -> Action:
    return Action(changes[0].kind)


class _Made(list[str]):
    """The calls that change the account; before each of them, the record is looked at."""

    def __init__(self, look: Callable[[], None]) -> None:
        super().__init__()
        self._look = look

    def append(self, call: str) -> None:
        self._look()
        super().append(call)


class Night:
    """One incident with this plan. `data` decides everything that is read, said and refused."""

    def __init__(self, data: st.DataObject, changes: tuple[Change, ...], settings: Settings, refusals: int = 0) -> None:
        self.draw = data.draw
        self.settings = settings
        self.actor = account_before(changes)
        self.actor.made = _Made(self._is_recorded)
        self.before = state_of(self.actor)
        self.accounts = FakeAccounts(actor=self.actor)
        self.clock, self.pager, self.incidents = StillClock(), FakePager(), MemoryIncidents()
        self.plan = Plan(
            action=action_of(changes), why="because", changes=changes, lease_minutes=60, commands=("aws ...",)
        )
        errors: list[UnthrottleError] = [Refused("no", code="X"), TryAgain("busy")]
        calls = ("set_reserved", "set_provisioned", "switch_to_on_demand", "set_scaling")
        for _ in range(refusals):
            self.actor.said.setdefault(data.draw(st.sampled_from(calls)), []).append(data.draw(st.sampled_from(errors)))

    def play(self, patch: pytest.MonkeyPatch) -> Incident:
        """Run the workflow to its end, with people who say anything at any time. Returns the closed record."""
        patch.setattr(desk, "look", self._look)
        patch.setattr(desk, "judge_symptom", self._symptom)
        patch.setattr(desk, "pressure_on", self._pressure)
        opened = self.incidents.open_or_join(new_incident(), "k")
        assert isinstance(opened, Opened)
        ports = Ports(
            accounts=self.accounts,
            incidents=self.incidents,
            backfills=FakeBackfills(),
            chat=None,
            pager=self.pager,
            clock=self.clock,
        )

        def workflow(run: Run, event: dict[str, object]) -> object:
            return respond(run, ports, self.settings, None, str(event["id"])).id

        service = SimulatedService(workflow, clock=self.clock.now)
        service.start("x", f'{{"id": "{opened.incident.id}"}}', NOW)
        for _ in range(MOST_RESUMES):
            due = service.next_due()
            if due is None:
                break
            self.clock.time = max(due, self.clock.time)
            service.run_due(self.clock.time)
            self._people(service, opened.incident.id)
        assert [ending.error for ending in service.endings] == [None]
        found = self.incidents.load(opened.incident.id)
        assert found is not None
        assert not found.is_open
        return found

    def _is_recorded(self) -> None:
        """Record before act: intent, before-state, way back and the end of the lease are in the table already."""
        (found,) = self.incidents.recent(1)
        assert any(moment.event == "action.intended" for moment in found.timeline)
        assert found.lease_until is not None
        assert found.plan == self.plan

    def _people(self, service: SimulatedService, incident_id: str) -> None:
        found = self.incidents.load(incident_id)
        if found is None or not found.is_open:
            return
        if found.question is not None:
            wanted = ("approve", "reject") if found.question.about == "approval" else ("keep", "revert")
            do = self.draw(st.sampled_from([None, *wanted]))
            if do is not None:
                text = write_answer(Answer(do=do, by="U0OPS"))  # type: ignore[arg-type]  # drawn from the four
                service.answer(found.question.callback, text, self.clock.time)
        elif found.is_in_force and self.draw(st.integers(0, 9)) == 0:
            keep = self.draw(st.booleans())
            self.incidents.wish(incident_id, Wish(do="keep" if keep else "revert", by="U0OPS", at=self.clock.time))

    def _look(self, ports: Ports, settings: Settings, own_prefix: str | None, incident: Incident) -> Seen:
        cause = Cause.POOL_HOG if self.plan.action is Action.CAP_CONCURRENCY else Cause.PROVISIONED_CAPACITY
        confidence = self.draw(st.sampled_from(Confidence))
        found = replace(
            incident, diagnosis=Diagnosis(cause=cause, confidence=confidence), plan=self.plan, mode=settings.mode
        )
        return Seen(incident=found, picture=Picture(columns=(), rows=()), at=self.clock.time)

    def _symptom(self, *_: object, **__: object) -> Judgement:
        answers = [None, None, *(one for one in Outcome if one is not Outcome.NONE)]
        return Judgement(outcome=self.draw(st.sampled_from(answers)), because="drawn")

    def _pressure(self, *_: object) -> Pressure:
        return Pressure(is_gone=self.draw(st.booleans()), because="drawn")


some_settings = st.builds(
    Settings,
    mode=st.sampled_from([Mode.AUTO, Mode.APPROVE, Mode.AUTO, Mode.DRY_RUN]),
    max_actions_per_hour=st.sampled_from([5, 5, 5, 0]),
)
__all__ = [
    "Night",
    "account_before",
    "caps",
    "raises",
    "some_changes",
    "some_settings",
    "state_of",
    "switches",
]
