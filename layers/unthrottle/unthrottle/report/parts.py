"""Which blocks show one aspect of an incident: its findings, its reasons, its commands, its permanent fix, its buttons?

Each function returns the blocks for what is known, and none for what is not.
"""

from urllib.parse import quote

from unthrottle.chat import escape
from unthrottle.incident import Incident
from unthrottle.plan import CancelBackfill
from unthrottle.report import blocks, drawing, shell
from unthrottle.report.blocks import Block
from unthrottle.report.deeds import ends, way_back
from unthrottle.report.permanent import permanent_fixes
from unthrottle.report.picture import MOST_POINTS, Picture
from unthrottle.report.voice import SLACK, visible
from unthrottle.report.words import changes, count, is_dry_run, when

SHOWN_FINDINGS = 3
_SHOWN_REJECTED = 4
_SHOWN_GAPS = 4
_SHOWN_FIXES = 3
_CONSOLE_ROOM = 1500


def before_and_after(incident: Incident, *, back: bool = False) -> list[Block]:
    """Show each change's two ends."""
    given = changes(incident)
    if not given:
        return []
    lead = "*After → before*" if back else "*Before → after*"
    return [blocks.bullets(lead, [ends(change, SLACK, back=back) for change in given])]


def findings(incident: Incident) -> list[Block]:
    """Show the findings with numbers."""
    diagnosis = incident.diagnosis
    if diagnosis is None or not diagnosis.findings:
        return []
    shown = diagnosis.findings[:SHOWN_FINDINGS]
    left = len(diagnosis.findings) - len(shown)
    lead = "*What the evidence says*" + (f" ({left} more in the record)" if left else "")
    return [blocks.bullets(lead, [SLACK.text(finding.text) for finding in shown])]


def checks(incident: Incident) -> list[Block]:
    """Show the commands that show what the findings say. On a phone they are long, so they come last."""
    shown = incident.diagnosis.findings[:SHOWN_FINDINGS] if incident.diagnosis else ()
    given = [finding.check for finding in shown if finding.check]
    return blocks.commands("*See for yourself*", shell.aws(incident, given)) if given else []


def runners_up(incident: Incident) -> list[Block]:
    """Show what else it could have been, and what spoke against that; then what is not known."""
    diagnosis = incident.diagnosis
    if diagnosis is None:
        return []
    made: list[Block] = []
    if diagnosis.rejected:
        items = [f"`{r.cause}`: {SLACK.text(r.because, 300)}" for r in diagnosis.rejected[:_SHOWN_REJECTED]]
        made.append(blocks.bullets("*What it is not*", items))
    if diagnosis.gaps:
        gaps = [SLACK.text(gap, 300) for gap in diagnosis.gaps]
        more = [f"and {len(gaps) - _SHOWN_GAPS} more"] if len(gaps) > _SHOWN_GAPS else []
        made.append(blocks.bullets("*Not known*", [*gaps[:_SHOWN_GAPS], *more]))
    return made


def evidence(incident: Incident, picture: Picture | None) -> list[Block]:
    """Show the picture: the table, how it is sorted, and the charts."""
    if picture is None:
        return []
    table = drawing.table(picture)
    if incident.kind == "lambda":
        note = "sorted by concurrency: the most throttled function is the victim, not the cause."
    else:
        note = "units a second, sorted by use; reads and writes apart."
    note = f"{_window(picture)}, {note}"
    left = picture.left_out
    more = f" {left:,} more {'is' if left == 1 else 'are'} not shown." if left > 0 else ""
    return [*table, *([blocks.context(note + more)] if table else []), *drawing.charts(picture, changes(incident))]


def _window(picture: Picture) -> str:
    """Name the minutes that were measured, by the charts of the same picture."""
    labels = picture.charts[0].labels if picture.charts else ()
    return f"The {count(len(labels), 'minute')} to {labels[-1]} UTC" if labels else f"At most {MOST_POINTS} minutes"


def reasons(incident: Incident) -> list[Block]:
    """Show every objection of the guard, each with what to do about it."""
    if incident.verdict is None or not incident.verdict.reasons:
        return []
    items = [f"{SLACK.name(reason.guardrail)}: {SLACK.text(reason.text)}" for reason in incident.verdict.reasons]
    return [blocks.bullets("*Why not by itself*", items)]


def commands(incident: Incident, lead: str, lead_back: str) -> list[Block]:
    """Show the exact AWS calls and their inverse."""
    plan = incident.plan
    if plan is None:
        return []
    made = blocks.commands(lead, shell.aws(incident, plan.commands)) if plan.commands else []
    if is_only_cancelled(incident):
        made.append(blocks.section(way_back(incident, SLACK)))
    elif plan.way_back_commands:
        made += blocks.commands(lead_back, shell.aws(incident, plan.way_back_commands))
    elif plan.changes and plan.way_back:
        made.append(blocks.section(f"{lead_back}\n{SLACK.text(plan.way_back)}"))
    return made


