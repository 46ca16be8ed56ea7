"""`unthrottle uninstall-check`: what would be left behind, or could still happen, if the stack were deleted now?

Every open incident counts. In force is what the record says so; may be in force what was begun and whose end was never
written; all others could still act. Giving back is left to who does it anyway: the workflow where it lives, else the sweep,
which compares first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from cli.deployment import Found, find
from cli.exits import Exit
from cli.incidents import in_words, its_table, line, paused_until, summary
from cli.printing import show, show_json
from unthrottle.errors import UnthrottleError
from unthrottle.incident import Incident, Status, Wish
from unthrottle.report import shell
from unthrottle.slack_grammar import Pause
from unthrottle.sweep import NOT_YET, SILENT_AFTER, SWEEP_EVERY, last_line

Group = Literal["in_force", "may_be_in_force", "could_still_act"]
HEADINGS: dict[Group, str] = {
    "in_force": "{} in force; deleting the stack would leave {} for ever:",
    "may_be_in_force": "{} may be in force: begun, and the end was never written; deleting the stack could leave {} for ever:",
    "could_still_act": "{} open without a change in force:",
}
_COUNTED: dict[Group, tuple[str, str]] = {
    "in_force": ("1 change is", "{} changes are"),
    "may_be_in_force": ("1 change", "{} changes"),
    "could_still_act": ("1 incident is", "{} incidents are"),
}
_MINUTES = int(SWEEP_EVERY.total_seconds() // 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for one incident, or why not. `failed`: it could not be asked."""

    text: str
    taken: bool = False
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class Request:
    """What --give-back did: the pause in words, and what was asked for each incident."""

    paused: str = ""
    asked: dict[str, Asked] = field(default_factory=dict)


def uninstall_check(
    stack: str | None, region: str | None, profile: str | None, *, asks_back: bool = False, as_json: bool = False
) -> Exit:
    """Say what is open, since without the stack nobody gives it back. With `asks_back` stop new changes, then end each.

    NEEDS_ACTION while any incident is open, also when it was asked to end just now: that needs some minutes. FAILED where
    one could not be asked.
    """
    # Settings that cannot be read stop the bot, and are a reason to remove it.
    found = find(stack, region, profile, reads_only=not asks_back, tolerant=True)
    now = found.session.now
    with its_table(found):
        opened = found.incidents.open_incidents()
    groups: dict[Group, list[Incident]] = {group: [] for group in HEADINGS}
    for incident in opened:
        groups[group_of(incident)].append(incident)
    request = _give_back(found, groups, now) if asks_back and opened else Request()
    if as_json:
        show_json(_document(found, groups, request, now))
    else:
        show(_told(found, groups, request, now))
    if any(one.failed for one in request.asked.values()):
        return Exit.FAILED
    return Exit.NEEDS_ACTION if opened else Exit.FINE


def group_of(incident: Incident) -> Group:
    """Sort an open incident. What was begun and never ended counts as in force until it was looked at, as in the sweep."""
    if incident.status is Status.APPLIED:
        return "in_force"
    return "may_be_in_force" if incident.is_half_done else "could_still_act"


# --- asking ---------------------------------------------------------------------------------------------------------


def _give_back(found: Found, groups: dict[Group, list[Incident]], now: datetime) -> Request:
    """Pause first, so that nothing begins behind our back; then ask for each. One that fails keeps no other in force."""
    said = found.control().carry_out(Pause(duration=None), found.person)
    request = Request(paused=said.replace("`/unthrottle resume`", "`unthrottle resume`"))
    asking = {"in_force": _revert, "may_be_in_force": _end_half_done, "could_still_act": _reject}
    for group, incidents in groups.items():
        for incident in incidents:
            try:
                asked = asking[group](found, incident, now)
            except UnthrottleError as error:
                asked = Asked(text=f"could not be asked: {error}", failed=True)
            if asked is not None:
                request.asked[incident.id] = asked
    return request


def _revert(found: Found, incident: Incident, _: datetime) -> Asked:
    refused = found.control().decide(incident.id, None, "revert", found.person)
    return Asked(text=refused or "it is being given back.", taken=not refused)


def _end_half_done(found: Found, incident: Incident, now: datetime) -> Asked:
    """Wish a change of unknown end back: its workflow, should it live and have made it, reads that; else the sweep does."""
    if not found.incidents.wish(incident.id, Wish(do="revert", by=found.person.id, at=now)):
        return Asked(text="it is being ended just now.", taken=True)
    quiet_at = last_line(incident) + SILENT_AFTER
    if now <= quiet_at:
        words = "its workflow may be making the change just now, and then gives it back"
        return Asked(text=f"{words}; if it is gone, the sweep does, after {quiet_at:%H:%M} UTC.", taken=True)
    return Asked(text=f"the sweep compares it and gives it back within {_MINUTES} minutes.", taken=True)


