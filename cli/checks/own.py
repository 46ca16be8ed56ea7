"""Is the stack as it was deployed: its settings, workflow, table, and room to act? Reads only."""

from collections.abc import Iterator

from cli.checks.check import ANEW, Check
from cli.deployment import Found
from unthrottle.adapters.accounts import observer
from unthrottle.adapters.own_setup import OwnSetUp
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.brief import pause_ends
from unthrottle.errors import NotFound
from unthrottle.settings import Mode

USUAL_FLOOR = 100


def stack(found: Found) -> Iterator[Check]:
    if found.stack is None:
        yield Check(name="stack", state="look", text="Found by variables; name the --stack to have it looked at.")
        return
    status = str(found.stack.get("StackStatus", ""))
    good = status.endswith("_COMPLETE") and "ROLLBACK" not in status and "DELETE" not in status
    advice = "" if good else ": see the stack's events in CloudFormation, and deploy again."
    yield Check(name="stack", state="ok" if good else "broken", text=status + advice)


def settings(found: Found) -> Iterator[Check]:
    if found.wrong_settings:
        yield Check(
            name="settings",
            state="broken",
            text=f"{found.wrong_settings} Until then every function stops at its start.",
        )
    else:
        yield Check(name="settings", state="ok", text=f"Readable; Mode {found.settings.mode.value}.")
    if found.settings.mode is not Mode.DRY_RUN and not found.settings.operators:
        yield Check(
            name="operators",
            state="look",
            text="Operators is empty: nobody may approve or give back in Slack. Set it to Slack user or group ids.",
        )


def workflow(found: Found) -> Iterator[Check]:
    if not found.respond:
        yield Check(
            name="workflow", state="look", text="Set UNTHROTTLE_RESPOND_FUNCTION to have the workflow looked at."
        )
        return
    name = found.respond.rsplit(":function:", 1)[-1].split(":", 1)[0]
    try:
        OwnSetUp(found.session.access).role_of(found.respond)
        own = AwsSurvey(found.session.access).reserved(name)
    except NotFound:
        yield Check(
            name="workflow",
            state="broken",
            text=f"There is no {found.respond}: no incident can be worked on. {ANEW}",
        )
        return
    yield Check(name="workflow", state="ok", text=f"{found.respond} is there.")
    yield Check(
        name="own concurrency",
        state="ok" if own else "broken" if own == 0 else "look",
        text=f"{name} has {own} executions of its own."
        if own
        else f"{name} is switched off: its reserved concurrency is 0. Set it back to 5."
        if own == 0
        else f"{name} has no reserved concurrency: the incident it heals can starve it. Deploy with ReserveConcurrency true.",
    )


def table(found: Found) -> Iterator[Check]:
    """Look at the table before anything reads it, so that a missing one is said once."""
    survey = AwsSurvey(found.session.access)
    try:
        has_recovery = survey.has_recovery(found.table)
    except NotFound:
        yield Check(
            name="incidents table",
            state="broken",
            text=f"There is no table {found.table}: no incident can be opened. Restore it from a backup (the before-states "
            f"of changes still in force were in it). {ANEW}",
        )
        return
    yield Check(
        name="incidents table",
        state="ok" if has_recovery else "look",
        text="It is there, with point-in-time recovery."
        if has_recovery
        else f"{found.table} has no point-in-time recovery: the audit record could be lost. Switch it on: aws "
        f"dynamodb update-continuous-backups --table-name {found.table} --point-in-time-recovery-specification "
        "PointInTimeRecoveryEnabled=true",
    )
    yield from _incidents(found)


def _incidents(found: Found) -> Iterator[Check]:
    account, now = found.session.identity.account, found.session.now
    ledger = found.incidents.ledger(account, found.session.region, (), now)
    if ledger.paused_until is not None and ledger.paused_until > now:
        ends = pause_ends(ledger.paused_until, now).replace("/unthrottle", "unthrottle")
        words = f"Paused {ends}." if "resume" in ends else f"Paused {ends}; `unthrottle resume` ends that."
        yield Check(name="pause", state="look", text=words)
    budget = found.settings.max_actions_per_hour
    spent = len(ledger.acted)
    yield Check(
        name="budget",
        state="ok" if spent < budget else "look",
        text=f"{spent} of {budget} actions of this hour are used.",
    )
    held = found.incidents.open_incidents()
    waiting = [one.id for one in held if one.question is not None and one.question.about == "approval"]
    yield Check(
        name="incidents",
        state="look" if waiting else "ok",
        text=f"{len(held)} open" + (f"; waiting for a person: {', '.join(waiting)}" if waiting else "") + ".",
    )


def pool(found: Found) -> Iterator[Check]:
    account = observer(found.session.access).functions.account()
    floor = USUAL_FLOOR if account.limit > USUAL_FLOOR else 1
    room, share = account.unreserved_limit - floor, account.limit * found.settings.max_pool_share // 100
    yield Check(
        name="pool",
        state="ok" if room >= share else "look" if room > 0 else "broken",
        text=f"{max(0, room):,} executions can still be reserved above the floor; a cap takes up to {share:,}."
        + ("" if room >= share else " Give reservations back, or ask AWS for a higher limit."),
    )
