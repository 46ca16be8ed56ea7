"""The durable workflow: one execution per incident, from evidence to close.

The story itself is `unthrottle.workflow`. Between its steps the execution sleeps at no cost; after each sleep, and
after a crash, this handler runs again from the top and the SDK replays the steps already done.
"""

import gc

# What is imported stays: looking for garbage among it would be a tenth of a cold start.
gc.disable()

from functools import cache  # noqa: E402  after the line above
from typing import Any  # noqa: E402

from aws_durable_execution_sdk_python import DurableContext, durable_execution  # noqa: E402

from unthrottle.adapters.durable import DurableRun  # noqa: E402
from unthrottle.adapters.logs import every_line_with, request_of  # noqa: E402
from unthrottle.entry.respond import Respond  # noqa: E402
from unthrottle.wiring import clients_shared_with_boto3  # noqa: E402

_CLIENTS = clients_shared_with_boto3()

gc.freeze()
gc.enable()


@cache
def _respond() -> Respond:
    """Make the adapters at the first event, not at import: a broken setting is then an error that says so."""
    return Respond.from_environment(_CLIENTS)


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> dict[str, Any]:
    """Heal one incident and answer with how it ended."""
    with every_line_with(function_request_id=request_of(context.lambda_context)):
        return _respond().handle(DurableRun(context), event)
