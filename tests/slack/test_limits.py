"""The stand-in refuses what Slack refuses. Each row is a limit of Slack's Block Kit reference."""

from collections.abc import Mapping

import pytest

from sandbox.slack.limits import Refusal, refusal_of

Block = dict[str, object]


def plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}


def section(text: str = "x", **more: object) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def button(**more: object) -> Block:
    return {"type": "button", "text": plain("Approve"), "action_id": "approve", "value": "INC-7Q2M:3", **more}


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def table(rows: int = 2, columns: int = 2, text: str = "x") -> Block:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * columns for _ in range(rows)]}


def chart(points: int = 3, series: int = 1, label: str = "04:", **more: object) -> Block:
    labels = [f"{label}{n:02d}" for n in range(points)]
    lines = [
        {"name": f"s{number}", "data": [{"label": name, "value": 1.5} for name in labels]} for number in range(series)
    ]
    return {
        "type": "data_visualization",
        "title": "Concurrency",
        "chart": {"type": "line", "axis_config": {"categories": labels, "y_label": "executions"}, "series": lines},
        **more,
    }


def confirm(**more: object) -> Block:
    return {"title": plain("Sure?"), "text": plain("Caps it."), "confirm": plain("Yes"), "deny": plain("No"), **more}


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([section()] * 50, id="50 blocks"),
        pytest.param([section("x" * 3000)], id="a section of 3000"),
        pytest.param([section(fields=[plain("x" * 2000)] * 2)], id="fields"),
        pytest.param([{"type": "header", "text": plain("x" * 150)}], id="a header of 150"),
        pytest.param([{"type": "context", "elements": [plain("x")] * 10}], id="a context of 10"),
        pytest.param([{"type": "divider"}, {"type": "markdown", "text": "# x"}], id="a line and markdown"),
        pytest.param([actions(button(style="danger", confirm=confirm()), button(action_id="reject"))], id="buttons"),
        pytest.param([table(100, 20)], id="a table of 100 x 20"),
        pytest.param([chart(20, 6), chart()], id="two charts, one of 20 points and 6 series"),
    ],
)
def test_message_at_the_limit_is_taken(blocks: list[object]) -> None:
    assert refusal_of(blocks) is None


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        pytest.param([section()] * 51, "no more than 50 items allowed [json-pointer:/blocks]", id="51 blocks"),
        pytest.param(
            [section("x" * 3001)],
            "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
            id="a section of 3001",
        ),
        pytest.param(
            [section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]", id="empty text"
        ),
        pytest.param([{"type": "section"}], "must have text or fields [json-pointer:/blocks/0]", id="an empty section"),
        pytest.param(
            [section(fields=[plain("x")] * 11)],
            "no more than 10 items allowed [json-pointer:/blocks/0/fields]",
            id="11 fields",
        ),
        pytest.param(
            [section(fields=[plain("x" * 2001)])],
            "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
            id="a field of 2001",
        ),
        pytest.param(
            [{"type": "header", "text": plain("x" * 151)}],
            "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
            id="a header of 151",
        ),
        pytest.param(
            [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
            "unsupported type of text object [json-pointer:/blocks/0/text/type]",
            id="a header in mrkdwn",
        ),
        pytest.param(
            [actions(button(text=plain("x" * 76)))],
            "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
            id="a button of 76",
        ),
        pytest.param(
            [actions(button(value="x" * 2001))],
            "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
            id="a value of 2001",
        ),
        pytest.param(
            [actions(button(style="primary", confirm=confirm(text=plain("x" * 301))))],
            "must be less than 301 characters [json-pointer:/blocks/0/elements/0/confirm/text/text]",
            id="a confirmation of 301",
        ),
        pytest.param(
            [actions(button(), button())],
            "action_id approve is not unique [json-pointer:/blocks/0/elements]",
            id="an action_id twice",
        ),
        pytest.param(
            [actions(*[button(action_id=str(n)) for n in range(26)])],
            "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
            id="26 buttons",
        ),
        pytest.param(
            [section(block_id="a"), section(block_id="a")],
            "block_id a is not unique [json-pointer:/blocks]",
            id="a block_id twice",
        ),
        pytest.param(
            [{"type": "alert"}], "unsupported type: alert [json-pointer:/blocks/0/type]", id="a modal's block"
        ),
        pytest.param([{"type": []}], "unsupported type: [] [json-pointer:/blocks/0/type]", id="a type that is a list"),
        pytest.param(
            [section(colour="red")], "additional property: colour [json-pointer:/blocks/0]", id="invented key"
        ),
        pytest.param([table(101)], "no more than 100 items allowed [json-pointer:/blocks/0/rows]", id="101 rows"),
        pytest.param([table(1, 21)], "no more than 20 items allowed [json-pointer:/blocks/0/rows/0]", id="21 columns"),
        pytest.param(
            [table(100, 20, "xxxxxx")],
            "cells must be less than 10001 characters together [json-pointer:/blocks/0/rows]",
            id="a table of 12,000 characters",
        ),
        pytest.param(
            [chart(), chart(), chart()],
            "no more than 2 data_visualization blocks allowed [json-pointer:/blocks]",
            id="three charts",
        ),
        pytest.param(
            [chart(title="x" * 51)],
            "must be less than 51 characters [json-pointer:/blocks/0/title]",
            id="a title of 51",
        ),
        pytest.param(
            [chart(21)],
            "no more than 20 items allowed [json-pointer:/blocks/0/chart/axis_config/categories]",
            id="21 points",
        ),
        pytest.param(
            [chart(series=7)], "no more than 6 items allowed [json-pointer:/blocks/0/chart/series]", id="7 series"
        ),
        pytest.param(
            [chart(1, label="x" * 19)],
            "must be less than 21 characters [json-pointer:/blocks/0/chart/axis_config/categories/0]",
            id="a label of 21",
        ),
    ],
)
def test_message_over_the_limit_is_refused_with_the_place(blocks: list[object], message: str) -> None:
    refusal = refusal_of(blocks)
    assert refusal is not None
    assert refusal.error == "invalid_blocks"
    assert message in refusal.messages


def test_gap_in_a_chart_is_refused_since_slack_knows_no_gap() -> None:
    gap = chart(1)
    drawing = gap["chart"]
    assert isinstance(drawing, Mapping)
    drawing["series"][0]["data"][0]["value"] = None
    assert refusal_of([gap]) == Refusal(
        error="invalid_blocks",
        messages=("must be a number [json-pointer:/blocks/0/chart/series/0/data/0/value]",),
    )


def test_second_table_in_a_message_is_refused() -> None:
    refusal = refusal_of([table(), section(), table()])
    assert refusal is not None
    assert refusal.error == "invalid_attachments"


def test_blocks_that_are_too_long_together_are_refused() -> None:
    refusal = refusal_of([section("x" * 2900)] * 5)
    assert refusal is not None
    assert refusal.error == "msg_blocks_too_long"


def test_home_view_takes_a_hundred_blocks_and_no_chart() -> None:
    assert refusal_of([section()] * 100, "home") is None
    refusal = refusal_of([chart()], "home")
    assert refusal is not None
    assert refusal.messages == ("unsupported type: data_visualization [json-pointer:/blocks/0/type]",)
