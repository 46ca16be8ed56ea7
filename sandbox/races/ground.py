"""What the racers share: the state table, one account with a function to cap, the workflow's executions, a pager, a clock.

The table is moto's, behind the real store and real boto3. moto does not lock its tables; here one actor runs at a time and stops
only between calls, so each call is indivisible, as DynamoDB's are. The clock stands still while a race is on. What a workflow
would see of the metrics is given: races are about who writes what, not about evidence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, cast
from unittest import mock

import boto3
from moto import mock_aws
from moto.core.utils import method_names_from_class
from moto.dynamodb.models import dynamodb_backends

from sandbox.engine.executions import Reply
from sandbox.engine.simulated import Execution, SimulatedService
from sandbox.races.stand_ins import (
    NOW,
    Account,
    AccountsHere,
    Chat,
    Clock,
    EarlierTable,
    Pager,
    WatchedClients,
    WatchedRun,
)
from sandbox.races.turns import Touch, Turns
from sandbox.state_table import make_state_table
from unthrottle import desk
from unthrottle.adapters import incident_items as items
from unthrottle.adapters.access import Access
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.alarms import Firing, Muted, Trigger
from unthrottle.control import Control, Person
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.incident import Incident, Outcome
from unthrottle.intake import Receiver
from unthrottle.look import Seen
from unthrottle.plan import Action, CapConcurrency, Plan
from unthrottle.ports import Accounts, Alarms, Ports
from unthrottle.pressure import Pressure
from unthrottle.report.picture import Picture
from unthrottle.settings import Mode as BotMode
from unthrottle.settings import Settings
from unthrottle.subjects import PoolSubject, TableSubject
from unthrottle.sweep import Swept, sweep
from unthrottle.verification import Judgement
from unthrottle.workflow import respond

ACCOUNT, REGION, TABLE = "123456789012", "eu-west-1", "incidents"
MINUTE = timedelta(minutes=1)
LEASE_MINUTES = 60
CAP = 250
OPERATORS = ("U0ANN", "U0BOB", "U0CLEO")
LONG_AFTER = timedelta(hours=5)
"""Longer than any lease, question, watch or sweep of a race waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved:
    items: Any
    executions: dict[str, Execution]
    reserved: dict[str, int]
    made: list[tuple[str, str, int | None]]
    pages: list[tuple[str, str]]
    at: datetime


