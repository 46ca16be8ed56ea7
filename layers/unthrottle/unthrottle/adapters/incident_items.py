"""How do incidents, locks and the action ledger lie in the table? Keys and items, nothing that talks to AWS.

One table, string keys `pk` and `sk`, TTL in `expires_at` (never set on anything that is still in use):

====================  ======================  =================================================================
pk                    sk                      what
====================  ======================  =================================================================
INCIDENT#<id>         INCIDENT                the record as JSON; version, triggers, wish, held resources beside it
OPEN                  <fingerprint>           the lock that makes a storm of alarms one incident
SEEN#<hash>           SEEN                    a state change that was handled, and whose it is
LOG#<yyyy-mm>         <opened at>#<id>        the order of incidents
UNTOLD                <incident id>           a closed incident whose reports Slack has not taken yet
RESOURCE#<arn>        RESOURCE                who holds it, the last action on it, switches to on-demand
BUDGET#<acct>/<reg>   <incident id>           an action of the last day
BUDGET#<acct>/<reg>   #REVISION               rises with each action, so that two do not spend the same last one
PAUSE                 PAUSE                   until when changes are stopped, and by whom
====================  ======================  =================================================================
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from unthrottle.codec import from_json, to_json
from unthrottle.errors import BadInput
from unthrottle.incident import Incident, Wish

Item = dict[str, Any]
"""A DynamoDB item or key, with its types written out: {"pk": {"S": "…"}}."""

OPEN = "OPEN"
UNTOLD = "UNTOLD"
_REVISION = "#REVISION"
PAUSE: Item = {"pk": {"S": "PAUSE"}, "sk": {"S": "PAUSE"}}


def text(value: str) -> dict[str, str]:
    return {"S": value}


def number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def moment(value: datetime) -> dict[str, str]:
    """Write a time so that its text sorts: UTC, always with microseconds."""
    return {"S": value.astimezone(UTC).isoformat(timespec="microseconds")}


def read_moment(value: Mapping[str, str] | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value["S"]).astimezone(UTC)


def epoch(value: datetime) -> dict[str, str]:
    return number(int(value.timestamp()))


def incident_key(incident_id: str) -> Item:
    return {"pk": text(f"INCIDENT#{incident_id}"), "sk": text("INCIDENT")}


def lock_key(fingerprint: str) -> Item:
    return {"pk": text(OPEN), "sk": text(fingerprint)}


def untold_key(incident_id: str) -> Item:
    return {"pk": text(UNTOLD), "sk": text(incident_id)}


def seen_key(dedupe_key: str) -> Item:
    """Hash the key: a state change is named by texts of any length."""
    return {"pk": text("SEEN#" + hashlib.sha256(dedupe_key.encode()).hexdigest()), "sk": text("SEEN")}


def resource_key(resource: str) -> Item:
    return {"pk": text(f"RESOURCE#{resource}"), "sk": text("RESOURCE")}


def budget_partition(account: str, region: str) -> str:
    return f"BUDGET#{account}/{region}"


def budget_revision_key(account: str, region: str) -> Item:
    """Name the row that guards a budget; its sort key is no incident's id."""
    return {"pk": text(budget_partition(account, region)), "sk": text(_REVISION)}


def revision_of(books: Sequence[Mapping[str, Any]]) -> int:
    """Read the revision out of a budget's rows; 0: nothing was spent yet, or not for a day."""
    return next((int(row["revision"]["N"]) for row in books if row["sk"]["S"] == _REVISION), 0)


def spent_by_others(books: Sequence[Mapping[str, Any]], incident_id: str, since: datetime) -> int:
    """Count the actions after `since`; 0 where this incident is one of them, since what is spent is not spent again."""
    times = ((row["sk"]["S"], read_moment(row.get("at"))) for row in books)
    spent = [by for by, at in times if at is not None and since < at]
    return 0 if incident_id in spent else len(spent)


def log_key(incident: Incident) -> Item:
    opened = moment(incident.opened_at)["S"]
    return {"pk": text(f"LOG#{opened[:7]}"), "sk": text(f"{opened}#{incident.id}")}


