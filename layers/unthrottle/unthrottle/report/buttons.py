"""Which buttons does the head show, and what does each say that it does before it does it?

A button asks first (Block Kit: confirmation dialog), with the exact effect; its value is the incident and the version that
the person saw. Knows nothing of who may press it.
"""

from unthrottle.incident import Incident, Question
from unthrottle.report import blocks
from unthrottle.report.blocks import Block
from unthrottle.report.deeds import deeds, ends
from unthrottle.report.parts import is_only_cancelled
from unthrottle.report.voice import PLAIN
from unthrottle.report.words import changes, duration

_SHOWN_CHANGES = 5


def buttons(incident: Incident) -> list[Block]:
    """Show the buttons of the open question, none once it is decided; and one to put off what a person was paged for."""
    match incident.question:
        case None if incident.is_snoozed_by_wish and not incident.why_no_snooze:
            return [blocks.actions([_snooze_button(incident, f"{incident.id}:{incident.version}")])]
        case None:
            return []
        case Question(about="approval") as question:
            return [blocks.actions(_approval_buttons(incident, f"{incident.id}:{question.version}"))]
        case Question(about="lease") as question:
            return [blocks.actions(_lease_buttons(incident, f"{incident.id}:{question.version}"))]
        case _:
            return []


def _approval_buttons(incident: Incident, value: str) -> list[Block]:
    wanted = deeds(changes(incident), PLAIN, "do", 40) or "act"
    ends_only = "; ".join(ends(change, PLAIN) for change in changes(incident)[:_SHOWN_CHANGES])
    minutes = incident.plan.lease_minutes if incident.plan else None
    if is_only_cancelled(incident):
        back = "There is no way back."
    elif minutes:
        back = f"Given back after {duration(minutes)}."
    else:
        back = ""
    return [
        blocks.button(
            "Approve",
            "approve",
            value,
            style="primary",
            question=f"{wanted[:1].upper()}{wanted[1:]}?",
            effect=f"{back} {ends_only}".strip() or f"The bot will {wanted}.",
            yes="Approve",
        ),
        blocks.button(
            "Reject",
            "reject",
            value,
            style="danger",
            question="Change nothing?",
            effect=f"The bot will not {wanted}. The throttling goes on until it ends by itself or someone acts.",
            yes="Reject",
        ),
        *([] if incident.why_no_snooze else [_snooze_button(incident, value)]),
    ]


def _snooze_button(incident: Incident, value: str) -> dict[str, object]:
    again = "If it goes on after that, a person is paged again."
    if incident.question is None:
        effect = f"Nothing is changed. Later alarms of this join the incident and page nobody for an hour. {again}"
    elif incident.question.about == "lease":
        effect = f"The change stays until its lease ends, as before. Nobody is reminded for an hour. {again}"
    else:
        effect = (
            "Nothing is changed and the throttling goes on. The approval stays open until some time after the reminder."
        )
    return blocks.button(
        "Snooze 1 h",
        "snooze",
        value,
        style=None,
        question="Remind again in an hour?",
        effect=effect,
        yes="Snooze",
    )


def _lease_buttons(incident: Incident, value: str) -> list[Block]:
    back = "; ".join(ends(change, PLAIN, back=True) for change in changes(incident)[:_SHOWN_CHANGES])
    kept = "; ".join(ends(change, PLAIN) for change in changes(incident)[:_SHOWN_CHANGES])
    return [
        blocks.button(
            "Revert now",
            "revert",
            value,
            style="danger",
            question="Give it back now?",
            effect=f"At once, unless someone else changed it. {back}",
            yes="Revert now",
        ),
        blocks.button(
            "Keep for 24 h",
            "keep-24h",
            value,
            style=None,
            question="Keep it for another day?",
            effect=f"The lease then ends 24 h from now, and it goes back unless the pressure persists. {kept}",
            yes="Keep for 24 h",
        ),
        blocks.button(
            "Keep",
            "keep",
            value,
            style=None,
            question="Keep it for good?",
            effect=f"The bot will not give it back by itself any more. {kept}",
            yes="Keep",
        ),
        *([] if incident.why_no_snooze else [_snooze_button(incident, value)]),
    ]
