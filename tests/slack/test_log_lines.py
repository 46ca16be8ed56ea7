"""A figure of the bot's own is a line that CloudWatch reads as a metric."""

import json

import pytest
from aws_lambda_powertools.metrics import MetricUnit

from unthrottle.adapters.figures import write_figures


def test_figures_are_a_line_that_cloudwatch_reads_as_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, unit, value and the stack they belong to."""
    figures = {"UnreportedSteps": (2.0, MetricUnit.Count), "OldestUnsentAge": (90.0, MetricUnit.Seconds)}
    write_figures(figures, stack="prod")
    found = json.loads(capsys.readouterr().out)
    [directive] = found["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Unthrottle"
    assert "Stack" in directive["Dimensions"][0]
    assert {(metric["Name"], metric["Unit"]) for metric in directive["Metrics"]} == {
        ("UnreportedSteps", "Count"),
        ("OldestUnsentAge", "Seconds"),
    }
    assert (found["Stack"], found["UnreportedSteps"], found["OldestUnsentAge"]) == ("prod", [2.0], [90.0])
