"""A hundred thousand victims, and names far longer than AWS's, cost bounded time and make messages that fit."""

import time
from dataclasses import replace

import pytest

from tests.causes.builders import hog_incident
from tests.report.samples import at_step, pool_hog
from tests.report.told import objections, tell
from unthrottle.causes import diagnose
from unthrottle.diagnosis import Cause
from unthrottle.report.moments import Step
from unthrottle.report.page import page
from unthrottle.settings import Settings

READ = 10_000
"""Twenty times what CloudWatch gives of a ranking (Metrics Insights: at most 500 series)."""


def test_a_pool_of_thousands_of_victims_is_diagnosed_in_seconds() -> None:
    evidence = hog_incident(victims=READ)
    began = time.process_time()
    found = diagnose(evidence, Settings(), itself=frozenset())
    assert time.process_time() - began < 20
    assert (found.cause, found.targets) == (Cause.POOL_HOG, ("batch-processor",))
    assert all(len(finding.text) < 2000 for finding in found.findings)


@pytest.mark.parametrize(("victims", "length"), [(100_000, 10), (5_000, 1000)])
def test_messages_about_any_number_of_victims_fit(victims: int, length: int) -> None:
    base = pool_hog()
    assert base.diagnosis is not None
    names = tuple(f"{number:07d}{'v' * length}" for number in range(victims))
    crowded = replace(base, diagnosis=replace(base.diagnosis, victims=names))
    began = time.process_time()
    for step in (Step.DIAGNOSED, Step.APPLIED, Step.RECOVERED):
        for told in tell(at_step(crowded, step), step):
            assert objections(told) == []
    subject, text = page(crowded, "because")
    assert time.process_time() - began < 20
    assert len(subject) <= 100
    assert len(text.encode()) < 256_000
