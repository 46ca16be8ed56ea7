"""The audit as one JSON document: its shape is public and versioned (docs/schemas/audit.schema.json). Pure.

All renderings (terminal, page, Slack) are made from the document, so that they can say nothing it does not hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from unthrottle.audit.coverage import contradictions, unwatched
from unthrottle.audit.exposures import Exposure, ranked
from unthrottle.audit.inventory import Inventory
from unthrottle.audit.pool_exposures import pool_exposures
from unthrottle.audit.table_exposures import table_exposures
from unthrottle.errors import BadInput
from unthrottle.settings import Settings

VERSION = 1
OWNER_TAGS = ("owner", "team", "service-owner", "cost-center", "project")
Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLookedAt:
    """An account and Region that could not be looked at, and why."""

    account: str
    region: str
    why: str


def exposures_of(
    inventory: Inventory, settings: Settings, owner_tags: Sequence[str] = OWNER_TAGS
) -> tuple[Exposure, ...]:
    """Judge an inventory; the worst comes first."""
    return ranked(
        (
            *pool_exposures(inventory, settings, owner_tags),
            *table_exposures(inventory, owner_tags),
            *unwatched(inventory),
            *contradictions(inventory, settings, owner_tags),
        )
    )


def place_of(inventory: Inventory) -> Document:
    """Describe what was looked at, with the account's concurrency by the hour for a chart."""
    concurrency = inventory.concurrency
    idle = sum(1 for one in inventory.functions if one.peak is None)
    return {
        "account": inventory.account,
        "region": inventory.region,
        "from": inventory.start.isoformat(),
        "to": inventory.end.isoformat(),
        "functions": len(inventory.functions),
        "functions_without_a_run": idle,
        "tables": len(inventory.tables),
        "concurrency_limit": concurrency.limit if concurrency else None,
        "reserved": concurrency.reserved if concurrency else None,
        "peak": inventory.in_use.peak() if inventory.in_use else None,
        "concurrency_by_hour": list(inventory.in_use.values) if inventory.in_use else [],
        "gaps": list(inventory.gaps),
    }


def document(
    places: Iterable[tuple[Inventory, Sequence[Exposure]]],
    failed: Iterable[NotLookedAt],
    *,
    at: datetime,
    settings: Settings,
    calls: Mapping[str, int],
) -> Document:
    """Write an audit of several accounts and Regions as one document."""
    kept = list(places)
    together = ranked(exposure for _, found in kept for exposure in found)
    home = {id(exposure): inventory for inventory, found in kept for exposure in found}
    rows = [_row(exposure, home[id(exposure)]) for exposure in together]
    return {
        "version": VERSION,
        "kind": "audit",
        "at": at.isoformat(),
        "max_pool_share": settings.max_pool_share,
        "places": [place_of(inventory) for inventory, _ in kept],
        "failed": [{"account": one.account, "region": one.region, "why": one.why} for one in failed],
        "exposures": rows,
        "compared_with": None,
        "gone": [],
        "aws_calls": dict(sorted(calls.items())),
    }


def _row(exposure: Exposure, inventory: Inventory) -> Document:
    place = f"{inventory.account}/{inventory.region}"
    return {
        "id": f"{place}/{exposure.kind.value}/{exposure.resource}",
        "kind": exposure.kind.value,
        "severity": exposure.severity.value,
        "account": inventory.account,
        "region": inventory.region,
        "resource": exposure.resource,
        "owner": exposure.owner,
        "title": exposure.title,
        "risk": exposure.risk,
        "evidence": list(exposure.evidence),
        "checks": list(exposure.checks),
        "fix": {
            "words": exposure.fix.words,
            "cli": exposure.fix.cli,
            "terraform": exposure.fix.terraform,
            "cloudformation": exposure.fix.cloudformation,
        },
        "change": None,
    }


def compared(now: Document, before: Mapping[str, Any]) -> Document:
    """Mark each exposure as new or still there, and list those that are gone. Raises BadInput for another document.

    Exposures of places that were not looked at now are neither gone nor there, and are left out.
    """
    if before.get("kind") != "audit" or before.get("version") != VERSION:
        raise BadInput(
            f"Cannot compare with it: it is no audit document of version {VERSION}. Nothing was changed. Give a file that "
            "`unthrottle audit --json` wrote."
        )
    try:
        old = {str(row["id"]): row for row in before["exposures"]}
        when = str(before["at"])
    except (KeyError, TypeError) as error:
        raise BadInput(f"Cannot compare with it: {error} is missing or wrong. Nothing was changed.") from error
    seen = {(place["account"], place["region"]) for place in now["places"]}
    rows = [{**row, "change": "same" if row["id"] in old else "new"} for row in now["exposures"]]
    present = {row["id"] for row in rows}
    gone = [
        {key: row.get(key) for key in ("id", "kind", "severity", "account", "region", "resource", "owner", "title")}
        for key, row in old.items()
        if key not in present and (row.get("account"), row.get("region")) in seen
    ]
    return {**now, "exposures": rows, "gone": gone, "compared_with": when}


def compact(found: Document) -> Document:
    """Leave out what can be made again from the rest: what is stored to compare with needs no fixes."""
    kept = ("id", "kind", "severity", "account", "region", "resource", "owner", "title", "evidence", "change")
    places = [{key: value for key, value in place.items() if key != "concurrency_by_hour"} for place in found["places"]]
    return {
        **found,
        "places": places,
        "exposures": [{key: row[key] for key in kept} for row in found["exposures"]],
    }


def needs_a_person(found: Document) -> bool:
    """Say whether anything is exposed."""
    return bool(found["exposures"])
