"""Slowing an event source: the knob of each kind, made and given back, and what somebody else set left alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import FakeActor, arn_of, observer
from unthrottle import actions
from unthrottle.actions import cap_event_source
from unthrottle.actions.outcome import LeftAlone
from unthrottle.errors import Drifted
from unthrottle.evidence.pool import Candidate, EventSource, SourceKind
from unthrottle.plan import CapEventSource
from unthrottle.settings import Settings

SETTINGS = Settings()


def hog(name: str = "hog", **changes: object) -> Candidate:
    return replace(Candidate(name=name, arn=arn_of(name), reserved=None, timeout_s=900), **changes)  # type: ignore[arg-type]


SQS = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn:aws:sqs:eu-west-1:111122223333:q")
PROVISIONED_SQS = replace(SQS, maximum_pollers=100, minimum_pollers=5)
STREAM = EventSource(uuid="u1", kind=SourceKind.KINESIS, source_arn="arn", parallelization_factor=10)
KAFKA = EventSource(uuid="u1", kind=SourceKind.KAFKA, source_arn="arn", maximum_pollers=100)


@pytest.mark.parametrize(
    ("source", "at_most", "knob", "before", "after"),
    [
        pytest.param(SQS, 250, "MaximumConcurrency", None, 250, id="a queue"),
        pytest.param(SQS, 1, "MaximumConcurrency", None, 2, id="AWS's least is 2"),
        pytest.param(SQS, 5000, "MaximumConcurrency", None, 1000, id="AWS's most is 1000"),
        pytest.param(replace(SQS, maximum_concurrency=251), 250, "MaximumConcurrency", 251, 250, id="just lower"),
        pytest.param(replace(SQS, maximum_concurrency=250), 250, None, None, None, id="at the cap already"),
        pytest.param(PROVISIONED_SQS, 250, "MaximumPollers", 100, 25, id="pollers of a queue"),
        pytest.param(PROVISIONED_SQS, 10, "MaximumPollers", 100, 5, id="never below the minimum pollers"),
        pytest.param(PROVISIONED_SQS, 241, "MaximumPollers", 100, 25, id="the last poller is not full"),
        pytest.param(PROVISIONED_SQS, 240, "MaximumPollers", 100, 24, id="the last poller is full"),
        pytest.param(KAFKA, 250, "MaximumPollers", 100, 50, id="pollers of Kafka"),
        pytest.param(STREAM, 250, "ParallelizationFactor", 10, 2, id="a stream"),
        pytest.param(STREAM, 1, "ParallelizationFactor", 10, 1, id="a stream is never stopped"),
        pytest.param(replace(STREAM, parallelization_factor=None), 250, None, None, None, id="a stream at its least"),
        pytest.param(replace(KAFKA, maximum_pollers=None), 250, None, None, None, id="Kafka on demand has no knob"),
        pytest.param(replace(SQS, kind=SourceKind.OTHER), 250, None, None, None, id="a source without a knob"),
    ],
)
def test_each_kind_of_source_has_its_own_knob(
    source: EventSource, at_most: int, knob: str | None, before: int | None, after: int | None
) -> None:
    """The knob is only ever turned down, within AWS's own bounds, and never to zero."""
    made = cap_event_source.change(hog(), source, at_most, 1000.0)

    found = (None, None, None) if made is None else (made.knob, made.before, made.after)
    assert found == (knob, before, after)


@given(
    kind=st.sampled_from(list(SourceKind)),
    maximum=st.none() | st.integers(2, 1000),
    pollers=st.none() | st.integers(2, 2000),
    factor=st.none() | st.integers(1, 10),
    at_most=st.integers(1, 2000),
    peak=st.floats(0, 5000),
)
def test_apply_then_give_back_restores_any_event_source(
    *, kind: SourceKind, maximum: int | None, pollers: int | None, factor: int | None, at_most: int, peak: float
) -> None:
    """Whatever was set comes back, and what was not set is not set again."""
    source = EventSource(
        uuid="u1",
        kind=kind,
        source_arn="arn",
        maximum_concurrency=maximum if kind is SourceKind.SQS and pollers is None else None,
        maximum_pollers=pollers if kind in {SourceKind.SQS, SourceKind.KAFKA} else None,
        parallelization_factor=factor if kind in {SourceKind.KINESIS, SourceKind.DYNAMODB_STREAM} else None,
    )
    change = cap_event_source.change(hog(), source, at_most, peak)
    if change is None:
        return
    assert change.after >= 1
    assert change.before is None or change.after < change.before
    actor = FakeActor(sources={"u1": source})

    cap_event_source.compare(change, actor)
    actions.give_back(actions.apply(change, observer(), actor, None), actor)

    back = actor.sources["u1"]
    # An unset factor is AWS's 1; it is the only setting that cannot be unset again.
    assert replace(back, parallelization_factor=back.parallelization_factor or 1) == replace(
        source, parallelization_factor=source.parallelization_factor or 1
    ) or back == replace(source, parallelization_factor=None)


def test_an_event_source_someone_changed_is_left_and_stops_the_change() -> None:
    """The same rule as for functions: compare before acting, compare before giving back."""
    change = cap_event_source.change(hog(), SQS, 250, 841.0)
    assert isinstance(change, CapEventSource)
    actor = FakeActor(sources={"u1": replace(SQS, maximum_concurrency=100)})

    with pytest.raises(Drifted):
        cap_event_source.compare(change, actor)
    assert cap_event_source.give_back(change, actor) == LeftAlone(
        found="MaximumConcurrency of hog's event source is 100, not our 250"
    )
    assert actor.made == []
