"""The demo's page shows the thread as Slack does, needs no network, and nothing in a name becomes markup of the page."""

import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Console

from sandbox.demo.drawing import Curve, Mark, chart
from sandbox.demo.slack_html import STYLE, thread_html
from sandbox.demo.story import Told, before_and_after
from tests.report.samples import OPENED, SAMPLES, pool_hog, steps_of
from tests.report.told import tell
from unthrottle.report.moments import Message, Step

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`*&lt;b&gt;"


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)


def posted(told: Message, ts: str, thread_ts: str | None = None) -> dict[str, Any]:
    return {
        "ts": ts,
        "thread_ts": thread_ts,
        "text": told.text,
        "blocks": list(told.blocks),
        "broadcast": told.broadcast,
    }


def drawn(sample: str, step: Step) -> str:
    head, reply = tell(SAMPLES[sample](), step)
    return thread_html([posted(head, "1787545980.1"), posted(reply, "1787546040.2", "1787545980.1")], channel="ops")


def test_a_thread_shows_head_reply_table_charts_and_times() -> None:
    page = drawn("pool-hog", Step.DIAGNOSED)
    assert page.count('class="msg"') == 2
    assert "1 reply" in page
    assert "04:33 UTC" in page
    assert '<td class="right">841</td>' in page
    assert page.count("<svg") == 3  # one in the head, two beside the table
    assert "cap 250" in page


def test_buttons_and_people_are_drawn() -> None:
    page = drawn("pool-hog", Step.APPROVAL_NEEDED)
    assert '<span class="button primary">Approve</span>' in page
    assert "also sent to the channel" in page
    assert '<span class="at">@U0OPS</span>' in drawn("pool-hog", Step.APPLIED)


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_step_is_drawn_with_balanced_tags_and_no_mark_left_over(sample: str) -> None:
    for step in steps_of(SAMPLES[sample]()):
        page = drawn(sample, step)
        for tag in ("div", "p", "pre", "code", "b", "table", "figure", "span"):
            assert len(re.findall(rf"<{tag}[ >]", page)) == page.count(f"</{tag}>"), (step, tag)
        assert "```" not in page
        assert "(None)" not in page


@pytest.mark.parametrize("place", ["text", "header", "section", "fields", "context", "cell", "button", "chart", "type"])
def test_hostile_text_stays_text(place: str) -> None:
    said = {"type": "mrkdwn", "text": EVIL}
    places: dict[str, dict[str, Any]] = {
        "text": {},
        "header": {"type": "header", "text": said},
        "section": {"type": "section", "text": said},
        "fields": {"type": "section", "fields": [said]},
        "context": {"type": "context", "elements": [said]},
        "cell": {
            "type": "table",
            "column_settings": [{"align": EVIL}],
            "rows": [[{"text": EVIL}], [{"text": EVIL}]],
        },
        "button": {"type": "actions", "elements": [{"type": "button", "style": EVIL, "text": said}]},
        "chart": {
            "type": "data_visualization",
            "title": EVIL,
            "chart": {
                "axis_config": {"categories": [EVIL]},
                "series": [{"name": EVIL, "data": [{"label": EVIL, "value": 1}]}],
            },
        },
        "type": {"type": EVIL},
    }
    block = places[place]
    page = thread_html([{"ts": "1.1", "text": EVIL, "blocks": [block] if block else []}], channel=EVIL)
    seen = Tags()
    seen.feed(page)
    assert not seen.names & {"script", "img", "b&gt;"}
    assert not [name for name in seen.attributes if name.startswith("on")]


def test_the_page_loads_nothing() -> None:
    page = STYLE + drawn("pool-hog", Step.DIAGNOSED)
    assert not re.search(r"(src|href)\s*=|url\(|@import", page)


def test_a_gap_is_left_open_and_a_lone_point_is_seen() -> None:
    figure = chart("t", ["a", "b", "c", "d", "e"], [Curve(name="n", values=(1, 2, None, 4, None))])
    assert figure.count("<polyline") == 2


def test_marks_that_would_cover_each_other_stand_side_by_side() -> None:
    figure = chart(
        "t", [str(i) for i in range(100)], [Curve(name="n", values=(1.0,) * 100)], marks=[Mark(at=5, text="x")] * 3
    )
    places = [float(found) for found in re.findall(r'<circle class="mark" cx="([\d.]+)"', figure)]
    assert places[1] - places[0] >= 14
    assert places[2] - places[1] >= 14


def test_what_is_drawn_is_also_said_for_those_who_cannot_see_it() -> None:
    figure = chart("Use", ["a", "b"], [Curve(name="hog", values=(1.0, 956.0)), Curve(name="none", values=(None, None))])
    assert 'aria-label="Use: hog at most 956, at the end 956; none not measured"' in figure


def test_the_head_of_a_real_incident_names_its_incident() -> None:
    assert pool_hog().id in drawn("pool-hog", Step.RECOVERED)


def test_how_many_functions_are_throttled_is_not_told_as_how_many_victims() -> None:
    """The cause is throttled as well, by its cap."""
    out = io.StringIO()
    minute = {"minute": 9, "lambda_throttles": 812, "throttled_functions": 29, "throttled_tables": 0}
    told = Told(title="", outcome={}, start=OPENED, minutes=[minute])
    before_and_after(Console(file=out, width=200), told, 9, "lambda")
    assert [line.split() for line in out.getvalue().splitlines()[1:]] == [
        ["minute", "9"],
        ["count", "812"],
        ["functions", "29"],
    ]
