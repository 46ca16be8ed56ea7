"""How does a command stand in a report so that it can be pasted as it is, wherever the person's shell looks?

A shell may have another Region set, or none; and a laptop knows no stack. Our own commands need the deployment's stack and
Region, which `wiring` says once, since they are the same for every incident; AWS's need the Region of what the incident is
about.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from unthrottle.incident import Incident


@dataclass(slots=True)
class _Deployment:
    stack: str | None = None
    region: str = ""


_OURS = _Deployment()


def reported_by(stack: str | None, region: str) -> None:
    """Say which deployment this process is part of. Without a stack's name our commands stay as they are."""
    _OURS.stack, _OURS.region = stack, region


def own(command: str) -> str:
    """Complete a command of ours by the deployment that reports: its stack, and the Region that is in."""
    return f"{command} --stack {_OURS.stack} --region {_OURS.region}" if _OURS.stack else command


def aws(incident: Incident, commands: Iterable[str]) -> tuple[str, ...]:
    """Complete AWS CLI commands by the incident's Region; what is none of these, or names one, stays as it is."""
    return tuple(
        f"{command} --region {shlex.quote(incident.region)}"
        if command.startswith("aws ") and " --region " not in command
        else command
        for command in commands
    )
