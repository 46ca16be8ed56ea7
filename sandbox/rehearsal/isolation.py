"""How does a rehearsal have a clock of its own, and nothing to do with the machine's AWS account?"""

import contextlib
import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache

import botocore.session
import time_machine
from botocore.loaders import Loader, create_loader


def now() -> datetime:
    """Read the clock, which is the simulated one during a rehearsal."""
    return datetime.now(UTC)


@contextlib.contextmanager
def simulated_time(start: datetime) -> Iterator[time_machine.Traveller]:
    """Stop the process's clock at *start*; it moves only when it is told to."""
    with time_machine.travel(start.astimezone(UTC), tick=False) as clock:
        yield clock


@cache
def _shared_loader(search_path: str | None) -> Loader:
    return create_loader(search_path)


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Keep the machine's AWS profile out of it, and logs off the terminal.

    Service models are read once for all of the bot's processes: reading them is most of what a client costs.
    """
    handler, root = logging.NullHandler(), logging.getLogger()
    root.addHandler(handler)
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("AWS_")}
    botocore.session.create_loader = _shared_loader
    try:
        yield
    finally:
        botocore.session.create_loader = create_loader
        root.removeHandler(handler)
        os.environ.update(hidden)
