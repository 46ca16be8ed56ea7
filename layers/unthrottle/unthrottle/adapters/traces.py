"""Which trace of X-Ray belongs to which incident? Powertools' Tracer, where tracing is on.

Lambda itself records the invocation and the cold start when its active tracing is on (template parameter `Tracing`); what it
cannot know is the incident. Ours is a subsegment of the invocation with the incident's id as annotation, and under it one for
each call to AWS. It goes to the daemon that Lambda runs beside the function (X-Ray developer guide, "Using environment
variables in Lambda": `_X_AMZN_TRACE_ID`). Where nobody traces nothing is imported: Powertools' Tracer and X-Ray's SDK are a tenth
of a second of a cold start (docs/decisions).
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unthrottle.adapters.logs import IN_LAMBDA

if TYPE_CHECKING:
    from aws_lambda_powertools import Tracer

LONGEST_NAME = 200


@contextmanager
def traced(name: str) -> Iterator[dict[str, str]]:
    """Record a piece of work as a subsegment of this invocation's trace. Write into what it gives: those are annotations.

    Raises only what the work raises. An Exception marks it as a fault; a workflow that suspends (by a BaseException) is none.
    """
    annotations: dict[str, str] = {}
    if not _is_traced():
        yield annotations
        return
    recorder: Any = _tracer().provider  # X-Ray's; Powertools' type of it names less than there is
    part = recorder.begin_subsegment(name[:LONGEST_NAME])
    try:
        yield annotations
    finally:
        for key, value in annotations.items():
            part.put_annotation(key, value)
        error = sys.exception()
        if isinstance(error, Exception):
            part.add_fault_flag()
        recorder.end_subsegment()


def _is_traced() -> bool:
    """Is this invocation one that Lambda traces, and that is sampled?"""
    parts = dict(part.split("=", 1) for part in os.environ.get("_X_AMZN_TRACE_ID", "").split(";") if "=" in part)
    is_whole = bool(parts.get("Root") and parts.get("Parent"))
    return is_whole and parts.get("Sampled") == "1" and bool(os.environ.get(IN_LAMBDA))


def _tracer() -> "Tracer":
    """Make it, or find it made: it keeps what it is in its class, and patches once."""
    from aws_lambda_powertools import Tracer  # noqa: PLC0415  only where somebody traces

    return Tracer(service="unthrottle", patch_modules=("botocore",))
