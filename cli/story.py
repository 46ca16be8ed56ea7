"""Tell one rehearsal as a short story on the terminal. Knows the output document and nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

Document = Mapping[str, Any]

_STYLES = {"met": "bold green", "not met": "bold red", "none": "dim"}
_MOST_NAMES = 4


def tell(document: Document) -> None:
    """Print the story of one scenario."""
    console = Console(highlight=False, soft_wrap=True)
    expectation = document["expectation"]
    title = Text.assemble((document["name"], "bold"), "  ")
    title.append("no expectation" if expectation == "none" else expectation, _STYLES[expectation])
    console.print(title)
    for line, style in lines(document):
        console.print(Text(f"  {line}", style))
    console.print()


def lines(document: Document) -> Iterator[tuple[str, str]]:
    """Write the lines of the story, each with its style."""
    yield f"{document['file']}, {document['minutes']} minutes", "dim"
    for line in document["unmet"]:
        yield line, "red"
    if not document["incidents"]:
        yield "No incident.", ""
    for incident in document["incidents"]:
        yield from _incident(incident)
    for change in document["mutations"]:
        result = "" if change["result"] == "ok" else f"  -> {change['result']}"
        yield f"minute {change['minute']:>4}  {change['call']} {_given(change['parameters'])}{result}", "cyan"
    for page in document["escalations"]:
        yield f"minute {page['minute']:>4}  paged by {page['via']}: {page['subject']}", "yellow"
    for deed in document["people"]:
        yield f"minute {deed['minute']:>4}  {deed['user']}: {deed['did']}  -> {_short(deed['answer'])}", "magenta"
    for error in document["errors"]:
        yield (
            f"minute {error['minute']}  {error['function']} failed: {error['error']}",
            "dim" if error["expected"] else "red",
        )
    throttled = document["final"]["throttled_minutes"]
    yield f"throttled minutes: lambda {throttled['lambda']}, dynamodb {throttled['dynamodb']}", ""
    for place, state in document["final"].get("members", {}).items():
        throttled = state["throttled_minutes"]
        yield f"  in {place}: lambda {throttled['lambda']}, dynamodb {throttled['dynamodb']}", ""


def _incident(incident: Document) -> Iterator[tuple[str, str]]:
    closed = "still open" if incident["closed_minute"] is None else f"closed at minute {incident['closed_minute']}"
    triggers = f"{incident['triggers']} {'trigger' if incident['triggers'] == 1 else 'triggers'}"
    yield f"{incident['id']}  {incident['fingerprint']}, {closed}, {triggers}", "bold"
    about = f"cause {incident['cause'] or 'not known'}"
    if incident["confidence"]:
        about += f" ({incident['confidence']} confidence)"
    yield f"  {about}{_names(' of ', incident['targets'])}{_names('; victims: ', incident['victims'])}", ""
    plan = incident["plan"]
    changes = ", ".join(
        f"{change['target']}: {_value(change['before'])} -> {_value(change['after'])}" for change in plan["changes"]
    )
    reasons = f" ({', '.join(incident['reasons'])})" if incident["reasons"] else ""
    yield f"  plan {plan['action']} {changes}".rstrip() + f"; verdict {incident['verdict']}{reasons}", ""
    yield f"  status {incident['status']}, outcome {incident['outcome']}", ""
    for moment in incident["timeline"]:
        yield f"    {moment['minute']:>4}  {moment['event']}  {_short(moment['detail'])}".rstrip(), "dim"


def _names(before: str, names: list[str]) -> str:
    if not names:
        return ""
    more = len(names) - _MOST_NAMES
    return before + ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _value(value: object) -> str:
    return "unset" if value is None else str(value)


def _given(parameters: Mapping[str, object]) -> str:
    return _short(" ".join(f"{name}={value}" for name, value in parameters.items()))


def _short(text: str, most: int = 160) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"
