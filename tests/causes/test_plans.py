"""What is planned for a cause: which knob, which remedy of two, and what is left to a person."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.causes.builders import at, hog_incident, settings, short_of_writes, table
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.evidence.pool import EventSource, PoolEvidence, SourceKind
from unthrottle.evidence.table import TableEvidence, TableSettings
from unthrottle.plan import Action, CapConcurrency, Plan
from unthrottle.settings import Settings

SETTINGS = Settings()


def planned(evidence: PoolEvidence | TableEvidence, rules: Settings = SETTINGS) -> Plan:
    return make_plan(diagnose(evidence, rules, itself=frozenset()), evidence, rules)


def fed_by(*sources: EventSource) -> PoolEvidence:
    evidence = hog_incident()
    hog, *others = evidence.candidates
    return replace(evidence, candidates=(replace(hog, event_sources=sources), *others))


STREAM = EventSource(uuid="u1", kind=SourceKind.KINESIS, source_arn="arn", parallelization_factor=1)
QUEUE = EventSource(uuid="u2", kind=SourceKind.SQS, source_arn="arn", maximum_concurrency=5)


@pytest.mark.parametrize(
    ("sources", "action"),
    [
        pytest.param((STREAM,), Action.CAP_CONCURRENCY, id="one batch a shard cannot be turned down"),
        pytest.param(
            (replace(STREAM, parallelization_factor=4),), Action.CAP_EVENT_SOURCE, id="a factor of four can be"
        ),
        pytest.param((replace(STREAM, max_record_age_s=7199),), Action.ESCALATE, id="records dropped within the lease"),
        pytest.param((replace(STREAM, max_record_age_s=7200),), Action.CAP_CONCURRENCY, id="records that outlive it"),
        pytest.param((STREAM, QUEUE), Action.ESCALATE, id="a queue beside it would be drained into its dead letters"),
    ],
)
def test_a_stream_without_a_factor_to_lower_is_capped_only_where_nothing_is_lost(
    sources: tuple[EventSource, ...], action: Action
) -> None:
    """A stream keeps its records for a day, and a throttled batch is no attempt (AWS Lambda guide, Kinesis)."""
    assert planned(fed_by(*sources)).action is action


def test_the_others_use_leaves_out_what_a_hogs_provisioned_concurrency_serves() -> None:
    """What is provisioned is not drawn from the pool, so it is not what the others lack."""
    evidence = hog_incident()
    hog, *others = evidence.candidates
    provisioned = replace(evidence, candidates=(replace(hog, provisioned=300), *others))
    (change,) = planned(provisioned).changes
    assert isinstance(change, CapConcurrency)
    assert (change.provisioned, change.after) == (300, 301)


LATELY = at(60) - timedelta(hours=2)


@pytest.mark.parametrize(
    ("described", "switches", "action", "why"),
    [
        pytest.param(settings(), (), Action.SWITCH_TO_ON_DEMAND, "at least 4,000 writes", id="never switched"),
        pytest.param(
            settings(on_demand_since=LATELY),
            (LATELY,) * 2,
            Action.SWITCH_TO_ON_DEMAND,
            "at least 4,000 writes",
            id="two of four are spent",
        ),
        pytest.param(
            settings(on_demand_since=LATELY),
            (LATELY,) * 3,
            Action.RAISE_CAPACITY,
            "3 times in 24 hours already",
            id="three of four are spent: the last one is kept for people",
        ),
        pytest.param(
            settings(on_demand_since=LATELY),
            None,
            Action.RAISE_CAPACITY,
            "how often cannot be read",
            id="switched within a day, and how often cannot be read",
        ),
        pytest.param(
            settings(replicas=("us-east-1",)),
            (),
            Action.RAISE_CAPACITY,
            "its replicas too (us-east-1)",
            id="replicated",
        ),
    ],
)
def test_capacity_is_raised_where_a_switch_would_be_the_last_or_could_not_be_given_back(
    described: TableSettings, switches: tuple[datetime, ...] | None, action: Action, why: str
) -> None:
    """AWS allows four switches in 24 hours (AWS DynamoDB guide, constraints)."""
    plan = planned(replace(table(short_of_writes(), described=described), switches=switches))
    assert plan.action is action
    assert why in plan.why
