"""Who called AWS, with what, and what came back? Every in-process AWS call passes here.

moto hands each request of a real boto3 client to one method, `BotocoreStubber.__call__`. The gate wraps that method: it
knows the service, the operation, the parameters and whose credentials signed; it lets handlers answer instead of moto,
breaks calls on demand, and keeps a list of all of them. It knows nothing of any service except STS, which it watches to
tell which role and which session an access key belongs to.

AWS facts it keeps, which moto lacks: AssumeRole into a role that does not exist is AccessDenied.
"""

import contextlib
import copy
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self

import botocore.endpoint
import botocore.retries.bucket
import botocore.waiter
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.handlers import BUILTIN_HANDLERS
from botocore.model import OperationModel
from moto.core.botocore_stubber import BotocoreStubber

from sandbox.aws import wire
from sandbox.aws.calls import (
    AFTER,
    BEFORE,
    CRASH_AFTER,
    CRASH_BEFORE,
    MALFORMED,
    REFUSED,
    STATUS,
    TRUNCATED,
    Answer,
    Call,
    DiedInThread,
    Fault,
    Handler,
    Identity,
    NotEmulatedError,
    ProcessDied,
    Refuse,
    Request,
    Respond,
)

__all__ = [
    "Answer",
    "Call",
    "Fault",
    "Gate",
    "Handler",
    "Identity",
    "NotEmulatedError",
    "ProcessDied",
    "Refuse",
    "Request",
    "Respond",
]

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/")
_ROLE_ARN = re.compile(r"^arn:[^:]+:iam::(\d{12}):role/(?:.*/)?([^/]+)$")


class _Remembered(threading.local):
    """Parameters of calls in flight in this thread, by `service-id.Operation`.

    A call can be nested in another (AssumeRole while signing), but never in one of the same operation.
    """

    def __init__(self) -> None:
        self.calls: dict[str, tuple[OperationModel, Mapping[str, Any]]] = {}


_memory = _Remembered()


def _remember(params: Mapping[str, Any], model: OperationModel, **_: object) -> None:
    _memory.calls[f"{model.service_model.service_id.hyphenize()}.{model.name}"] = (model, params)


# Sessions take these handlers when they are made, so this module must be imported before: as moto's own hook. The event
# before-parameter-build carries the parameters as they are sent, after boto3's resources have translated them.
BUILTIN_HANDLERS.append(("before-parameter-build", _remember))


class _Naps:
    """Stands in for the `time` module where botocore waits between attempts: counts, does not wait."""

    def __init__(self) -> None:
        self.slept = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


