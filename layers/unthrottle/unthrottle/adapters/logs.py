"""How does a log line become one JSON object that bears the incident? By Powertools' Logger, where this runs in Lambda.

Everything here logs by `logging`, under one name; this joins Powertools to that name. Elsewhere (the sandbox, tests) lines stay
as `logging` writes them, so that a rehearsal's own words are not lost among them.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

NAME = "unthrottle"
IN_LAMBDA = "LAMBDA_TASK_ROOT"
"""Set by Lambda and by `sam local` (Lambda developer guide, "Defined runtime environment variables")."""


def set_up_logging() -> None:
    """Let our lines through; in Lambda, as JSON with their fields and the service. Once is enough, twice does no harm."""
    if os.environ.get(IN_LAMBDA):
        _logger()
    else:
        logging.getLogger(NAME).setLevel(_level())


@contextmanager
def every_line_with(**keys: str) -> Iterator[None]:
    """Put keys, such as `incident_id`, on each line that is written meanwhile, also by code that does not know of it."""
    if not os.environ.get(IN_LAMBDA):
        yield
        return
    with _logger().append_context_keys(**keys):
        yield


def request_of(context: object) -> str:
    """Return the id of this invocation from what Lambda gives a handler; empty where there is none."""
    return str(getattr(context, "aws_request_id", "") or "")


def _level() -> str:
    return os.environ.get("UNTHROTTLE_LOG_LEVEL", "INFO")


@cache
def _logger() -> "Logger":
    from aws_lambda_powertools import Logger  # noqa: PLC0415  not before the first event: a front door answers in time

    # The time as Lambda's own filters for JSON logs want it (RFC 3339). Standard output is left to the figures.
    return Logger(service=NAME, level=_level(), stream=sys.stderr, utc=True, use_rfc3339=True)
