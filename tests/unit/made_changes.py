"""Changes that many tests begin with: a cap of the hog, one of another function, and one at the hog's queue."""

from dataclasses import replace

from tests.unit.fakes import arn_of
from unthrottle.evidence.pool import SourceKind
from unthrottle.plan import CapConcurrency, CapEventSource

CAP = CapConcurrency(function="hog", arn=arn_of("hog"), before=None, after=250, peak=841)
OTHER = replace(CAP, function="other", arn=arn_of("other"))
SOURCE = CapEventSource(
    function="hog",
    arn=arn_of("hog"),
    uuid="u1",
    source=SourceKind.SQS,
    knob="MaximumConcurrency",
    before=None,
    after=250,
    peak=841,
)
