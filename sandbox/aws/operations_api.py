"""What do the small services around an incident answer: change calendars, OpsItems, quotas, the event history?

Only what moto lacks. Parameters, topics and secrets are moto's.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import Answer, Refuse, Request, Respond

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

_QUOTAS: Mapping[tuple[str, str], tuple[str, float]] = {
    ("dynamodb", "L-CF0CBE56"): ("Table-level read throughput limit", 40_000),
    ("dynamodb", "L-AB614373"): ("Table-level write throughput limit", 40_000),
    ("dynamodb", "L-34F6A552"): ("Account-level read throughput limit", 80_000),
    ("dynamodb", "L-34F8CCC8"): ("Account-level write throughput limit", 80_000),
}


class OperationsApi:
    """Handler of SSM's calendar and OpsItem calls and of Service Quotas for one account."""

    def __init__(self, account: "EmbeddedAccount") -> None:
        self._account = account

    def handle(self, request: Request) -> Answer | None:
        """Answer a call, or leave it."""
        if not self._account.owns(request):
            return None
        match request.call:
            case "ssm.GetCalendarState":
                at = request.now.strftime("%Y-%m-%dT%H:%M:%SZ")
                return Respond(parsed={"State": self._account.calendar_state, "AtTime": at})
            case "ssm.CreateOpsItem":
                key = request.parameters.get("OperationalData", {}).get("/aws/dedup", {}).get("Value")
                if key and any(_dedup(item) == key for item in self._account.ops_items):
                    return Refuse(code="OpsItemAlreadyExistsException", message="The OpsItem already exists.")
                self._account.ops_items.append(dict(request.parameters))
                number = f"oi-{len(self._account.ops_items):012d}"
                arn = self._account.arn("ssm", f"opsitem/{number}")
                return Respond(parsed={"OpsItemId": number, "OpsItemArn": arn})
            case "service-quotas.GetServiceQuota":
                return self._quota(request.parameters)
            case "cloudtrail.LookupEvents":
                return self._events(request.parameters)
        return None

    def _events(self, given: Mapping[str, Any]) -> Answer:
        """Tell the accepted switches to on-demand of a table, newest first, as the event history does."""
        wanted = {entry["AttributeKey"]: entry["AttributeValue"] for entry in given.get("LookupAttributes", [])}
        name = str(wanted.get("ResourceName", ""))
        table = self._account.tables.get(name)
        since = given.get("StartTime")
        events = [
            {
                "EventId": f"00000000-0000-4000-8000-{number:012d}",
                "EventName": "UpdateTable",
                "EventSource": "dynamodb.amazonaws.com",
                "EventTime": at,
                "CloudTrailEvent": json.dumps(
                    {
                        "eventName": "UpdateTable",
                        "requestParameters": {"tableName": name, "billingMode": "PAY_PER_REQUEST"},
                    }
                ),
            }
            for number, at in enumerate(table.switches if table else ())
            if since is None or at >= since
        ]
        return Respond(parsed={"Events": events[::-1]})

    def _quota(self, given: Mapping[str, Any]) -> Answer:
        service, code = str(given["ServiceCode"]), str(given["QuotaCode"])
        known = dict(_QUOTAS)
        known["lambda", "L-B99A9384"] = ("Concurrent executions", self._account.concurrency_limit)
        if (service, code) not in known:
            return Refuse(
                code="NoSuchResourceException", message="The request failed because the quota does not exist."
            )
        name, value = known[service, code]
        quota = {
            "ServiceCode": service,
            "QuotaCode": code,
            "QuotaName": name,
            "Value": float(value),
            "Adjustable": True,
        }
        return Respond(parsed={"Quota": quota})


def _dedup(item: Mapping[str, Any]) -> object:
    return item.get("OperationalData", {}).get("/aws/dedup", {}).get("Value")
