"""What is said about what was done, would be done or is waited for, at any state of an incident?

In full for the head and the page, in brief for a header. Words only; knows nothing of blocks.
"""

import re
from collections.abc import Sequence

from unthrottle.incident import Incident, Outcome, Status
from unthrottle.plan import CancelBackfill, CapConcurrency, CapEventSource, Change, RaiseCapacity, SwitchToOnDemand
from unthrottle.report.deeds import Tense, deeds, verb
from unthrottle.report.voice import PLAIN, Voice, cut, title
from unthrottle.report.words import because, changes, clock, is_dry_run, listed, suffering

_SO_FAR = {
    Outcome.NONE: "; watching whether it helps",
    Outcome.NOT_RECOVERED: "; it did not help, a person is needed",
    Outcome.INCONCLUSIVE: "; whether it helped cannot be told, a person is needed",
}
_SO_FAR_IN_BRIEF = {
    Outcome.NONE: ", watching",
    Outcome.NOT_RECOVERED: ", it did not help",
    Outcome.INCONCLUSIVE: ", not known whether it helped",
}
_BETWEEN = re.compile(r"(?<!nobody) (?:has been|have been|is|are|was|were) throttled")


def standing(incident: Incident, voice: Voice, *, acting: bool = False) -> str:
    """Say in one sentence what was done, would be done, or is waited for."""
    planned = changes(incident)
    match incident.status:
        case Status.WOULD_APPLY:
            return f"Would {deeds(planned, voice, 'do')}; nothing was changed, this is a dry run."
        case Status.DENIED:
            names = (
                listed([voice.name(r.guardrail) for r in incident.verdict.reasons], most=3) if incident.verdict else ""
            )
            return f"Nothing was changed: the plan to {_do(planned, voice)} was refused by {names or 'a guardrail'}."
        case Status.REJECTED:
            return f"Nothing was changed: a person said no to the plan to {_do(planned, voice)}."
        case Status.EXPIRED:
            return f"Nothing was changed: nobody answered in time whether to {_do(planned, voice)}."
        case Status.FAILED:
            done = deeds(planned, voice, "done") if incident.applied else ""
            return (
                f"{done[:1].upper()}{done[1:]}; then something failed."
                if done
                else "The change failed; see the thread."
            )
        case Status.APPLIED:
            return f"{_sentence(deeds(planned, voice, 'done'))}{_SO_FAR.get(incident.outcome, '')}."
        case Status.REVERTED:
            when = f" at {clock(incident.reverted_at, incident.opened_at)}" if incident.reverted_at else ""
            return f"{_sentence(deeds(planned, voice, 'done'))}, and gave it back{when}."
        case Status.KEPT:
            since = (
                "someone changed it since, so it was left alone"
                if _is_others(incident)
                else "it stays until someone changes it"
            )
            return f"{_sentence(deeds(planned, voice, 'done'))}; {since}."
        case Status.NONE:
            return _not_yet(incident, voice, acting=acting)


def _not_yet(incident: Incident, voice: Voice, *, acting: bool) -> str:
    planned = changes(incident)
    if incident.muted_by:
        return "The alarm is muted; recorded, nothing was changed."
    if incident.recovered_at:
        return "Nothing had to be changed."
    if incident.plan is None:
        return "Finding out why; nothing was changed." if incident.diagnosis is None else "Nothing was changed."
    if not planned:
        doing = {"escalate": "A person is needed", "wait": "Watching it"}.get(incident.plan.action, "Nothing to do")
        return f"{doing}; nothing was changed."
    if is_dry_run(incident):
        return f"Would {deeds(planned, voice, 'do')}; nothing was changed, this is a dry run."
    if acting:
        return f"{_sentence(deeds(planned, voice, 'doing'))} now."
    if incident.question and incident.question.about == "approval":
        until = clock(incident.question.expires_at, incident.opened_at)
        return f"Waits for a person's yes until {until} to {deeds(planned, voice, 'do')}; nothing was changed yet."
    return f"The plan is to {deeds(planned, voice, 'do')}; nothing was changed yet."


def _is_others(incident: Incident) -> bool:
    """Say whether the change was found to be somebody else's when it was to be given back."""
    return any(moment.event == "lease.drifted" for moment in incident.timeline)


