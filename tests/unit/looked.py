"""Series, rankings and a table that several tests of looking share."""

from tests.unit.fakes import FakeMetrics, series
from unthrottle.evidence.series import Series
from unthrottle.evidence.table import Billing, Capacity, IndexSettings, TableSettings
from unthrottle.ports import Ranked

NAME = "dagy-runs-develop"
TABLE = TableSettings(
    name=NAME,
    arn=f"arn:aws:dynamodb:eu-west-1:111122223333:table/{NAME}",
    status="ACTIVE",
    billing=Billing.PROVISIONED,
    capacity=Capacity(read=10, write=100),
    indexes=(IndexSettings(name="by-status", status="ACTIVE", capacity=Capacity(read=10, write=50)),),
)


def flat(value: float | None, minutes: int = 180) -> Series:
    return series(*(value,) * minutes)


def rows(**held: float) -> tuple[Ranked, ...]:
    return tuple(Ranked(label=name, series=flat(value)) for name, value in held.items())


def pool_metrics(
    ranking: tuple[Ranked, ...], throttled: tuple[Ranked, ...] = (), claimed: float | None = 995.0
) -> FakeMetrics:
    known = {
        ("ConcurrentExecutions", ""): flat(995.0),
        ("UnreservedConcurrentExecutions", ""): flat(995.0),
        ("ClaimedAccountConcurrency", ""): flat(claimed),
    }
    return FakeMetrics(known, {"MAX(ConcurrentExecutions)": ranking, "SUM(Throttles)": throttled})
