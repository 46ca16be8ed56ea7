"""What becomes of a storm of alarms? One incident, one action, one head message, nothing lost.

Two measurements. A rehearsal, in which every alarm of the storm goes through the bus to the real intake and the workflow
runs: what came of it. And five workers at once on the state table (moto's, with its conditional writes), each with an intake of
its own: whether they agree, and the work for each alarm.
"""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from moto import mock_aws

from bench.calls import pool
from bench.documents import Document, scenario
from bench.growth import fit
from bench.section import Curve, Goal, Section
from bench.stage import credentials
from sandbox.aws.gate import Gate
from sandbox.cheap_rollback import cheap_rollback
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.isolation import isolated, simulated_time
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.intake import Receiver
from unthrottle.settings import from_parameters

SIZES, QUICK_SIZES = (28, 377, 1_000), (28, 377)
WORKERS = 5
STORM_MINUTE = 8
DUPLICATES = 0.2
"""Part of the alarms that EventBridge delivers twice; it promises at least once (EventBridge user guide)."""
_ACCOUNT, _REGION, _TABLE = "111122223333", "eu-west-1", "incidents"
_START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stormed:
    """What came of one storm in a rehearsal."""

    alarms: int
    deliveries: int
    incidents: int
    actions: int
    heads: int
    triggers: int
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Raced:
    """What came of five workers at once."""

    deliveries: int
    answers: Counter[str]
    incidents: int
    counted: int
    """Alarms that the incident's record counts."""
    wrong_starts: int
    lost: int
    calls: int
    seconds: float


def measure(seed: int, *, quick: bool) -> Section:
    """Play each storm both ways."""
    section = Section(
        key="storms",
        title=f"Storms: alarms within a minute, {100 * DUPLICATES:.0f} % of them twice, out of order, seed {seed}",
        columns=[
            "alarms",
            "deliveries",
            "incidents",
            "actions",
            "head messages",
            "5 workers: incidents",
            "lost",
            "calls each",
            "ms each",
        ],
    )
    played = {size: rehearsed(seed, size) for size in (QUICK_SIZES if quick else SIZES)}
    raced = {size: race(seed, size) for size in played}
    for size, storm in played.items():
        run = raced[size]
        section.rows.append(
            [
                f"{size:,}",
                f"{storm.deliveries:,}",
                str(storm.incidents),
                str(storm.actions),
                str(storm.heads),
                str(run.incidents),
                str(run.lost),
                f"{run.calls / run.deliveries:.1f}",
                f"{1000 * run.seconds / run.deliveries:.1f}",
            ]
        )
        section.data[str(size)] = {
            "alarms": storm.alarms,
            "deliveries": storm.deliveries,
            "incidents": storm.incidents,
            "actions": storm.actions,
            "head_messages": storm.heads,
            "triggers_recorded": storm.triggers,
            "invocations_failed": storm.errors,
            "race": {
                "answers": dict(run.answers),
                "incidents": run.incidents,
                "recorded": run.counted,
                "started_wrong": run.wrong_starts,
                "lost": run.lost,
                "aws_calls": run.calls,
                "seconds": run.seconds,
            },
        }
    calls = [(float(size), run.calls / run.deliveries) for size, run in raced.items()]
    took = [(float(size), 1000 * run.seconds / run.deliveries) for size, run in raced.items()]
    section.curves.append(
        Curve(
            title="The intake's work for each alarm", x="alarms in the storm", y="", lines={"calls": calls, "ms": took}
        )
    )
    section.notes.append(f"Growth of the intake's calls for each alarm with the storm: {fit(calls).in_words(' calls')}")
    section.notes.append(f"Growth of its time for each alarm with the storm: {fit(took).in_words(' ms')}")
    section.notes.append(
        "lost: alarms that no incident's record counts once, or whose workflow was not started. ms each: wall time of one "
        "delivery with five workers on one interpreter and moto as the table, so it is a ceiling, not a forecast."
    )
    biggest = max(played)
    storm, run = played[biggest], raced[biggest]
    one = (storm.incidents, storm.actions, storm.heads, run.incidents, run.lost + run.wrong_starts)
    section.goals.append(
        Goal(
            text=f"{biggest:,} alarms: one incident, one action, one head message, nothing lost",
            found=f"{one[0]} incident, {one[1]} action, {one[2]} head message, {one[4]} lost",
            reached=one == (1, 1, 1, 1, 0),
            why_not=f"answers of the race: {dict(run.answers)}; failed invocations of the rehearsal: {storm.errors}",
        )
    )
    return section


def storm(seed: int, size: int, at: datetime) -> list[Document]:
    """Make the deliveries of a storm: one alarm a function, some delivered twice, in any order, within a minute."""
    rng = random.Random(f"{seed}/{size}")  # noqa: S311  a benchmark must be repeatable
    events = [_alarm(f"pipe-{number:04d}", at - timedelta(seconds=rng.uniform(0, 60))) for number in range(size)]
    events += rng.sample(events, int(size * DUPLICATES))
    rng.shuffle(events)
    return events