class Ground:
    """Everything of one race. `sees` is what the next look, `symptom` and `is_gone` what later looks will say."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.clock = Clock()
        self.settings = Settings()
        clients = WatchedClients(self.turns)
        self.log = clients.log
        access = Access(clients, REGION)
        self.table = IncidentsTable(access, TABLE, clock=self.clock)
        self._empty = deepcopy(self._rows.items)
        self._saved: dict[str, _Saved] = {}
        self.clear()

    @property
    def _rows(self) -> Any:
        """moto's table, asked for anew each time: a cancelled transaction puts another object in its place (moto 5.2)."""
        return dynamodb_backends[ACCOUNT][REGION].tables[TABLE]

    # -- arranging ----------------------------------------------------------------------------------------------------

    chat: Chat | None
    earlier: bool
    """Whether workflows are those of the release before `settling`."""
    symptom: Outcome | None
    is_gone: bool
    blamed: dict[str, str]
    said: dict[str, list[str]]

    def clear(self, **settings: Any) -> None:
        """Begin anew, with nothing there."""
        self.chat = None
        self._begin(settings)

    def _begin(self, settings: Mapping[str, Any]) -> None:
        self.settings = Settings(**{"mode": BotMode.AUTO, "operators": OPERATORS, **settings})
        self.clock.time = NOW
        self.account = Account(self.turns, self.log)
        self.earlier = False
        self.log.clear()
        self.pager = Pager()
        self.symptom, self.is_gone, self.blamed = Outcome.RECOVERED, True, {}
        self.said = {}
        self.swept: list[Swept] = []
        self._rows.items = deepcopy(self._empty)
        self.service = SimulatedService(self._workflow, clock=self.clock.now)

    def as_after(self, name: str, arrange: Callable[[], None], **settings: Any) -> None:
        """Make the ground as `arrange` leaves it; done once for each name, and then restored. Slack stays as it was set."""
        self._begin(settings)
        known = self._saved.get(name)
        if known is None:
            arrange()
            self._saved[name] = _Saved(
                items=deepcopy(self._rows.items),
                executions=deepcopy(self.service.executions),
                reserved=dict(self.account.reserved_now),
                made=list(self.account.made),
                pages=list(self.pager.pages),
                at=self.clock.time,
            )
            return
        self._rows.items = deepcopy(known.items)
        self.service.executions = deepcopy(known.executions)
        self.account.reserved_now, self.account.made = dict(known.reserved), list(known.made)
        self.pager.pages = list(known.pages)
        self.clock.time = known.at

    # -- what actors do -----------------------------------------------------------------------------------------------

    def alarm(self, key: str, table: str | None = None, *, muted_by: str | None = None) -> str:
        """Take an alarm of the pool or a table in, as the intake does. Returns opened, joined or duplicate."""
        receiver = Receiver(
            incidents=self.table,
            starter=self,
            clock=self.clock,
            settings=self.settings,
            home_account=ACCOUNT,
            home_region=REGION,
            alarms_of=lambda _account, _region: cast("Alarms", None),
            own_prefix=None,
        )
        subject = PoolSubject() if table is None else TableSubject(table=table)
        trigger = Trigger(
            dedupe_key=key,
            alarm_name=f"throttles-{key}",
            account=ACCOUNT,
            region=REGION,
            state_at=self.clock.time,
            subjects=(subject,),
            metrics=(),
        )
        reading = Firing(trigger=trigger) if muted_by is None else Muted(trigger=trigger, by=muted_by)
        (answer,) = receiver._take(reading)  # `take` only tells what it opened
        return str(answer["result"])

    def start(self, incident_id: str) -> None:
        """The `Starter` port: start a workflow by name."""
        self.turns.about_to(frozenset({Touch("execution", incident_id, "write")}))
        self.service.start(incident_id, f'{{"incident_id": "{incident_id}"}}', self.clock.time)

    def answer(self, callback: str, text: str) -> bool:
        """The `Starter` port: answer a question."""
        for name in self.service.executions:  # one incident in each race that asks
            self.turns.about_to(frozenset({Touch("execution", name, "write")}))
        return self.service.answer(callback, text, self.clock.time) is Reply.TAKEN

    def control(self) -> Control:
        """What people's clicks and commands come to."""
        return Control(
            incidents=self.table,
            starter=self,
            accounts=cast("Accounts", AccountsHere(self.account)),
            clock=self.clock,
            settings=self.settings,
            home_account=ACCOUNT,
            home_region=REGION,
        )

    def decide(self, who: str, incident_id: str, do: Any) -> None:
        """A person's typed decision; what they are told is kept in `said`, the empty text for "taken"."""
        told = self.control().decide(incident_id, None, do, Person(id=who))
        self.said.setdefault(who, []).append(told)

    def slack(self, *, is_down: bool) -> None:
        """Give the bot a Slack, down or up."""
        self.chat = self.chat or Chat()
        self.chat.is_down = is_down

    def sweep(self) -> None:
        """One sweep."""
        self.swept.append(sweep(self.ports, self))

    def run_what_is_due(self) -> None:
        """Let workflows run until each of them waits."""
        while (due := self.service.next_due()) is not None and due <= self.clock.time:
            self.service.run_due(self.clock.time)

    def run_one(self, incident_id: str) -> None:
        """Let one workflow run until it waits; the others are another actor's."""
        alone = SimulatedService(self._workflow, clock=self.clock.now)
        alone.executions = {incident_id: self.service.executions[incident_id]}
        alone.endings = self.service.endings
        while (due := alone.next_due()) is not None and due <= self.clock.time:
            alone.run_due(self.clock.time)

    @property
    def ports(self) -> Ports:
        return Ports(
            accounts=cast("Accounts", AccountsHere(self.account)),
            incidents=self.table,
            backfills=None,
            chat=self.chat,
            pager=self.pager,
            clock=self.clock,
        )

    # -- the end of the story -----------------------------------------------------------------------------------------

    def let_it_end(self) -> None:
        """Play on without a race until nothing is left to do: what is due, a sweep, and long after that once more."""
        self.run_what_is_due()
        self.sweep()
        until = self.clock.time + LONG_AFTER
        while (due := self.service.next_due()) is not None and due <= until:
            self.clock.time = max(due, self.clock.time)
            self.service.run_due(self.clock.time)
        self.clock.time = until
        self.sweep()
        self.run_what_is_due()

    def incidents(self) -> Sequence[Incident]:
        """Every record there is, oldest first; read past the store, which takes a query for each month."""
        found = [items.read_incident(row) for row in self.rows() if row["pk"]["S"].startswith("INCIDENT#")]
        return tuple(sorted(found, key=lambda incident: (incident.opened_at, incident.id)))

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Every row of the table, raw."""
        for parts in self._rows.items.values():
            for row in parts.values():
                yield row.to_json()["Attributes"]

    # -- the workflow -------------------------------------------------------------------------------------------------

    def _workflow(self, run: Any, event: dict[str, object]) -> object:
        watched = WatchedRun(run._execution, self.clock.now, self.turns)
        ports = replace(self.ports, incidents=EarlierTable(self.table)) if self.earlier else self.ports
        return respond(watched, ports, self.settings, None, str(event["incident_id"])).id

    def see(self, _ports: Ports, settings: Settings, _prefix: str | None, incident: Incident) -> Seen:
        """Stand in for the look: the hog is to blame, or for a table whatever `blamed` says."""
        subject = incident.subject
        name = self.blamed.get(subject.table, subject.table) if isinstance(subject, TableSubject) else "hog"
        change = CapConcurrency(function=name, arn=arn_of(name), before=None, after=CAP, peak=841)
        plan = Plan(
            action=Action.CAP_CONCURRENCY,
            why="it holds the pool",
            changes=(change,),
            lease_minutes=LEASE_MINUTES,
            commands=("aws lambda put-function-concurrency",),
        )
        found = replace(
            incident,
            diagnosis=Diagnosis(cause=Cause.POOL_HOG, confidence=Confidence.HIGH),
            plan=plan,
            mode=settings.mode,
        )
        return Seen(incident=found, picture=Picture(columns=(), rows=()), at=self.clock.time)

    def judge_symptom(self, *_: object, **__: object) -> Judgement:
        return Judgement(outcome=self.symptom, because="given")

    def pressure_on(self, *_: object) -> Pressure:
        return Pressure(is_gone=self.is_gone, because="given")


def arn_of(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"


@contextmanager
def ground() -> Iterator[Ground]:
    """Make an empty state table and everything around it."""
    with mock_aws():
        make_state_table(boto3.client("dynamodb", REGION), TABLE)
        made = Ground()
        with (
            mock.patch("moto.core.responses.method_names_from_class", cache(method_names_from_class)),  # a third faster
            mock.patch.object(desk, "look", made.see),
            mock.patch.object(desk, "judge_symptom", made.judge_symptom),
            mock.patch.object(desk, "pressure_on", made.pressure_on),
        ):
            yield made
