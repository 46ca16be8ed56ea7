"""The record of one incident, the states it may be in, and which may follow which. Pure.

The record answers: who suffers, what was done, why, on what evidence, before, after, verified how, given back when, by
whom approved. It is written by one workflow; other parts only add triggers or answer its questions.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from unthrottle.diagnosis import Diagnosis
from unthrottle.plan import Change, Plan
from unthrottle.settings import Mode
from unthrottle.subjects import Subject


class Status(StrEnum):
    """How far an incident's action has come. The ids are public."""

    NONE = "none"
    WOULD_APPLY = "would-apply"
    DENIED = "denied"
    REJECTED = "rejected"
    EXPIRED = "expired"
    FAILED = "failed"
    APPLIED = "applied"
    REVERTED = "reverted"
    KEPT = "kept"


_MAY_FOLLOW: dict[Status, frozenset[Status]] = {
    Status.NONE: frozenset(
        {Status.WOULD_APPLY, Status.DENIED, Status.REJECTED, Status.EXPIRED, Status.FAILED, Status.APPLIED}
    ),
    Status.APPLIED: frozenset({Status.REVERTED, Status.KEPT, Status.FAILED}),
    Status.FAILED: frozenset({Status.REVERTED, Status.KEPT}),
    **{status: frozenset() for status in Status if status not in {"none", "applied", "failed"}},
}


class Decision(StrEnum):
    """What the guard said. The ids are public."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NEEDS_APPROVAL = "needs-approval"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A guardrail's objection: its id, and a sentence that says what to do about it."""

    guardrail: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The guard's answer, with every reason, not just the first."""

    decision: Decision
    reasons: tuple[Reason, ...] = ()


class Outcome(StrEnum):
    """What verification found. The ids are public."""

    RECOVERED = "recovered"
    NOT_RECOVERED = "not-recovered"
    INCONCLUSIVE = "inconclusive"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the incident's story: an event in the past tense, and its detail in words."""

    at: datetime
    event: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChange:
    """A change that was made, as it was really made (a refusal may have lowered the number planned)."""

    change: Change
    at: datetime


