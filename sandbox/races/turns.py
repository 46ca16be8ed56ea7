"""Who runs next? Several actors on threads of their own, of which exactly one runs at any time.

An actor stops before each thing it does to what is shared, says what it is about to touch, and goes on when it is told to.
So an order of turns decides a run completely: no clock, no sleep, no luck. Knows nothing of DynamoDB.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

PATIENCE_S = 60
"""How long an actor may run on before it is taken for stuck: a fault of the race itself."""

Mode = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One shared thing and what is done to it. `part` None is every part: a query of a partition."""

    thing: str
    part: str | None
    mode: Mode

    def collides(self, other: "Touch") -> bool:
        """Say whether the order of the two matters: one thing, and one of them writes."""
        if self.thing != other.thing or (self.mode == "read" and other.mode == "read"):
            return False
        return self.part is None or other.part is None or self.part == other.part


Touches = frozenset[Touch]


def collide(one: Touches, other: Touches) -> bool:
    return any(a.collides(b) for a in one for b in other)


class AbandonedError(BaseException):
    """This run is not played to its end. Not an Exception: what runs in an actor must not go on after it."""


class Actor:
    """One thread. `pending` is what it is about to touch; None once it has ended."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.name = name
        self.pending: Touches | None = None
        self.error: BaseException | None = None
        self._work = work
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._abandoned = False
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._abandoned:
                self._work()
        except BaseException as error:  # noqa: BLE001  kept for whoever plays the race: nothing may get lost on a thread
            self.error = error
        self.pending = None
        self._stopped.release()

    def pause(self, touches: Touches) -> None:
        """Called on the actor's own thread: stop before touching these. Raises AbandonedError when the run is given up."""
        self.pending = touches
        self._stopped.release()
        self._go.acquire()
        if self._abandoned:
            raise AbandonedError

    def turn(self) -> None:
        """Let it run to its next stop, or to its end."""
        self._go.release()
        if not self._stopped.acquire(timeout=PATIENCE_S):
            raise RuntimeError(f"{self.name} did not stop within {PATIENCE_S} s")

    def abandon(self) -> None:
        """End it where it stands, however often it stops on the way out."""
        self._abandoned = True
        while self.pending is not None:
            self.turn()


class Turns:
    """The actors of one run at a time. Whoever shares something calls `about_to` before touching it."""

    def __init__(self) -> None:
        self._actors: dict[threading.Thread, Actor] = {}

    def about_to(self, touches: Touches) -> None:
        """Stop here if this is an actor's thread; what is done outside a run (to arrange, to judge) is not held up."""
        actor = self._actors.get(threading.current_thread())
        if actor is not None:
            actor.pause(touches)

    def begin(self, works: Mapping[str, Callable[[], None]]) -> dict[str, Actor]:
        """Start every actor and let each run up to its first stop."""
        actors = {name: Actor(name, work) for name, work in works.items()}
        self._actors = {actor.thread: actor for actor in actors.values()}
        for actor in actors.values():
            actor.thread.start()
            actor.turn()
        return actors

    def end(self, actors: Mapping[str, Actor]) -> None:
        """Give up what still runs."""
        for actor in actors.values():
            actor.abandon()
            actor.thread.join(PATIENCE_S)
        self._actors = {}
