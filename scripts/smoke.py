"""Does what was built start and answer? Runs every built function under Lambda's own bootstrap.

    python -m scripts.smoke BUILD_DIRECTORY RUNTIME_DIRECTORY

Each function gets only what it has in Lambda: its folder, the layer, the runtime's client, and (all but `respond`,
which brings its own) the runtime's boto3. AWS is out of reach: what needs it must get as far as the first call and say so.
Last, one is traced. How they answer where there is an AWS is what `scripts.chain` asks them, `scripts.load` the intake.
"""

import json
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.runtime_api import Answer, Failed, Replied, invoke

ENVIRONMENT: Mapping[str, str] = {
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",  # the discard port: whoever calls AWS here is refused at once
    "AWS_MAX_ATTEMPTS": "1",  # and need not be asked again
    "UNTHROTTLE_MODE": "dry-run",
    "UNTHROTTLE_SLACK_CHANNEL": "C0123ABCD",
    "UNTHROTTLE_SLACK_SECRET_ARN": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:unthrottle-slack",
    "UNTHROTTLE_STACK": "unthrottle",
    "UNTHROTTLE_HOME_ACCOUNT": "111122223333",
    "UNTHROTTLE_INCIDENTS_TABLE": "unthrottle-incidents",
    "UNTHROTTLE_RESPOND_FUNCTION": "arn:aws:lambda:eu-west-1:111122223333:function:unthrottle-respond:live",
    "UNTHROTTLE_OBSERVER_ROLE": "unthrottle-observer",
    "UNTHROTTLE_ACTOR_ROLE": "",
}

NOT_OURS = {"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": {}}

UNSIGNED = {
    "version": "2.0",
    "routeKey": "POST /slack",
    "rawPath": "/slack",
    "headers": {"content-type": "application/x-www-form-urlencoded"},
    "requestContext": {"http": {"method": "POST", "path": "/slack"}},
    "body": "command=%2Funthrottle&text=help",
    "isBase64Encoded": False,
}

# What Lambda sends a durable function: an execution with one operation, holding its input.
FIRST_INVOCATION = {
    "DurableExecutionArn": "arn:aws:lambda:eu-west-1:111122223333:function:respond:1/durable-execution/smoke/1",
    "CheckpointToken": "1",
    "InitialExecutionState": {
        "Operations": [
            {
                "Id": "1",  # what the ARN ends with: by that the SDK finds its input
                "Type": "EXECUTION",
                "Status": "STARTED",
                "StartTimestamp": 1788000000000,
                "ExecutionDetails": {"InputPayload": json.dumps({"incident_id": "INC-SM0KE"})},
            }
        ],
        "NextMarker": "",
    },
}


UNREACHABLE = ENVIRONMENT["AWS_ENDPOINT_URL"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One function, a harmless event, and how a healthy answer is told."""

    function: str
    event: object
    expected: str
    is_healthy: Callable[[Answer], bool]
    has_own_boto3: bool = False


def _replied(*words: str) -> Callable[[Answer], bool]:
    return lambda answer: isinstance(answer, Replied) and all(word in json.dumps(answer.payload) for word in words)


def _failed_for_want_of_aws(answer: Answer, kind: str) -> bool:
    """Settings were read and adapters made; then, and only then, AWS was called and could not be reached."""
    return isinstance(answer, Failed) and answer.kind == kind and UNREACHABLE in answer.message


def _went_as_far_as_aws(answer: Answer) -> bool:
    return _failed_for_want_of_aws(answer, "TryAgain")


CASES = (
    Case(function="IntakeFunction", event=NOT_OURS, expected="not mine", is_healthy=_replied('"not-mine"')),
    Case(
        function="RespondFunction",
        event=FIRST_INVOCATION,
        expected="the workflow began, and AWS is out of reach for its first checkpoint",
        is_healthy=lambda answer: _failed_for_want_of_aws(answer, "CheckpointError"),
        has_own_boto3=True,
    ),
    Case(
        function="SlackFunction",
        event=UNSIGNED,
        expected="status 503, since without its secret it believes nobody",
        is_healthy=_replied('"statusCode": 503'),
    ),
    Case(function="SweepFunction", event={}, expected="AWS is out of reach", is_healthy=_went_as_far_as_aws),
    Case(function="AuditFunction", event={}, expected="AWS is out of reach", is_healthy=_went_as_far_as_aws),
)


def trouble(case: Case, answer: Answer) -> str | None:
    """Say what is wrong with *answer*, or nothing."""
    if case.is_healthy(answer):
        return None
    match answer:
        case Failed(kind=kind, message=message):
            return f"{kind}: {message}"
        case Replied(payload=payload):
            return f"expected {case.expected}, got {json.dumps(payload)[:500]}"


def libraries(case: Case, build: Path, runtime: Path) -> list[Path]:
    """What a function may import besides its own folder."""
    common = [build / "UnthrottleLayer" / "python", runtime / "client"]
    return common if case.has_own_boto3 else [*common, runtime / "sdk"]


def traces(build: Path, runtime: Path) -> list[str]:
    """Name the pieces of work that the built intake tells X-Ray's daemon of where Lambda traces it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(0)
        traced = {
            **ENVIRONMENT,
            "_X_AMZN_TRACE_ID": "Root=1-5e1b4151-5ac6c58dc39a2f3b1bf2b9b9;Parent=53995c3f42cd8ad8;Sampled=1",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
        }
        invoke(build / CASES[0].function, CASES[0].event, path=libraries(CASES[0], build, runtime), environment=traced)
        found = []
        while True:
            try:
                found.append(json.loads(daemon.recv(65_536).split(b"\n", 1)[1])["name"])
            except BlockingIOError:
                return found


def main(build: Path, runtime: Path) -> int:
    """Run every case and print one line each; 0 when all are healthy."""
    bad = 0
    for case in CASES:
        answer, output = invoke(
            build / case.function, case.event, path=libraries(case, build, runtime), environment=dict(ENVIRONMENT)
        )
        wrong = trouble(case, answer)
        print(f"{case.function:16} {'ok: ' + case.expected if wrong is None else 'BROKEN: ' + wrong}")
        if wrong is not None:
            bad += 1
            print(output)
    told = traces(build, runtime)
    print(f"{'traces':16} {'ok: intake' if told == ['intake'] else f'BROKEN: X-Ray was told of {told}'}")
    bad += told != ["intake"]
    return 2 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
