"""`unthrottle incidents`, `approve`, `reject`, `snooze`, `revert`, `keep`, `pause`, `resume`: as in Slack, without Slack."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

from cli.deployment import Found, find
from cli.exits import Exit
from cli.printing import show, show_json
from cli.session import span
from unthrottle.answers import Do
from unthrottle.codec import to_json
from unthrottle.errors import BadInput
from unthrottle.incident import Incident, Status
from unthrottle.plan import before_and_after
from unthrottle.slack_grammar import Pause, Resume, Snooze

RECENT = 50
_VERBS: dict[str, Do] = {"approve": "approve", "reject": "reject", "revert": "revert", "keep": "keep"}
_NAMED = re.compile(r"(INC-[0-9A-Z]{1,40})(?::([0-9]{1,9}))?", re.ASCII)


def listed(stack: str | None, region: str | None, profile: str | None, *, as_json: bool) -> Exit:
    """List the newest incidents. Returns NEEDS_ACTION while one waits for a person."""
    found = find(stack, region, profile, reads_only=True)
    recent = found.incidents.recent(RECENT)
    paused = found.incidents.ledger(found.session.identity.account, found.session.region, (), found.session.now)
    until = paused.paused_until if paused.paused_until and paused.paused_until > found.session.now else None
    if as_json:
        show_json(
            {
                "version": 1,
                "mode": found.settings.mode.value,
                "paused_until": until.isoformat() if until else None,
                "incidents": [_summary(one) for one in recent],
            }
        )
    else:
        pause = f", paused until {until:%Y-%m-%d %H:%M} UTC" if until else ""
        lines = [(f"Mode {found.settings.mode.value}{pause}. {len(recent)} incidents, newest first.", "bold")]
        lines.extend((_line(one), "" if one.is_open else "dim") for one in recent)
        show(lines)
    return Exit.NEEDS_ACTION if any(one.is_open and one.question is not None for one in recent) else Exit.FINE


def _summary(one: Incident) -> dict[str, Any]:
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


def _line(one: Incident) -> str:
    cause = one.diagnosis.cause.value if one.diagnosis else "diagnosing"
    action = one.plan.action.value if one.plan else "no plan yet"
    state = "open" if one.is_open else "closed"
    if one.is_open and one.question:
        state = f"WAITS for {one.question.about} until {one.question.expires_at:%H:%M} UTC"
    targets = f" of {', '.join(one.diagnosis.targets[:3])}" if one.diagnosis and one.diagnosis.targets else ""
    return f"{one.id}  {one.opened_at:%Y-%m-%d %H:%M}  {cause}{targets}; {action}, {one.status.value}; {state}"


def told(stack: str | None, region: str | None, profile: str | None, incident_id: str, *, as_json: bool) -> Exit:
    """Tell one incident, or print its whole record."""
    found = find(stack, region, profile, reads_only=True)
    incident = found.incidents.load(incident_id.strip().upper())
    if incident is None:
        raise BadInput(
            f"There is no incident {incident_id[:40]}. Nothing was changed. `unthrottle incidents` lists them."
        )
    if as_json:
        show_json(to_json(incident))
    else:
        show(_story(incident))
    return Exit.NEEDS_ACTION if incident.is_open and incident.question is not None else Exit.FINE


def _story(one: Incident) -> Iterator[tuple[str, str]]:
    yield _line(one), "bold"
    yield f"{one.fingerprint}; alarm {one.alarm_name}; {one.triggers} triggers; mode {one.mode.value}", "dim"
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
        for command in one.plan.way_back_commands:
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
    length = span(duration) if duration else None
    found = find(stack, region, profile, reads_only=False)
    name = incident_id.strip().upper()
    answer = found.control().carry_out(Snooze(incident_id=name, duration=length), found.person)
    if not answer.startswith("Taken"):
        raise BadInput(answer.replace("`/unthrottle status`", "`unthrottle incidents`"))
    show([(f"Taken: snooze {name}. `unthrottle incidents {name}` says when it is done.", "")])
    return Exit.FINE


def paused(stack: str | None, region: str | None, profile: str | None, duration: str | None) -> Exit:
    """Stop new changes everywhere."""
    length = span(duration) if duration else None
    found = find(stack, region, profile, reads_only=False)
    answer = found.control().carry_out(Pause(duration=length), found.person)
    show([(answer.replace("`/unthrottle resume`", "`unthrottle resume`"), "")])
    return Exit.FINE


def resumed(stack: str | None, region: str | None, profile: str | None) -> Exit:
    """End a pause."""
    found = find(stack, region, profile, reads_only=False)
    show([(found.control().carry_out(Resume(), found.person), "")])
    return Exit.FINE


def uninstall_check(stack: str | None, region: str | None, profile: str | None, *, asks_back: bool = False) -> Exit:
    """Say which changes are still in force: without the stack nobody gives them back. With `asks_back` ask for each.

    NEEDS_ACTION while any is in force, also when it was asked back just now: the workflow needs a minute or two.
    """
    found = find(stack, region, profile, reads_only=not asks_back)
    held = [one for one in found.incidents.open_incidents() if one.status is Status.APPLIED]
    if not held:
        show([("No change of Unthrottle's is in force. The stack can be deleted; its incidents table stays.", "green")])
        return Exit.FINE
    lines = [(f"{len(held)} changes are in force; deleting the stack would leave them for ever:", "red")]
    for one in held:
        lines.append((f"  {_line(one)}", ""))
        lines.extend(
            (f"    by hand: {command}", "cyan") for command in (one.plan.way_back_commands if one.plan else ())
        )
    if asks_back:
        control = found.control()
        lines.append((control.carry_out(Pause(duration=None), found.person), ""))
        for one in held:
            refused = control.decide(one.id, None, "revert", found.person)
            lines.append((f"  {one.id}: {refused or 'it is being given back.'}", "yellow" if refused else "green"))
        lines.append(("Look again in a few minutes: when none is in force, delete the stack.", "bold"))
    else:
        words = (
            "Have them given back with --give-back (it also stops new changes), or keep one with `unthrottle keep ID`."
        )
        lines.append((words, "bold"))
    show(lines)
    return Exit.NEEDS_ACTION
