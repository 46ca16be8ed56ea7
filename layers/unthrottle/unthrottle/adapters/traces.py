"""Which trace of X-Ray belongs to which incident? A subsegment with the incident's id as annotation, where tracing is on.

Lambda itself records the invocation and the cold start when its active tracing is on (template parameter `Tracing`); what it
cannot know is the incident. The subsegment goes to the daemon that Lambda runs beside the function (X-Ray developer guide,
"Sending trace data to X-Ray: segment documents" and "Using environment variables in Lambda": `_X_AMZN_TRACE_ID`,
`AWS_XRAY_DAEMON_ADDRESS`). The X-Ray SDK is not used: docs/decisions says why. Where tracing is off nothing is done.
"""

import json
import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("unthrottle")

_HEADER = b'{"format": "json", "version": 1}\n'
LONGEST_NAME = 200


@contextmanager
def traced(name: str) -> Iterator[dict[str, str]]:
    """Record a piece of work as a subsegment of this invocation's trace. Write into what it gives: those are annotations.

    Raises only what the work raises. An Exception marks it as a fault; a workflow that suspends (by a BaseException) is none.
    """
    annotations: dict[str, str] = {}
    place = _place()
    began = time.time()
    try:
        yield annotations
    finally:
        if place is not None:
            _send(place, name, annotations, began, fault=isinstance(sys.exception(), Exception))


def _place() -> tuple[str, str] | None:
    """Return the trace and its segment, if this invocation is one that is sampled."""
    parts = dict(part.split("=", 1) for part in os.environ.get("_X_AMZN_TRACE_ID", "").split(";") if "=" in part)
    if parts.get("Sampled") != "1" or not parts.get("Root") or not parts.get("Parent"):
        return None
    return parts["Root"], parts["Parent"]


def _send(place: tuple[str, str], name: str, annotations: dict[str, str], began: float, *, fault: bool) -> None:
    host, _, port = os.environ.get("AWS_XRAY_DAEMON_ADDRESS", "").rpartition(":")
    if not host or not port.isdigit():
        return
    document = {
        "name": name[:LONGEST_NAME],
        "type": "subsegment",
        "id": os.urandom(8).hex(),
        "trace_id": place[0],
        "parent_id": place[1],
        "start_time": began,
        "end_time": time.time(),
        "annotations": annotations,
        **({"fault": True} if fault else {}),
    }
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.settimeout(0)
            line.sendto(_HEADER + json.dumps(document).encode(), (host, int(port)))
    except (OSError, OverflowError) as error:  # a trace that is lost is no reason to lose an incident
        log.debug("trace.not-sent", extra={"error": str(error)})
