"""How does an incident stand, in one line for whoever asks? Light, since the front door loads it. Knows nothing of Slack."""

from datetime import datetime, timedelta

from unthrottle.incident import Incident

WITHOUT_END = timedelta(days=3650)
"""A pause for which no end was said."""


def pause_ends(until: datetime, now: datetime) -> str:
    """Say until when a pause lasts."""
    is_endless = until - now > WITHOUT_END / 2
    return "until somebody says `/unthrottle resume`" if is_endless else f"until {until:%Y-%m-%d %H:%M} UTC"


def stands(incident: Incident) -> str:
    """Say in one line how an incident stands."""
    cause = incident.diagnosis.cause.value if incident.diagnosis else "diagnosing"
    action = incident.plan.action.value if incident.plan else "no plan yet"
    words = f"{cause}; {action}, {incident.status.value}; since {incident.opened_at:%Y-%m-%d %H:%M} UTC."
    if incident.closed_at is not None:
        return words + f" Closed {incident.closed_at:%H:%M} UTC."
    if incident.question is not None:
        words += f" Waits for {incident.question.about} until {incident.question.expires_at:%H:%M} UTC."
    return words
