"""What happens, minute by minute, when a scenario is played with the real bot?

Order within a simulated minute; each part happens at its second, so that two runs are the same to the letter:

1. :00  what others change in the account
2. :05  people: what they planned for this minute, and reactions that are due
3. :10  alarms are evaluated; what changes state goes through the rules to intake
4. :15  extra events of the scenario go on the bus
5. :20  failed asynchronous invocations are tried again
6. :25  workflow executions that are due run, as do their pauses of seconds
7. :45  schedules (the sweep), and what they started
8. :50  executions again, then people who act at once on what they have just seen, and so on
9. the load model serves the minute: every change of this minute counts from this minute on

The minute's metrics can be read when it has passed and CloudWatch shows it. Knows nothing of causes and actions.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import time_machine
from moto import mock_aws

from sandbox.aws.calls import Answer, Request, Respond
from sandbox.aws.gate import ProcessDied
from sandbox.engine.durable import fresh_client
from sandbox.model.world import TickFacts
from sandbox.rehearsal import furnish, output
from sandbox.rehearsal.delivery import Delivery, is_expected
from sandbox.rehearsal.isolation import isolated, now, simulated_time
from sandbox.rehearsal.members import Neighbour
from sandbox.rehearsal.parameters import checked
from sandbox.rehearsal.people import Crowd
from sandbox.rehearsal.reader import IncidentReader
from sandbox.rehearsal.scene import EngineName, Scene
from sandbox.rehearsal.served import Served
from sandbox.scenario import Scenario, unmet
from unthrottle.incident import Incident

Watch = Callable[["Rehearsal", TickFacts], None]
Document = dict[str, Any]

MOST_PASSES = 500
"""More resumes within a minute than a sane workflow has."""


def rehearse(
    scenario: Scenario, *, mode: str | None = None, engine: EngineName = "simulated", watch: Watch | None = None
) -> Document:
    """Play a scenario to its end and return its outcome in the public format.

    *mode* is put over the scenario's own Mode. *watch* is called at the end of each minute. Raises SettingsError for
    wrong settings; whatever goes wrong inside the bot is part of the outcome.
    """
    settings = check(scenario, mode=mode)
    with simulated_time(scenario.start) as clock, isolated(), mock_aws():
        return Rehearsal(Scene(scenario, settings, engine), clock).run(watch)


class Rehearsal:
    """One scenario being played. For those who watch: `account`, `slack`, `dagy`, `gate`, `now` and `incidents()`."""

    def __init__(self, scene: Scene, clock: time_machine.Traveller) -> None:
        self._scene, self._clock = scene, clock
        self.scenario, self.start = scene.scenario, scene.start
        self.account, self.store, self.world = scene.account, scene.store, scene.world
        self.slack, self.dagy, self.gate, self.stack = scene.slack, scene.dagy, scene.gate, scene.stack
        self.line, self.executions, self.own_tables = scene.line, scene.executions, scene.own_tables
        self.before = output.final_state(self.account)
        self.policies = scene.policies
        self._delivery = Delivery(scene.bus, self._invoke, lambda function: scene.hosts[function].die())
        table = min(scene.own_tables)
        self._reader = IncidentReader(self.gate, table, region=self.scenario.account.region)
        self._sent: list[tuple[str, Mapping[str, Any]]] = []
        self.gate.handlers.insert(1, self._take_invocation)
        self._crowd = Crowd(
            scenario=self.scenario, slack=self.slack, hands=scene.hands, door=self._door, incidents=self._reader.all
        )
        self._door_errors: list[Document] = []
        self.neighbours = scene.neighbours.all
        self._served = [Served(part) for part in (self.scenario, *(one.scenario for one in self.neighbours))]
        self._calls_seen = 0
        self._minute = 0

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return now()

    @property
    def minutes_left(self) -> int:
        """How many minutes are still to be played after this one."""
        return self.scenario.minutes - 1 - self._minute

    def incidents(self) -> tuple[Incident, ...]:
        """Read the incidents as they are recorded now, oldest first."""
        return self._reader.all()

    # -- running --------------------------------------------------------------------------------------------------------

    def run(self, watch: Watch | None = None) -> Document:
        """Play all minutes and return the outcome."""
        with self.dagy, self.slack, self.gate, self.line, fresh_client():
            for minute in range(self.scenario.minutes):
                self._minute = minute
                self._play()
                facts = self.world.tick(minute)
                self._count([facts, *(one.world.tick(minute) for one in self.neighbours)])
                if watch is not None:
                    watch(self, facts)
            self._go(59)
            for account in (self.account, *(one.account for one in self.neighbours)):
                account.settle(self.now)
            return self._outcome()

    def _play(self) -> None:
        minute = self._minute
        self._go(0)
        self._change_from_outside(minute)
        self._go(5)
        self._crowd.act(minute, self.now)
        self._go(10)
        for event in self._scene.alarms.evaluate(self.now):
            self._delivery.put(event, self.now)
        self._forward(lambda one: one.alarms.evaluate(self.now))
        self._go(15)
        for extra in self.scenario.events:
            if extra.at == minute and extra.event is not None:
                self._delivery.put(extra.event, self.now)
        self._forward(lambda one: [extra.event for extra in one.scenario.events if extra.at == minute and extra.event])
        self._go(20)
        self._delivery.retry(self.now)
        self._go(25)
        self._run_executions(until=44)
        self._go(45)
        for schedule in self.stack.schedules:
            if minute and minute % schedule.every_minutes == 0:
                self._delivery.send(schedule.target, self._scheduled(schedule.name), self.now)
        self._run_executions(until=49)
        self._go(50)
        self._finish_minute()

    def _change_from_outside(self, minute: int) -> None:
        for account, part in ((self.account, self.scenario), *((one.account, one.scenario) for one in self.neighbours)):
            for change in part.outside:
                if change.at == minute:
                    furnish.change(account, change.set, self.now)

    def _forward(self, events: Callable[[Neighbour], Sequence[Mapping[str, Any]]]) -> None:
        """Put events of each member account on its own bus, from where they go to the hub."""
        for one in self.neighbours:
            for event in events(one):
                for function in one.forward(event, self._scene.buses, self.now):
                    self._delivery.send(function, event, self.now)

    def _finish_minute(self) -> None:
        """Run what is due until the minute ends, and let people react; that may make something due again."""
        while True:
            self._run_executions(until=59)
            sent, self._sent = self._sent, []
            for function, event in sent:
                self._delivery.send(function, event, self.now)
            if not (self._crowd.waits_for_something and self._reader.has_news):
                return
            self._crowd.notice(self._reader.all(), self._minute)
            if not self._crowd.act(self._minute, self.now):
                return

    def _run_executions(self, *, until: int) -> None:
        """Run what is due, and follow pauses that end before second *until* of this minute."""
        last = self._at(until)
        for _ in range(MOST_PASSES):
            due = self._scene.executions.next_due()
            if due is None or due > last:
                return
            if due > self.now:
                self._clock.move_to(due)
            self._scene.executions.run_due(self.now)
        raise RuntimeError(f"A workflow was resumed {MOST_PASSES} times within minute {self._minute}; it never rests.")

    def _at(self, second: int) -> datetime:
        return self.start + timedelta(minutes=self._minute, seconds=second)

    def _go(self, second: int) -> None:
        """Go to a second of this minute, unless it is later already."""
        moment = self._at(second)
        if moment > self.now or second == 0:
            self._clock.move_to(moment)

    def _invoke(self, function: str, event: Mapping[str, Any]) -> object:
        return self._scene.hosts[function].invoke(event)

    def _take_invocation(self, request: Request) -> Answer | None:
        """Take an asynchronous call of one of the stack's other functions: it runs when the caller is through."""
        if request.call != "lambda.Invoke" or request.parameters.get("InvocationType") != "Event":
            return None
        named = str(request.parameters["FunctionName"])
        respond = self._scene.function_in["respond"]
        for key, function in self.stack.functions.items():
            if key != respond and named in {function.name, function.arn}:
                self._sent.append((key, json.loads(request.parameters.get("Payload") or b"{}")))
                return Respond(parsed={"StatusCode": 202, "Payload": b""})
        return None

    def _door(self, request: Mapping[str, object]) -> Mapping[str, Any]:
        """Hand a request to the front door; API Gateway answers 502 for a function that fails."""
        host = self._scene.hosts[self._scene.function_in["slack"]]
        try:
            answer: Mapping[str, Any] = host.invoke(request)
        except ProcessDied as died:
            host.die()
            self._door_failed(died)
        except Exception as error:  # noqa: BLE001  as API Gateway does: whatever it was, the caller gets a 502
            self._door_failed(error)
        else:
            return answer
        return {"statusCode": 502, "body": "Internal Server Error"}

    def _door_failed(self, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}"
        self._door_errors.append(
            self._error(self.now, self._scene.function_in["slack"], text, expected=is_expected(error))
        )

    def _scheduled(self, rule: str) -> Document:
        return {
            "version": "0",
            "id": f"00000000-0000-4000-8000-{self._minute:012d}",
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": self.scenario.account.id,
            "time": self.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": self.scenario.account.region,
            "resources": [f"arn:aws:events:{self.scenario.account.region}:{self.scenario.account.id}:rule/{rule}"],
            "detail": {},
        }

    def _count(self, minutes: Sequence[TickFacts]) -> None:
        fresh = self.gate.calls[self._calls_seen :]
        self._calls_seen = len(self.gate.calls)
        for served, facts in zip(self._served, minutes, strict=True):
            served.count(facts, fresh)

    # -- after its end --------------------------------------------------------------------------------------------------

    def _outcome(self) -> Document:
        scenario, calls, incidents = self.scenario, self.gate.calls, self._reader.all()
        final = output.final_state(self.account)
        final["backfills"] = dict(self.dagy.state.final(self._minute))
        final["throttled_minutes"] = dict(self._served[0].throttled)
        if self.neighbours:
            final["members"] = {
                "/".join(one.place): {**output.final_state(one.account), "throttled_minutes": dict(served.throttled)}
                for one, served in zip(self.neighbours, self._served[1:], strict=True)
            }
        document: Document = {
            "name": scenario.name,
            "file": str(scenario.file),
            "minutes": scenario.minutes,
            "expectation": "none",
            "unmet": [],
            "incidents": [output.incident_document(incident, self.start) for incident in incidents],
            "mutations": output.mutations(calls, self._scene.own_tables),
            "aws_calls": output.aws_calls(calls),
            "aws_calls_until_action": output.calls_until_action(calls, incidents, self._scene.own_tables),
            "dagy_calls": [call.as_json() for call in self.dagy.calls],
            "slack": [call.as_json() for call in self.slack.calls],
            "escalations": output.escalations(calls),
            "final": final,
            "people": [deed.as_json() for deed in self._crowd.deeds],
            "errors": self._errors(),
        }
        if scenario.expect:
            document["unmet"] = unmet(scenario.expect, document)
            document["expectation"] = "not met" if document["unmet"] else "met"
        return document

    def _errors(self) -> list[Document]:
        """List invocations that failed; `expected` is false for what no fault or outage explains."""
        respond = self._scene.function_in["respond"]
        found = [
            self._error(failed.at, failed.function, failed.error, expected=failed.expected)
            for failed in self._delivery.failures
        ]
        found += [
            self._error(ending.at, respond, ending.error, expected=False)
            for ending in self._scene.executions.endings
            if ending.error is not None
        ]
        found += [
            self._error(
                refusal.request.now,
                refusal.request.role or "nobody",
                f"the template's policies do not allow {refusal.asked.action} on {refusal.asked.resource}",
                expected=False,
            )
            for refusal in self.policies.refusals
            if refusal.by is None
        ]
        return sorted([*found, *self._door_errors], key=lambda error: int(error["minute"]))

    def _error(self, at: datetime, function: str, text: str, *, expected: bool) -> Document:
        return {
            "minute": output.minute_of(at, self.start),
            "function": function,
            "error": text,
            "expected": expected,
        }


def check(scenario: Scenario, *, mode: str | None) -> dict[str, object]:
    """Check what a scenario file alone cannot show to be wrong; return its settings with *mode* over its own.

    Raises SettingsError.
    """
    return checked(scenario.settings, mode)
