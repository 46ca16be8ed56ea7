"""`unthrottle incidents`, `approve`, `reject`, `snooze`, `revert`, `keep`, `pause`, `resume`: as in Slack, without Slack."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import typer

from cli.deployment import Found, find
from cli.exits import Exit
from cli.printing import show, show_json
from cli.session import span
from unthrottle.answers import Do
from unthrottle.brief import pause_ends
from unthrottle.codec import to_json
from unthrottle.errors import BadInput, NotFound
from unthrottle.incident import Incident
from unthrottle.plan import before_and_after
from unthrottle.report import shell
from unthrottle.slack_grammar import Pause, Resume, Snooze

RECENT = 50
_VERBS: dict[str, Do] = {"approve": "approve", "reject": "reject", "revert": "revert", "keep": "keep"}
_NAMED = re.compile(r"(INC-[0-9A-Z]{1,40})(?::([0-9]{1,9}))?", re.ASCII)


def listed(stack: str | None, region: str | None, profile: str | None, *, as_json: bool) -> Exit:
    """List the open incidents, then the newest of the others. Returns NEEDS_ACTION while any open one waits for a person."""
    found = find(stack, region, profile, reads_only=True)
    with its_table(found):
        still_open = found.incidents.open_incidents()[::-1]
        newest = found.incidents.recent(RECENT + 1)
    has_more = len(newest) > RECENT
    known = {one.id for one in still_open}
    shown = [*still_open, *(one for one in newest[:RECENT] if one.id not in known)]
    until = paused_until(found)
    if as_json:
        show_json(
            {
                "version": 1,
                "mode": found.settings.mode.value,
                "paused_until": until.isoformat() if until else None,
                "incidents": [summary(one) for one in shown],
                "has_more": has_more,
            }
        )
    else:
        pause = f", paused {in_words(until, found)}" if until else ""
        number = "1 incident" if len(shown) == 1 else f"{len(shown)} incidents"
        more = f"; of the others the newest {RECENT} of more" if has_more else ""
        words = f"Mode {found.settings.mode.value}{pause}. {number}, the open ones first, then newest first{more}."
        lines = [(words, "bold"), *((line(one), "" if one.is_open else "dim") for one in shown)]
        show(lines)
    return Exit.NEEDS_ACTION if any(one.question is not None for one in still_open) else Exit.FINE


@contextmanager
def its_table(found: Found) -> Iterator[None]:
    """Say of a table that is not there what is lost, and where to look. Raises NotFound."""
    try:
        yield
    except NotFound as error:
        raise NotFound(
            f"There is no incidents table {found.table[:100]} in account {found.session.identity.account}, "
            f"{found.session.region}: what is in force is not known. Nothing was changed. Check --region and "
            "UNTHROTTLE_INCIDENTS_TABLE; if it was deleted, restore it from a backup.",
            code=error.code,
        ) from error


def paused_until(found: Found) -> datetime | None:
    """Return until when all changes are paused; None: they are not."""
    account, now = found.session.identity.account, found.session.now
    until = found.incidents.ledger(account, found.session.region, (), now).paused_until
    return until if until is not None and until > now else None


def in_words(until: datetime, found: Found) -> str:
    """Say when a pause ends, for who reads it at a terminal."""
    return pause_ends(until, found.session.now).replace("/unthrottle", "unthrottle")


def summary(one: Incident) -> dict[str, Any]:
    """Return the row of an incident as --json prints it."""
    return {
        "id": one.id,
        "opened_at": one.opened_at.isoformat(),
        "closed_at": one.closed_at.isoformat() if one.closed_at else None,
        "account": one.account,
        "region": one.region,
        "kind": one.kind,
        "cause": one.diagnosis.cause.value if one.diagnosis else None,
        "targets": list(one.diagnosis.targets) if one.diagnosis else [],
        "action": one.plan.action.value if one.plan else None,
        "status": one.status.value,
        "outcome": one.outcome.value,
        "waits_for": one.question.about if one.question and one.is_open else None,
    }


def line(one: Incident) -> str:
    """Tell an incident in one line."""
    cause = one.diagnosis.cause.value if one.diagnosis else "diagnosing"
    action = one.plan.action.value if one.plan else "no plan yet"
    state = "open" if one.is_open else "closed"
    if one.is_open and one.question:
        state = f"WAITS for {one.question.about} until {one.question.expires_at:%H:%M} UTC"
    targets = f" of {', '.join(one.diagnosis.targets[:3])}" if one.diagnosis and one.diagnosis.targets else ""
    return f"{one.id}  {one.opened_at:%Y-%m-%d %H:%M}  {cause}{targets}; {action}, {one.status.value}; {state}"


def told(stack: str | None, region: str | None, profile: str | None, incident_id: str, *, as_json: bool) -> Exit:
    """Tell one incident, or print its whole record. A version as in INC-X:7 is read over: there is one record."""
    name, _ = _named(incident_id)
    found = find(stack, region, profile, reads_only=True)
    with its_table(found):
        incident = found.incidents.load(name)
    if incident is None:
        raise BadInput(f"There is no incident {name}. Nothing was changed. `unthrottle incidents` lists them.")
    if as_json:
        show_json(to_json(incident))
    else:
        show(_story(incident))
    return Exit.NEEDS_ACTION if incident.is_open and incident.question is not None else Exit.FINE


def _story(one: Incident) -> Iterator[tuple[str, str]]:
    yield line(one), "bold"
    triggers = "1 trigger" if one.triggers == 1 else f"{one.triggers} triggers"
    yield f"{one.fingerprint}; alarm {one.alarm_name}; {triggers}; mode {one.mode.value}", "dim"
    if one.diagnosis:
        yield f"{one.diagnosis.cause.value}, {one.diagnosis.confidence.value} confidence", ""
        for finding in one.diagnosis.findings:
            yield f"  · {finding.text}", ""
        for rejected in one.diagnosis.rejected:
            yield f"  not {rejected.cause.value}: {rejected.because}", "dim"
        for gap in one.diagnosis.gaps:
            yield f"  not known: {gap}", "yellow"
    if one.plan:
        yield f"Plan {one.plan.action.value}: {one.plan.why}", ""
        for change in one.plan.changes:
            before, after = before_and_after(change)
            yield f"  {change.target}: {'unset' if before is None else before} -> {after}", "cyan"
        for command in shell.aws(one, one.plan.way_back_commands):
            yield f"  way back: {command}", "cyan"
    if one.verdict:
        yield f"Verdict {one.verdict.decision.value}", ""
        for reason in one.verdict.reasons:
            yield f"  {reason.guardrail}: {reason.text}", "yellow"
    yield f"Status {one.status.value}, outcome {one.outcome.value}", "bold"
    for moment in one.timeline:
        yield f"  {moment.at:%Y-%m-%d %H:%M:%S}  {moment.event}  {moment.detail}".rstrip(), "dim"
    if one.is_open and one.question:
        verbs = "approve, reject or snooze" if one.question.about == "approval" else "revert or keep"
        named = f"{one.id}:{one.question.version}" if one.question.about == "approval" else one.id
        yield f"It waits for a person: {verbs} {named}, until {one.question.expires_at:%Y-%m-%d %H:%M} UTC.", "yellow"


def decided(stack: str | None, region: str | None, profile: str | None, incident_id: str, verb: str) -> Exit:
    """Answer what an incident asks. WRONG_INPUT when it does not ask that.

    A yes is to one change: `INC-X:7` names what was seen, as a button does. Without a version what is asked now is shown
    and has to be confirmed; where nobody can be asked, nothing is changed.
    """
    name, version = _named(incident_id)
    found = find(stack, region, profile, reads_only=False)
    if verb == "approve" and version is None:
        version = _confirmed(found, name)
    refused = found.control().decide(name, version, _VERBS[verb], found.person)
    if refused:
        raise BadInput(refused.replace("`/unthrottle status`", "`unthrottle incidents`"))
    show([(f"Taken: {verb} {name}. `unthrottle incidents {name}` says when it is done.", "")])
    return Exit.FINE


def _named(text: str) -> tuple[str, int | None]:
    """Split `INC-X:7` into the incident and the version that was seen."""
    match = _NAMED.fullmatch(text.strip().upper())
    if match is None:
        raise BadInput(f"{text[:40]!r} names no incident. Nothing was changed. Write INC-X, or INC-X:7 as it is shown.")
    return match[1], int(match[2]) if match[2] else None


def _confirmed(found: Found, name: str) -> int | None:
    """Show what an incident asks now, and return its version on a yes. None where it asks nothing: that is said later."""
    incident = found.incidents.load(name)
    question = incident.question if incident else None
    if incident is None or question is None or question.about != "approval":
        return None
    exact = f"unthrottle approve {name}:{question.version}"
    show(_story(incident))
    if not sys.stdin.isatty():
        raise BadInput(
            f"{name} without a version could be a yes to another change than the one you saw. Nothing was changed. To approve "
            f"what is shown above, run `{exact}`."
        )
    if not typer.confirm("Approve this?", default=False):
        raise BadInput(f"Nothing was changed. `{exact}` approves what is shown above.")
    return question.version


def snoozed(stack: str | None, region: str | None, profile: str | None, incident_id: str, duration: str | None) -> Exit:
    """Put an incident off. WRONG_INPUT when nobody is asked about it, or for a duration that is too long."""
    name, _ = _named(incident_id)
    length = span(duration) if duration is not None else None
    found = find(stack, region, profile, reads_only=False)
    answer = found.control().carry_out(Snooze(incident_id=name, duration=length), found.person)
    if not answer.startswith("Taken"):
        raise BadInput(answer.replace("`/unthrottle status`", "`unthrottle incidents`"))
    show([(f"Taken: snooze {name}. `unthrottle incidents {name}` says when it is done.", "")])
    return Exit.FINE


def paused(stack: str | None, region: str | None, profile: str | None, duration: str | None) -> Exit:
    """Stop new changes everywhere."""
    length = span(duration) if duration is not None else None
    found = find(stack, region, profile, reads_only=False)
    answer = found.control().carry_out(Pause(duration=length), found.person)
    if not answer.startswith("Paused"):
        raise BadInput(answer)
    show([(answer.replace("`/unthrottle resume`", "`unthrottle resume`"), "")])
    return Exit.FINE


def resumed(stack: str | None, region: str | None, profile: str | None) -> Exit:
    """End a pause."""
    found = find(stack, region, profile, reads_only=False)
    show([(found.control().carry_out(Resume(), found.person), "")])
    return Exit.FINE
