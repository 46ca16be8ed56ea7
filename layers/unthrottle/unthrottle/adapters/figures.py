"""How does a figure of the bot's own become a CloudWatch metric? A line in the embedded metric format, no API call."""

from collections.abc import Mapping

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

NAMESPACE = "Unthrottle"


def write_figures(figures: Mapping[str, tuple[float, MetricUnit]], *, stack: str | None) -> None:
    """Write figures, each with its unit, under the dimension Stack (and Powertools' own, service)."""
    metrics = AmazonCloudWatchEMFProvider(
        namespace=NAMESPACE, metric_set={}, dimension_set={}, metadata_set={}, default_dimensions={}
    )
    metrics.add_dimension("Stack", stack or "unthrottle")
    for name, (value, unit) in figures.items():
        metrics.add_metric(name=name, unit=unit, value=value)
    metrics.flush_metrics()
