"""What does functions/audit do once a week? Looks over every place, and compares with the last time."""

from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any

from unthrottle.adapters.accounts import AwsAccounts
from unthrottle.adapters.audit_store import AuditStore
from unthrottle.adapters.time_left import time_left
from unthrottle.adapters.traces import traced
from unthrottle.audit.inventory import Survey
from unthrottle.audit.weekly import look_over
from unthrottle.ports import Observer
from unthrottle.wiring import Wired

TO_END_IN = timedelta(minutes=2)
"""Kept of the function's time, after the last look at a place, to write the report, post it and keep it."""


class Audit:
    """The entry point of functions/audit."""

    @classmethod
    def from_environment(cls) -> "Audit":
        """Wire it. Raises SettingsError."""
        return cls(Wired.from_environment())

    def __init__(self, wired: Wired) -> None:
        self._wired = wired

    def handle(self, _event: object, context: object = None) -> dict[str, Any]:
        wired = self._wired
        session = f"audit-{wired.clock.now():%Y%m%d}"
        store = AuditStore(wired.own, wired.deployment.table, retention=timedelta(days=wired.settings.retention_days))
        ways = [
            (account, region, partial(_ways_to_look, wired.accounts, account, region, session))
            for account, region in wired.places
        ]
        with traced("audit"):
            return asdict(look_over(wired.ports, wired.settings, ways, store, left=time_left(context, TO_END_IN)))


def _ways_to_look(accounts: AwsAccounts, account: str, region: str, session: str) -> tuple[Observer, Survey]:
    return accounts.observe(account, region, session), accounts.survey(account, region, session)