def _reject(found: Found, incident: Incident, _: datetime) -> Asked | None:
    question = incident.question
    if question is None or question.about != "approval":
        return None
    refused = found.control().decide(incident.id, question.version, "reject", found.person)
    return Asked(text=refused or "rejected: it will change nothing.", taken=not refused)


# --- telling --------------------------------------------------------------------------------------------------------


def _told(
    found: Found, groups: dict[Group, list[Incident]], request: Request, now: datetime
) -> Iterator[tuple[str, str]]:
    if not any(groups.values()):
        yield "No change of Unthrottle's is in force. The stack can be deleted; its incidents table stays.", "green"
        return
    for group, incidents in groups.items():
        if incidents:
            one, many = _COUNTED[group]
            it = "it" if len(incidents) == 1 else "them"
            counted = one if len(incidents) == 1 else many.format(len(incidents))
            yield HEADINGS[group].format(counted, it), "yellow" if group == "could_still_act" else "red"
        for incident in incidents:
            yield f"  {line(incident)}", ""
            yield f"    {_state(incident, now)}", "dim"
            yield from ((f"    by hand{_where(found, incident)}: {how}", "cyan") for how in _by_hand(incident))
    if request.paused:
        yield request.paused, ""
        for name, asked in request.asked.items():
            yield f"  {name}: {asked.text}", "green" if asked.taken else "red" if asked.failed else "yellow"
    yield _then(groups, request), "bold"


def _then(groups: dict[Group, list[Incident]], request: Request) -> str:
    """Say what to do next."""
    resume = " If the stack stays after all, `unthrottle resume` ends the pause." if request.paused else ""
    if any(asked.failed for asked in request.asked.values()):
        return f"Not all could be asked: do what is said above, and repeat the command.{resume}"
    if all(_is_watched(one) for incidents in groups.values() for one in incidents):
        words = "Nothing is left to give back, and nothing can change: deleting the stack now only leaves their records open."
        return f"{words}{resume}"
    if not request.paused:
        words = "--give-back stops new changes, has each change given back, and rejects what waits for a yes. "
        return f"Do not delete the stack yet. {words}A change that shall stay: `unthrottle keep ID`."
    return (
        f"Look again in a few minutes: when none is listed, or only such as are only watched, delete the stack.{resume}"
    )


def _state(incident: Incident, now: datetime) -> str:
    """Say why an open incident keeps the stack, and how it ends."""
    group, question = group_of(incident), incident.question
    if incident.is_taken_over:
        return "The sweep is ending it just now."
    if group == "in_force":
        ends = (
            f"Its lease ends {incident.lease_until:%Y-%m-%d %H:%M} UTC"
            if incident.lease_until
            else "It has no lease yet"
        )
        return f"{ends}; `unthrottle revert {incident.id}` gives it back now."
    if group == "may_be_in_force":
        late = [moment.detail for moment in incident.timeline if moment.event == NOT_YET]
        if late:
            return f"The sweep could not give it back yet and goes on trying: {late[-1]}"
        if incident.wish is not None and now - last_line(incident) > SILENT_AFTER:
            return f"The sweep compares it and gives it back within {_MINUTES} minutes."
        return "Its workflow began the change and has not written what became of it; the sweep compares at its lease's end."
    if question is not None and question.about == "approval":
        how = f"`unthrottle reject {incident.id}:{question.version}`"
        return f"It waits for a yes, after which it acts: reject it in Slack, or with {how}."
    if _is_watched(incident):
        return "It is only watched: it changes nothing any more, and closes by itself within some hours."
    return "Its workflow is at it, and may still act or ask; `unthrottle pause` keeps it from acting."


def _is_watched(incident: Incident) -> bool:
    """Say whether an incident without a change is past acting: decided, or handed to a person."""
    if group_of(incident) != "could_still_act" or incident.question is not None:
        return False
    return incident.status is not Status.NONE or incident.escalated


def _by_hand(incident: Incident) -> tuple[str, ...]:
    if incident.plan is None or group_of(incident) == "could_still_act":
        return ()
    return shell.aws(incident, incident.plan.way_back_commands)


def _where(found: Found, incident: Incident) -> str:
    is_here = incident.account == found.session.identity.account
    return "" if is_here else f", in account {incident.account}"


def _document(found: Found, groups: dict[Group, list[Incident]], request: Request, now: datetime) -> dict[str, Any]:
    until = paused_until(found)
    return {
        "version": 1,
        "can_be_deleted": not any(groups.values()),
        "paused": in_words(until, found) if until else None,
        **{
            group: [
                {
                    **summary(one),
                    "state": _state(one, now),
                    "by_hand": list(_by_hand(one)),
                    "asked": _answer(request.asked.get(one.id)),
                }
                for one in incidents
            ]
            for group, incidents in groups.items()
        },
    }


def _answer(asked: Asked | None) -> dict[str, Any] | None:
    return {"taken": asked.taken, "text": asked.text} if asked else None
