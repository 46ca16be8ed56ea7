"""Actions at the edges that mutation testing found nobody looking at."""

from datetime import timedelta

import pytest

from unthrottle.actions.cap_event_source import keeps_its_records
from unthrottle.evidence.pool import EventSource, SourceKind

LEASE = timedelta(hours=2)


def source(kind: SourceKind, age_s: int | None) -> EventSource:
    return EventSource(uuid="u", kind=kind, source_arn="arn", max_record_age_s=age_s)


@pytest.mark.parametrize(
    ("kind", "age_s", "keeps"),
    [
        (SourceKind.KINESIS, None, True),
        (SourceKind.KINESIS, 7200, True),
        (SourceKind.KINESIS, 7199, False),
        (SourceKind.SQS, None, False),
    ],
)
def test_a_stream_keeps_its_records_unless_its_mapping_drops_them_within_the_lease(
    kind: SourceKind, age_s: int | None, keeps: bool
) -> None:
    """A maximum age that is not set is no maximum."""
    assert keeps_its_records([source(kind, age_s)], LEASE) is keeps
    assert keeps_its_records([source(SourceKind.KINESIS, None), source(kind, age_s)], LEASE) is keeps