ASKED_BACK = "asked by "
"""How the reason begins where a person had a change taken back."""
MOST_SNOOZES = 8
"""How often one incident can be put off, for an hour each: a working day. Then a person has to decide."""
SNOOZED = frozenset({"approval.snoozed", "incident.snoozed"})
"""The lines of the story that say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something a person may answer, bound to one version of the record. `callback` is the workflow's address."""

    about: Literal["approval", "lease"]
    callback: str
    version: int
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A report that Slack did not take: its number in the thread, its step, what it said, and when."""

    number: int
    step: str
    detail: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person wants while no question is open, done with a change in force or put off: read at the workflow's next look.

    It lies beside the record, so that it is taken without disturbing the workflow, which writes the record. `until` is the
    end of a snooze; `instead_of` what somebody else had asked for before it, in words, for the newest wish counts.
    """

    do: Literal["revert", "keep", "snooze"]
    by: str
    at: datetime
    until: datetime | None = None
    instead_of: str = ""

    def over(self, earlier: "Wish | None") -> "Wish":
        """Return it with what it puts aside, for whoever reads the story."""
        if earlier is None or (earlier.do, earlier.by) == (self.do, self.by):
            return self
        return replace(self, instead_of=f"{earlier.by} had said {earlier.do} just before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """Whoever is about to end a change: until the record is written again, nobody's wish is taken, and nobody else ends it.

    The sweep says so before it does anything in a workflow's place; the workflow, should it live, then writes no more. `again`:
    it was tried before, so that what is found given back may be our own doing.
    """

    by: Literal["workflow", "sweep"]
    at: datetime
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One incident. Times are UTC. `version` rises with each write and guards against a second writer."""

    id: str
    fingerprint: str
    account: str
    region: str
    kind: Literal["dynamodb", "lambda"]
    subject: Subject
    opened_at: datetime
    alarm_name: str
    alarm_reason: str = ""
    alarm_at: datetime | None = None
    early_warning: bool = False
    muted_by: str | None = None
    requested_by: str | None = None
    forced_dry_run: bool = False
    version: int = 0
    triggers: int = 1
    mode: Mode = Mode.DRY_RUN
    diagnosis: Diagnosis | None = None
    plan: Plan | None = None
    verdict: Verdict | None = None
    status: Status = Status.NONE
    outcome: Outcome = Outcome.NONE
    applied: tuple[AppliedChange, ...] = ()
    acted_at: datetime | None = None
    recovered_at: datetime | None = None
    lease_until: datetime | None = None
    renewals: int = 0
    reverted_at: datetime | None = None
    closed_at: datetime | None = None
    escalated: bool = False
    snoozed_until: datetime | None = None
    approved_by: str | None = None
    decided_because: str = ""
    question: Question | None = None
    wish: Wish | None = None
    settling: Settling | None = None
    head: str | None = None
    head_copies: int = 0
    reports: int = 0
    unsent: int = 0
    outbox: tuple[Unsent, ...] = ()
    timeline: tuple[Moment, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def is_taken_over(self) -> bool:
        """Say whether the sweep is ending this incident in its workflow's place."""
        return self.is_open and self.settling is not None and self.settling.by == "sweep"

    @property
    def is_begun(self) -> bool:
        """Say whether a change was begun: the line is written before it is made."""
        return any(moment.event == "action.intended" for moment in self.timeline)

    @property
    def is_half_done(self) -> bool:
        """Say whether a change was begun and what became of it was never written: it may be in force."""
        return self.status is Status.NONE and self.is_begun

    @property
    def is_in_force(self) -> bool:
        """Say whether a change of this incident stands and is nobody else's to give back."""
        return self.is_open and self.status is Status.APPLIED

    @property
    def is_snoozed_by_wish(self) -> bool:
        """Say whether it is only watched, after a person was paged: then nobody is asked, and a snooze is a wish."""
        return self.is_open and self.escalated and self.question is None and self.status is not Status.APPLIED

    @property
    def why_no_snooze(self) -> str:
        """Say why it cannot be put off for an hour; empty where it can.

        It can while people are asked or were paged: an approval, a change that did not help, what was handed to a person.
        """
        asked_by = {reason.guardrail for reason in self.verdict.reasons} if self.verdict else set()
        is_asked = self.question is not None and self.question.about == "approval"
        if is_asked and self.early_warning and asked_by == {"before-throttling"}:
            return "it is an early warning, which is looked at again every few minutes."
        is_held = self.question is not None and self.question.about == "lease"
        if is_held and self.outcome not in {Outcome.NOT_RECOVERED, Outcome.INCONCLUSIVE}:
            return "it has recovered, and nobody is reminded of it before its lease ends."
        if not (is_asked or is_held or self.is_snoozed_by_wish):
            return "nobody is asked or reminded just now."
        if sum(moment.event in SNOOZED for moment in self.timeline) >= MOST_SNOOZES:
            return f"it was snoozed {MOST_SNOOZES} times already, and now needs a yes or a no."
        return ""

    @property
    def asked_back_at(self) -> datetime | None:
        """When a person had the change taken back, which says not to make it again at once; None: nobody had."""
        by_wish = self.wish is not None and self.wish.do == "revert"
        return self.reverted_at if by_wish or (self.decided_because or "").startswith(ASKED_BACK) else None

    @property
    def may_have_acted(self) -> bool:
        """Say whether this incident changed something, or cannot know: a cooldown counts from then."""
        return bool(self.applied) or self.status not in {Status.DENIED, Status.REJECTED, Status.EXPIRED}

    @property
    def resources(self) -> tuple[str, ...]:
        """Name what the plan would change, by ARN: the keys under which only one incident may act."""
        return tuple(change.arn for change in self.plan.changes) if self.plan else ()

    def told(self, at: datetime, event: str, detail: str = "") -> "Incident":
        """Add one line to the story."""
        return replace(self, timeline=(*self.timeline, Moment(at=at, event=event, detail=detail[:1000])))

    def now(self, status: Status) -> "Incident":
        """Move to another status. Raises ValueError when that may not follow: a programming error."""
        if status is not self.status and status not in _MAY_FOLLOW[self.status]:
            raise ValueError(f"{self.id}: {status} may not follow {self.status}")
        return replace(self, status=status)
