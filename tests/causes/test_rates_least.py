"""The rates of next to nothing: a switched-off function, a reservation of one, minutes that were not measured."""

import pytest

from tests.causes.asked import against, look, text
from tests.causes.builders import ONSET, Steps, details, function, points, pool, series
from unthrottle.diagnosis import Cause


@pytest.mark.parametrize(
    ("reserved", "refused", "is_reached"),
    [
        pytest.param(1, {ONSET: 40}, True, id="ten a second of a reservation of one"),
        pytest.param(1, {}, False, id="another one is refused"),
        pytest.param(0, {ONSET: 40}, False, id="it is switched off, and has no rate"),
    ],
)
def test_a_reservation_of_one_has_a_rate_and_a_switch_has_none(
    reserved: int, refused: Steps, *, is_reached: bool
) -> None:
    evidence = pool(
        use={0: 120},
        reserved=reserved,
        throttles={ONSET: 40},
        throttled={"short": refused, "other": {ONSET: 40}} if refused else {"other": {ONSET: 40}},
        functions=[function("short", {0: 0})],
        candidates=[details("short", reserved=reserved, invocations=series({0: 600}))],
    )
    found = look(evidence)
    told = [found.cause, *(item.cause for item in found.rejected if item.because.startswith("It fits too"))]
    assert (Cause.REQUEST_RATE in told) is is_reached


def rising(concurrency: Steps, *, throttled: int = 57) -> str:
    evidence = pool(
        limit=10_000,
        use={0: 100},
        concurrency=concurrency,
        throttles=points({throttled: 80.0}),
        throttled={"victim": points({throttled: 80.0})},
    )
    found = look(evidence)
    return text(found) if found.cause is Cause.SCALING_RATE else against(found, Cause.SCALING_RATE)


def test_a_rise_of_less_than_500_outruns_nothing() -> None:
    assert rising({0: 300, 57: 700}) == "The account went from 300 to 700 executions: no steep rise."


def test_what_was_not_measured_ran_nothing() -> None:
    """The account's series has a datapoint for every minute in which something ran."""
    assert "The account went from 0 to 5,000 executions around 04:57 UTC" in rising({57: 5000})
    assert rising({0: 100, 55: None}) == "The account went from 100 to 0 executions: no steep rise."
