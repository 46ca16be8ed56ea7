"""What does a tag on a resource ask for? A tag that cannot be read is told, never taken for one that is not there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from unthrottle.settings import Mode, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A tag whose value means nothing; `value` is untrusted text, cut to its beginning."""

    key: str
    value: str


def is_protected(tags: Mapping[str, str], settings: Settings) -> bool:
    """Say whether a resource's tag protects it from any change; any word but a no does."""
    return tags.get(f"{settings.tag_prefix}:protected", "false").strip().lower() not in {"false", "no", "0", ""}


def forbidden_by(tags: Mapping[str, str], settings: Settings) -> str | None:
    """Name the tag by which a resource's owner forbids every change, or None."""
    if is_protected(tags, settings):
        return f"{settings.tag_prefix}:protected"
    mode = f"{settings.tag_prefix}:mode"
    return f"{mode}={Mode.OFF.value}" if tags.get(mode, "").strip().lower() == Mode.OFF.value else None


def wished_maximum(tags: Mapping[str, str], settings: Settings) -> int | Unreadable | None:
    """Read the executions a function may keep at most from its tag; None where it has no such tag."""
    key = f"{settings.tag_prefix}:max-concurrency"
    if key not in tags:
        return None
    wished = tags[key].strip()
    if re.fullmatch(r"[0-9]{1,6}", wished) and int(wished) >= 1:
        return int(wished)
    return Unreadable(key=key, value=tags[key][:40])
