"""How is one of the bot's functions called, as Lambda would call it?

Each function gets its own module, environment and credentials, as in a process of its own; a process that died is
replaced by a fresh one. What the bot logs goes to a sink, for the terminal belongs to whoever runs the rehearsal.
Real credentials and profiles of the machine are hidden from it.
"""

import contextlib
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import boto3

from sandbox.rehearsal.stack import DeployedFunction

_HIDDEN = ("AWS_", "UNTHROTTLE_", "POWERTOOLS_")


class LogSink(io.TextIOBase):
    """Takes what the bot writes to the terminal. There is one for all rehearsals: loggers hold on to their stream."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] | None = None

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, text: str) -> int:
        """Keep the text while somebody listens."""
        if self.lines is not None:
            self.lines.append(text)
        return len(text)


LOG = LogSink()


class FunctionHost:
    """One deployed function. *extra* are further environment variables; *access_key* is the key it signs with."""

    def __init__(
        self, function: DeployedFunction, *, access_key: str, region: str, account: str, extra: Mapping[str, str]
    ) -> None:
        self.function = function
        self.access_key = access_key
        self.environment = {
            **function.environment,
            **extra,
            "AWS_ACCESS_KEY_ID": access_key,
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_SESSION_TOKEN": "sandbox",
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "AWS_ACCOUNT_ID": account,
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "POWERTOOLS_TRACE_DISABLED": "true",
        }
        self._module: ModuleType | None = None
        self._kept: dict[str, object] = {}
        self._session: Any = None

    @contextlib.contextmanager
    def process(self) -> Iterator[None]:
        """Be in the function's process: its environment, its default session, its standard output and error."""
        before, session = dict(os.environ), boto3.DEFAULT_SESSION
        for name in before:
            if name.startswith(_HIDDEN):
                del os.environ[name]
        os.environ.update(self.environment)
        boto3.DEFAULT_SESSION = self._session
        try:
            with contextlib.redirect_stdout(LOG), contextlib.redirect_stderr(LOG):
                yield
        finally:
            self._session, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, session
            # Only what differs is put back: to set a variable costs a call of the system, and this is done at every invocation.
            after = dict(os.environ)
            for name in after.keys() - before.keys():
                del os.environ[name]
            os.environ.update({name: value for name, value in before.items() if after.get(name) != value})

    def invoke(self, event: Mapping[str, Any], context: object = None) -> Any:
        """Call the handler."""
        with self.process():
            if self._module is None:
                self._module = _load(self.function)
            handler = getattr(self._module, self.function.handler.rsplit(".", 1)[-1])
            return handler(event, context)

    def call(self, name: str, make: Callable[[], Any], use: Callable[[Any], Any]) -> Any:
        """Use an object that the process keeps, made at first use; for entering below the handler."""
        with self.process():
            if name not in self._kept:
                self._kept[name] = make()
            return use(self._kept[name])

    def die(self) -> None:
        """Lose the process and all it held."""
        self._module, self._session = None, None
        self._kept.clear()


def _load(function: DeployedFunction) -> ModuleType:
    """Load the handler's file as a module of its own, so that no cache outlives a process."""
    file = function.folder / (function.handler.rsplit(".", 1)[0].replace(".", "/") + ".py")
    spec = importlib.util.spec_from_file_location(f"sandbox_host_{function.logical_id}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"The handler of {function.logical_id} is not at {file}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
