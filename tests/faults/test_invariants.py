"""Each invariant of the sweep bites: a run that breaks it is found out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sandbox.aws.calls import Call
from sandbox.faults.invariants import Played, violated
from sandbox.line import LineCall
from tests.report.samples import HOG, applied, approval, pool_hog
from unthrottle.incident import Status

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)


def call(name: str, role: str = "actor", result: str = "ok", **parameters: object) -> Call:
    service, _, operation = name.partition(".")
    return Call(
        minute=34,
        at=START + timedelta(minutes=34),
        service=service,
        operation=operation,
        parameters=parameters,
        access_key="ASIA",
        role=role,
        session_name=BASE.id if role in {"actor", "observer"} else None,
        result=result,
    )


BASE = applied(approval(pool_hog()))
INTENT = call("dynamodb.UpdateItem", role="respond", TableName="unthrottle", Item=f"{BASE.id} action.intended")
CAP = call("lambda.PutFunctionConcurrency", FunctionName=HOG, ReservedConcurrentExecutions=250)
BACK = call("lambda.DeleteFunctionConcurrency", FunctionName=HOG)
FREE, CAPPED = {"reserved": None}, {"reserved": 250}
HELD = replace(BASE, lease_until=START + timedelta(hours=9))


def run(*calls: Call, now: dict[str, Any] | None = None, **changes: Any) -> Played:
    final = {"functions": {HOG: now or CAPPED, "svc-other": FREE}, "tables": {}}
    outcome = {"minutes": 120, "errors": [], "slack": [BASE.id], "escalations": [], "incidents": [], "final": final}
    plain = Played(
        outcome={**outcome, **changes.pop("outcome", {})},
        calls=calls or (INTENT, CAP),
        line=(LineCall(call="slack.chat.postMessage", path="/", position=9, result="sent"),),
        incidents=(HELD,),
        running=frozenset({BASE.id}),
        before={"functions": {HOG: FREE, "svc-other": FREE}, "tables": {}},
        protected=frozenset({"svc-other"}),
        own_tables=frozenset({"unthrottle"}),
        ended=START + timedelta(hours=2),
        logs=(),
        dry_run=False,
        usual_calls=10,
        usual_changes=frozenset({HOG}),
        instead=frozenset(),
        state_broken=False,
    )
    return replace(plain, **changes)


def test_a_good_run_violates_nothing() -> None:
    assert violated(run()) == []
    assert violated(run(INTENT, CAP, CAP, BACK, BACK, now=FREE)) == []


CLOSED = replace(BASE, closed_at=START + timedelta(hours=1), lease_until=None)
SILENT = replace(BASE, lease_until=START, question=None)
LONG_AGO: dict[str, Any] = {"running": frozenset(), "ended": START + timedelta(hours=12)}
UNRECORDED = replace(CLOSED, applied=(), status=Status.FAILED)
DENYING = {"minute": 35, "subject": BASE.id, "text": f"Could not cap {HOG}. Nothing was changed."}
TELLING = {"minute": 35, "subject": BASE.id, "text": f"{HOG}: the answer was lost or never came."}
ERROR = {"function": "RespondFunction", "minute": 3, "error": "KeyError: 'Table'", "expected": False}


def test_a_change_without_a_record_is_accounted_for_where_a_page_tells_of_it() -> None:
    told = run(incidents=(UNRECORDED,), running=frozenset(), outcome={"escalations": [TELLING]})
    assert [one for one in violated(told) if "in force" in one] == []


@pytest.mark.parametrize(
    ("played", "words"),
    [
        pytest.param(run(CAP, INTENT), "without a record before it", id="recorded too late"),
        pytest.param(run(replace(INTENT, result="timeout-before"), CAP), "without a record", id="record that failed"),
        pytest.param(run(line=()), "nobody was told", id="untold"),
        pytest.param(run(INTENT, CAP, BACK, CAP), "different effect", id="capped again after giving back"),
        pytest.param(
            run(INTENT, CAP, replace(CAP, parameters={"FunctionName": HOG, "ReservedConcurrentExecutions": 9}), BACK),
            "different effect",
            id="capped at two numbers",
        ),
        pytest.param(
            run(INTENT, CAP, replace(CAP, parameters={"FunctionName": HOG, "ReservedConcurrentExecutions": 7})),
            "and then at [7], where None was before",
            id="given back otherwise than it was",
        ),
        pytest.param(
            run(usual_changes=frozenset()),
            f"{HOG} was changed, or it was tried, and is not when nothing breaks",
            id="changed only because something broke",
        ),
        pytest.param(
            run(usual_changes=frozenset(), instead=frozenset({HOG})),
            "were changed, with budget for 0",
            id="one more than the budget",
        ),
        pytest.param(
            run(line=(LineCall(call="dagy.POST", path="/backfills/bf-2/cancel", position=9, result="sent"),)),
            "/backfills/bf-2/cancel was changed",
            id="another backfill",
        ),
        pytest.param(run(INTENT, replace(CAP, role="observer")), "credentials of observer", id="wrong rights"),
        pytest.param(
            run(INTENT, replace(CAP, parameters={"FunctionName": "svc-other"})), "a victim or protected", id="protected"
        ),
        pytest.param(
            run(outcome={"final": {"functions": {HOG: CAPPED, "svc-other": {"reserved": 1}}, "tables": {}}}),
            "was no target",
            id="a bystander changed",
        ),
        pytest.param(run(incidents=(CLOSED,)), "neither given back", id="forgotten"),
        pytest.param(
            run(incidents=(UNRECORDED,), running=frozenset(), outcome={"escalations": [DENYING]}),
            "is in force, is not in the record",
            id="a page that denies what was done",
        ),
        pytest.param(run(incidents=(SILENT,), **LONG_AGO), "nothing will ever close it", id="an orphan"),
        pytest.param(
            run(incidents=(replace(CLOSED, lease_until=START, status=Status.APPLIED),)),
            "closed with a change that has a lease",
            id="closed too early",
        ),
        pytest.param(run(incidents=(HELD, replace(HELD, id="INC-TWIN0001"))), "open for one symptom", id="twins"),
        pytest.param(run(*([INTENT, CAP] + [INTENT] * 500)), "retried for ever", id="endless"),
        pytest.param(run(outcome={"errors": [ERROR]}), "unexpected in RespondFunction", id="a traceback"),
        pytest.param(run(logs=("token xoxb-sandbox",)), "a secret is in the log", id="a secret"),
        pytest.param(run(call("dynamodb.GetItem", role="intake"), incidents=()), "the alarm was lost", id="lost"),
        pytest.param(run(dry_run=True), "changed in dry-run", id="a dry run that changed"),
    ],
)
def test_a_broken_promise_is_found(played: Played, words: str) -> None:
    assert any(words in sentence for sentence in violated(played)), violated(played)
