"""What the tests look for in a told step: its messages, every piece of text in them, and what Slack would say."""

from collections.abc import Iterator

from sandbox.slack.limits import refusal_of
from tests.report.samples import DETAILS, at_step, pool_evidence, table_evidence
from unthrottle.chat import ladder
from unthrottle.incident import Incident
from unthrottle.report.moments import Message, Picture, Step, head, message, picture_of

# The steps after which the evidence was read anew.
WITH_A_PICTURE = {Step.DIAGNOSED, Step.RECOVERED, Step.NOT_RECOVERED}


def picture_for(incident: Incident) -> Picture | None:
    if incident.diagnosis is None:
        return None
    return picture_of(pool_evidence() if incident.kind == "lambda" else table_evidence(), incident.diagnosis)


def tell(incident: Incident, step: Step, detail: str | None = None) -> tuple[Message, Message]:
    """Return the head and the thread's message for a step of an incident that has come that far."""
    there = at_step(incident, step)
    picture = picture_for(there) if step in WITH_A_PICTURE else None
    said = DETAILS.get(step, "") if detail is None else detail
    number = list(Step).index(step) + 1
    return head(there, step, picture), message(there, step, detail=said, number=number, picture=picture)


def texts(node: object) -> Iterator[str]:
    """Yield every string under a `text` key, in reading order."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "text" and isinstance(value, str):
                yield value
            else:
                yield from texts(value)
    elif isinstance(node, list | tuple):
        for child in node:
            yield from texts(child)


def marked(node: object) -> Iterator[dict[str, object]]:
    """Yield every mrkdwn object."""
    if isinstance(node, dict):
        if node.get("type") == "mrkdwn":
            yield node
        for value in node.values():
            yield from marked(value)
    elif isinstance(node, list | tuple):
        for child in node:
            yield from marked(child)


def buttons(told: Message) -> dict[str, dict[str, object]]:
    """Return the buttons of a message by action id; fails where two share one."""
    found: dict[str, dict[str, object]] = {}
    for block in told.blocks:
        elements = block.get("elements") if block.get("type") == "actions" else None
        for element in elements if isinstance(elements, list) else []:
            assert element["action_id"] not in found
            found[element["action_id"]] = element
    return found


def whole(told: Message) -> str:
    return "\n".join([told.text, *texts(told.blocks)])


def objections(told: Message) -> list[str]:
    """Say what Slack would refuse, in the message itself and in every simpler form of it."""
    found: list[str] = []
    for rung in ladder(told.text, told.blocks):
        refusal = refusal_of(list(rung.blocks))
        found += [] if refusal is None else [refusal.error, *refusal.messages]
        if not 0 < len(rung.text) <= 4000:
            found.append(f"text of {len(rung.text)} characters")
    if any(item.get("verbatim") is not True for item in marked(told.blocks)):
        found.append("mrkdwn in which Slack looks for links by itself")
    return found