class Gate:
    """Use as a context manager, inside `moto.mock_aws()` and around everything that makes clients.

    *start* is minute 0 of `Call.minute`. *handlers* are asked in order. *logical_roles* maps a role's ARN or name to
    the name it goes by in reports (observer, actor); others go by their own name. *known_roles* says whether a role ARN
    can be assumed; None: every role. *without_moto* lists services whose unanswered calls raise NotEmulatedError.
    """

    def __init__(
        self,
        *,
        start: datetime,
        handlers: Sequence[Handler] = (),
        faults: Sequence[Fault] = (),
        known_roles: Callable[[str], bool] | None = None,
        logical_roles: Mapping[str, str] | None = None,
        without_moto: frozenset[str] = frozenset({"cloudwatch", "lambda", "application-autoscaling"}),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.calls: list[Call] = []
        self.handlers: list[Handler] = list(handlers)
        self.faults: list[Fault] = list(faults)
        self.known_roles = known_roles
        self.logical_roles = dict(logical_roles or {})
        self._start, self._clock, self._without_moto = start, clock, without_moto
        self._identities: dict[str, Identity] = {}
        self._counts: dict[str, int] = {}
        self._naps = _Naps()
        self._lock = threading.RLock()
        self._undo = contextlib.ExitStack()

    @property
    def seconds_slept(self) -> float:
        """What botocore would have waited between attempts."""
        return self._naps.slept

    def introduce(self, access_key: str, identity: Identity) -> None:
        """Say whose plain access key this is, for instance the one a function runs with."""
        self._identities[access_key] = identity

    def count(self, call: str) -> int:
        """How many requests of `service.Operation` were made."""
        return sum(1 for made in self.calls if made.call == call)

    def __enter__(self) -> Self:
        original = BotocoreStubber.__call__
        gate = self

        def guarded(
            stubber: BotocoreStubber, event_name: str, request: AWSPreparedRequest, **kwargs: Any
        ) -> AWSResponse | None:
            return gate._pass(event_name, request, lambda: original(stubber, event_name, request, **kwargs))

        self._replace(BotocoreStubber, "__call__", guarded)
        self._replace(botocore.endpoint, "time", self._naps)
        self._replace(botocore.waiter, "time", self._naps)
        self._replace(botocore.retries.bucket.Clock, "sleep", lambda _, seconds: self._naps.sleep(seconds))
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self._undo.close()
        return False

    def _replace(self, owner: Any, name: str, value: object) -> None:
        self._undo.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    # -- one call ---------------------------------------------------------------------------------------------------

    def _pass(
        self, event_name: str, sent: AWSPreparedRequest, onward: Callable[[], AWSResponse | None]
    ) -> AWSResponse | None:
        request = self._request(event_name, sent)
        fault = self._fault(request)
        if fault is not None and fault in BEFORE:
            self._record(request, fault)
            raise _breakdown(fault, request, sent)
        if fault is not None and fault not in AFTER:
            return self._refuse(request, sent, Refuse(code=fault, message=f"{request.call} was made to fail."))
        response = self._answer(request, sent, onward, lost=fault)
        if fault in {MALFORMED, TRUNCATED} and response is not None:
            return wire.spoilt(response, cut=fault == TRUNCATED)
        if fault is not None:
            raise _breakdown(fault, request, sent)
        return response

    def _answer(
        self,
        request: Request,
        sent: AWSPreparedRequest,
        onward: Callable[[], AWSResponse | None],
        *,
        lost: str | None,
    ) -> AWSResponse | None:
        denial = self._denial(request)
        for answer in self._answers(request) if denial is None else iter([denial]):
            if isinstance(answer, Refuse):
                return self._refuse(request, sent, answer)
            self._record(request, lost or "ok")
            return wire.success(request.service, request.operation, answer.parsed, sent)
        if request.service in self._without_moto:
            raise NotEmulatedError(
                f"Cannot answer {request.call} with {dict(request.parameters)}: no handler of the sandbox takes it, "
                f"and moto's answer would be wrong. Nothing was changed. Add it to the handlers of the sandbox."
            )
        # moto's backends are not safe for threads. Handlers are not locked: one may run a function that calls AWS from
        # threads of its own, and would wait for itself.
        with self._lock:
            response = onward()
        code = _error_code(response)
        if request.call == "sts.AssumeRole" and code is None and response is not None:
            self._learn(request, response)
        self._record(request, lost if lost and code is None else code or "ok")
        return response

    def _answers(self, request: Request) -> Iterator[Answer]:
        for handler in self.handlers:
            answer = handler(request)
            if answer is not None:
                yield answer

    def _refuse(self, request: Request, sent: AWSPreparedRequest, refusal: Refuse) -> AWSResponse:
        self._record(request, refusal.code)
        status = refusal.status or STATUS.get(refusal.code, 400)
        return wire.failure(request.service, refusal.code, refusal.message, status, sent)

    def _fault(self, request: Request) -> str | None:
        with self._lock:
            number = self._counts[request.call] = self._counts.get(request.call, 0) + 1
        for fault in self.faults:
            if fault.call == request.call and fault.strikes(number):
                return fault.error
        return None

    def _record(self, request: Request, result: str) -> None:
        minute = int((request.now - self._start) // timedelta(minutes=1))
        self.calls.append(
            Call(
                minute=minute,
                at=request.now,
                service=request.service,
                operation=request.operation,
                parameters=copy.deepcopy(dict(request.parameters)),
                access_key=request.access_key,
                role=request.role,
                session_name=request.session_name,
                result=result,
                account=request.account,
                region=request.region,
            )
        )

    # -- who ----------------------------------------------------------------------------------------------------------

    def _request(self, event_name: str, sent: AWSPreparedRequest) -> Request:
        key = event_name.removeprefix("before-send.")
        if key not in _memory.calls:
            raise RuntimeError(
                f"The parameters of {key} are unknown: its boto3 session is older than the import of sandbox.aws.gate. "
                f"Nothing was sent. Make sessions inside the gate."
            )
        model, parameters = _memory.calls[key]
        signed = _CREDENTIAL.search(wire.header(sent, "Authorization"))
        access_key = signed[1] if signed else None
        identity = self._identities.get(access_key or "", Identity(role=None))
        return Request(
            service=model.service_model.service_name,
            operation=model.name,
            parameters=parameters,
            now=self._clock(),
            region=signed[2] if signed else "",
            access_key=access_key,
            account=identity.account,
            role=identity.role,
            session_name=identity.session_name,
        )

    def _denial(self, request: Request) -> Refuse | None:
        if request.call != "sts.AssumeRole" or self.known_roles is None:
            return None
        arn = str(request.parameters["RoleArn"])
        if self.known_roles(arn):
            return None
        who = f"role {request.role}" if request.role else "the caller"
        return Refuse(
            code="AccessDenied",
            message=f"User: {who} is not authorized to perform: sts:AssumeRole on resource: {arn}",
        )

    def _learn(self, request: Request, response: AWSResponse) -> None:
        found = re.search(r"<AccessKeyId>([^<]+)</AccessKeyId>", response.text)
        role = _ROLE_ARN.match(str(request.parameters["RoleArn"]))
        if found is None or role is None:
            return
        name = self.logical_roles.get(role[0]) or self.logical_roles.get(role[2]) or role[2]
        session = str(request.parameters["RoleSessionName"])
        self._identities[found[1]] = Identity(role=name, session_name=session, account=role[1])


def _breakdown(fault: str, request: Request, sent: AWSPreparedRequest) -> BaseException:
    if fault in {CRASH_BEFORE, CRASH_AFTER}:
        in_thread = request.call == "lambda.CheckpointDurableExecution"
        return (DiedInThread if in_thread else ProcessDied)(f"{fault} at {sent.url}")
    if fault == REFUSED:
        return EndpointConnectionError(endpoint_url=sent.url)
    return ReadTimeoutError(endpoint_url=sent.url)


def _error_code(response: AWSResponse | None) -> str | None:
    """The AWS error code in moto's answer, or None if it is a success."""
    if response is None or response.status_code < 300:
        return None
    header = response.headers.get("x-amzn-errortype")
    if header:
        return str(header).split(":", 1)[0]
    found = re.search(r'<Code>([^<]+)</Code>|"__type"\s*:\s*"(?:[^"]*#)?([^"#]+)"', response.text)
    return next((group for group in found.groups() if group), "Unknown") if found else str(response.status_code)
