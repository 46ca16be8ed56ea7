"""Which steps of an incident are told to people, and how each is marked so that one look is enough?

The words beside each emoji say the same as the emoji: no meaning is carried by colour alone. Knows nothing of Slack.
"""

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """Every step that is told. One head message shows the newest; the thread keeps them all."""

    OPENED = "opened"
    DIAGNOSED = "diagnosed"
    APPROVAL_NEEDED = "approval-needed"
    REMINDER = "reminder"
    ACTING = "acting"
    APPLIED = "applied"
    RECOVERED = "recovered"
    NOT_RECOVERED = "not-recovered"
    INCONCLUSIVE = "inconclusive"
    REVERTED = "reverted"
    KEPT = "kept"
    RENEWED = "renewed"
    REFUSED = "refused"
    WOULD = "would"
    OVER = "over"
    WAITING = "waiting"
    ESCALATED = "escalated"
    EXPIRED = "expired"
    REJECTED = "rejected"
    DRIFTED = "drifted"
    FAILED = "failed"
    MUTED = "muted"
    LATE = "late"
    EXTENDED = "extended"
    SNOOZED = "snoozed"
    PUT_OFF = "put-off"
    GOES_ON = "goes-on"
    UNRESOLVED = "unresolved"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a step is marked. `calls_a_person`: the thread's message is shown in the channel too, since an edited head
    notifies nobody (Slack, chat.update)."""

    emoji: str
    words: str
    calls_a_person: bool = False


STATES: dict[Step, State] = {
    Step.OPENED: State(emoji="🔴", words="Diagnosing"),
    Step.DIAGNOSED: State(emoji="🔴", words="Diagnosed"),
    Step.APPROVAL_NEEDED: State(emoji="🟠", words="Approval needed", calls_a_person=True),
    Step.REMINDER: State(emoji="🟠", words="Approval still needed", calls_a_person=True),
    Step.ACTING: State(emoji="🔵", words="Acting"),
    Step.APPLIED: State(emoji="🔵", words="Changed, watching"),
    Step.RECOVERED: State(emoji="🟢", words="Recovered"),
    Step.NOT_RECOVERED: State(emoji="🟡", words="Not recovered", calls_a_person=True),
    Step.INCONCLUSIVE: State(emoji="🟡", words="Recovery not proven", calls_a_person=True),
    Step.REVERTED: State(emoji="↩️", words="Given back"),
    Step.KEPT: State(emoji="📌", words="Kept"),
    Step.RENEWED: State(emoji="🔁", words="Lease renewed"),
    Step.EXTENDED: State(emoji="📌", words="Kept for a day"),
    Step.REFUSED: State(emoji="⛔", words="Refused by a guardrail"),
    Step.WOULD: State(emoji="🔍", words="Dry run"),
    Step.OVER: State(emoji="⚪", words="Resolved itself"),
    Step.WAITING: State(emoji="⏳", words="Watching"),
    Step.ESCALATED: State(emoji="📟", words="Handed to a person", calls_a_person=True),
    Step.EXPIRED: State(emoji="⚪", words="Approval expired"),
    Step.REJECTED: State(emoji="⚪", words="Rejected"),
    Step.DRIFTED: State(emoji="🟡", words="Changed by someone else", calls_a_person=True),
    Step.FAILED: State(emoji="❌", words="Failed", calls_a_person=True),
    Step.MUTED: State(emoji="🔕", words="Alarm muted"),
    Step.LATE: State(emoji="🕓", words="Delivered late"),
    Step.SNOOZED: State(emoji="💤", words="Snoozed, approval needed"),
    Step.PUT_OFF: State(emoji="💤", words="Snoozed"),
    Step.GOES_ON: State(emoji="📟", words="Goes on after the snooze", calls_a_person=True),
    Step.UNRESOLVED: State(emoji="⚪", words="Closed, not over"),
    Step.RETURNED: State(emoji="📟", words="Throttled again during the lease", calls_a_person=True),
}
LEFT = State(emoji="⚪", words="Left as it is")
"""How an end is marked at which nothing was to be done, and nothing is over either."""
