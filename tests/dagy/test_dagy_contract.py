"""The stand-in answers as docs/dagy-api.yaml says, over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import urllib3
import yaml

from sandbox.dagy import ApiMode, DagyCall, DagyStandIn, DagyState, PlannedBackfill
from tests.dagy.planned import NOW, START, planned

CONTRACT = yaml.safe_load((Path(__file__).parents[2] / "docs" / "dagy-api.yaml").read_text(encoding="utf-8"))
OVER = PlannedBackfill(
    id="bf-over",
    flow="refunds",
    environment="develop",
    requested_by="finance",
    start=1,
    end=2,
    runs_total=1,
    dispatch_rate_per_minute=1,
)


@pytest.fixture
def dagy() -> Iterator[DagyStandIn]:
    with DagyStandIn(DagyState([planned(), OVER]), start=START, now=lambda: NOW) as stand_in:
        yield stand_in


def ask(dagy: DagyStandIn, method: str, path: str, token: str | None = None) -> tuple[int, object]:
    response = urllib3.request(
        method,
        dagy.base_url + path,
        headers={"Authorization": f"Bearer {token or dagy.token}"},
        retries=False,
        timeout=5,
    )
    return response.status, json.loads(response.data)


def expect(method: str, path: str, status: int, body: object) -> None:
    """Fail unless *body* is what the contract promises for this call and status."""
    answer = CONTRACT["paths"][path][method]["responses"][str(status)]
    if "$ref" in answer:
        answer = CONTRACT["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    schema = {**answer["content"]["application/json"]["schema"], "components": CONTRACT["components"]}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(body)


def test_running_backfills_are_listed_as_the_contract_says(dagy: DagyStandIn) -> None:
    status, body = ask(dagy, "GET", "/backfills?state=running")
    expect("get", "/backfills", status, body)
    assert (status, body) == (
        200,
        {
            "backfills": [
                {
                    "id": "bf-20c4",
                    "state": "running",
                    "flow": "hourly-invoices",
                    "environment": "develop",
                    "requested_by": "data-eng",
                    "started_at": "2026-08-24T04:12:00Z",
                    "runs_total": 12000,
                    "runs_dispatched": 2700,
                    "dispatch_rate_per_minute": 150,
                }
            ]
        },
    )


@pytest.mark.parametrize(
    ("method", "path", "token", "status"),
    [
        pytest.param("GET", "/backfills?state=all", None, 400, id="another state"),
        pytest.param("GET", "/backfills", None, 400, id="no state"),
        pytest.param("GET", "/backfills?state=running", "wrong", 401, id="list with a wrong token"),
        pytest.param("POST", "/backfills/bf-20c4/cancel", None, 202, id="cancel a running one"),
        pytest.param("POST", "/backfills/bf-over/cancel", None, 409, id="cancel an ended one"),
        pytest.param("POST", "/backfills/bf-none/cancel", None, 404, id="cancel an unknown one"),
        pytest.param("POST", "/backfills/bf-20c4/cancel", "no", 401, id="cancel, wrong token"),
    ],
)
def test_every_answer_follows_the_contract(
    dagy: DagyStandIn, method: str, path: str, token: str | None, status: int
) -> None:
    found, body = ask(dagy, method, path, token)
    expect(method.lower(), "/backfills/{id}/cancel" if path.endswith("/cancel") else "/backfills", found, body)
    assert found == status
    assert dagy.calls == (DagyCall(minute=30, method=method, path=path, status=status),)


def test_cancel_stops_the_backfill_and_a_second_one_finds_it_ended(dagy: DagyStandIn) -> None:
    assert ask(dagy, "POST", "/backfills/bf-20c4/cancel")[0] == 202
    assert ask(dagy, "GET", "/backfills?state=running") == (200, {"backfills": []})
    assert ask(dagy, "POST", "/backfills/bf-20c4/cancel")[0] == 409
    assert dagy.state.final(240) == {"bf-20c4": "cancelled", "bf-over": "completed"}


@pytest.mark.parametrize("api", ["401", "409", "404"])
def test_modes_that_are_numbers_answer_the_cancel_only_and_cancel_nothing(dagy: DagyStandIn, api: ApiMode) -> None:
    dagy.api = api
    status, body = ask(dagy, "POST", "/backfills/bf-20c4/cancel")
    expect("post", "/backfills/{id}/cancel", status, body)
    assert status == int(api)
    assert ask(dagy, "GET", "/backfills?state=running")[0] == 200
    assert dagy.state.state("bf-20c4", 30) == "running"


def test_contract_examples_follow_their_own_schemas() -> None:
    for path, operations in CONTRACT["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if "$ref" in answer:
                    answer = CONTRACT["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]  # noqa: PLW2901
                expect(method, path, int(status), answer["content"]["application/json"]["example"])
