"""What does functions/sweep do every few minutes? Gives back, opens, delivers, and says what is stuck."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from unthrottle.adapters.figures import write_figures
from unthrottle.entry.intake import receiver
from unthrottle.incident import Incident
from unthrottle.outbox import check_token, is_time_to_check
from unthrottle.reach import SESSION, is_asked, reach
from unthrottle.reopen import Place, reopen, tell_unreadable
from unthrottle.returned import notice
from unthrottle.stuck import stuck
from unthrottle.sweep import SWEEP_EVERY, sweep
from unthrottle.wiring import Wired

log = logging.getLogger("unthrottle")


class Sweep:
    """The entry point of functions/sweep."""

    @classmethod
    def from_environment(cls) -> "Sweep":
        """Wire it. Raises SettingsError."""
        return cls(Wired.from_environment())

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def handle(self, event: object) -> dict[str, Any]:
        wired = self._wired
        if is_asked(event):
            return {"places": reach(wired.accounts, wired.places, event, any_function=self._any_function)}
        found = wired.incidents.open_incidents()
        swept = sweep(wired.ports, wired.starter, found)
        reopened = self._reopen(None if swept.has_changed else found)
        still = stuck(found, wired.clock.now())
        if still:  # the template's metric filter looks for this line
            log.warning("incidents.stuck", extra={"stuck": len(still), "incidents": list(still)})
        if wired.chat is not None and is_time_to_check(wired.clock.now(), SWEEP_EVERY):
            check_token(wired.chat.whoami, wired.pager)
        write_figures(
            {
                "UnreportedSteps": (swept.backlog.unsent, MetricUnit.Count),
                "OldestUnsentAge": (swept.backlog.oldest_s, MetricUnit.Seconds),
            },
            stack=wired.deployment.stack,
        )
        swept.complain()
        return {**asdict(swept), "reopened": list(reopened)}

    def _any_function(self, account: str, region: str) -> str | None:
        """Name one function of an account and Region: the first of the first page."""
        for one in self._wired.accounts.survey(account, region, SESSION).functions():
            return one.name
        return None

    def _reopen(self, still_open: Sequence[Incident] | None) -> tuple[str, ...]:
        wired = self._wired
        places = [Place(account=account, region=region) for account, region in wired.places]
        unreadable: dict[Place, str] = {}
        now = wired.clock.now()
        opened = reopen(
            wired.accounts,
            wired.incidents,
            places,
            now,
            receiver(wired).take,
            still_open=still_open,
            unreadable=unreadable.setdefault,
            at_it=lambda incident, alarm: notice(wired.ports, incident, alarm, now),
        )
        if is_time_to_check(now, SWEEP_EVERY):
            tell_unreadable(wired.pager, unreadable)
        return opened
