"""Races of alarms and of people: with each other, with the end of a question, with the end of a lease."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from sandbox.races.ground import CAP, Ground
from sandbox.races.play import LEASE, SECOND, Works, does, to_the_lease, to_the_question, to_verifying
from sandbox.races.stand_ins import NOW
from unthrottle.incident import Status
from unthrottle.settings import Mode

_MUTE = "mute rule load-test"

# --- alarms --------------------------------------------------------------------------------------------------------------


def alarms(*keys: str) -> Callable[[Ground], Works]:
    def begins(ground: Ground) -> Works:
        ground.clear()
        return {f"alarm {number} ({key})": does(ground.alarm, key) for number, key in enumerate(keys, start=1)}

    return begins


def one_incident(triggers: int) -> Callable[[Ground], Iterator[str]]:
    def ends(ground: Ground) -> Iterator[str]:
        found = ground.incidents()
        if [incident.triggers for incident in found] != [triggers]:
            yield f"{[(one.id, one.triggers) for one in found]} instead of one incident with {triggers} triggers"
        if list(ground.service.executions) != [incident.id for incident in found]:
            yield f"started were {list(ground.service.executions)}"

    return ends


def at_the_end_of_the_lease(*alarms: str) -> Callable[[Ground], Works]:
    def begins(ground: Ground) -> Works:
        ground.as_after("lease", lambda: to_the_lease(ground))
        ground.clock.time = NOW + LEASE + SECOND
        return {
            "workflow": ground.run_what_is_due,
            **{f"alarm {number} ({key})": does(ground.alarm, key) for number, key in enumerate(alarms, start=1)},
        }

    return begins


def no_alarm_lost(keys: int) -> Callable[[Ground], Iterator[str]]:
    """Each state change counts once: for the incident that was open, or for one of its own."""

    def ends(ground: Ground) -> Iterator[str]:
        found = ground.incidents()
        if sum(incident.triggers for incident in found) != keys or not 1 <= len(found) <= 2:
            yield f"{keys} state changes were counted as {[incident.triggers for incident in found]}"

    return ends


def beside_a_muted_one(ground: Ground) -> Works:
    """A muted alarm's workflow is about to close its incident; an alarm that is meant comes, and one more that is muted."""
    ground.clear()
    ground.alarm("a", muted_by=_MUTE)
    return {
        "workflow": ground.run_what_is_due,
        "alarm b": does(ground.alarm, "b"),
        "muted alarm c": does(partial(ground.alarm, muted_by=_MUTE), "c"),
    }


def only_the_meant_one(ground: Ground) -> Iterator[str]:
    """Nothing is done for what is muted, and nothing keeps the other from being worked on."""
    found = ground.incidents()
    meant = [one for one in found if one.muted_by is None]
    if [(one.alarm_name, one.triggers, bool(one.applied)) for one in meant] != [("throttles-b", 1, True)]:
        yield f"{[(one.id, one.muted_by, one.triggers, one.status) for one in found]}, of which one had to act"
    if any(one.applied for one in found if one.muted_by):
        yield "a muted alarm was acted on"
    if sum(one.triggers for one in found) != 3:
        yield f"3 state changes were counted as {[one.triggers for one in found]}"


# --- people --------------------------------------------------------------------------------------------------------------


def asked(*, workflow: bool, **people: str) -> Callable[[Ground], Works]:
    """The approval's question is open; with `workflow`, its time has just run out."""

    def begins(ground: Ground) -> Works:
        ground.as_after("approval", lambda: to_the_question(ground), mode=Mode.APPROVE)
        if workflow:
            ground.clock.time = (ground.service.next_due() or ground.clock.time) + SECOND
        return people_and(ground, workflow=workflow, people=people)

    return begins


def leased(*, workflow: bool, after: Any = LEASE, is_gone: bool = True, **people: str) -> Callable[[Ground], Works]:
    def begins(ground: Ground) -> Works:
        ground.as_after("lease", lambda: to_the_lease(ground))
        ground.is_gone = is_gone
        if workflow:
            ground.clock.time = NOW + after + SECOND
        return people_and(ground, workflow=workflow, people=people)

    return begins


def verifying(**people: str) -> Callable[[Ground], Works]:
    """The change is made, nobody is asked; the next look at the symptom is due."""

    def begins(ground: Ground) -> Works:
        ground.as_after("verifying", lambda: to_verifying(ground))
        ground.clock.time = (ground.service.next_due() or ground.clock.time) + SECOND
        return people_and(ground, workflow=True, people=people)

    return begins


def people_and(ground: Ground, *, workflow: bool, people: Mapping[str, str]) -> Works:
    (incident,) = ground.incidents()
    works: Works = {"workflow": ground.run_what_is_due} if workflow else {}
    for who, do in people.items():
        works[f"{who} says {do}"] = does(ground.decide, f"U0{who.upper()}", incident.id, do)
    return works


def answered(**people: str) -> Callable[[Ground], Iterator[str]]:
    """What was taken was done, the last of it where there was more than one; what was not done was refused in words."""

    def ends(ground: Ground) -> Iterator[str]:
        (incident,) = ground.incidents()
        told = {who: ground.said[f"U0{who.upper()}"][0] for who in people}
        taken = {people[who] for who, said in told.items() if said == ""}
        done = {
            Status.REJECTED: {"reject"},
            Status.KEPT: {"keep"},
            Status.REVERTED: {"revert", "approve"},
            Status.EXPIRED: set(),
        }.get(incident.status)
        if done is None:
            yield f"{incident.id} ended {incident.status}"
        elif taken and not taken & done:
            yield f"{told} and yet {incident.status}"
        if "approve" in people.values() and len([who for who in told if told[who] == ""]) > 1:
            yield f"two decisions were taken: {told}"
        if "keep" in taken and incident.status is Status.KEPT and ground.account.reserved_now != {"hog": CAP}:
            yield f"kept, and it is {ground.account.reserved_now}"
        unheard = [who for who, said in told.items() if said == "" and not _is_heard(incident, people[who], who)]
        if unheard:
            yield f"{unheard} were told that it is taken, and the story ({incident.status}) does not name them"

    return ends


def _is_heard(incident: Any, do: str, who: str) -> bool:
    del do
    words = [moment.detail for moment in incident.timeline] + [incident.decided_because]
    return any(f"U0{who.upper()}" in text for text in words)