def way_back_commands(incident: Incident, lead: str) -> list[Block]:
    """Show the calls that put the before-state back."""
    return blocks.commands(lead, shell.aws(incident, incident.plan.way_back_commands)) if incident.plan else []


def effect(incident: Incident, told: str = "") -> list[Block]:
    """Show what the plan is expected to do, and why it was chosen: what the line above it has not told already."""
    plan = incident.plan
    said = [text for text in map(SLACK.text, (plan.why, plan.effect)) if text and text not in told] if plan else []
    return [blocks.section("\n".join(said))] if said else []


def follow_up(incident: Incident) -> list[Block]:
    """Show what a person should do next."""
    if incident.plan is None or not incident.plan.follow_up:
        return []
    return [blocks.section(f"*What to do*\n{SLACK.text(incident.plan.follow_up, 1500)}")]


def lasting(incident: Incident) -> list[Block]:
    """Show the permanent fix as Terraform and CloudFormation, and whose it is."""
    made: list[Block] = []
    fixes = permanent_fixes(incident)
    for fix in fixes[:_SHOWN_FIXES]:
        owner = f"owned by {SLACK.name(fix.owner, 200)}" if fix.owner else "no tag says whose stack it is"
        made.append(
            blocks.section(
                f"*To make it last* for {SLACK.name(fix.target)}: {owner}. {fix.caution}\n"
                f"Terraform\n{_code(fix.terraform)}\nCloudFormation\n{_code(fix.cloudformation)}"
            )
        )
    if len(fixes) > _SHOWN_FIXES:
        made.append(blocks.context(f"{len(fixes) - _SHOWN_FIXES} more changes need the same."))
    return made


def how_to_revert(incident: Incident) -> list[Block]:
    """Say how to give back now, where there is something to give back."""
    if incident.plan is None or not incident.plan.changes or is_only_cancelled(incident):
        return []
    revert, keep = SLACK.typed(f"/unthrottle revert {incident.id}"), SLACK.typed(f"/unthrottle keep {incident.id}")
    return [blocks.context(f"Give back now: {revert} · keep it: {keep} · stop all new changes: `/unthrottle pause`")]


def is_only_cancelled(incident: Incident) -> bool:
    """Say whether all that was done is cancelling backfills, which has no way back."""
    given = changes(incident)
    return bool(given) and all(isinstance(change, CancelBackfill) for change in given)


def how_to_decide(incident: Incident) -> list[Block]:
    """Say how to answer, with and without Slack's buttons. The version holds a yes to the change that is shown."""
    shown = f"{incident.id}:{incident.question.version}" if incident.question else incident.id
    approve, reject = shell.own(f"unthrottle approve {shown}"), shell.own(f"unthrottle reject {shown}")
    return [
        blocks.context(
            f"Decide with the buttons at the top of this thread, or in a terminal: {SLACK.typed(approve)} · "
            f"{SLACK.typed(reject)}"
        )
    ]


def facts(incident: Incident) -> Block:
    """Show the head's fields: where, since when, what cause."""
    mode = "dry-run" if is_dry_run(incident) else str(incident.mode)
    alarms = f" · {incident.triggers:,} alarms" if incident.triggers > 1 else ""
    cause = "not known yet"
    if incident.diagnosis:
        cause = f"`{incident.diagnosis.cause}`, {incident.diagnosis.confidence} confidence"
    return blocks.fields(
        [
            f"*Account*\n{SLACK.name(incident.account)} {SLACK.name(incident.region)}",
            f"*When*\n{when(incident)}{alarms}",
            f"*Cause*\n{cause}",
            f"*Mode*\n`{mode}`",
            f"*Alarm*\n{_alarm(incident)}",
        ]
    )


def _alarm(incident: Incident) -> str:
    """Link to the alarm in the console of the commercial partition; elsewhere only name it."""
    if not incident.alarm_name:
        return f"none, asked for by {SLACK.person(incident.requested_by)}" if incident.requested_by else "none"
    name = SLACK.name(incident.alarm_name, 120)
    region = incident.region
    safe = region.replace("-", "").isalnum() and region.isascii()
    if not safe or region.startswith(("cn-", "us-gov-", "us-iso", "eu-isoe")):
        return name
    alarm = quote(visible(incident.alarm_name).encode("utf-8", "replace"), safe="")
    address = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#alarmsV2:alarm/{alarm}"
    return name if len(address) > _CONSOLE_ROOM else f"{name} (<{address}|open in AWS>)"


def _code(text: str) -> str:
    return f"```\n{escape(visible(text).replace('```', 'ʼʼʼ'))}\n```"
