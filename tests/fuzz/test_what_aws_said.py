"""An answer of AWS says what its body says or is our error; that the judge of `make fuzz` sees the difference."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name

from scripts import fuzz_aws
from scripts.fuzz_aws import CALLS, SEEDS, BrokenAnswerError, Odd, answer, unlike

ADAPTERS = Path(__file__).parents[2] / "layers" / "unthrottle" / "unthrottle" / "adapters"
BODIES = [
    b"", b"{}", b"[]", b"null", b"0", b'""', b"<html>Busy</html>", b"\xff\xfe\x00", b'{"Tags": {"unthrottle:prot', b"[" * 90_000,
    b'\xef\xbb\xbf{"Tags": {"a": "b"}}', '{"Tags": {"a": "b"}}'.encode("utf-16-le"), b'{"Tags": ""}', b'{"MetricAlarms": {}}',
    b'{"ScalableTargets": [{"CreationTime": 1e308}]}', b'{"Items": "", "Responses": {"incidents": ""}}',
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:20]))
def test_no_read_takes_a_body_for_an_answer_that_it_is_not(body: bytes) -> None:
    for call in CALLS:
        fuzz_aws.judged(call, body)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed[:30].decode())
def test_a_good_answer_cut_anywhere_is_never_a_smaller_one(seed: bytes) -> None:
    for at in range(0, len(seed), 1 + len(seed) // 12):
        answer(seed[:at])


def test_every_read_of_the_adapters_that_guardrails_depend_on_is_fed() -> None:
    fed = {xform_name(call.operation) for call in CALLS}
    read = r"(?:client|cloudwatch)\.(?:get_paginator\(\")?((?:get|describe|list|lookup|batch_get|query)\w*)"
    for module in ("tables", "functions", "actor", "alarms_api", "metrics", "calendar", "secrets", "incidents_table"):
        found = set(re.findall(read, (ADAPTERS / f"{module}.py").read_text(encoding="utf-8"))) - {"get_paginator"}
        assert found, module
        assert found <= fed, module


def test_the_judge_sees_a_client_that_takes_half_an_answer_for_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As botocore alone does: what is no JSON is an answer without any part."""
    monkeypatch.setattr("unthrottle.adapters.aws_answers._is_json", lambda **_: None)
    monkeypatch.setattr(fuzz_aws, "_ODD", Odd())
    call = next(one for one in CALLS if one.operation == "GetCalendarState")
    with pytest.raises(BrokenAnswerError, match="GetCalendarState: an answer that cannot be read"):
        fuzz_aws.judged(call, b'{"State": "CLO')


def shape(operation: str) -> Any:
    call = next(one for one in CALLS if one.operation == operation)
    return fuzz_aws.shape(call.service, operation)


@pytest.mark.parametrize(
    ("operation", "value", "told", "same"),
    [
        ("ListTags", {"Tags": {"a": "b"}}, {"Tags": {"a": "b"}, "New": 1}, True),
        ("ListTags", {}, {"Tags": {"a": "b"}}, False),
        ("ListTags", {"Tags": {}}, {"Tags": {"a": "b"}}, False),
        ("ListTags", {"Tags": {"a": "c"}}, {"Tags": {"a": "b"}}, False),
        ("ListTags", {"Tags": {"a": "b"}}, {}, False),
        ("ListTags", {"Other": 1}, {}, False),
        ("ListTags", {}, [], False),
        ("ListTagsOfResource", {"Tags": []}, {"Tags": [{"Key": "a", "Value": "b"}]}, False),
        ("ListTagsOfResource", {"Tags": [{"Key": "a"}]}, {"Tags": [{"Key": "a", "Value": "b"}]}, False),
        ("GetFunctionConcurrency", {"ReservedConcurrentExecutions": 5}, {"ReservedConcurrentExecutions": 5}, True),
        ("GetFunctionConcurrency", {"ReservedConcurrentExecutions": 5}, {"ReservedConcurrentExecutions": "5"}, True),
        ("GetFunctionConcurrency", {"ReservedConcurrentExecutions": 0}, {"ReservedConcurrentExecutions": 5}, False),
        ("GetFunctionConcurrency", {}, {"ReservedConcurrentExecutions": 0}, False),
        ("GetFunctionConcurrency", {}, {"ReservedConcurrentExecutions": None}, True),
        ("LookupEvents", {"Events": [{"EventTime": fuzz_aws.NOW}]}, {"Events": [{"EventTime": 1787545980}]}, True),
        ("LookupEvents", {"Events": [{"EventTime": fuzz_aws.NOW}]}, {"Events": [{"EventTime": 1787545981}]}, False),
    ],
)
def test_the_judge_holds_every_part_against_the_body(
    operation: str, value: dict[str, Any], told: Any, same: bool
) -> None:
    assert (unlike(value, json.loads(json.dumps(told)), shape(operation)) is None) is same
