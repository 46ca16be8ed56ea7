"""The demo: told on the terminal as it happens, and written as a page for the browser."""

import webbrowser
from pathlib import Path

from rich.console import Console

from cli.exits import Exit
from sandbox.demo.page import page
from sandbox.demo.story import tell

PAGE = Path("unthrottle-demo.html")


def demo(*, show: bool) -> Exit:
    """Tell all chapters, write the page beside where the command was run, and open it if wished."""
    console = Console(highlight=False, soft_wrap=True)
    chapters = tell(console)
    try:
        PAGE.write_text(page(chapters), encoding="utf-8")
    except OSError as error:
        console.print(f"The page could not be written to {PAGE.resolve()}: {error.strerror}. Nothing else is missing.")
        return Exit.FAILED
    console.print(f"The same as a page, with charts: {PAGE.resolve()}")
    if show:
        webbrowser.open(PAGE.resolve().as_uri())
    return Exit.FINE
