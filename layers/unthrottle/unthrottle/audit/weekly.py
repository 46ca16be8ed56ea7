"""The scheduled audit: every account the stack looks after, what is new and what is gone, told to Slack and remembered.

Read-only but for its own report. An account that cannot be looked at is named, and the others go on; so does the report when
it can be compared with nothing or cannot be kept. Several accounts are looked at together; those for which there is no time are
named, too, and each week begins with others.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, cast

from unthrottle.audit.document import NotLookedAt, compact, compared, document, exposures_of
from unthrottle.audit.exposures import Exposure
from unthrottle.audit.inventory import Inventory, Survey
from unthrottle.audit.take_stock import FAILURES, Stocktaking
from unthrottle.audit.words import slack_text
from unthrottle.chat import ChatError
from unthrottle.errors import BadInput, UnthrottleError
from unthrottle.incident import Incident
from unthrottle.ports import Observer, Ports
from unthrottle.rounds import in_turn, look_at_each, no_end
from unthrottle.settings import Settings

log = logging.getLogger("unthrottle")

WEEK = timedelta(days=7)
RECENT = 200
OUT_OF_TIME = "out of time"
MOST_NAMED = 10
"""Accounts and Regions that the message in Slack names as left out; the kept document names all."""

Way = tuple[str, str, Callable[[], tuple[Observer, Survey]]]
"""An account, a Region, and what makes the ways to look at them."""
Looked = tuple[Inventory, Sequence[Exposure]]


class OutOfTime(UnthrottleError):
    """The time was over in the middle of an account, which is then not looked at: half an inventory would read as a whole one."""


class _InTime:
    """A way to look that is used only as long as there is time."""

    def __init__(self, way: object, left: Callable[[], float]) -> None:
        self._way = way
        self._left = left

    def __getattr__(self, name: str) -> Any:
        if self._left() <= 0:
            raise OutOfTime(OUT_OF_TIME)
        return getattr(self._way, name)


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
    ways: Sequence[Way],
    store: Store,
    left: Callable[[], float] = no_end,
) -> Weekly:
    """Audit every (account, Region, way to look), compare with the last audit, tell Slack, and remember.

    `left` says how many seconds there are for looking; what is not looked at by then is named in the report.
    """
    now = ports.clock.now()
    looked = dict(look_at_each(in_turn(ways, now, WEEK), lambda way: _look_at(way, settings, now, left), left))
    kept: list[Looked] = []
    failed: list[NotLookedAt] = []
    for way in ways:
        account, region, _ = way
        result = looked[way] or NotLookedAt(account=account, region=region, why=OUT_OF_TIME)
        if not isinstance(result, NotLookedAt):
            kept.append(result)
            continue
        failed.append(result)
        log.warning("audit.not-looked-at", extra={"account": account, "region": region, "error": result.why})
    found = document(kept, failed, at=now, settings=settings, calls={})
    before = _last(store)
    if before is not None:
        found = compared(found, before)
    text = slack_text(_briefly(found)) + "\n" + _incidents(ports.incidents.recent(RECENT), now)
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


def _look_at(way: Way, settings: Settings, now: datetime, left: Callable[[], float]) -> Looked | NotLookedAt:
    """Take stock of one account and Region, and judge it. Called by several threads at once."""
    account, region, make = way
    try:
        observer, survey = make()
        in_time = Observer(
            metrics=cast("Any", _InTime(observer.metrics, left)),
            functions=cast("Any", _InTime(observer.functions, left)),
            tables=cast("Any", _InTime(observer.tables, left)),
            alarms=cast("Any", _InTime(observer.alarms, left)),
            calendar=observer.calendar,
        )
        seen = cast("Survey", _InTime(survey, left))
        inventory = Stocktaking(in_time, seen, account=account, region=region, now=now, tell=log.debug).take()
    except (*FAILURES, OutOfTime) as error:
        return NotLookedAt(account=account, region=region, why=str(error))
    return inventory, exposures_of(inventory, settings)


def _briefly(found: dict[str, Any]) -> dict[str, Any]:
    """Name only the first of those that were left out for want of time: a message in Slack is not endless."""
    rows = found["failed"]
    late = [row for row in rows if row["why"] == OUT_OF_TIME]
    if len(late) <= MOST_NAMED:
        return found
    rest = {"account": f"{len(late) - MOST_NAMED:,} more", "region": "accounts and Regions", "why": OUT_OF_TIME}
    others = [row for row in rows if row["why"] != OUT_OF_TIME]
    return {**found, "failed": [*others, *late[:MOST_NAMED], rest]}


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
