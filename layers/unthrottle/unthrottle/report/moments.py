"""How is each step of an incident told in Slack?

One head message per incident, kept current; a thread that only grows, one numbered line per step. Pure: the record goes
in, blocks come out, always within Slack's limits. Knows nothing of tokens, threads or retries.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from unthrottle.incident import Incident, Outcome, Status
from unthrottle.report import blocks, drawing, parts, shell
from unthrottle.report.blocks import Block
from unthrottle.report.buttons import buttons
from unthrottle.report.deeds import ends, way_back
from unthrottle.report.lines import line
from unthrottle.report.picture import Picture, picture_of
from unthrottle.report.standing import first_line, headline
from unthrottle.report.steps import LEFT, STATES, State, Step
from unthrottle.report.voice import SLACK
from unthrottle.report.words import changes, clock, is_left

__all__ = ["Message", "Picture", "Step", "head", "message", "picture_of"]

MOST_BLOCKS_IN_HEAD = 7
_WITHOUT_BUTTONS = frozenset({Step.OVER, Step.UNRESOLVED, Step.FAILED, Step.REVERTED, Step.KEPT})
"""The steps after which nobody is asked any more, unless a change is in force."""
_SHOWN_CHANGES = 5
_NOT_MADE = frozenset({Status.DENIED, Status.REJECTED, Status.EXPIRED, Status.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One Slack message. `broadcast`: a reply to show in the channel too.

    `text` is a full sentence for notifications and screen readers: mrkdwn, escaped, at most 4,000 characters.
    """

    text: str
    blocks: tuple[dict[str, object], ...]
    broadcast: bool = False


def message(
    incident: Incident,
    step: Step,
    *,
    detail: str = "",
    number: int,
    picture: Picture | None = None,
    at: datetime | None = None,
    with_buttons: bool = False,
    late_at: datetime | None = None,
) -> Message:
    """Tell one step in the thread, as its line `number`. `at` defaults to the newest line of the incident's timeline.

    `detail` is quoted at the end of the line, made harmless. Buttons belong to the head, which can take them away again
    once they are decided; ask for them here only where the caller will update this message too. `late_at`: Slack takes
    this only now; it says so, and is not shown in the channel any more once the incident is closed.
    """
    state = _state(incident, step)
    moment = at or _newest(incident)
    incident = _as_told(incident, step, moment)
    said = line(incident, step, SLACK, detail)
    numbered = f"#{number} {moment:%H:%M} {said}"
    first = [blocks.section(f"{state.emoji} *#{number}* {moment:%H:%M} {said}")]
    if late_at is not None:
        late = f"delivered late at {clock(late_at, moment)}: Slack did not take it at {moment:%H:%M}"
        numbered = f"{numbered} ({late})"
        first.append(
            blocks.context(f"{STATES[Step.LATE].emoji} *{late[:1].upper()}{late[1:]}, and a person was paged.*")
        )
    shown = blocks.within_limits(
        first,
        _told(incident, step, picture, said),
        buttons(incident) if with_buttons else [],
        rest_is_at=SLACK.typed(shell.own(f"unthrottle incidents {incident.id}")),
    )
    return Message(
        text=blocks.message_text(f"{numbered} ({incident.id})"),
        blocks=tuple(shown),
        broadcast=state.calls_a_person and (late_at is None or incident.is_open),
    )


def head(incident: Incident, step: Step, picture: Picture | None = None) -> Message:
    """Show where the incident stands: the one message that is kept current. At most 7 blocks.

    The header says it all in 150 characters, the sentence below it in full, and `text` the same for the notification.
    """
    incident = _as_told(incident, step, _newest(incident))
    step = _state_of(incident, step)
    state = _state(incident, step)
    acting = step is Step.ACTING
    sentence = first_line(incident, SLACK, acting=acting)
    shown = [
        blocks.header(_headline(incident, step)),
        blocks.section(sentence),
        parts.facts(incident),
        *_proposal(incident),
        *(drawing.charts(picture, changes(incident))[:1] if picture else []),
        *([] if step in _WITHOUT_BUTTONS and not incident.is_in_force else buttons(incident)),
        blocks.context(_standing_line(incident, step), *_copies(incident)),
    ]
    return Message(
        text=blocks.message_text(f"{state.emoji} {state.words}: {sentence} ({incident.id})"),
        blocks=tuple(shown),
    )


def _state(incident: Incident, step: Step) -> State:
    return LEFT if step is Step.OVER and is_left(incident) else STATES[step]


def _newest(incident: Incident) -> datetime:
    return incident.timeline[-1].at if incident.timeline else incident.opened_at


def _as_told(incident: Incident, step: Step, moment: datetime) -> Incident:
    """Word what resolved itself in the past, also where the record holds no time for it."""
    if step is Step.OVER and incident.recovered_at is None and not is_left(incident):
        return replace(incident, recovered_at=moment)
    return incident


def _state_of(incident: Incident, step: Step) -> Step:
    """Say which state the head shows: once verified, a change that stays for its lease is no longer being watched."""
    if step is not Step.APPLIED:
        return step
    verified = {
        Outcome.RECOVERED: Step.RECOVERED,
        Outcome.NOT_RECOVERED: Step.NOT_RECOVERED,
        Outcome.INCONCLUSIVE: Step.INCONCLUSIVE,
    }
    return verified.get(incident.outcome, step)


