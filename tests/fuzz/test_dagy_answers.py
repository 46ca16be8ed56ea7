"""Whatever dagy answers, its list is read whole or not at all; bounded in size."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.loopback import HttpAnswer, LoopbackServer
from unthrottle.adapters.dagy import DagyBackfills, _parse_list
from unthrottle.backfills import Backfill, BackfillsUnavailable

ONE: dict[str, Any] = {
    "id": "bf-20c4",
    "state": "running",
    "flow": "hourly-invoices",
    "environment": "develop",
    "requested_by": "data-eng",
    "started_at": "2026-08-24T04:12:00Z",
    "runs_total": 12000,
    "runs_dispatched": 2700,
    "dispatch_rate_per_minute": 150.0,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=1200),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


def parsed(body: bytes) -> tuple[Backfill, ...] | None:
    try:
        return _parse_list(body)
    except BackfillsUnavailable:
        return None


@given(key=st.sampled_from([*ONE, "more"]), value=JSON)
@settings(max_examples=150)
def test_any_value_in_any_field_is_read_or_refused(key: str, value: object) -> None:
    document = copy.deepcopy(ONE)
    document[key] = value
    found = parsed(json.dumps({"backfills": [document]}).encode())
    for backfill in found or ():
        assert 0 < len(backfill.id) <= 200
        assert backfill.runs_total >= 0
        assert backfill.started_at.tzinfo is not None


@given(document=JSON)
def test_any_json_is_read_or_refused(document: object) -> None:
    parsed(json.dumps(document).encode())
    parsed(json.dumps({"backfills": document}).encode())


@given(cut=st.integers(min_value=0, max_value=400), more=st.binary(max_size=8))
def test_a_list_cut_or_spliced_anywhere_is_read_or_refused(cut: int, more: bytes) -> None:
    body = json.dumps({"backfills": [ONE]}).encode()
    cut %= len(body)
    for damaged in (body[:cut], body[:cut] + more + body[cut:], body[cut:]):
        for backfill in parsed(damaged) or ():
            assert isinstance(backfill, Backfill)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 10_000_000, id="nested without end"),
        pytest.param(b'{"backfills": [' + b" " * 10_000_000 + b"]}", id="blanks"),
        pytest.param(
            json.dumps({"backfills": [{**ONE, "id": f"bf-{i}"} for i in range(45_000)]}).encode(), id="45,000"
        ),
    ],
)
def test_ten_megabytes_are_not_read_to_their_end(body: bytes) -> None:
    server = LoopbackServer(lambda _: HttpAnswer(status=200, body=body))
    began = time.process_time()
    with server, pytest.raises(BackfillsUnavailable):
        DagyBackfills(server.origin, lambda: "t", timeout_s=2).running()
    assert time.process_time() - began < 4
