"""With which parameters is the bot deployed into the sandbox?

The scenario's settings over the template's defaults, plus what the sandbox supplies: a Slack channel and app, a topic, a
dagy. Wrong settings are the operator's mistake and end in a SettingsError, as in a deployment.
"""

from collections.abc import Mapping
from pathlib import Path

from sandbox.rehearsal.stack import Stack
from unthrottle.errors import SettingsError
from unthrottle.settings import PARAMETERS, from_parameters

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
CONCURRENCY_ALARM_SHARE = 0.8
"""The early warning comes at 80 % of the account's limit."""


def checked(settings: Mapping[str, object], mode: str | None) -> dict[str, object]:
    """Check the settings of a scenario, with *mode* over its Mode if given. Raises SettingsError naming what is wrong.

    Besides the settings, the template's other parameters (its alarm switches) may be given.
    """
    given = {**settings, **({"Mode": mode} if mode is not None else {})}
    others = Stack.parameter_names(TEMPLATE) - set(PARAMETERS)
    unknown = sorted(set(given) - set(PARAMETERS) - others)
    if unknown:
        raise SettingsError(
            f"Unknown setting {', '.join(unknown)}. Nothing was run. "
            f"Known settings: {', '.join([*PARAMETERS, *sorted(others)])}."
        )
    from_parameters({name: value for name, value in given.items() if name in PARAMETERS})
    return given


def deployed(given: Mapping[str, object], supplied: Mapping[str, str], concurrency_limit: int) -> dict[str, str]:
    """Join checked settings with what the sandbox supplies; the scenario's own word counts more."""
    threshold = max(1, int(concurrency_limit * CONCURRENCY_ALARM_SHARE))
    defaults = {"ConcurrencyAlarmThreshold": str(threshold), "Operators": "U0OPS", **supplied}
    return {**defaults, **{name: in_words(value) for name, value in given.items()}}


def in_words(value: object) -> str:
    """Write a setting as CloudFormation takes it; a list with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value)
