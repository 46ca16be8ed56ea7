"""Where are incidents remembered, and who may act on what? One DynamoDB table, written only under conditions.

Everything that must be true together is written together. A write that is repeated, because the process died before it
knew, is recognised and succeeds. How things lie in the table is in `incident_items`.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from unthrottle.adapters import incident_items as items
from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_errors import code_of
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.incident_items import Item, ResourceEntry, moment, number, text
from unthrottle.adapters.transactions import write_together
from unthrottle.codec import to_json
from unthrottle.errors import BadInput, Busy, Conflict, OverBudget, TryAgain
from unthrottle.incident import Incident, Wish
from unthrottle.plan import SwitchToOnDemand
from unthrottle.ports import Clock, Duplicate, Joined, Ledger, Opened

TRIES = 8
"""How often a write is prepared anew when someone else was faster."""

LARGEST_BATCH = 100
BUDGET_WINDOW = timedelta(hours=1)
SWITCH_WINDOW = timedelta(hours=24)
_ABSENT = "attribute_not_exists(pk)"
_IS_OPEN = "attribute_exists(pk) AND attribute_not_exists(expires_at)"
_TAKES_WISHES = f"{_IS_OPEN} AND (attribute_not_exists(settling) OR settling <> version)"

logger = logging.getLogger(__name__)


class IncidentsTable:
    """The `Incidents` port.

    `retention_days` is how long closed incidents, handled state changes and the ledger are kept; at least a day.
    """

    def __init__(
        self, access: Access, table_name: str, *, retention_days: int = 400, clock: Clock | None = None
    ) -> None:
        self._access = access
        self._table = table_name
        self._clock = clock or SystemClock()
        self._retention = timedelta(days=max(1, retention_days))

    # --- opening -----------------------------------------------------------------------------------------------------

    def open_or_join(self, incident: Incident, dedupe_key: str) -> Opened | Joined | Duplicate:
        """Open `incident`, unless its fingerprint is open already or this state change was seen. One transaction.

        An incident opened by the same state change before answers Duplicate with its own id. Needs no validator, so it
        is quick from cold. Raises TryAgain, NotFound, NotAllowed, Refused.
        """
        doing = f"open incident {incident.id}"
        for _ in range(TRIES):
            cancelled = write_together(self._access, self._opening(incident, dedupe_key), doing)
            if cancelled is None:
                return Opened(incident=incident)
            if 0 in cancelled.failed:
                return Duplicate(incident_id=_owner(cancelled.failed[0]))
            if 2 in cancelled.failed:
                return Duplicate(incident_id=incident.id)
            if 1 in cancelled.failed:
                joined = self._join(_owner(cancelled.failed[1]), incident.fingerprint, dedupe_key)
                if joined is not None:
                    return joined
        raise TryAgain(f"Could not {doing}: others kept writing the same. Nothing was changed.")

    def _opening(self, incident: Incident, dedupe_key: str) -> list[dict[str, Any]]:
        owner = {"incident_id": text(incident.id)}
        record: Item = {
            **items.incident_key(incident.id),
            "document": text(items.document(incident)),
            "version": number(incident.version),
            "triggers": number(incident.triggers),
        }
        return [
            self._put({**items.seen_key(dedupe_key), **owner, **self._expiry()}, _ABSENT),
            self._put({**items.lock_key(incident.fingerprint), **owner}, _ABSENT),
            self._put(record, _ABSENT),
            self._put({**items.log_key(incident), **owner, **self._expiry()}),
        ]

    def _join(self, holder: str, fingerprint: str, dedupe_key: str) -> Joined | Duplicate | None:
        """Count one more trigger for the open incident. None: it was closed meanwhile."""
        held = {":holder": text(holder)}
        writes: list[dict[str, Any]] = [
            self._put({**items.seen_key(dedupe_key), "incident_id": text(holder), **self._expiry()}, _ABSENT),
            {
                "ConditionCheck": {
                    "TableName": self._table,
                    "Key": items.lock_key(fingerprint),
                    "ConditionExpression": "incident_id = :holder",
                    "ExpressionAttributeValues": held,
                }
            },
            {
                "Update": {
                    "TableName": self._table,
                    "Key": items.incident_key(holder),
                    "UpdateExpression": "ADD triggers :one",
                    "ConditionExpression": "attribute_exists(pk)",
                    "ExpressionAttributeValues": {":one": number(1)},
                }
            },
        ]
        cancelled = write_together(self._access, writes, f"join incident {holder}")
        if cancelled is None:
            return Joined(incident_id=holder)
        return Duplicate(incident_id=_owner(cancelled.failed[0])) if 0 in cancelled.failed else None

    # --- the record --------------------------------------------------------------------------------------------------

    def load(self, incident_id: str) -> Incident | None:
        """Read one record. Raises BadInput for one that cannot be read, TryAgain, NotFound, NotAllowed, Refused."""
        item = self._get(items.incident_key(incident_id), f"read incident {incident_id}")
        return None if item is None else items.read_incident(item)

    def save(self, incident: Incident) -> Incident:
        """Write the record if its version is the stored one; returns it with the next version. Raises Conflict.

        Triggers counted meanwhile are kept. Writing the very same record again is fine: a resumed run does that.
        """
        written = replace(incident, version=incident.version + 1)
        update = self._record(incident, written)
        with self._access.use("dynamodb", f"write incident {incident.id}") as client:
            try:
                client.update_item(**update)
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise
            else:
                if written.closed_at is not None and not written.outbox:
                    client.delete_item(TableName=self._table, Key=items.untold_key(written.id))
                return written
        return self._written_before(written)

    def record_intent(self, incident: Incident, now: datetime, *, budget: int | None = None) -> Incident:
        """Write the record, take its resources and spend the action budget, in one transaction, before acting.

        Taking what this incident already holds is fine (a resumed run), and spends the budget once. Raises Busy,
        OverBudget, Conflict, TryAgain.
        """
        written = replace(incident, version=incident.version + 1)
        switched = {change.arn for change in _changes(incident) if isinstance(change, SwitchToOnDemand)}
        doing = f"record what incident {incident.id} is about to do"
        for _ in range(TRIES):
            entries = self._entries(incident.resources)
            for entry in entries:
                if entry.holder not in {None, incident.id}:
                    raise Busy(entry.resource, str(entry.holder))
            books = self._query(items.budget_partition(incident.account, incident.region), "read the action budget")
            spent = items.spent_by_others(books, incident.id, now - BUDGET_WINDOW)
            if budget is not None and spent >= budget:
                raise OverBudget(spent, budget)
            taken = [entry.taken(incident.id, now, is_switch=entry.resource in switched) for entry in entries]
            cancelled = write_together(
                self._access,
                [
                    {"Update": self._record(incident, written, hold=incident.resources)},
                    self._put(self._spent(incident, now)),
                    self._counted(incident, books, now),
                    *(self._entry(before, after) for before, after in zip(entries, taken, strict=True)),
                ],
                doing,
            )
            if cancelled is None:
                return written
            if 0 in cancelled.failed:
                return self._written_before(written)
        raise TryAgain(f"Could not {doing}: others kept writing the same. Nothing was changed.")

    def wish(self, incident_id: str, wish: Wish) -> bool:
        """Note what a person wants done with an open incident's change. False: there is none, it is closed, or just ending.

        The newest wish counts. Raises TryAgain, NotFound, NotAllowed, Refused.
        """
        with self._access.use("dynamodb", f"note a wish about incident {incident_id}") as client:
            try:
                client.update_item(
                    TableName=self._table,
                    Key=items.incident_key(incident_id),
                    UpdateExpression="SET earlier_wish = if_not_exists(wish, :none), wish = :wish",
                    ConditionExpression=_TAKES_WISHES,
                    ExpressionAttributeValues={":wish": text(json.dumps(to_json(wish))), ":none": text("")},
                )
            except client.exceptions.ConditionalCheckFailedException:
                return False
        return True

    def close(self, incident: Incident) -> Incident:
        """Write the record, free its fingerprint and its resources, in one transaction. Raises Conflict, TryAgain.

        Everything the incident ever took is freed. Raises ValueError for a record without `closed_at`.
        """
        if incident.closed_at is None:
            raise ValueError(f"{incident.id} has no closing time, so it cannot be closed.")
        written = replace(incident, version=incident.version + 1)
        doing = f"close incident {incident.id}"
        for _ in range(TRIES):
            stored = self._get(items.incident_key(incident.id), doing) or {}
            held = dict.fromkeys([*stored.get("held", {"SS": []})["SS"], *incident.resources])
            unused_by = None if incident.may_have_acted else incident.id
            freed = [
                self._entry(entry, entry.freed(unused_by=unused_by, asked_back_at=incident.asked_back_at))
                for entry in self._entries(held)
                if entry.holder == incident.id
            ]
            lock = self._get(items.lock_key(incident.fingerprint), doing)
            if lock is not None and _owner(lock) == incident.id:
                freed.append(self._unlock(incident))
            writes = [{"Update": self._record(incident, written, closing=True)}, *freed]
            if incident.outbox:
                writes.append(self._put({**items.untold_key(incident.id), "incident_id": text(incident.id)}))
            cancelled = write_together(self._access, writes, doing)
            if cancelled is None:
                return written
            if 0 in cancelled.failed:
                return self._written_before(written)
        raise TryAgain(f"Could not {doing}: others kept writing the same. Nothing was changed.")

    def _record(
        self, before: Incident, after: Incident, *, hold: Sequence[str] = (), closing: bool = False
    ) -> dict[str, Any]:
        """Make the conditional update of a record, for UpdateItem or as part of a transaction."""
        values: Item = {
            ":document": text(items.document(after)),
            ":next": number(after.version),
            ":known": number(before.version),
        }
        expression = "SET document = :document, version = :next"
        if after.settling is not None:
            expression += ", settling = :next"  # the version that says so: any later write, of any release, ends it
        if closing:
            expression += ", expires_at = :end REMOVE held"
            values[":end"] = self._expiry()["expires_at"]
        elif hold:
            expression += " ADD held :held"
            values[":held"] = {"SS": sorted(set(hold))}
        return {
            "TableName": self._table,
            "Key": items.incident_key(before.id),
            "UpdateExpression": expression,
            "ConditionExpression": "version = :known",
            "ExpressionAttributeValues": values,
        }

    def _written_before(self, written: Incident) -> Incident:
        """Accept a refused write when it is the one that is stored. Raises Conflict otherwise."""
        stored = self._get(items.incident_key(written.id), f"read incident {written.id}")
        if stored is None:
            raise Conflict(f"{written.id} is not in the table {self._table}. Nothing was changed.")
        if stored["document"]["S"] == items.document(written):
            return written
        raise Conflict(
            f"{written.id} is at version {stored['version']['N']}, not at {written.version - 1}: someone else wrote "
            f"it. Nothing was changed. Load it and decide again."
        )

    # --- the ledger --------------------------------------------------------------------------------------------------

    def ledger(self, account: str, region: str, resources: Sequence[str], now: datetime) -> Ledger:
        """Read what other incidents do and did, in one query and one batch.

        `held_by` names whoever holds a resource, the asking incident too.
        """
        found = self._batch([items.PAUSE, *(items.resource_key(resource) for resource in resources)], "read the ledger")
        entries = [items.read_resource(name, found.get(_identity(items.resource_key(name)))) for name in resources]
        until = items.read_moment(found.get(_identity(items.PAUSE), {}).get("until"))
        spent = self._query(items.budget_partition(account, region), "read the action budget")
        acted = sorted(at for at in (items.read_moment(item.get("at")) for item in spent) if at is not None)
        return Ledger(
            paused_until=until if until is not None and until > now else None,
            acted=tuple(at for at in acted if now - BUDGET_WINDOW < at),
            last_on={entry.resource: entry.last_action_at for entry in entries if entry.last_action_at is not None},
            held_by={entry.resource: entry.holder for entry in entries if entry.holder is not None},
            switches={
                entry.resource: tuple(sorted(at for at in entry.switches.values() if now - SWITCH_WINDOW < at))
                for entry in entries
                if any(now - SWITCH_WINDOW < at for at in entry.switches.values())
            },
        )

    def set_pause(self, until: datetime | None, by: str) -> None:
        """Stop new changes everywhere until then; None ends it. `by` is kept with it."""
        with self._access.use("dynamodb", "pause or resume all changes") as client:
            if until is None:
                client.delete_item(TableName=self._table, Key=items.PAUSE)
            else:
                client.put_item(TableName=self._table, Item={**items.PAUSE, "until": moment(until), "by": text(by)})

    def is_seen(self, delivery: str) -> bool:
        """Say whether a person's request was taken before, and note that it is now. Kept for a day, longer than a retry."""
        item = {
            **items.seen_key(f"request|{delivery}"),
            "incident_id": text(""),
            "expires_at": items.epoch(self._clock.now() + SWITCH_WINDOW),
        }
        with self._access.use("dynamodb", "note a request") as client:
            try:
                client.put_item(TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(pk)")
            except client.exceptions.ConditionalCheckFailedException:
                return True
        return False

    def _entries(self, resources: Iterable[str]) -> list[ResourceEntry]:
        names = list(dict.fromkeys(resources))
        found = self._batch([items.resource_key(name) for name in names], "read the ledger")
        return [items.read_resource(name, found.get(_identity(items.resource_key(name)))) for name in names]

    def _entry(self, before: ResourceEntry, after: ResourceEntry) -> dict[str, Any]:
        written = after.item() if after.holder is not None else {**after.item(), **self._expiry()}
        if before.revision == 0:
            return self._put(written, _ABSENT)
        return self._put(written, "revision = :known", {":known": number(before.revision)})

    def _spent(self, incident: Incident, now: datetime) -> Item:
        partition = items.budget_partition(incident.account, incident.region)
        end = items.epoch(now + SWITCH_WINDOW)
        return {"pk": text(partition), "sk": text(incident.id), "at": moment(now), "expires_at": end}

    def _counted(self, incident: Incident, books: Sequence[Mapping[str, Any]], now: datetime) -> dict[str, Any]:
        """Make the write that lets only one of several incidents spend on what it has read of the budget."""
        known = items.revision_of(books)
        written = {
            **items.budget_revision_key(incident.account, incident.region),
            "revision": number(known + 1),
            "expires_at": items.epoch(now + SWITCH_WINDOW),
        }
        if known == 0:
            return self._put(written, _ABSENT)
        return self._put(written, "revision = :known", {":known": number(known)})

    def _unlock(self, incident: Incident) -> dict[str, Any]:
        return {
            "Delete": {
                "TableName": self._table,
                "Key": items.lock_key(incident.fingerprint),
                "ConditionExpression": "incident_id = :id",
                "ExpressionAttributeValues": {":id": text(incident.id)},
            }
        }

    # --- listing -----------------------------------------------------------------------------------------------------

    def open_incidents(self) -> tuple[Incident, ...]:
        """Return the open incidents, oldest first. One that cannot be read is logged and left out."""
        owners = [_owner(item) for item in self._query(items.OPEN, "list the open incidents")]
        return tuple(sorted(self._load_all(owners), key=lambda incident: (incident.opened_at, incident.id)))

    def untold(self) -> tuple[Incident, ...]:
        """Return the closed incidents of which Slack has not taken every report, oldest first."""
        owners = [_owner(item) for item in self._query(items.UNTOLD, "list the reports that were not sent")]
        return tuple(sorted(self._load_all(owners), key=lambda incident: (incident.opened_at, incident.id)))

    def recent(self, limit: int, *, since: datetime | None = None) -> tuple[Incident, ...]:
        """Return the newest incidents, open or closed, newest first. One that cannot be read is logged and left out.

        One query for each month of the retention, until there are enough, or for each month back to `since`.
        """
        found: list[Incident] = []
        now = self._clock.now()
        days = self._retention.days if since is None else max(0, (now - since).days + 1)
        for partition in items.log_months(now, days):
            if len(found) >= limit:
                break
            wanted = limit - len(found)
            owners = [
                _owner(item) for item in self._query(partition, "list the incidents", newest_first=True, limit=wanted)
            ]
            by_id = {incident.id: incident for incident in self._load_all(owners)}
            found.extend(by_id[owner] for owner in owners if owner in by_id)
        return tuple(found)

    def _load_all(self, incident_ids: Sequence[str]) -> Iterator[Incident]:
        found = self._batch([items.incident_key(one) for one in incident_ids], f"read {len(incident_ids)} incidents")
        for item in found.values():
            try:
                yield items.read_incident(item)
            except BadInput as error:
                logger.error(
                    "incident.unreadable", extra={"key": item["pk"]["S"], "reason": str(error)}
                )  # the text says it all

    # --- calls -------------------------------------------------------------------------------------------------------

    def _expiry(self) -> Item:
        return {"expires_at": items.epoch(self._clock.now() + self._retention)}

    def _put(self, item: Item, condition: str | None = None, values: Item | None = None) -> dict[str, Any]:
        put: dict[str, Any] = {"TableName": self._table, "Item": item}
        if condition is not None:
            put["ConditionExpression"] = condition
            put["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if values is not None:
            put["ExpressionAttributeValues"] = values
        return {"Put": put}

    def _get(self, key: Item, doing: str) -> Item | None:
        """Read an item. The capacity is asked for only as a mark: an answer without it was cut off, and proves no absence."""
        with self._access.use("dynamodb", doing) as client:
            answer = client.get_item(
                TableName=self._table, Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
            )
        if "ConsumedCapacity" not in answer:
            raise TryAgain(
                f"Could not {doing}: DynamoDB's answer was incomplete. Nothing was changed; it is asked again."
            )
        return answer.get("Item")

    def _query(
        self, partition: str, doing: str, *, newest_first: bool = False, limit: int | None = None
    ) -> list[Mapping[str, Any]]:
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": text(partition)},
            "ConsistentRead": True,
            "ScanIndexForward": not newest_first,
        }
        found: list[Mapping[str, Any]] = []
        with self._access.use("dynamodb", doing) as client:
            for page in client.get_paginator("query").paginate(**asked):
                found.extend(page.get("Items", []))
                if limit is not None and len(found) >= limit:
                    break
        return found if limit is None else found[:limit]

    def _batch(self, keys: Iterable[Item], doing: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Read many items; those that are not there are left out."""
        wanted = list({_identity(key): key for key in keys}.values())
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for start in range(0, len(wanted), LARGEST_BATCH):
            pending: list[Any] = wanted[start : start + LARGEST_BATCH]
            for _ in range(TRIES):
                with self._access.use("dynamodb", doing) as client:
                    answer = client.batch_get_item(
                        RequestItems={self._table: {"Keys": pending, "ConsistentRead": True}}
                    )
                found.update((_identity(item), item) for item in answer.get("Responses", {}).get(self._table, []))
                left: Mapping[str, Any] = answer.get("UnprocessedKeys", {})
                pending = list(left.get(self._table, {}).get("Keys", []))
                if not pending:
                    break
            if pending:
                raise TryAgain(f"Could not {doing}: DynamoDB kept leaving items out.")
        return found


def _owner(item: Mapping[str, Any]) -> str:
    return str(item["incident_id"]["S"])


def _identity(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def _changes(incident: Incident) -> Iterable[object]:
    return incident.plan.changes if incident.plan else ()