def _do(planned: Sequence[Change], voice: Voice) -> str:
    return deeds(planned, voice, "do") or "act"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def first_line(incident: Incident, voice: Voice, *, acting: bool = False) -> str:
    """Say it all: who suffers, since when, from what, and what was or would be done."""
    cause = because(incident, voice)
    opening = _sentence(suffering(incident, voice)) + (f": {cause}" if cause else "")
    return f"{opening}. {standing(incident, voice, acting=acting)}"


# --- in brief ---------------------------------------------------------------------------------------------------


def headline(incident: Incident, room: int, *, acting: bool = False) -> str:
    """Say the first line in at most `room` characters of plain text: names give way first, then the cause."""
    done = _brief(incident, acting=acting)
    for longest in (40, 32, 24, 16):
        said = _join(_who(incident, longest), because(incident, PLAIN, longest), done)
        if len(said) <= room:
            return said
    who, cause = _who(incident, 28), because(incident, PLAIN, 28)
    left = room - len(_join(who, "", done)) - 2
    return title(_join(who, cut(cause, left) if left > 10 else "", done), room)


def _join(who: str, cause: str, done: str) -> str:
    return title(f"{who}{f': {cause}' if cause else ''} · {done}", 1000)


def _who(incident: Incident, longest: int) -> str:
    said = _sentence(suffering(incident, PLAIN, named=0, room=longest))
    return _BETWEEN.sub(" throttled", said).replace(" UTC", "")


def _brief(incident: Incident, *, acting: bool) -> str:
    planned = changes(incident)
    done = _all_in_brief(planned, "done")
    match incident.status:
        case Status.WOULD_APPLY:
            return f"would {_all_in_brief(planned, 'do')}"
        case Status.DENIED:
            first = incident.verdict.reasons[0].guardrail if incident.verdict and incident.verdict.reasons else ""
            return f"nothing changed, refused by {first}" if first else "nothing changed, a guardrail refused"
        case Status.REJECTED:
            return "nothing changed, a person said no"
        case Status.EXPIRED:
            return "nothing changed, nobody answered"
        case Status.FAILED:
            return f"{done}, then failed" if incident.applied else "the change failed"
        case Status.APPLIED:
            return f"{done}{_SO_FAR_IN_BRIEF.get(incident.outcome, '')}"
        case Status.REVERTED:
            return f"{done}, given back"
        case Status.KEPT:
            return f"{done}, changed by someone since" if _is_others(incident) else f"{done}, kept"
        case Status.NONE:
            return _not_yet_in_brief(incident, planned, acting=acting)


def _not_yet_in_brief(incident: Incident, planned: Sequence[Change], *, acting: bool) -> str:
    if incident.muted_by:
        return "muted, nothing changed"
    if incident.recovered_at:
        return "nothing had to be changed"
    if incident.plan is None:
        return "finding out why" if incident.diagnosis is None else "nothing changed"
    if not planned:
        return {"escalate": "a person is needed", "wait": "watching"}.get(incident.plan.action, "nothing to do")
    if is_dry_run(incident):
        return f"would {_all_in_brief(planned, 'do')}"
    if acting:
        return f"{_all_in_brief(planned, 'doing')} now"
    if incident.question and incident.question.about == "approval":
        return f"approve to {_all_in_brief(planned, 'do')}?"
    return f"plan: {_all_in_brief(planned, 'do')}"


def _all_in_brief(planned: Sequence[Change], tense: Tense) -> str:
    if not planned:
        return {"do": "act", "doing": "acting", "done": "acted"}[tense]
    same = all(change.kind == planned[0].kind for change in planned)
    said = verb(planned[0], tense) if same else {"do": "change", "doing": "changing", "done": "changed"}[tense]
    if len(planned) > 1:
        return f"{said} {len(planned):,} {'backfills' if isinstance(planned[0], CancelBackfill) else 'functions'}"
    match planned[0]:
        case CapConcurrency(after=after):
            return f"{said} it at {after:,}"
        case CapEventSource(after=after):
            return f"{said} it to {after:,}"
        case SwitchToOnDemand():
            return f"{said} to on-demand"
        case RaiseCapacity():
            return f"{said} capacity"
        case CancelBackfill():
            return f"{said} it"
