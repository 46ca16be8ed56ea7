"""Races of the sweep, of the ledger, of the kill switch, and of an earlier release that is still at work."""

from collections.abc import Callable, Iterator, Mapping

from sandbox.races.ground import CAP, MINUTE, Ground
from sandbox.races.of_people import people_and
from sandbox.races.play import LATE, LEASE, SECOND, Works, does, open_two, opened_and_lost, to_the_lease
from sandbox.races.stand_ins import NOW
from unthrottle.control import Person
from unthrottle.incident import Status
from unthrottle.slack_grammar import Pause

# --- the sweep -----------------------------------------------------------------------------------------------------------


def overdue(*, sweeps: int = 1, workflow: bool = True, **people: str) -> Callable[[Ground], Works]:
    def begins(ground: Ground) -> Works:
        ground.as_after("lease", lambda: to_the_lease(ground))
        ground.clock.time = NOW + LATE
        works = {f"sweep {number}": ground.sweep for number in range(1, sweeps + 1)}
        return {**works, **people_and(ground, workflow=workflow, people=people)}

    return begins


def silent(ground: Ground) -> Works:
    """Opened, and its workflow never came: the sweep starts it, and so does the alarm that comes again."""
    ground.as_after("silent", lambda: opened_and_lost(ground))
    ground.clock.time = NOW + 16 * MINUTE
    return {
        "sweep": ground.sweep,
        "the alarm again": does(ground.alarm, "a"),
        "workflow": ground.run_what_is_due,
    }


def given_back_once(ground: Ground) -> Iterator[str]:
    (incident,) = ground.incidents()
    if incident.status is not Status.REVERTED:
        yield f"given back by us, and the record says {incident.status}"


# --- the ledger ----------------------------------------------------------------------------------------------------------


def two_incidents(*, blamed: Mapping[str, str], budget: int = 5) -> Callable[[Ground], Works]:
    def begins(ground: Ground) -> Works:
        ground.as_after("two", lambda: open_two(ground), max_actions_per_hour=budget)
        ground.blamed = dict(blamed)
        first, second = (incident.id for incident in ground.incidents())
        return {"workflow 1": does(ground.run_one, first), "workflow 2": does(ground.run_one, second)}

    return begins


def acted_at_most(times: int, at_least: int = 1) -> Callable[[Ground], Iterator[str]]:
    def ends(ground: Ground) -> Iterator[str]:
        acted = [function for _, function, value in ground.account.made if value is not None]
        if not at_least <= len(acted) <= times:
            yield f"acted on {acted}, {len(acted)} times, where {at_least} to {times} are right"

    return ends


def paused(ground: Ground) -> Works:
    """A person pauses while a workflow is on its way to a change."""
    ground.as_after("one", lambda: _open_one(ground))
    (incident,) = ground.incidents()

    def pause() -> None:
        told = ground.control().carry_out(Pause(duration=None), Person(id="U0ANN"))
        ground.said.setdefault("U0ANN", []).append(told)
        ground.account.touch("hog", "read")  # she looks, from now on, whether anything still changes

    return {"workflow": does(ground.run_one, incident.id), "ann pauses": pause}


def stopped_at_the_last_look(ground: Ground) -> Iterator[str]:
    """A change may only follow a pause when the last look before it, with nothing in between, saw none."""
    steps = list(ground.log)
    changed = next((i for i, step in enumerate(steps) if step[1] == "write" and step[0] == "workflow"), None)
    pause = next((i for i, step in enumerate(steps) if step[0] == "ann pauses" and step[1] == "PutItem"), None)
    watched = next((i for i, step in enumerate(steps) if step[0] == "ann pauses" and step[1] == "read"), None)
    if changed is None or pause is None or watched is None or changed < watched:
        return
    mine = [i for i, step in enumerate(steps[:changed]) if step[0] == "workflow"]
    looks = [i for i in mine if any(touch.thing == "PAUSE" for touch in steps[i][2])]
    if looks[-1] > pause:
        yield "it looked, was paused, and made the change"
    if len(mine) - 1 - mine.index(looks[-1]) > 1:  # a look is two reads: of the pause's row, and of the budget's
        yield f"between its last look at the pause and the change it did {[steps[i][1] for i in mine[mine.index(looks[-1]) :]]}"


def not_yet(ground: Ground) -> Works:
    """AWS puts the give-back off; the workflow was held up, so the sweep tries too, and a person says to keep it."""
    works = overdue(bob="keep")(ground)
    ground.account.busy = 1
    return works


def late_reports(ground: Ground) -> Works:
    """Slack was down and is back: the sweep delivers while the workflow wakes."""
    ground.slack(is_down=True)
    ground.as_after("unreported", lambda: to_the_lease(ground))
    ground.slack(is_down=False)
    ground.clock.time = NOW + LEASE + SECOND
    return {"sweep": ground.sweep, "workflow": ground.run_what_is_due}


def delivered(ground: Ground) -> Iterator[str]:
    for incident in ground.incidents():
        if incident.outbox:
            yield f"{len(incident.outbox)} reports were never delivered"
        told = ground.chat.told if ground.chat else []
        missing = [n for n in range(1, incident.reports + 1) if not any(text.startswith(f"#{n} ") for text in told)]
        if missing:
            yield f"reports {missing} of {incident.reports} never came: {told}"


def an_earlier_release(ground: Ground) -> Works:
    """A workflow is pinned to the version it began with, which knows nothing of `settling`; the sweep is the new one."""
    works = overdue()(ground)
    ground.earlier = True
    return works


def once(ground: Ground) -> Iterator[str]:
    """What is promised whatever release is at work: given back, closed, and no change but the two."""
    (incident,) = ground.incidents()
    effects = [value for _, _, value in ground.account.made]
    if effects not in ([CAP, None], [CAP, None, None]) or ground.account.reserved_now:
        yield f"changes: {effects}, and now {ground.account.reserved_now}"
    if incident.is_open:
        yield "never closed"


def _open_one(ground: Ground) -> None:
    ground.alarm("a")
