"""A cap takes from the others' pool, so it can do harm: when it is worse than before, that is known within minutes."""

from datetime import timedelta

import pytest

from tests.unit.fakes import MINUTE, NOW, incident, series
from unthrottle.diagnosis import Cause, Confidence, Diagnosis
from unthrottle.evidence.pool import ConcurrencyAccount
from unthrottle.evidence.table import Capacity
from unthrottle.guardrails import LONGEST_SWITCH, Context, judge
from unthrottle.incident import Outcome
from unthrottle.plan import Action, CapConcurrency, Change, Plan, SavedTable, SwitchToOnDemand
from unthrottle.ports import Ledger
from unthrottle.settings import Mode, Settings
from unthrottle.verification import Judgement, judge_pool

BUSY = 900.0
BEFORE = [0.0] * 10 + [100.0] * 5
"""A quarter of an hour before the action; at most 100 throttles a minute."""


def judged(
    *after: float | None, shown: list[float | None] | None = None, before: list[float] | None = None
) -> Judgement:
    """Judge so many minutes after an action at NOW, with these throttles of a victim in each."""
    end = NOW + len(after) * MINUTE
    earlier = BEFORE if before is None else before
    proof = [BUSY] * len(earlier) + ([BUSY] * len(after) if shown is None else shown)
    return judge_pool(
        acted_at=NOW,
        deadline=NOW + 25 * MINUTE,
        now=end,
        account=series(*proof, end=end),
        throttles={"victim": series(*earlier, *after, end=end)},
        capped=frozenset({"hog"}),
    )


@pytest.mark.parametrize(
    ("after", "is_worse"),
    [
        pytest.param([500.0] * 7, False, id="too early: only two whole minutes from the fifth on"),
        pytest.param([500.0] * 8, True, id="three minutes in a row"),
        pytest.param([500.0] * 5 + [201.0] * 3, True, id="just more than twice the worst minute before"),
        pytest.param([500.0] * 5 + [200.0] * 3, False, id="exactly twice"),
        pytest.param([500.0] * 7 + [0.0], False, id="the newest minute is clean"),
        pytest.param([100.0] * 8, False, id="as bad as before is not worse"),
    ],
)
def test_three_minutes_twice_as_bad_are_worse(after: list[float | None], is_worse: bool) -> None:
    """Not one burst, and not in the first minutes, in which refused clients come back."""
    found = judged(*after)

    assert (found.outcome is Outcome.NOT_RECOVERED) is is_worse
    assert found.because.startswith("worse than before") is is_worse


def test_a_minute_that_is_missing_is_no_proof_of_harm() -> None:
    """A gap is neither clean nor worse."""
    shown: list[float | None] = [*[BUSY] * 6, None, BUSY]

    assert judged(*[500.0] * 8, shown=shown).outcome is None


def test_where_nothing_was_throttled_before_there_is_nothing_to_compare_with() -> None:
    """An early warning: what comes afterwards is judged at the deadline, as everything else."""
    assert judged(*[500.0] * 8, before=[0.0] * 15).outcome is None


# --- guardrails that look at the account and at others' switches -----------------------------------------------------------

CAP = CapConcurrency(function="hog", arn="arn:hog", before=None, after=10, peak=50)
SWITCH = SwitchToOnDemand(
    table="t", arn="arn:t", before=SavedTable(capacity=Capacity(read=1, write=1)), hourly_cost=0.0
)


def reasons(change: Change, **more: object) -> list[str]:
    context = Context(
        now=NOW,
        settings=Settings(mode=Mode.AUTO),
        diagnosis=Diagnosis(cause=Cause.POOL_HOG, confidence=Confidence.HIGH),
        incident_id=incident().id,
        seen_at=NOW,
        **{"ledger": Ledger(), **more},  # type: ignore[arg-type]  # any field, by name
    )
    found = judge(Plan(action=Action.CAP_CONCURRENCY, why="because", changes=(change,)), context)
    return [reason.guardrail for reason in found.reasons]


@pytest.mark.parametrize(("unreserved", "found"), [(19, ["floor"]), (20, []), (1000, [])], ids=["below", "at", "above"])
def test_a_cap_that_would_leave_less_than_ten_unreserved_is_denied(unreserved: int, found: list[str]) -> None:
    """Ten is the lowest floor AWS is known to keep; a higher one is in its refusal."""
    pool = ConcurrencyAccount(limit=1000, unreserved_limit=unreserved, function_count=1)

    assert reasons(CAP, pool=pool) == found


@pytest.mark.parametrize(
    ("ago", "ours", "found"),
    [
        pytest.param(timedelta(hours=5), 2, ["switch-budget"], id="two of ours, and somebody else's last one"),
        pytest.param(timedelta(hours=1) - LONGEST_SWITCH / 2, 2, [], id="the last one is ours, dated when it was done"),
        pytest.param(timedelta(hours=24), 2, [], id="somebody else's, a day ago"),
        pytest.param(timedelta(hours=5), 1, [], id="one of ours and one of somebody else's"),
        pytest.param(None, 2, [], id="the table was never on-demand"),
    ],
)
def test_a_switch_by_others_counts_as_far_as_aws_tells_it(ago: timedelta | None, ours: int, found: list[str]) -> None:
    """DescribeTable dates the last switch only; one that is none of ours is somebody else's."""
    made = tuple(NOW - timedelta(hours=number) for number in (1, 2)[:ours])
    known = Ledger(switches={"arn:t": made})

    assert reasons(SWITCH, ledger=known, switched_at=None if ago is None else NOW - ago) == found