def _alarm(function: str, at: datetime) -> Document:
    """An alarm that people have on their function: its own throttles."""
    stamp = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}+0000"
    name = f"{function}-throttles"
    metric = {"namespace": "AWS/Lambda", "name": "Throttles", "dimensions": {"FunctionName": function}}
    query = {"id": "m1", "metricStat": {"metric": metric, "period": 60, "stat": "Sum"}, "returnData": True}
    return {
        "version": "0",
        "id": f"00000000-0000-4000-8000-{abs(hash((function, stamp))) % 10**12:012d}",
        "detail-type": "CloudWatch Alarm State Change",
        "source": "aws.cloudwatch",
        "account": _ACCOUNT,
        "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": _REGION,
        "resources": [f"arn:aws:cloudwatch:{_REGION}:{_ACCOUNT}:alarm:{name}"],
        "detail": {
            "alarmName": name,
            "state": {
                "value": "ALARM",
                "reason": "Threshold Crossed: 2 out of the last 3 datapoints",
                "timestamp": stamp,
            },
            "previousState": {"value": "OK", "reason": "", "timestamp": stamp},
            "configuration": {"metrics": [query]},
        },
    }


def rehearsed(seed: int, size: int) -> Stormed:
    """Let the storm hit the bot as it is deployed, together with the stack's own alarms."""
    document = pool(100)
    at = datetime.fromisoformat("2026-08-24T04:00:00+00:00") + timedelta(minutes=STORM_MINUTE)
    deliveries = storm(seed, size, at)
    document["start"] = "2026-08-24T04:00:00Z"
    document["events"] = [{"at": STORM_MINUTE, "event": event} for event in deliveries]
    with cheap_rollback():
        outcome = rehearse(scenario(document))
    heads = [
        message for message in outcome["slack"] if message["method"] == "chat.postMessage" and not message["thread_ts"]
    ]
    return Stormed(
        alarms=size,
        deliveries=len(deliveries),
        incidents=len(outcome["incidents"]),
        actions=sum(call["result"] == "ok" for call in outcome["mutations"]),
        heads=len(heads),
        triggers=sum(incident["triggers"] for incident in outcome["incidents"]),
        errors=len(outcome["errors"]),
    )


@dataclass(slots=True)
class _Starts:
    """Takes what would be started. `Starter` for a race."""

    ids: list[str] = field(default_factory=list)

    def start(self, incident_id: str) -> None:
        self.ids.append(incident_id)

    def answer(self, callback: str, text: str) -> bool:
        raise RuntimeError(f"Nothing waits for {callback} in a race ({text}).")


@dataclass(frozen=True, slots=True)
class _Still:
    at: datetime

    def now(self) -> datetime:
        return self.at


def race(seed: int, size: int) -> Raced:
    """Give the deliveries to five workers at once."""
    deliveries = storm(seed, size, _START)
    starts = [_Starts() for _ in range(WORKERS)]
    clock = _Still(_START)
    with simulated_time(_START), isolated(), mock_aws(), credentials(), _quiet(), cheap_rollback():
        _make_table()
        with Gate(start=_START) as gate:
            receivers = [_receiver(one, clock) for one in starts]
            local = threading.local()
            free = list(receivers)

            def take(event: Document) -> tuple[float, list[dict[str, object]]]:
                if not hasattr(local, "receiver"):
                    local.receiver = free.pop()
                before = time.perf_counter()
                answers = local.receiver.receive(event)
                return time.perf_counter() - before, answers

            with ThreadPoolExecutor(WORKERS) as workers:
                done = list(workers.map(take, deliveries))
            answers = [answer for _, given in done for answer in given]
            incidents = IncidentsTable(Access(Clients(), _REGION), _TABLE, clock=clock)
            opened = list(incidents.open_incidents())
            calls = len(gate.calls)
    ids = {incident.id for incident in opened}
    started = [incident_id for one in starts for incident_id in one.ids]
    counted = sum(incident.triggers for incident in opened)
    results = Counter(str(answer["result"]) for answer in answers)
    unanswered = len(deliveries) - len(answers)
    return Raced(
        deliveries=len(deliveries),
        answers=results,
        incidents=len(opened),
        counted=counted,
        wrong_starts=sum(incident_id not in ids for incident_id in started),
        lost=unanswered + abs(size - results["opened"] - results["joined"]) + (len(deliveries) - len(started)),
        calls=calls,
        seconds=sum(seconds for seconds, _ in done) / WORKERS,
    )


def _receiver(starter: _Starts, clock: _Still) -> Receiver:
    return Receiver(
        incidents=IncidentsTable(Access(Clients(), _REGION), _TABLE, clock=clock),
        starter=starter,
        clock=clock,
        settings=from_parameters({}),
        home_account=_ACCOUNT,
        home_region=_REGION,
        alarms_of=_no_alarms,
        own_prefix="unthrottle",
    )


def _no_alarms(account: str, region: str) -> Any:
    raise RuntimeError(f"No alarm of this storm has to be looked up in {account} {region}.")


def _make_table() -> None:
    boto3.client("dynamodb", region_name=_REGION).create_table(
        TableName=_TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )


@contextmanager
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
