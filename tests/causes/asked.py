"""Ask for the diagnosis of a pool, and for single parts of the answer."""

from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause, Diagnosis
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.settings import Settings

ITSELF = frozenset({"unthrottle-respond"})


def look(evidence: PoolEvidence, *, share: int = 25) -> Diagnosis:
    return diagnose(evidence, Settings(max_pool_share=share), itself=ITSELF)


def against(diagnosis: Diagnosis, cause: Cause) -> str:
    return next(item.because for item in diagnosis.rejected if item.cause is cause)


def text(diagnosis: Diagnosis) -> str:
    return " ".join(finding.text for finding in diagnosis.findings)
