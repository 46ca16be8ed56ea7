"""Which of dagy's environments is a table of: what does its name say, and what its tag?

dagy names its tables `<prefix><name>-<environment>` and has six names. The end of any other name is no environment: what
follows the last hyphen of `dagy-new-thing-eu-prod` may be all of it or a part. Knows nothing of backfills.
"""

from collections.abc import Mapping

from unthrottle.settings import Settings

TABLES = ("flows", "runs", "task-runs", "schedules", "rate-limits", "usage-events")
"""The names of dagy's tables, between the prefix and the environment."""


def is_dagys(table: str, settings: Settings) -> bool:
    """Say whether the table is one of dagy's, by its prefix, or by its name where there is none; others no backfill writes."""
    prefix = settings.table_prefix
    return table.startswith(prefix) if prefix else environment_of(table, prefix) is not None


def environment_of(table: str, prefix: str) -> str | None:
    """Read the environment from the name of one of dagy's six tables: dagy-runs-eu-prod -> eu-prod; None for others."""
    if not table.startswith(prefix):
        return None
    rest = table.removeprefix(prefix)
    for name in TABLES:
        if rest.startswith(name + "-") and len(rest) > len(name) + 1:
            return rest.removeprefix(name + "-")
    return None


def environments(table: str, tags: Mapping[str, str], settings: Settings) -> tuple[str, ...]:
    """Name the environments a table may be of, the likelier first: by its name, then by its tag. Empty: nothing says it.

    Both count where they differ: `dagy-runs-archive` tagged `prod` is no table of an environment "archive".
    """
    told = (environment_of(table, settings.table_prefix), tags.get(f"{settings.tag_prefix}:environment"))
    return tuple(dict.fromkeys(one for one in told if one))
