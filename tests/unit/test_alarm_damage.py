"""Nothing that arrives makes the reader of alarms fail, or grow without bound."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.alarm_events import (
    ACCOUNT,
    ARN,
    AT,
    REGION,
    SNS_TABLE,
    by_sns_and_sqs,
    by_sqs,
    event,
    one,
    reason_of,
    writes,
)
from unthrottle.alarms import Firing, LookUp, Muted, NotMine, read
from unthrottle.subjects import fingerprint, incident_id


def test_texts_of_any_length_are_cut() -> None:
    """A reason of 120 kB or a name of a megabyte must still fit into a record and a message."""
    state = {"value": "ALARM", "timestamp": AT, "reason": "r" * 120_000}
    reading = one(event(writes(), alarmName="n" * 1_000_000, state=state))

    assert isinstance(reading, Firing)
    assert (len(reading.trigger.reason), len(reading.trigger.alarm_name)) == (500, 255)


def test_half_a_character_in_a_name_can_still_be_written_down() -> None:
    """JSON allows half a surrogate pair; UTF-8 does not, so such a name would otherwise stop the intake."""
    half = json.loads('"\\ud83d"')
    given_event = {**event(writes(), alarmName=f"runs {half}"), "resources": [ARN + half]}
    reading = one(given_event)

    assert isinstance(reading, Firing)
    trigger = reading.trigger
    assert trigger.alarm_name == "runs ?"
    assert incident_id(fingerprint(ACCOUNT, REGION, trigger.subjects[0]), trigger.dedupe_key).startswith("INC-")


def test_the_number_of_readings_is_bounded_and_says_so() -> None:
    """A batch is read whole; records within records without end are not, and what was left out is told."""
    assert len(read({"Records": [{"body": json.dumps(SNS_TABLE)}] * 1000})) == 1000

    deep: object = {"Records": [{"body": "x"}] * 200}
    for _ in range(2):
        deep = {"Records": [deep] * 200}
    readings = read(deep)

    assert len(readings) == 1001
    assert isinstance(readings[-1], NotMine)
    assert readings[-1].reason == "too-many"


def test_a_deeply_nested_text_is_read_as_text() -> None:
    """A message of a hundred thousand brackets is no alarm, and no error."""
    assert reason_of(by_sns_and_sqs({"a": 1}) | {"Records": [{"body": "[" * 100_000}]}) == "not-an-alarm"


def test_nesting_deeper_than_sns_in_sqs_is_not_followed() -> None:
    """Nobody wraps an alarm four times; what does is left alone."""
    wrapped: object = event(writes())
    for _ in range(5):
        wrapped = by_sqs(wrapped)

    assert reason_of(wrapped) == "not-an-alarm"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([AT, "ALARM", ARN]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
PLACES: list[tuple[str, ...]] = [
    ("detail-type",),
    ("account",),
    ("region",),
    ("resources",),
    ("detail",),
    ("detail", "alarmName"),
    ("detail", "state"),
    ("detail", "state", "value"),
    ("detail", "state", "timestamp"),
    ("detail", "state", "reasonData"),
    ("detail", "state", "actionsSuppressedBy"),
    ("detail", "configuration"),
    ("detail", "configuration", "metrics"),
    ("detail", "configuration", "alarmRule"),
    ("detail", "alarmContributor"),
    ("detail", "muteDetail"),
]


@given(place=st.sampled_from(PLACES), value=JSON)
@settings(max_examples=300, deadline=None)
def test_any_value_in_any_place_of_an_event_gives_a_reading(place: tuple[str, ...], value: object) -> None:
    """Whatever stands where something else should, the answer is a reading whose key can be hashed, never an error."""
    given_event: dict[str, object] = json.loads(json.dumps(event(writes(), alarmContributor={"id": "c"})))
    holder = given_event
    for name in place[:-1]:
        inner = holder[name]
        assert isinstance(inner, dict)
        holder = inner
    holder[place[-1]] = value

    for reading in read(given_event):
        if isinstance(reading, Firing | Muted):
            incident_id("mark", reading.trigger.dedupe_key)
        elif isinstance(reading, LookUp):
            incident_id("mark", reading.dedupe_key)


@given(JSON | st.dictionaries(st.sampled_from(["Records", "Message", "Type", "alarmData", "AlarmName"]), JSON))
@settings(max_examples=300, deadline=None)
def test_anything_at_all_gives_at_least_one_reading(given_event: object) -> None:
    """The front door never fails on what a stranger sends."""
    assert read(given_event)
