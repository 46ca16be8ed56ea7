"""A message whose form is refused loses its looks step by step, never its words."""

from unthrottle.chat import MAX_MESSAGE_TEXT, Block, Rung, ladder

SECTION: Block = {"type": "section", "text": {"type": "mrkdwn", "text": "*crew-import* holds 71 % of the pool."}}
CHART: Block = {"type": "data_visualization", "title": "Concurrency", "chart": {}}


def cell(text: str) -> dict[str, object]:
    return {"type": "raw_text", "text": text}


TABLE: Block = {
    "type": "table",
    "rows": [
        [cell("function"), cell("peak"), cell("throttles")],
        [cell("crew-import"), cell("712"), cell("3")],
        [cell("a<b"), cell("4"), cell("1,802")],
    ],
}
BUTTONS: Block = {
    "type": "actions",
    "elements": [
        {"type": "button", "action_id": "approve", "value": "INC-7Q2M:3"},
        {"type": "button", "action_id": "keep", "value": "INC-7Q2M:3"},
    ],
}
IN_COLUMNS = "```\nfunction     peak  throttles\ncrew-import  712   3\na&lt;b          4     1,802\n```"
CODE: Block = {"type": "section", "text": {"type": "mrkdwn", "text": IN_COLUMNS}}


def test_charts_go_first_then_tables_become_code_then_all_is_text() -> None:
    assert ladder("The pool is used up.", [SECTION, CHART, TABLE, BUTTONS]) == (
        Rung(text="The pool is used up.", blocks=(SECTION, CHART, TABLE, BUTTONS)),
        Rung(text="The pool is used up.", blocks=(SECTION, TABLE, BUTTONS)),
        Rung(text="The pool is used up.", blocks=(SECTION, CODE, BUTTONS)),
        Rung(
            text="The pool is used up.\n*crew-import* holds 71 % of the pool.\n"
            + IN_COLUMNS
            + "\nTo approve, run `unthrottle approve INC-7Q2M:3` in a terminal."
            "\nTo keep, type `/unthrottle keep INC-7Q2M`.",
            blocks=(),
        ),
    )


def test_message_without_chart_and_table_falls_straight_to_text() -> None:
    assert [rung.blocks for rung in ladder("x", [SECTION])] == [(SECTION,), ()]


def test_message_that_is_only_text_has_one_way_to_be_sent() -> None:
    assert ladder("Done.", []) == (Rung(text="Done.", blocks=()),)


def test_chart_alone_falls_to_text_not_to_an_empty_message() -> None:
    assert [rung.blocks for rung in ladder("x", [CHART])] == [(CHART,), ()]


def test_long_table_is_cut_at_a_row_and_says_how_many_are_missing() -> None:
    table: Block = {"type": "table", "rows": [[cell("f" * 60 + str(n))] for n in range(100)]}
    section = ladder("x", [table])[1].blocks[0]["text"]
    assert isinstance(section, dict)
    assert len(section["text"]) <= 3000
    assert "… 54 more rows" in section["text"]


def test_text_is_never_longer_than_slack_takes_in_an_update() -> None:
    long: Block = {"type": "section", "text": {"type": "mrkdwn", "text": "y" * 3000}}
    assert [len(rung.text) <= MAX_MESSAGE_TEXT for rung in ladder("x" * 50_000, [long, long])] == [True, True]
    assert ladder("x", [long, {**long, "text": {"text": "z" * 3000}}])[-1].text.endswith("in the incident's record.")


def test_table_cannot_break_out_of_its_code_block() -> None:
    section = ladder("x", [{"type": "table", "rows": [[cell("```<!channel>")]]}])[1].blocks[0]["text"]
    assert section == {"type": "mrkdwn", "text": "```\n'''&lt;!channel&gt;\n```"}


def test_rich_text_cells_keep_their_words() -> None:
    rich = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "HOG"}]}],
    }
    assert "HOG" in ladder("x", [{"type": "table", "rows": [[rich]]}])[-1].text
