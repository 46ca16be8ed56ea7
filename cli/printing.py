"""How does a command print: lines with a style, one JSON document, progress for people who wait?"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from unthrottle.errors import BadInput


def show(lines: Iterable[tuple[str, str]]) -> None:
    """Print lines with their styles; without a terminal they are plain text."""
    console = Console(highlight=False, soft_wrap=True)
    for text, style in lines:
        console.print(Text(text, style))


def show_json(document: Any) -> None:
    """Print one document."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def progress(*, quiet: bool) -> Callable[[str], None]:
    """Tell on standard error what is being done."""

    def tell(text: str) -> None:
        if not quiet:
            print(f"… {text}", file=sys.stderr, flush=True)

    return tell


def write(file: Path, text: str) -> None:
    """Write a file. Raises BadInput when it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"Cannot write {file}: {error.strerror}. Nothing was changed. Name another file.") from error


def check_writable(file: Path | None) -> None:
    """Refuse a file that cannot be made, before the work that would fill it. Raises BadInput."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        raise BadInput(
            f"Cannot write {file}: there is no such directory, or it is one. Nothing was read. Name another file."
        )


def read_json(file: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object. Raises BadInput."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            f"Cannot read {file}: {error.strerror}. Nothing was changed. Name a file that --json made."
        ) from error
    except ValueError as error:
        raise BadInput(
            f"Cannot read {file} as JSON: {error}. Nothing was changed. Name a file that --json made."
        ) from error
    if not isinstance(found, dict):
        raise BadInput(f"{file} holds no JSON object. Nothing was changed.")
    return found
