"""The backfill of the tests of dagy, and the times at which it is asked about."""

from datetime import UTC, datetime

from sandbox.dagy import PlannedBackfill

START = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
NOW = datetime(2026, 8, 24, 4, 30, tzinfo=UTC)


def planned(identifier: str = "bf-20c4", environment: str = "develop", end: int = 200) -> PlannedBackfill:
    return PlannedBackfill(
        id=identifier,
        flow="hourly-invoices",
        environment=environment,
        requested_by="data-eng",
        start=12,
        end=end,
        runs_total=12000,
        dispatch_rate_per_minute=150,
    )
