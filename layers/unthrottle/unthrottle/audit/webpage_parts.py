"""The small parts that the pages of the audit and of the back-test share. Pure; everything shown is escaped."""

from collections.abc import Mapping
from html import escape
from typing import Any

Document = Mapping[str, Any]

WIDTH, HEIGHT = 720, 160


def when(text: str) -> str:
    """Shorten a time of the document to its minute."""
    return text[:16].replace("T", " ")


def failures(document: Document) -> list[str]:
    """Say which accounts and Regions are missing."""
    return [
        f'<p class="gap">Not looked at: account {escape(one["account"])}, {escape(one["region"])}: {escape(one["why"])}</p>'
        for one in document["failed"]
    ]


def bullets(texts: Any) -> str:
    """Write texts as a list; none without texts."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
