"""A button in a copy of an incident's message: what Slack is answered."""

from dataclasses import replace

from tests.report.samples import approval, pool_hog
from tests.slack.test_door import House
from unthrottle.slack_door import COPY


def test_a_click_in_a_copy_is_answered_like_any_other_and_the_copy_is_replaced() -> None:
    """With anything but 200 Slack would show the person an error, and send it again."""
    replies: list[tuple[str, bool]] = []
    house = House(
        incident=replace(approval(pool_hog()), head="2.0"),
        reply=lambda _address, text, replaces: replies.append((text, replaces)),
    )
    assert house.click() == (200, "")
    assert replies == [(COPY.format(house.incident.id), True)]
