"""What does the app's home tab in Slack show?

Mode and pause, what is open, and the last ten actions. Pure; knows nothing of who looks.
"""

from collections.abc import Sequence
from datetime import datetime

from unthrottle.brief import pause_ends
from unthrottle.incident import Incident, Outcome, Status
from unthrottle.report import blocks
from unthrottle.report.blocks import Block
from unthrottle.report.deeds import deeds
from unthrottle.report.standing import first_line
from unthrottle.report.voice import SLACK
from unthrottle.report.words import changes
from unthrottle.settings import Mode

_SHOWN_OPEN = 20
_SHOWN_ACTIONS = 10


def home(
    still_open: Sequence[Incident],
    newest: Sequence[Incident],
    *,
    mode: Mode,
    paused_until: datetime | None,
    now: datetime,
) -> list[Block]:
    """Return the blocks of the home tab: at most 34, within Slack's 100."""
    is_paused = paused_until is not None and paused_until > now
    paused = (
        f"*Paused* {pause_ends(paused_until, now)}: no new changes." if paused_until and is_paused else "Not paused."
    )
    shown: list[Block] = [
        blocks.header("Unthrottle"),
        blocks.section(f"Mode `{mode.value}`. {paused}"),
        blocks.section(f"*Open incidents: {len(still_open)}*"),
        *(blocks.section(_line(incident)) for incident in still_open[:_SHOWN_OPEN]),
    ]
    if len(still_open) > _SHOWN_OPEN:
        shown.append(blocks.context(f"and {len(still_open) - _SHOWN_OPEN} more: `/unthrottle status`"))
    acted = [incident for incident in newest if incident.applied][:_SHOWN_ACTIONS]
    if acted:
        shown.append(blocks.bullets("*The last actions*", [_action(incident) for incident in acted]))
    else:
        shown.append(blocks.section("*The last actions*\nNone yet."))
    shown.append(blocks.context(f"As of {now:%Y-%m-%d %H:%M} UTC. `/unthrottle help` lists what can be typed."))
    return shown


def not_for_you() -> list[Block]:
    """Return the home tab of somebody who is on no list."""
    return [
        blocks.header("Unthrottle"),
        blocks.section(
            "This tab is for those who are named in `Operators` or `Viewers`. `/unthrottle help` works in its channel."
        ),
    ]


def _action(incident: Incident) -> str:
    """Say what was done, when, and how it stands now."""
    when = incident.acted_at or incident.opened_at
    return (
        f"{when:%d %b %H:%M} UTC {SLACK.name(incident.id)}: {deeds(changes(incident), SLACK, 'done')}, {_end(incident)}"
    )


def _end(incident: Incident) -> str:
    match incident.status:
        case Status.REVERTED:
            return "given back"
        case Status.KEPT:
            return "kept"
        case _ if incident.lease_until is not None and incident.is_open:
            return f"in force until {incident.lease_until:%d %b %H:%M} UTC"
        case _:
            return incident.outcome.value if incident.outcome is not Outcome.NONE else "in force"


def _line(incident: Incident) -> str:
    return f"{SLACK.name(incident.id)} {incident.opened_at:%d %b %H:%M} UTC: {first_line(incident, SLACK)}"
