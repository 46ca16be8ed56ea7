"""What became of giving a change back: done, was back already, or left alone because someone else changed it. Types only."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """The before-state is in force again. `left`: what beside it is somebody else's by now and was not touched."""

    detail: str
    left: tuple[str, ...] = ()
    kind: Literal["given-back"] = "given-back"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """The value is no longer ours: told, not touched. `found` says what is there instead.

    `is_back`: what is there is the before-state; somebody put it back, or an earlier try of ours whose answer never came.
    """

    found: str
    is_back: bool = False
    kind: Literal["left-alone"] = "left-alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """AWS does not allow it now (a change under way, a daily budget); ask again later."""

    because: str
    kind: Literal["not-yet"] = "not-yet"


GiveBack = GivenBack | LeftAlone | NotYet
