"""What the tests of a table's causes share: how they look, what they read of a diagnosis, and two loads."""

from tests.causes.builders import (
    ONSET,
    index,
    settings,
    unit,
)
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause, Diagnosis
from unthrottle.evidence.table import (
    Billing,
    TableEvidence,
    Throttle,
    UnitMetrics,
    Way,
)
from unthrottle.settings import Settings

WRITE_SHORT = (Way.WRITE, Throttle.PROVISIONED)
WRITE_HOT = (Way.WRITE, Throttle.KEY_RANGE)
ON_DEMAND = settings(billing=Billing.ON_DEMAND)
INDEXED = settings(indexes=[index()])


def look(evidence: TableEvidence) -> Diagnosis:
    return diagnose(evidence, Settings(), itself=frozenset())


def against(diagnosis: Diagnosis, cause: Cause) -> str:
    return next(item.because for item in diagnosis.rejected if item.cause is cause)


def text(diagnosis: Diagnosis) -> str:
    return " ".join(finding.text for finding in diagnosis.findings)


def blind(*, index: str | None = None) -> UnitMetrics:
    return unit(index, write={}, read={})


def burst(*, before: float = 100, served: float = 4000, refused: float = 2000) -> UnitMetrics:
    """An on-demand table that serves and refuses so many units a second from the onset on."""
    return unit(write={0: before, ONSET: served}, throttles={WRITE_HOT: {ONSET: refused * 60}})


def flooded(*, before: float = 20, from_minute: int = ONSET, wanted: float = 600) -> UnitMetrics:
    """A provisioned table whose writes wanted jump from one minute on; 50 units a second are served."""
    return short_of_writes_from(from_minute, before=before, refused=wanted - 50)


def short_of_writes_from(minute: int, *, before: float, refused: float) -> UnitMetrics:
    return unit(
        write={0: before, minute: 50},
        provisioned={Way.WRITE: {0: 50}},
        throttles={WRITE_SHORT: {minute: refused * 60}},
    )
