"""The scheduled look over the account: what the pool looks like, who could take too much of it, what the week brought.

Read-only. It says what it could not see.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta

from unthrottle.chat import ChatError, escape
from unthrottle.errors import NotAllowed, Refused, TryAgain
from unthrottle.evidence.read_pool import read_pool
from unthrottle.ports import Ports
from unthrottle.settings import Settings

log = logging.getLogger("unthrottle")

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly:
    """The summary as lines of text, and what could not be read."""

    lines: tuple[str, ...]
    gaps: tuple[str, ...]


def look_over(ports: Ports, settings: Settings, account: str, region: str, own_prefix: str | None) -> Weekly:
    """Look over one account and Region; post the summary to Slack where it is configured."""
    now = ports.clock.now()
    lines: list[str] = [f"Weekly look over account {account}, {region}. Mode {settings.mode.value}."]
    gaps: list[str] = []
    try:
        pool = read_pool(
            ports.accounts.observe(account, region, f"audit-{now:%Y%m%d}"), settings, now, own_prefix=own_prefix
        )
    except (NotAllowed, Refused, TryAgain) as error:
        gaps.append(f"The concurrency pool could not be read: {error}")
    else:
        peak = pool.concurrency.peak()
        in_use = "no datapoints" if peak is None else f"at most {peak:,.0f} in the last 3 h"
        lines.append(
            f"Concurrency: limit {pool.account.limit:,}, reserved {pool.account.reserved:,}, in use {in_use}; "
            f"{pool.account.function_count:,} functions."
        )
        share = pool.account.limit * settings.max_pool_share / 100
        large = [use for use in pool.ranking if (use.concurrency.peak() or 0) >= share]
        lines.extend(
            f"{escape(use.name)} took {use.concurrency.peak() or 0:,.0f}, more than its share of {share:,.0f}."
            for use in large[:10]
        )
        if not large:
            lines.append(f"No function took more than its share of {share:,.0f} in the last 3 h.")
        gaps.extend(pool.gaps)
    recent = [incident for incident in ports.incidents.recent(200) if now - incident.opened_at <= WEEK]
    by_status: dict[str, int] = {}
    for incident in recent:
        by_status[incident.status.value] = by_status.get(incident.status.value, 0) + 1
    counted = ", ".join(f"{count} {status}" for status, count in sorted(by_status.items()))
    lines.append(f"Incidents this week: {len(recent)}" + (f" ({counted})." if counted else "."))
    lines.extend(f"Not seen: {escape(gap)}" for gap in gaps)
    if ports.chat is not None:
        try:
            ports.chat.post("\n".join(lines), [])
        except ChatError as error:
            log.error("weekly.not-posted", extra={"error": error.code})
    return Weekly(lines=tuple(lines), gaps=tuple(gaps))