def _told(incident: Incident, step: Step, picture: Picture | None, said: str) -> list[Block]:
    """Gather what a step shows under its line, which is *said*."""
    match step:
        case Step.DIAGNOSED:
            return [
                *parts.findings(incident),
                *parts.evidence(incident, picture),
                *parts.runners_up(incident),
                *parts.checks(incident),
            ]
        case Step.APPROVAL_NEEDED:
            return [
                *parts.effect(incident),
                *parts.before_and_after(incident),
                *parts.reasons(incident),
                *parts.commands(incident, "*On a yes the bot calls*", "*And to give it back*"),
                *parts.how_to_decide(incident),
            ]
        case Step.REMINDER | Step.SNOOZED:
            return parts.how_to_decide(incident)
        case Step.ACTING:
            return [*parts.effect(incident), *parts.commands(incident, "*The call*", "*Its way back*")]
        case Step.APPLIED:
            return [*parts.before_and_after(incident), *parts.how_to_revert(incident)]
        case Step.WOULD:
            return [
                *parts.effect(incident),
                *parts.before_and_after(incident),
                *parts.reasons(incident),
                *parts.commands(incident, "*Would call*", "*And to give it back, would call*"),
                *([] if changes(incident) else parts.follow_up(incident)),
            ]
        case Step.RECOVERED | Step.KEPT:
            after = parts.how_to_revert(incident) if step is Step.RECOVERED and changes(incident) else []
            return [*parts.evidence(incident, picture), *parts.lasting(incident), *after]
        case _:
            return _told_when_it_went_otherwise(incident, step, picture, said)


def _told_when_it_went_otherwise(incident: Incident, step: Step, picture: Picture | None, said: str) -> list[Block]:
    match step:
        case Step.NOT_RECOVERED | Step.INCONCLUSIVE:
            return [
                *parts.evidence(incident, picture),
                *parts.follow_up(incident),
                *(parts.how_to_revert(incident) if incident.applied else []),
            ]
        case Step.GOES_ON:
            after = parts.how_to_revert(incident) if incident.applied else []
            return [*parts.follow_up(incident), *after]
        case Step.UNRESOLVED:
            return parts.follow_up(incident)
        case Step.REVERTED:
            return parts.way_back_commands(incident, "*The call*")
        case Step.RENEWED | Step.EXTENDED:
            return [*parts.evidence(incident, picture), *parts.how_to_revert(incident)]
        case Step.REFUSED:
            return [*parts.reasons(incident), *parts.commands(incident, "*By hand it would be*", "*And its way back*")]
        case Step.ESCALATED:
            found = parts.findings(incident)[:1]
            return [
                *parts.effect(incident, said),
                *found,
                *parts.follow_up(incident),
                *parts.runners_up(incident),
                *parts.checks(incident),
            ]
        case Step.RETURNED:
            return parts.how_to_revert(incident)
        case Step.DRIFTED:
            return parts.way_back_commands(incident, "*To give back by hand, if it is still wanted*")
        case Step.FAILED if incident.applied:
            return [*parts.before_and_after(incident), *parts.way_back_commands(incident, "*To give back by hand*")]
        case Step.WAITING | Step.EXPIRED | Step.REJECTED:
            return [*parts.follow_up(incident), *parts.evidence(incident, picture)]
        case _:
            return []


def _headline(incident: Incident, step: Step) -> str:
    """Say it all in the header's 150 characters: who suffers, since when, from what, and what was or would be done."""
    state = _state(incident, step)
    return f"{state.emoji} {headline(incident, blocks.MAX_HEADER - len(state.emoji) - 1, acting=step is Step.ACTING)}"


def _proposal(incident: Incident) -> list[Block]:
    """Show the action in the head: before → after, and when it goes back."""
    given = changes(incident)
    if not given:
        reason = SLACK.text(incident.plan.why) if incident.plan else ""
        return [blocks.section(reason)] if reason else []
    shown = [ends(change, SLACK) for change in given[:_SHOWN_CHANGES]]
    more = [f"and {len(given) - _SHOWN_CHANGES} more"] if len(given) > _SHOWN_CHANGES else []
    if incident.status in _NOT_MADE and not incident.applied:
        return [blocks.section("\n".join(["*Not done*", *shown, *more]))]
    back = way_back(incident, SLACK)
    return [blocks.section("\n".join([*shown, *more, *([back] if back else [])]))]


def _standing_line(incident: Incident, step: Step) -> str:
    """Say the state in words, until when it stands, and what to type."""
    state = _state(incident, step)
    said = [f"*{state.words}*", SLACK.name(incident.id)]
    question = incident.question
    if question and question.about == "approval":
        said.append(f"approval expires at {clock(question.expires_at, incident.opened_at)}")
    if incident.approved_by:
        said.append(f"approved by {SLACK.person(incident.approved_by)}")
    if incident.lease_until and incident.status is Status.APPLIED:
        said.append(f"given back at {clock(incident.lease_until, incident.opened_at)}")
        said.append(f"give back now: {SLACK.typed(f'/unthrottle revert {incident.id}')}")
    if incident.escalated:
        said.append("a person was paged")
    if step is Step.PUT_OFF and incident.snoozed_until:
        said.append(f"snoozed until {clock(incident.snoozed_until, incident.opened_at)}")
    if incident.closed_at:
        said.append(f"closed at {clock(incident.closed_at, incident.opened_at)}")
    return " · ".join(said)


def _copies(incident: Incident) -> list[str]:
    """Say that earlier posts of this head may stand above: their answers were lost, so nobody can take them away.

    All bear the incident's id, but only this one has the thread and is kept current.
    """
    if not incident.head_copies:
        return []
    return [f"Copy {incident.head_copies + 1}, the one that counts: one above without a thread is not kept current."]
