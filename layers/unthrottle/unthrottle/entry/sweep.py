"""What does functions/sweep do every few minutes? Gives back, opens, delivers, and says what is stuck."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from unthrottle.adapters.figures import write_figures
from unthrottle.adapters.logs import every_line_with
from unthrottle.adapters.time_left import time_left
from unthrottle.adapters.traces import traced
from unthrottle.entry.intake import receiver
from unthrottle.incident import Incident
from unthrottle.outbox import check_token, is_time_to_check
from unthrottle.ports import FiringAlarm
from unthrottle.reach import SESSION, is_asked, reach
from unthrottle.reopen import Place, reopen, tell_unreadable
from unthrottle.returned import notice
from unthrottle.stuck import stuck
from unthrottle.sweep import SWEEP_EVERY, sweep
from unthrottle.wiring import Wired

log = logging.getLogger("unthrottle")

TO_END_IN = timedelta(minutes=1)
"""Kept of the function's time, after the last look at a place, to open what was found and to tell what was not reached."""


class Sweep:
    """The entry point of functions/sweep."""

    @classmethod
    def from_environment(cls) -> "Sweep":
        """Wire it. Raises SettingsError."""
        return cls(Wired.from_environment())

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def handle(self, event: object, context: object = None) -> dict[str, Any]:
        """Answer with what was found and done. Giving back comes first, and no place that is slow to look at delays it."""
        wired = self._wired
        with traced("sweep"):
            if is_asked(event):
                return {"places": reach(wired.accounts, wired.places, event, any_function=self._any_function)}
            found = wired.incidents.open_incidents()
            swept = sweep(wired.ports, wired.starter, found, about=_about)
            still = stuck(found, wired.clock.now())
            if still:  # the template's metric filter looks for this line
                log.warning("incidents.stuck", extra={"stuck": len(still), "incidents": list(still)})
            write_figures(
                {
                    "UnreportedSteps": (swept.backlog.unsent, MetricUnit.Count),
                    "OldestUnsentAge": (swept.backlog.oldest_s, MetricUnit.Seconds),
                },
                stack=wired.deployment.stack,
            )
            if wired.chat is not None and is_time_to_check(wired.clock.now(), SWEEP_EVERY):
                check_token(wired.chat.whoami, wired.pager)
            reopened, late = self._reopen(None if swept.has_changed else found, time_left(context, TO_END_IN))
            swept.complain()
            return {**asdict(swept), "reopened": list(reopened), "not_looked_at": late}

    def _any_function(self, account: str, region: str) -> str | None:
        """Name one function of an account and Region: the first of the first page."""
        for one in self._wired.accounts.survey(account, region, SESSION).functions():
            return one.name
        return None

    def _reopen(self, still_open: Sequence[Incident] | None, left: Callable[[], float]) -> tuple[tuple[str, ...], int]:
        """Open what nobody is at work on. Returns the ids, and how many places there was no time for."""
        wired = self._wired
        places = [Place(account=account, region=region) for account, region in wired.places]
        unreadable: dict[Place, str] = {}
        late: list[Place] = []
        now = wired.clock.now()

        def at_it(incident: Incident, alarm: FiringAlarm) -> None:
            with _about(incident.id):
                notice(wired.ports, incident, alarm, now)

        opened = reopen(
            wired.accounts,
            wired.incidents,
            places,
            now,
            receiver(wired).take,
            still_open=still_open,
            unreadable=unreadable.setdefault,
            not_looked_at=late.append,
            at_it=at_it,
            left=left,
        )
        if is_time_to_check(now, SWEEP_EVERY):
            tell_unreadable(wired.pager, unreadable)
        return opened, len(late)


@contextmanager
def _about(incident_id: str) -> Iterator[None]:
    """Put an incident's id on each line, and into the trace, while the sweep is at it."""
    with traced("sweep-incident") as annotations, every_line_with(incident_id=incident_id):
        annotations["incident_id"] = incident_id
        yield
