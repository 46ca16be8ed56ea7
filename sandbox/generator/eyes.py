"""The bot's own readers on an embedded account, without a wire: clients whose calls go straight to the handlers.

Datapoints can go missing on the way. Counts the calls that a look takes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from hashlib import blake2b
from typing import Any, cast

from botocore.exceptions import ClientError

from sandbox.aws.calls import Handler, Refuse, Request
from unthrottle.adapters.access import Access
from unthrottle.adapters.alarms_api import AwsAlarms
from unthrottle.adapters.aws_errors import translate
from unthrottle.adapters.calendar import AwsCalendar
from unthrottle.adapters.functions import AwsFunctions
from unthrottle.adapters.metrics import AwsMetrics
from unthrottle.adapters.tables import AwsTables
from unthrottle.ports import Observer

MORE = (("NextToken", "NextToken"), ("NextMarker", "Marker"))
"""What says that there is more, and how the rest is asked for."""

Lost = Callable[[str, datetime], bool]
"""Says whether the datapoint of a metric (as text) at a time never arrives."""


def losing(seed: int, part: float) -> Lost:
    """Lose a part of all datapoints, the same ones each time they are asked for."""

    def lost(metric: str, at: datetime) -> bool:
        if part <= 0:
            return False
        digest = blake2b(f"{seed}|{metric}|{at.isoformat()}".encode(), digest_size=4).digest()
        return int.from_bytes(digest) < part * 2**32

    return lost


class Eyes:
    """Looks at one account at a time. `calls` counts what was asked."""

    def __init__(self, handlers: Sequence[Handler], *, region: str, now: Callable[[], datetime], lost: Lost) -> None:
        self._handlers, self._region, self._now, self._lost = handlers, region, now, lost
        self.calls = 0
        access = cast("Access", self)
        self.observer = Observer(
            metrics=AwsMetrics(access),
            functions=AwsFunctions(access),
            tables=AwsTables(access),
            alarms=AwsAlarms(access),
            calendar=AwsCalendar(access),
        )

    def use(self, service: str, doing: str) -> AbstractContextManager[Any]:
        """Lend a client, as `Access` does."""
        return self._lend(service, doing)

    @contextmanager
    def _lend(self, service: str, doing: str) -> Iterator["_Client"]:
        try:
            yield _Client(self, service)
        except ClientError as error:
            raise translate(error, doing) from error

    def call(self, service: str, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the handlers. Raises ClientError for a refusal, LookupError where nobody answers."""
        operation = "".join(word.capitalize() for word in method.split("_"))
        self.calls += 1
        request = Request(
            service=service,
            operation=operation,
            parameters=given,
            now=self._now(),
            region=self._region,
            access_key=None,
            account=None,
            role=None,
            session_name=None,
        )
        answer = next((found for handler in self._handlers if (found := handler(request)) is not None), None)
        if answer is None:
            raise LookupError(f"Nothing answers {request.call} here.")
        if isinstance(answer, Refuse):
            raise ClientError({"Error": {"Code": answer.code, "Message": answer.message}}, operation)
        parsed = dict(answer.parsed)
        return self._with_losses(given, parsed) if operation == "GetMetricData" else parsed

    def _with_losses(self, given: Mapping[str, Any], parsed: dict[str, Any]) -> dict[str, Any]:
        names = {query["Id"]: _metric(query) for query in given["MetricDataQueries"]}
        results = []
        for result in parsed["MetricDataResults"]:
            name = f"{names[result['Id']]}|{result['Label'] if names[result['Id']].startswith('SELECT') else ''}"
            kept = [pair for pair in zip(result["Timestamps"], result["Values"], strict=True)
                    if not self._lost(name, pair[0])]  # fmt: skip
            results.append({**result, "Timestamps": [at for at, _ in kept], "Values": [value for _, value in kept]})
        return {**parsed, "MetricDataResults": results}


def _metric(query: Mapping[str, Any]) -> str:
    if "Expression" in query:
        return re.sub(r"\s+", " ", str(query["Expression"]))
    metric = query["MetricStat"]["Metric"]
    dimensions = ",".join(f"{one['Name']}={one['Value']}" for one in metric.get("Dimensions", []))
    return f"{metric['Namespace']}/{metric['MetricName']}[{dimensions}]"


class _Client:
    """A boto3 client as far as the readers use one."""

    def __init__(self, eyes: Eyes, service: str) -> None:
        self._eyes, self._service = eyes, service

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        return lambda **given: self._eyes.call(self._service, method, given)

    def get_paginator(self, method: str) -> "_Pages":
        return _Pages(self._eyes, self._service, method)


class _Pages:
    def __init__(self, eyes: Eyes, service: str, method: str) -> None:
        self._eyes, self._service, self._method = eyes, service, method

    def paginate(self, **given: Any) -> Iterator[dict[str, Any]]:
        while True:
            page = self._eyes.call(self._service, self._method, given)
            yield page
            more = next(((asks, page[says]) for says, asks in MORE if page.get(says)), None)
            if more is None:
                return
            given = {**given, more[0]: more[1]}
