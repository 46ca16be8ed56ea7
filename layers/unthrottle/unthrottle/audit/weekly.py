"""The scheduled audit: every account the stack looks after, what is new and what is gone, told to Slack and remembered.

Read-only but for its own report. An account that cannot be looked at is named, and the others go on; so does the report when
it can be compared with nothing or cannot be kept.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from unthrottle.audit.document import NotLookedAt, compact, compared, document, exposures_of
from unthrottle.audit.exposures import Exposure
from unthrottle.audit.inventory import Inventory, Survey
from unthrottle.audit.take_stock import FAILURES, Stocktaking
from unthrottle.audit.words import slack_text
from unthrottle.chat import ChatError
from unthrottle.errors import BadInput
from unthrottle.incident import Incident
from unthrottle.ports import Observer, Ports
from unthrottle.settings import Settings

log = logging.getLogger("unthrottle")

WEEK = timedelta(days=7)
RECENT = 200


class Store(Protocol):
    """Where audits are remembered."""

    def save(self, document: dict[str, Any], at: datetime) -> None: ...
    def latest(self) -> dict[str, Any] | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly:
    """What was told, and how much there is of it."""

    text: str
    exposures: int
    new: int
    gone: int
    not_looked_at: tuple[str, ...]
    posted: bool
    kept: bool


def look_over(
    ports: Ports,
    settings: Settings,
    ways: Sequence[tuple[str, str, Callable[[], tuple[Observer, Survey]]]],
    store: Store,
) -> Weekly:
    """Audit every (account, Region, way to look), compare with the last audit, tell Slack, and remember."""
    now = ports.clock.now()
    kept: list[tuple[Inventory, Sequence[Exposure]]] = []
    failed: list[NotLookedAt] = []
    for account, region, way in ways:
        try:
            observer, survey = way()
            inventory = Stocktaking(observer, survey, account=account, region=region, now=now, tell=log.debug).take()
        except FAILURES as error:
            failed.append(NotLookedAt(account=account, region=region, why=str(error)))
            log.warning("audit.not-looked-at", extra={"account": account, "region": region, "error": error.code})
            continue
        kept.append((inventory, exposures_of(inventory, settings)))
    found = document(kept, failed, at=now, settings=settings, calls={})
    before = _last(store)
    if before is not None:
        found = compared(found, before)
    text = slack_text(found) + "\n" + _incidents(ports.incidents.recent(RECENT), now)
    said = Weekly(
        text=text,
        exposures=len(found["exposures"]),
        new=sum(1 for row in found["exposures"] if row["change"] == "new"),
        gone=len(found["gone"]),
        not_looked_at=tuple(f"{one.account} {one.region}" for one in failed),
        posted=_posted(ports, text),
        kept=_kept(store, compact(found), now),
    )
    log.info("audit.done", extra={"exposures": said.exposures, "new": said.new, "gone": said.gone})
    return said


def _last(store: Store) -> dict[str, Any] | None:
    try:
        return store.latest()
    except (*FAILURES, BadInput) as error:
        log.warning("audit.not-compared", extra={"error": str(error)})
        return None


def _kept(store: Store, found: dict[str, Any], now: datetime) -> bool:
    try:
        store.save(found, now)
    except FAILURES as error:
        log.error("audit.not-kept", extra={"error": str(error)})
        return False
    return True


def _posted(ports: Ports, text: str) -> bool:
    if ports.chat is None:
        return False
    try:
        ports.chat.post(text, [])
    except ChatError as error:
        log.error("audit.not-posted", extra={"error": error.code})
        return False
    return True


def _incidents(recent: Sequence[Incident], now: datetime) -> str:
    """Count this week's incidents by status."""
    counts: dict[str, int] = {}
    for incident in recent:
        if now - incident.opened_at <= WEEK:
            counts[incident.status.value] = counts.get(incident.status.value, 0) + 1
    words = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"Incidents this week: {sum(counts.values())}" + (f" ({words})." if words else ".")