def log_months(now: datetime, days: int) -> Iterator[str]:
    """Yield the log partitions that may hold incidents of the last `days`, newest first."""
    month = now.astimezone(UTC).replace(day=1)
    oldest = now - timedelta(days=days)
    while True:
        yield f"LOG#{month:%Y-%m}"
        previous = month - timedelta(days=1)
        if previous < oldest:
            return
        month = previous.replace(day=1)


def document(incident: Incident) -> str:
    """Write the record as JSON. Its triggers and a person's wish lie beside it, written by others, and are left out."""
    written = to_json(incident)
    if isinstance(written, dict):
        written.pop("triggers", None)
        written.pop("wish", None)
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def read_incident(item: Mapping[str, Any]) -> Incident:
    """Read a record back, with the triggers counted meanwhile.

    Raises BadInput for a record this version cannot read.
    """
    try:
        data = json.loads(item["document"]["S"])
        counted: dict[str, Any] = {"triggers": int(item["triggers"]["N"]), "version": int(item["version"]["N"])}
        if "wish" in item:
            counted["wish"] = json.loads(item["wish"]["S"])
    except (KeyError, ValueError) as error:
        key = item.get("pk", {}).get("S", "?")
        raise BadInput(
            f"Cannot read {key}: its {error} is missing or no JSON. Nothing was changed. It was written by hand."
        ) from error
    found = from_json(Incident, {**data, **counted})
    earlier = item.get("earlier_wish", {}).get("S")
    if found.wish is None or not earlier:
        return found
    return replace(found, wish=found.wish.over(from_json(Wish, json.loads(earlier))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """What the ledger knows of one resource. `revision` guards against a second writer; 0: never written.

    `switches` are the switches to on-demand of the last day, by incident, so that a repeated step counts once.
    """

    resource: str
    revision: int = 0
    holder: str | None = None
    last_action_at: datetime | None = None
    switches: Mapping[str, datetime] = field(default_factory=dict)

    def taken(self, incident_id: str, now: datetime, *, is_switch: bool) -> "ResourceEntry":
        """Hold it for an incident that acts on it now."""
        switches = {by: at for by, at in self.switches.items() if now - at < timedelta(hours=24)}
        if is_switch:
            switches.setdefault(incident_id, now)
        return replace(self, revision=self.revision + 1, holder=incident_id, last_action_at=now, switches=switches)

    def freed(self, *, unused_by: str | None = None, asked_back_at: datetime | None = None) -> "ResourceEntry":
        """Hold it no more. `unused_by` is an incident that took it and then did not act: no cooldown, no switch spent.

        A person who had the change taken back starts the cooldown anew.
        """
        if unused_by is None:
            last = asked_back_at or self.last_action_at
            return replace(self, revision=self.revision + 1, holder=None, last_action_at=last)
        switches = {by: at for by, at in self.switches.items() if by != unused_by}
        return replace(self, revision=self.revision + 1, holder=None, last_action_at=None, switches=switches)

    def item(self) -> Item:
        written: Item = {**resource_key(self.resource), "revision": number(self.revision)}
        if self.holder is not None:
            written["holder"] = text(self.holder)
        if self.last_action_at is not None:
            written["last_action_at"] = moment(self.last_action_at)
        if self.switches:
            written["switches"] = {"M": {by: moment(at) for by, at in self.switches.items()}}
        return written


def read_resource(resource: str, item: Mapping[str, Any] | None) -> ResourceEntry:
    """Read a ledger entry; a missing one is a resource nobody has acted on."""
    if item is None:
        return ResourceEntry(resource=resource)
    return ResourceEntry(
        resource=resource,
        revision=int(item["revision"]["N"]),
        holder=item["holder"]["S"] if "holder" in item else None,
        last_action_at=read_moment(item.get("last_action_at")),
        switches={
            by: datetime.fromisoformat(at["S"]).astimezone(UTC)
            for by, at in item.get("switches", {"M": {}})["M"].items()
        },
    )
