"""What does the app's home tab in Slack show?

Mode and pause, what is open, and the last ten incidents. Pure; knows nothing of who looks.
"""

from collections.abc import Sequence
from datetime import datetime

from unthrottle.incident import Incident
from unthrottle.report import blocks
from unthrottle.report.blocks import Block
from unthrottle.report.standing import first_line
from unthrottle.report.voice import SLACK
from unthrottle.settings import Mode

_SHOWN_OPEN = 20
_SHOWN_NEWEST = 10


def home(
    still_open: Sequence[Incident],
    newest: Sequence[Incident],
    *,
    mode: Mode,
    paused_until: datetime | None,
    now: datetime,
) -> list[Block]:
    """Return the blocks of the home tab: at most 34, within Slack's 100."""
    paused = f"*Paused* until {paused_until:%Y-%m-%d %H:%M} UTC: no new changes." if paused_until else "Not paused."
    shown: list[Block] = [
        blocks.header("Unthrottle"),
        blocks.section(f"Mode `{mode.value}`. {paused}"),
        blocks.section(f"*Open incidents: {len(still_open)}*"),
        *(blocks.section(_line(incident)) for incident in still_open[:_SHOWN_OPEN]),
    ]
    if len(still_open) > _SHOWN_OPEN:
        shown.append(blocks.context(f"and {len(still_open) - _SHOWN_OPEN} more: `/unthrottle status`"))
    ended = [incident for incident in newest if not incident.is_open][:_SHOWN_NEWEST]
    if ended:
        shown.append(blocks.bullets("*The last ones that ended*", [_line(incident) for incident in ended]))
    shown.append(blocks.context(f"As of {now:%Y-%m-%d %H:%M} UTC. `/unthrottle help` lists what can be typed."))
    return shown


def _line(incident: Incident) -> str:
    return f"{SLACK.name(incident.id)} {incident.opened_at:%d %b %H:%M} UTC: {first_line(incident, SLACK)}"
