"""The demo's page in a real Chromium, without network: nothing is wider than the window, and everything is drawn."""

import re
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.demo.page import page
from sandbox.demo.story import CHAPTERS, tell
from tests.report.chromium import dom_of

PROBE = """<script>addEventListener('load', () => { document.title =
  'wide:' + [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
    && !e.closest('.tablewrap')).length +
  ' charts:' + [...document.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().width > 200).length +
  ' messages:' + [...document.querySelectorAll('.msg')].filter(e => e.getBoundingClientRect().height > 20).length +
  ' fetched:' + performance.getEntriesByType('resource').length })</script>"""


@cache
def written() -> str:
    return page(tell(Console(file=StringIO()), CHAPTERS[1:2]))  # the shortest


def test_the_page_asks_for_nothing_from_a_network() -> None:
    assert re.findall(r"<(?:script|link|iframe|img)\b|\bsrc=|@import|url\(", written()) == []


@pytest.mark.parametrize("width", [380, 1400])
def test_the_page_is_drawn_whole_at_the_width_of_a_phone_and_of_a_screen(width: int, tmp_path: Path) -> None:
    """Where there is no Chromium (CI has one), the parts are at least in the page."""
    file = tmp_path / "demo.html"
    file.write_text(written().replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    told = dom_of(file, tmp_path / "profile", f"--window-size={width},2000")
    if told is None:
        assert written().count("<svg") >= 2
        assert 'class="msg' in written()
        return
    found = re.search(r"<title>wide:(\d+) charts:(\d+) messages:(\d+) fetched:(\d+)</title>", told)
    assert found is not None
    wide, charts, messages, fetched = map(int, found.groups())
    assert (wide, fetched) == (0, 0)
    assert charts >= 2
    assert messages >= 5
