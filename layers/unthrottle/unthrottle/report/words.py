"""What is said about an incident, in sentences: who suffers, from what, since when, what was or would be done.

The same words for Slack, page and terminal; a `Voice` says the names. Times are UTC. Knows nothing of blocks.
"""

from collections.abc import Sequence
from datetime import datetime

from unthrottle.diagnosis import Cause, Diagnosis
from unthrottle.incident import Incident
from unthrottle.plan import (
    Change,
)
from unthrottle.report.voice import Voice
from unthrottle.settings import Mode
from unthrottle.subjects import FunctionSubject, PoolSubject, TableSubject


def clock(moment: datetime, beside: datetime) -> str:
    """Say a time of day in UTC; with its date where that is not the date of `beside`."""
    return f"{moment:%H:%M} UTC" if moment.date() == beside.date() else f"{moment:%d %b %H:%M} UTC"


def duration(minutes: int) -> str:
    """Say a lease's length."""
    return f"{minutes // 60} h" if minutes >= 60 and minutes % 60 == 0 else f"{minutes} min"


def since(incident: Incident) -> datetime:
    """Return when the symptom began, as far as the alarm says."""
    return incident.alarm_at or incident.opened_at


def count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[str], *, most: int) -> str:
    """Join words, naming at most `most` of them."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most:,} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def is_dry_run(incident: Incident) -> bool:
    """Say whether this incident may only be told, so that every change is worded as "would"."""
    return incident.forced_dry_run or incident.mode in {Mode.DRY_RUN, Mode.OFF}


def changes(incident: Incident) -> tuple[Change, ...]:
    """Return the changes as they were really made, or else as they are planned."""
    if incident.applied:
        return tuple(applied.change for applied in incident.applied)
    return incident.plan.changes if incident.plan else ()


# --- who suffers, since when ------------------------------------------------------------------------------------


def sufferers(incident: Incident, voice: Voice, *, named: int = 3, room: int = 80) -> tuple[str, bool]:
    """Name who suffers, and say whether that is more than one."""
    victims = incident.diagnosis.victims if incident.diagnosis else ()
    match incident.subject:
        case TableSubject(table=table, index=index):
            at_fault = (incident.diagnosis.index if incident.diagnosis else None) or index
            of = f"index {voice.name(at_fault, room)} of " if at_fault and named else ""
            return f"{of}table {voice.name(table, room)}", False
        case FunctionSubject(function=function) if not victims:
            return f"function {voice.name(function, room)}", False
        case FunctionSubject() | PoolSubject():
            if len(victims) == 1:
                return f"function {voice.name(victims[0], room)}", False
            if victims:
                names = listed([voice.name(victim, room) for victim in victims], most=named) if named else ""
                return f"{count(len(victims), 'function')}{f' ({names})' if names else ''}", True
            return "Lambda functions", True


def suffering(incident: Incident, voice: Voice, *, named: int = 3, room: int = 80) -> str:
    """Say who suffers since when: the first half of the first line.

    An alarm alone proves nobody throttled: it may be a drill, or ring because a load fell. That is said of seen victims only.
    """
    who, many = sufferers(incident, voice, named=named, room=room)
    if not is_seen(incident):
        return _ringing(incident, who)
    start = clock(since(incident), incident.opened_at)
    if _is_over(incident) or incident.recovered_at:
        return f"{who} {'were' if many else 'was'} throttled ({when(incident)})"
    if incident.requested_by:
        return f"{who} {'are' if many else 'is'} throttled ({when(incident)})"
    return f"{who} {'have' if many else 'has'} been throttled since {start}"


def is_seen(incident: Incident) -> bool:
    """Say whether a look has seen somebody throttled."""
    return incident.diagnosis is not None and bool(incident.diagnosis.victims)


def when(incident: Incident) -> str:
    """Say when the alarm rang, and by when it was over. Both lie after what they tell of: throttling begins and ends earlier."""
    start = clock(since(incident), incident.opened_at)
    said = f"asked for at {start}" if incident.requested_by else f"alarm {start}"
    if incident.recovered_at is None or _is_over(incident):
        return said
    return f"{said}, recovered by {clock(incident.recovered_at, incident.opened_at)}"


def _is_over(incident: Incident) -> bool:
    return incident.diagnosis is not None and incident.diagnosis.cause is Cause.ALREADY_OVER


def _ringing(incident: Incident, who: str) -> str:
    start = clock(since(incident), incident.opened_at)
    if incident.early_warning and _is_over(incident):
        return f"an early warning rang for {who} at {start}; nobody was throttled"
    if incident.early_warning and incident.recovered_at:
        return f"{who} ran near the limit at {start} (early warning)"
    if incident.early_warning:
        return f"{who} may soon be throttled (early warning of {start})"
    if incident.requested_by:
        return f"a look at {who} was asked for at {start}"
    if _is_over(incident) or incident.recovered_at:
        return f"an alarm rang for {who} at {start}"
    return f"an alarm has rung for {who} since {start}"


def is_left(incident: Incident) -> bool:
    """Say whether it goes on because somebody wants it so: nothing is to be done, and nothing has resolved itself."""
    is_off = incident.diagnosis is not None and incident.diagnosis.cause is Cause.SWITCHED_OFF
    return is_off and incident.recovered_at is None


# --- from what --------------------------------------------------------------------------------------------------


def because(incident: Incident, voice: Voice, room: int = 80) -> str:
    """Say the cause in half a sentence, in the past once it is over; empty before there is a diagnosis."""
    diagnosis = incident.diagnosis
    if diagnosis is None:
        return ""
    index = f"index {voice.name(diagnosis.index, room)}" if diagnosis.index else ""
    targets = listed([voice.name(name, room) for name in diagnosis.targets], most=2)
    past = incident.recovered_at is not None
    match diagnosis.cause:
        case Cause.PROVISIONED_CAPACITY:
            return f"the provisioned capacity of {index or 'the table'} {'was' if past else 'is'} used up"
        case Cause.HOT_INDEX:
            what = f"{index or 'an index'} {'was' if past else 'is'} hot"
            return f"{what}, a few of its keys {'took' if past else 'take'} most of the load"
        case Cause.HOT_KEY:
            return f"a few keys {'took' if past else 'take'} most of the load"
        case Cause.RUNAWAY_BACKFILL:
            backfill = f"backfill {targets}" if targets else "a backfill"
            return f"{backfill} {'wrote' if past else 'writes'} more than it can take"
        case Cause.POOL_HOG:
            hold = "held" if past else "hold" if len(diagnosis.targets) > 1 else "holds"
            return f"{targets or 'a function'} {hold} the shared concurrency"
        case Cause.ALREADY_OVER if not is_seen(incident):
            return (
                "the shared pool has room" if incident.early_warning else "no throttle was seen when it was looked at"
            )
        case _:
            return _PLAIN_CAUSES[diagnosis.cause][past]


# In the present, in the past.
_PLAIN_CAUSES: dict[Cause, tuple[str, str]] = {
    Cause.ON_DEMAND_RAMP: (
        "the load rises faster than an on-demand table adapts",
        "the load rose faster than an on-demand table adapts",
    ),
    Cause.ON_DEMAND_CEILING: (
        "the load is at the maximum someone set on the on-demand table",
        "the load was at the maximum someone set on the on-demand table",
    ),
    Cause.TABLE_QUOTA: ("a DynamoDB quota of the account is reached", "a DynamoDB quota of the account was reached"),
    Cause.CAPACITY_CHANGE_IN_PROGRESS: (
        "a capacity change is already under way",
        "a capacity change was already under way",
    ),
    Cause.POOL_GROWTH: (
        "the account needs more concurrency than it has, no function stands out",
        "the account needed more concurrency than it has, no function stood out",
    ),
    Cause.OVER_RESERVATION: (
        "reservations leave too little in the shared pool",
        "reservations left too little in the shared pool",
    ),
    Cause.OWN_RESERVATION: ("it uses up its own reserved concurrency", "it used up its own reserved concurrency"),
    Cause.SWITCHED_OFF: ("reserved concurrency 0 switches it off", "reserved concurrency 0 switched it off"),
    Cause.REQUEST_RATE: (
        "requests come faster than 10 a second for each allowed execution",
        "requests came faster than 10 a second for each allowed execution",
    ),
    Cause.SCALING_RATE: (
        "executions are wanted faster than Lambda adds them",
        "executions were wanted faster than Lambda adds them",
    ),
    Cause.ALREADY_OVER: ("nothing is throttled any more", "nothing is throttled any more"),
    Cause.INCONCLUSIVE: ("the evidence does not say why", "the evidence does not say why"),
}


def confidence(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.cause} ({diagnosis.confidence} confidence)"
