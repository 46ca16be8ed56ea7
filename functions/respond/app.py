"""The durable workflow: one execution per incident, from evidence to close.

The story itself is `unthrottle.workflow`. Between its steps the execution sleeps at no cost; after each sleep, and
after a crash, this handler runs again from the top and the SDK replays the steps already done.
"""

from functools import cache
from typing import Any

from aws_durable_execution_sdk_python import DurableContext, durable_execution

from unthrottle.adapters.durable import DurableRun
from unthrottle.wiring import Respond, respond_from_environment


@cache
def _respond() -> Respond:
    """Make the adapters at the first event, not at import: a broken setting is then an error that says so."""
    return respond_from_environment()


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> dict[str, Any]:
    """Heal one incident and answer with how it ended."""
    return _respond().handle(DurableRun(context), event)
