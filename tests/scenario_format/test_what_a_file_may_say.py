"""A scenario file says everything the format describes, and what it leaves out has the documented default."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sandbox.scenario import Scenario, load

COMPLETE = """
version: 1
name: every key of the format
start: 2026-08-24T04:00:00Z
minutes: 240
settings: {Mode: auto}
account: {id: "111122223333", region: eu-west-1, concurrency_limit: 1000, unreserved_floor: 100}
functions:
  - name: nightly-roster
    tags: {"unthrottle:environment": dev, "unthrottle:mode": off, "unthrottle:protected": true}
    trigger: {type: eventbridge}
    duration_ms: 45000
    demand: [[0, 20], [30, 2000], [480, 20]]
    reserved: 0
    async: {max_event_age_s: 3600, on_failure: true}
  - {name: "pipe-{i:03d}", count: 28, trigger: {type: msk, partitions: 3}, duration_ms: 900, demand: [[0, 3]]}
  - {name: queue, trigger: {type: sqs, maximum_concurrency: 20, max_receive_count: 3}, provisioned: 5, timeout_s: 30}
  - {name: stream, trigger: {type: kinesis, shards: 4, parallelization_factor: 2}, managed_instances: true}
tables:
  - name: orders-develop
    billing: provisioned
    billing_summary: absent
    read: 100
    write: 50
    autoscaling: {write: {min: 50, max: 200, target: 70}}
    max_on_demand: {write: 500}
    switches_last_24h: 1
    switch_takes_minutes: 3
    replicas: [eu-central-1]
    tags: {}
    keys: 1000
    hot_key_share: 0.5
    demand: {write: [[0, 20]], read: [[0, 40]]}
    indexes: [{name: by-status, read: 100, write: 50, share: 1.0, keys: 4, hot_key_share: 0.8}]
  - {name: runs-develop, billing: on-demand, indexes: [{name: by-day}]}
dagy:
  backfills:
    - {id: bf-1, flow: orders, environment: develop, requested_by: data, start: 12, end: 200, runs_total: 40000,
       dispatch_rate_per_minute: 900, writes: {orders-develop: 180}}
  api: 409
people:
  - {when: approval-requested, after_minutes: 2, do: approve, user: U0OPS}
  - {at: 90, say: "/unthrottle status", user: U0OPS}
outside:
  - {at: 45, set: {function: nightly-roster, reserved: null}}
  - {at: 60, set: {table: orders-develop, billing: on-demand}}
alarms: none
events:
  - {at: 31, file: some-alarm.json}
  - {at: 32, event: {source: aws.cloudwatch}}
metrics:
  - {namespace: AWS/Lambda, name: ConcurrentExecutions, dimensions: {FunctionName: f}, start: 0, period_s: 60,
     stat: Maximum, values: [1, null, 3]}
metric_delay_minutes: 2
slack: {steps: [[0, up], [30, down], [90, 429]]}
faults:
  - {call: lambda.PutFunctionConcurrency, nth: 1, error: TooManyRequestsException}
  - {call: dynamodb.UpdateTable, error: crash-after}
expect: {incidents: []}
"""


def _complete(write: Callable[[object], Path]) -> Scenario:
    text = COMPLETE.replace("switches_last_24h: 1", "switches_last_24h: 0")
    file = write(text)
    (file.parent / "some-alarm.json").write_text('{"source": "aws.cloudwatch", "n": 1}', encoding="utf-8")
    return load(file)


def test_a_file_with_every_key_of_the_format_is_read(write: Callable[[object], Path]) -> None:
    scenario = _complete(write)
    assert scenario.start == datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
    assert scenario.dagy.api == "409"
    assert scenario.file.name == "case.yaml"
    assert [fault.error for fault in scenario.faults] == ["TooManyRequestsException", "crash-after"]
    assert scenario.metrics[0].values == [1, None, 3]


def test_an_event_file_is_read_from_beside_the_scenario(write: Callable[[object], Path]) -> None:
    scenario = _complete(write)
    assert [event.event for event in scenario.events] == [
        {"source": "aws.cloudwatch", "n": 1},
        {"source": "aws.cloudwatch"},
    ]


def test_off_is_a_word_and_a_true_tag_is_text(write: Callable[[object], Path]) -> None:
    tags = _complete(write).functions[0].tags
    assert tags == {"unthrottle:environment": "dev", "unthrottle:mode": "off", "unthrottle:protected": "true"}


def test_a_name_pattern_makes_count_functions_counted_from_one(read: Callable[..., Scenario]) -> None:
    scenario = read(functions=[{"name": "svc-{i:03d}", "count": 28}, {"name": "solo"}, {"name": "n{i}", "count": 2}])
    names = [function.name for function in scenario.expanded_functions()]
    assert (names[0], names[27], names[28:]) == ("svc-001", "svc-028", ["solo", "n1", "n2"])


def test_an_unset_reservation_is_not_a_reservation_of_zero(write: Callable[[object], Path]) -> None:
    scenario = _complete(write)
    assert [function.reserved for function in scenario.functions] == [0, None, None, None]


def test_taking_a_reservation_away_differs_from_saying_nothing(write: Callable[[object], Path]) -> None:
    change = _complete(write).outside[0].set
    assert change.reserved is None
    assert "reserved" in change.model_fields_set


def test_what_is_left_out_has_the_documented_default(read: Callable[..., Scenario]) -> None:
    scenario = read()
    assert (scenario.alarms, scenario.metric_delay_minutes, scenario.dagy.api) == ("default", 2, "up")
    assert (scenario.account.concurrency_limit, scenario.account.unreserved_floor) == (1000, 100)
    assert scenario.slack.at(0) == "up"


def test_a_table_that_never_was_on_demand_has_no_billing_summary(read: Callable[..., Scenario]) -> None:
    tables = read(
        tables=[
            {"name": "one", "billing": "provisioned", "read": 5, "write": 5},
            {"name": "two", "billing": "on-demand"},
            {"name": "three", "billing": "provisioned", "billing_summary": "present", "read": 5, "write": 5},
        ]
    ).tables
    assert [table.summary_present for table in tables] == [False, True, True]


def test_slack_changes_at_its_steps(write: Callable[[object], Path]) -> None:
    slack = _complete(write).slack
    assert [slack.at(minute) for minute in (0, 29, 30, 89, 90, 200)] == ["up", "up", "down", "down", "429", "429"]


def test_one_word_for_slack_holds_for_the_whole_run(read: Callable[..., Scenario]) -> None:
    assert read(slack=429).slack.at(17) == "429"
