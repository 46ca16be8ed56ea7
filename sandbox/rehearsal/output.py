"""What came of a rehearsal, in the words of the public format?

Turns records, calls and counts into the JSON document that `unthrottle rehearse --json` prints for one scenario. Pure:
it is given everything. Minutes count from the scenario's start.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sandbox.aws.account import EmbeddedAccount
from sandbox.aws.gate import Call
from sandbox.aws.records import FunctionRecord, TableRecord
from unthrottle.incident import Incident
from unthrottle.plan import before_and_after

Document = dict[str, Any]

_READS = ("Get", "Describe", "List", "Lookup", "BatchGet", "Query", "Scan", "Head", "Search")
_REPORTS_AND_PLUMBING = frozenset(
    {
        "sts.AssumeRole",
        "sns.Publish",
        "ssm.CreateOpsItem",
        "ssm.UpdateOpsItem",
        "cloudwatch.PutMetricData",
        "lambda.Invoke",
        "lambda.CheckpointDurableExecution",
        "lambda.SendDurableExecutionCallbackSuccess",
        "lambda.SendDurableExecutionCallbackFailure",
        "lambda.SendDurableExecutionCallbackHeartbeat",
    }
)
"""Starting the bot's own workflow, answering it, and telling people: none of it changes the account."""
_ITEMS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem", "TransactGetItems"})
_ROLES = frozenset({"observer", "actor"})
_DIAGNOSED = "diagnosis.made"


