"""For any functions, limits and changes meanwhile: nothing is served twice, nothing is lost, no limit is exceeded."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.aws.account import EmbeddedAccount
from sandbox.model.limits import LimitReader, PoolLimits
from sandbox.model.pool import Pool, PoolMinute
from sandbox.rehearsal.furnish import furnish
from sandbox.scenario import FunctionSpec, Scenario

MINUTES = 25
LIMIT = 200

TRIGGERS = st.one_of(
    st.sampled_from(["eventbridge", "s3", "sns", "api", "url", "step-functions", "none"]).map(lambda t: {"type": t}),
    st.builds(lambda r, m: {"type": "sqs", "max_receive_count": r, "maximum_concurrency": m},
              st.none() | st.integers(1, 4), st.none() | st.integers(2, 60)),
    st.builds(lambda s, f: {"type": "kinesis", "shards": s, "parallelization_factor": f},
              st.integers(1, 20), st.integers(1, 10)),
    st.builds(lambda p: {"type": "msk", "partitions": p}, st.integers(1, 30)),
)  # fmt: skip
DEMANDS = st.dictionaries(st.integers(0, MINUTES), st.floats(0, 400, allow_nan=False), min_size=1, max_size=4).map(
    lambda steps: sorted([minute, amount] for minute, amount in steps.items())
)
FUNCTIONS = st.lists(
    st.fixed_dictionaries(
        {"trigger": TRIGGERS, "demand": DEMANDS, "duration_ms": st.sampled_from([50, 900, 45_000, 200_000])},
        optional={
            "reserved": st.none() | st.integers(0, 30),
            "managed_instances": st.booleans(),
            "provisioned": st.integers(0, 5),
        },
    ),
    min_size=1,
    max_size=6,
)
CHANGES = st.lists(
    st.tuples(st.integers(0, MINUTES - 1), st.integers(0, 5), st.none() | st.integers(0, 60)), max_size=4
)


@dataclass(frozen=True)
class Run:
    """A pool that was run to its end, with its minutes and the limits of each."""

    pool: Pool
    minutes: list[PoolMinute]
    limits: list[PoolLimits]


def _run(functions: list[dict[str, object]], changes: list[tuple[int, int, int | None]]) -> Run:
    named = [FunctionSpec.model_validate(function | {"name": f"f{i}"}) for i, function in enumerate(functions)]
    account = EmbeddedAccount(concurrency_limit=LIMIT)
    furnish(account, Scenario(version=1, name="any", minutes=MINUTES, functions=named))
    pool, reader = Pool(named, MINUTES, history=3), LimitReader(named)
    minutes, limits = [], []
    for minute in range(-3, MINUTES):
        for at, which, reserved in changes:
            if at == minute:
                account.set_reserved(f"f{which % len(named)}", reserved)
        limit = reader.read(account.functions, account.concurrency_limit)
        answer = pool.tick(minute, limit)
        if minute >= 0:
            minutes.append(answer)
            limits.append(limit)
    return Run(pool, minutes, limits)


@settings(max_examples=150, deadline=None)
@given(FUNCTIONS, CHANGES)
def test_all_work_was_served_or_refused_or_expired_or_still_waits(
    functions: list[dict[str, object]], changes: list[tuple[int, int, int | None]]
) -> None:
    run = _run(functions, changes)
    ledger, waiting = run.pool.ledger, run.minutes[-1].waiting
    accounted = ledger.served + ledger.refused + ledger.expired + waiting
    np.testing.assert_allclose(accounted, ledger.wanted, rtol=1e-7, atol=1e-4)
    np.testing.assert_allclose(ledger.diverted + ledger.lost + ledger.dead_lettered, ledger.expired, atol=1e-6)


@settings(max_examples=150, deadline=None)
@given(FUNCTIONS, CHANGES)
def test_at_no_minute_is_more_gone_than_has_arrived(
    functions: list[dict[str, object]], changes: list[tuple[int, int, int | None]]
) -> None:
    run = _run(functions, changes)
    arrived = np.cumsum([minute.arrived for minute in run.minutes], axis=0)
    gone = np.cumsum([minute.served + minute.refused + minute.expired for minute in run.minutes], axis=0)
    assert (gone <= arrived + 1e-4).all()
    for minute in run.minutes:
        for part in (minute.served, minute.throttled, minute.refused, minute.expired, minute.waiting):
            assert (part >= 0).all()


@settings(max_examples=150, deadline=None)
@given(FUNCTIONS, CHANGES)
def test_no_limit_is_ever_exceeded(
    functions: list[dict[str, object]], changes: list[tuple[int, int, int | None]]
) -> None:
    run = _run(functions, changes)
    for minute, limits in zip(run.minutes, run.limits, strict=True):
        beside = run.pool.managed
        assert minute.unreserved <= limits.shared + 1e-6
        assert (minute.served <= limits.source + 1e-6).all()
        reserved = ~np.isnan(limits.reserved) & ~beside
        assert (minute.served[reserved] <= limits.reserved[reserved] + 1e-6).all()


@settings(max_examples=100, deadline=None)
@given(FUNCTIONS)
def test_room_is_never_left_while_a_function_that_may_run_is_throttled(functions: list[dict[str, object]]) -> None:
    """Unless short runs reach ten requests a second for each execution first; that rate is never exceeded either."""
    run = _run(functions, [])
    for minute, limits in zip(run.minutes, run.limits, strict=True):
        sharing = np.isnan(limits.reserved) & ~run.pool.managed
        calls = (minute.served * run.pool.runs_per_slot)[sharing & ~run.pool.waits].sum()
        assert calls <= 600 * LIMIT + 1e-3
        if (minute.throttled[sharing] > 1e-3).any() and calls < 600 * LIMIT - 1e-3:
            assert minute.unreserved >= limits.shared - 1e-3
