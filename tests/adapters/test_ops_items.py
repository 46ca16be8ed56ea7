"""A page opens an OpsItem where that is wanted: one for an incident, with the evidence, and never instead of the page."""

import json
import logging
from typing import Any

import pytest

from tests.adapters.world import Scripted
from unthrottle.adapters.access import Access
from unthrottle.adapters.pager import LONGEST_DESCRIPTION, SnsPager

TOPIC = "arn:aws:sns:eu-west-1:111122223333:on-call"
SUBJECT = "INC-7: dagy-runs is throttled"


def _opened(script: Scripted) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    script.on("ssm").client.meta.events.register(
        "provide-client-params.ssm.CreateOpsItem", lambda params, **_: seen.update(params)
    )
    return seen


def test_a_page_opens_an_ops_item_with_the_evidence(script: Scripted, scripted: Access) -> None:
    script.answers("sns", "publish", {})
    script.answers("ssm", "create_ops_item", {"OpsItemId": "oi-1"})
    seen = _opened(script)

    SnsPager(scripted, TOPIC, ops_items=True).page(SUBJECT, "what was found " * 1000)

    assert (seen["Title"], seen["Source"]) == (SUBJECT, "unthrottle")
    assert len(seen["Description"]) == LONGEST_DESCRIPTION
    assert seen["Description"].endswith("the rest is in the incident's record.")
    key = json.loads(seen["OperationalData"]["/aws/dedup"]["Value"])
    assert key == {"dedupString": "unthrottle INC-7"}


@pytest.mark.parametrize(
    ("code", "logged"), [("OpsItemAlreadyExistsException", []), ("AccessDeniedException", ["ops-item.not-opened"])]
)
def test_an_ops_item_that_is_there_already_is_fine_and_any_other_refusal_is_told_but_does_not_undo_the_page(
    script: Scripted, scripted: Access, caplog: pytest.LogCaptureFixture, code: str, logged: list[str]
) -> None:
    script.answers("sns", "publish", {})
    script.on("ssm").add_client_error("create_ops_item", code, "no")

    with caplog.at_level(logging.WARNING):
        SnsPager(scripted, TOPIC, ops_items=True).page(SUBJECT, "text")

    assert [record.getMessage() for record in caplog.records] == logged