def minute_of(at: datetime, start: datetime) -> int:
    """Count whole minutes since the start."""
    return int((at - start) // timedelta(minutes=1))


def is_mutation(call: Call, own_tables: frozenset[str]) -> bool:
    """Say whether a call changes the account or tries to.

    Whatever is not known to be harmless counts: an empty list of mutations is the proof of a dry run. Writes to the
    bot's *own_tables* are its memory, not a change.
    """
    if call.operation.startswith(_READS) or call.call in _REPORTS_AND_PLUMBING:
        return False
    if call.service == "dynamodb" and call.operation in _ITEMS:
        return not _tables_written(call.parameters) <= own_tables
    return True


def _tables_written(parameters: Mapping[str, Any]) -> frozenset[str]:
    if "TableName" in parameters:
        return frozenset({str(parameters["TableName"])})
    if "RequestItems" in parameters:
        return frozenset(str(name) for name in parameters["RequestItems"])
    parts = (part for item in parameters.get("TransactItems", []) for part in item.values())
    return frozenset(str(part.get("TableName")) for part in parts)


def mutations(calls: Iterable[Call], own_tables: frozenset[str]) -> list[Document]:
    """List every call that changes the account, by whoever; `incident` is the session name of the role."""
    return [
        {
            "minute": call.minute,
            "call": call.call,
            "parameters": plain(call.parameters),
            "result": call.result,
            "incident": call.session_name,
            "role": call.role,
            "account": call.account,
            "region": call.region,
        }
        for call in calls
        if is_mutation(call, own_tables)
    ]


def aws_calls(calls: Iterable[Call]) -> dict[str, int]:
    """Count the bot's calls by service and operation."""
    return dict(sorted(Counter(call.call for call in calls).items()))


def calls_until_action(
    calls: Sequence[Call], incidents: Iterable[Incident], own_tables: frozenset[str]
) -> dict[str, int]:
    """Count the calls each incident needed with the Observer's and Actor's rights before it acted.

    Without an action those until its diagnosis was recorded count, and all where it has none.
    """
    found = {}
    for incident in incidents:
        own = [(i, call) for i, call in enumerate(calls) if call.session_name == incident.id and call.role in _ROLES]
        acted = next((i for i, call in own if is_mutation(call, own_tables)), None)
        until = _diagnosed(calls, incident.id) if acted is None else acted
        found[incident.id] = sum(1 for i, _ in own if i < until)
    return found


def _diagnosed(calls: Sequence[Call], incident_id: str) -> int:
    """Find where in the calls the diagnosis was written down; the end of them where it never was."""
    for i, call in enumerate(calls):
        if call.service == "dynamodb" and call.operation in _ITEMS and not call.operation.endswith("GetItems"):
            written = str(call.parameters)
            if incident_id in written and _DIAGNOSED in written:
                return i
    return len(calls)


def escalations(calls: Iterable[Call]) -> list[Document]:
    """List what reached a person besides Slack: pages and OpsItems."""
    found: list[Document] = []
    for call in calls:
        if call.result != "ok":
            continue
        given = call.parameters
        if call.call == "sns.Publish":
            subject, text = given.get("Subject", ""), given.get("Message", "")
            found.append({"minute": call.minute, "via": "sns", "subject": subject, "text": text})
        elif call.call == "ssm.CreateOpsItem":
            subject, text = given.get("Title", ""), given.get("Description", "")
            found.append({"minute": call.minute, "via": "opsitem", "subject": subject, "text": text})
    return found


def incident_document(incident: Incident, start: datetime) -> Document:
    """Write one incident's record."""

    def minute(at: datetime | None) -> int | None:
        return None if at is None else minute_of(at, start)

    diagnosis, verdict = incident.diagnosis, incident.verdict
    return {
        "id": incident.id,
        "fingerprint": incident.fingerprint,
        "account": incident.account,
        "region": incident.region,
        "kind": incident.kind,
        "opened_minute": minute(incident.opened_at),
        "closed_minute": minute(incident.closed_at),
        "triggers": incident.triggers,
        "cause": diagnosis.cause.value if diagnosis else None,
        "confidence": diagnosis.confidence.value if diagnosis else None,
        "targets": list(diagnosis.targets) if diagnosis else [],
        "victims": list(diagnosis.victims) if diagnosis else [],
        "findings": [finding.text for finding in diagnosis.findings] if diagnosis else [],
        "gaps": list(diagnosis.gaps) if diagnosis else [],
        "rejected": [{"cause": one.cause.value, "because": one.because} for one in diagnosis.rejected]
        if diagnosis
        else [],
        "plan": _plan(incident),
        "verdict": verdict.decision.value if verdict else "none",
        "reasons": [reason.guardrail for reason in verdict.reasons] if verdict else [],
        "mode": incident.mode.value,
        "status": incident.status.value,
        "acted_minute": minute(incident.acted_at),
        "outcome": incident.outcome.value,
        "recovered_minute": minute(incident.recovered_at),
        "escalated": incident.escalated,
        "reverted_minute": minute(incident.reverted_at),
        "approved_by": incident.approved_by,
        "timeline": [
            {"minute": minute(moment.at), "event": moment.event, "detail": moment.detail}
            for moment in incident.timeline
        ],
    }


def _plan(incident: Incident) -> Document:
    plan = incident.plan
    if plan is None:
        return {"action": "none", "changes": [], "lease_minutes": None}
    changes = []
    for change in plan.changes:
        before, after = before_and_after(change)
        changes.append({"target": change.target, "before": before, "after": after})
    return {"action": plan.action.value, "changes": changes, "lease_minutes": plan.lease_minutes}


def final_state(account: EmbeddedAccount) -> Document:
    """Write what functions and tables are like now, in the words of the input."""
    return {
        "functions": {name: _function(record) for name, record in account.functions.items()},
        "tables": {name: _table(record) for name, record in account.tables.items()},
    }


def _function(record: FunctionRecord) -> Document:
    source: Document = {}
    for mapping in record.mappings:
        match mapping.kind:
            case "sqs":
                source["maximum_concurrency"] = mapping.maximum_concurrency
            case "kinesis" | "dynamodb-stream":
                source["parallelization_factor"] = mapping.parallelization_factor
            case "msk":
                pass
        if mapping.maximum_pollers is not None:
            source["provisioned_pollers"] = mapping.maximum_pollers
    return {"reserved": record.reserved, "event_source": source}


def _table(record: TableRecord) -> Document:
    """What DescribeTable says: a switch that is still under way counts as made."""
    document: Document = {
        "billing": record.reported_billing,
        "read": record.read if record.wanted_read is None else record.wanted_read,
        "write": record.write if record.wanted_write is None else record.wanted_write,
    }
    if record.indexes:
        document["indexes"] = {
            name: {
                "read": index.read if index.wanted_read is None else index.wanted_read,
                "write": index.write if index.wanted_write is None else index.wanted_write,
            }
            for name, index in record.indexes.items()
        }
    return document


def plain(value: Any) -> Any:
    """Make parameters of a call fit for JSON."""
    match value:
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case bytes() | bytearray():
            return bytes(value).decode(errors="replace")
        case datetime():
            return value.isoformat()
        case None | str() | int() | float() | bool():
            return value
        case _:
            return str(value)
