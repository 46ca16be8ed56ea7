"""Tables, what was measured of them, and one that was switched: what the tests of table actions begin with."""

from hypothesis import strategies as st

from tests.unit.fakes import NOW, FakeActor, observer, series
from unthrottle import actions
from unthrottle.actions import raise_capacity, switch_to_on_demand
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import (
    Billing,
    Capacity,
    IndexSettings,
    ScalingTarget,
    TableEvidence,
    TableSettings,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.plan import RaiseCapacity

NAME = "dagy-runs-develop"
ARN = f"arn:aws:dynamodb:eu-west-1:111122223333:table/{NAME}"


def capacity(read: int, write: int) -> Capacity:
    return Capacity(read=read, write=write)


def table(
    own: Capacity, indexes: dict[str, Capacity] | None = None, billing: Billing = Billing.PROVISIONED
) -> TableSettings:
    return TableSettings(
        name=NAME,
        arn=ARN,
        status="ACTIVE",
        billing=billing,
        capacity=own,
        indexes=tuple(
            IndexSettings(name=name, status="ACTIVE", capacity=value) for name, value in (indexes or {}).items()
        ),
    )


def unit(
    index: str | None = None,
    writes: Series | None = None,
    refused: Series | None = None,
    reads: Series | None = None,
    short: float = 0.0,
) -> UnitMetrics:
    """Metrics of one unit; `short` are write throttles for want of provisioned capacity."""
    nothing = series(None, None)
    causes = dict.fromkeys(Throttle, nothing)
    return UnitMetrics(
        index=index,
        consumed={Way.READ: reads or nothing, Way.WRITE: writes or nothing},
        provisioned=dict.fromkeys(Way, nothing),
        throttle_events={Way.READ: nothing, Way.WRITE: refused or nothing},
        throttles={Way.READ: causes, Way.WRITE: {**causes, Throttle.PROVISIONED: series(None, short or None)}},
    )


def evidence(settings: TableSettings, *units: UnitMetrics, scaling: tuple[ScalingTarget, ...] = ()) -> TableEvidence:
    return TableEvidence(start=NOW, end=NOW, settings=settings, units=units or (unit(),), scaling=scaling)


SCALED = (
    ScalingTarget(way=Way.WRITE, index=None, minimum=5, maximum=50),
    ScalingTarget(way=Way.WRITE, index="by-status", minimum=5, maximum=50),
)
PLAIN = table(capacity(5, 10), {"by-status": capacity(5, 7)})
SWITCH = switch_to_on_demand.change(evidence(PLAIN, scaling=SCALED))


def after_switch() -> FakeActor:
    actor = FakeActor(tables={NAME: PLAIN})
    actions.apply(SWITCH, observer(), actor, None)
    return actor


numbers = st.builds(capacity, st.integers(1, 40_000), st.integers(1, 40_000))
tables = st.builds(
    table,
    numbers,
    st.dictionaries(st.sampled_from(["a", "b", "c"]), numbers),
)


def raised(settings: TableSettings, *units: UnitMetrics, scaling: tuple[ScalingTarget, ...] = ()) -> RaiseCapacity:
    return raise_capacity.change(evidence(settings, *units, scaling=scaling))
