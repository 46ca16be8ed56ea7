"""What is one thing that was looked at? Its name, how it is, and what to do."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "look", "broken", "unknown"]
ANEW = (
    "A deployment does not make again what was deleted beside it: make it by hand as template.yaml has it, or remove the stack "
    "(`unthrottle uninstall-check` first) and deploy it anew."
)
"""What to do about a part of the stack that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at: what it is, how it is, and what to do."""

    name: str
    state: State
    text: str
