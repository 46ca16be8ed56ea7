"""What does a deployment need to be able to act? One function for each thing; each yields what it found and what to do.

They only read. A look that cannot read what it looks at raises, and says so instead of guessing.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from cli.deployment import Found
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.adapters.laptop import observer
from unthrottle.adapters.own_setup import OwnSetUp, RoleFacts, RuleFacts
from unthrottle.adapters.slack import SlackChannel
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.audit.rings import scopes_of
from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable
from unthrottle.chat import ChatError, ChatLater
from unthrottle.errors import BadInput, NotFound
from unthrottle.settings import Mode

State = Literal["ok", "look", "broken", "unknown"]
USUAL_FLOOR = 100
RULES = {
    "IntakeFunctionAlarmStateChange": "no alarm opens an incident",
    "IntakeFunctionContributorStateChange": "a second throttled table of an alarm that rings already is not heard",
}
"""The template's rules that bring alarms to intake, by logical id, and what is lost without them."""
_ANEW = (
    "A deployment does not make again what was deleted beside it: make it by hand as template.yaml has it, or remove the stack "
    "(`unthrottle uninstall-check` first) and deploy it anew."
)
_SLACK_HELP = {
    "token_revoked": "The token was revoked: install the app again and store its new bot token in the secret.",
    "account_inactive": "The app was removed: install it again and store its new bot token in the secret.",
    "invalid_auth": "Slack does not know the token: store the app's bot token (xoxb-…) as bot_token in the secret.",
    "not_in_channel": "The app is not in the channel: invite it there with /invite @unthrottle.",
    "user_not_in_channel": "The app is not in the channel: invite it there with /invite @unthrottle.",
    "channel_not_found": "The app sees no such channel: check SlackChannel, and invite the app with /invite @unthrottle.",
    "is_archived": "The channel is archived: name another one as SlackChannel.",
    "missing_scope": "The app lacks a scope: install it again from slack-app-manifest.yaml.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at: what it is, how it is, and what to do."""

    name: str
    state: State
    text: str


def _stack(found: Found) -> Iterator[Check]:
    if found.stack is None:
        yield Check(name="stack", state="look", text="Found by variables; name the --stack to have it looked at.")
        return
    status = str(found.stack.get("StackStatus", ""))
    good = status.endswith("_COMPLETE") and "ROLLBACK" not in status and "DELETE" not in status
    advice = "" if good else ": see the stack's events in CloudFormation, and deploy again."
    yield Check(name="stack", state="ok" if good else "broken", text=status + advice)


def _settings(found: Found) -> Iterator[Check]:
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


def _roles(found: Found) -> Iterator[Check]:
    """Judge the two roles by IAM itself: a role deleted or made by hand is not seen in the stack's outputs."""
    if found.stack is None:
        return
    outputs = {one["OutputKey"]: one.get("OutputValue", "") for one in found.stack.get("Outputs", [])}
    stack = str(found.stack.get("StackName", ""))
    own = OwnSetUp(found.session.access)
    yield from _observer(found, own, outputs.get("ObserverRoleName") or f"{stack}-observer")
    name, mode = outputs.get("ActorRoleName") or f"{stack}-actor", found.settings.mode
    actor = own.role(name)
    if mode is Mode.DRY_RUN:
        yield Check(
            name="mode",
            state="ok" if actor is None else "broken",
            text="Mode dry-run; the Actor role does not exist."
            if actor is None
            else f"Mode dry-run, but the Actor role {name} exists, and with it a way to change things: delete it, or deploy "
            "with Mode approve or auto.",
        )
    elif actor is None:
        yield Check(
            name="mode",
            state="broken",
            text=f"Mode {mode.value}, but there is no Actor role {name}: no change can be made. Deploy with "
            f"Mode dry-run, then with {mode.value} again: that makes it anew.",
        )
    else:
        yield from _trust(found, own, actor, "mode", f"Mode {mode.value}; the Actor role exists.")


def _observer(found: Found, own: OwnSetUp, name: str) -> Iterator[Check]:
    role = own.role(name)
    if role is None:
        yield Check(
            name="observer",
            state="broken",
            text=f"There is no Observer role {name}: nothing can be diagnosed. {_ANEW}",
        )
        return
    yield from _trust(found, own, role, "observer", "The workflow may assume the Observer role.")


def _trust(found: Found, own: OwnSetUp, role: RoleFacts, check: str, fine: str) -> Iterator[Check]:
    name = role.arn.rsplit("/", 1)[-1]
    try:
        workflow = own.role_of(found.respond)
    except NotFound:
        return  # said by the look at the workflow itself
    good = workflow in role.trusted
    yield Check(
        name=check,
        state="ok" if good else "broken",
        text=fine
        if good
        else f"The trust policy of {name} does not name the workflow's role {workflow}, so it cannot be assumed (a role "
        "that was deleted and made again is another one). Put it into the trust policy.",
    )


def _workflow(found: Found) -> Iterator[Check]:
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
            text=f"There is no {found.respond}: no incident can be worked on. {_ANEW}",
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


def _table(found: Found) -> Iterator[Check]:
    """Look at the table before anything reads it, so that a missing one is said once."""
    survey = AwsSurvey(found.session.access)
    try:
        has_recovery = survey.has_recovery(found.table)
    except NotFound:
        yield Check(
            name="incidents table",
            state="broken",
            text=f"There is no table {found.table}: no incident can be opened. Restore it from a backup (the before-states "
            f"of changes still in force were in it). {_ANEW}",
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
        words = f"Paused until {ledger.paused_until:%Y-%m-%d %H:%M} UTC; `unthrottle resume` ends that."
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


def _pool(found: Found) -> Iterator[Check]:
    account = observer(found.session.access).functions.account()
    floor = USUAL_FLOOR if account.limit > USUAL_FLOOR else 1
    room, share = account.unreserved_limit - floor, account.limit * found.settings.max_pool_share // 100
    yield Check(
        name="pool",
        state="ok" if room >= share else "look" if room > 0 else "broken",
        text=f"{max(0, room):,} executions can still be reserved above the floor; a cap takes up to {share:,}."
        + ("" if room >= share else " Give reservations back, or ask AWS for a higher limit."),
    )


def _alarms(found: Found) -> Iterator[Check]:
    """Count the alarms from which an incident can begin; those over the bot's own functions are about its health."""
    alarms = AwsSurvey(found.session.access).alarms()
    itself = f"{found.stack.get('StackName', '')}-" if found.stack else None
    ours = {
        one.name
        for one in alarms
        if any(scopes_of(one)) and not (itself and one.dimensions.get("FunctionName", "").startswith(itself))
    }
    yield Check(
        name="alarms",
        state="ok" if ours else "broken",
        text=f"{len(ours)} alarms watch for throttled functions, tables or indexes, or a full pool."
        if ours
        else "No alarm watches Lambda or DynamoDB for throttles, so nothing is ever heard. Deploy with the Alarm… parameters "
        "true.",
    )
    yield from _own_alarms(found, {one.name for one in alarms})


def _own_alarms(found: Found, there: set[str]) -> Iterator[Check]:
    """Look for the stack's own alarms, and for the rules that bring any alarm to intake."""
    if found.stack is None:
        return
    own, stack = OwnSetUp(found.session.access), str(found.stack.get("StackName", ""))
    resources = own.resources(stack)
    gone = sorted(
        physical
        for logical, (kind, physical) in resources.items()
        if kind == "AWS::CloudWatch::Alarm"
        and logical.startswith(("Table", "Index", "Lambda"))
        and physical not in there
    )
    if gone:
        yield Check(
            name="own alarms",
            state="broken",
            text=f"Of the stack's alarms these are gone: {', '.join(gone)}. Deploy with their Alarm… parameters "
            "false, then true again: that makes them anew.",
        )
    problems = [problem for logical in RULES for problem in _rule_problems(own, resources, logical)]
    yield Check(
        name="rules",
        state="broken" if problems else "ok",
        text=" ".join(problems) or "The rules that bring alarms to intake are there and enabled.",
    )


def _rule_problems(own: OwnSetUp, resources: dict[str, tuple[str, str]], logical: str) -> Iterator[str]:
    name, loss = resources.get(logical, ("", ""))[1], RULES[logical]
    try:
        rule: RuleFacts | None = own.rule(name) if name else None
    except NotFound:
        rule = None
    if rule is None:
        yield f"The EventBridge rule {name or logical} is not there: {loss}. {_ANEW}"
    elif not rule.is_enabled:
        yield f"The EventBridge rule {name} is disabled: {loss}. Enable it: aws events enable-rule --name {name}"
    elif not rule.targets:
        yield f"The EventBridge rule {name} has no target: {loss}. Give it the intake function as its target."


def _slack(found: Found) -> Iterator[Check]:
    settings = found.settings
    if not settings.slack_channel or not settings.slack_secret_arn:
        yield Check(
            name="slack",
            state="broken",
            text="SlackChannel or SlackSecretArn is not set: no report reaches anyone. Set both (docs/slack.md).",
        )
        return
    fields: dict[str, str] = {}
    for field in ("bot_token", "signing_secret"):
        try:
            fields[field] = found.secrets.field(settings.slack_secret_arn, field)
        except (NotFound, BadInput) as error:
            yield Check(name="slack secret", state="broken", text=f"{error} docs/slack.md says what is in it.")
            if isinstance(error, NotFound):
                return
    if len(fields) == 2 and all(fields.values()):
        yield Check(name="slack secret", state="ok", text="It has bot_token and signing_secret.")
    elif "" in fields.values():
        yield Check(
            name="slack secret", state="broken", text="A field of it is empty. docs/slack.md says what is in it."
        )
    if fields.get("bot_token"):
        yield from _channel(fields["bot_token"], settings.slack_channel)


def _channel(token: str, name: str) -> Iterator[Check]:
    channel = SlackChannel(token, name, base_url=os.environ.get("UNTHROTTLE_SLACK_API_URL") or None)
    try:
        team = channel.whoami()
        yield Check(name="slack", state="ok", text=f"The token is good for workspace {team}.")
        channel.try_channel()
    except ChatLater as error:
        yield Check(name="slack", state="broken", text=f"Slack cannot be reached now: {error.code}. Try again later.")
    except ChatError as error:
        advice = _SLACK_HELP.get(error.code, str(error))
        yield Check(name="slack", state="broken", text=f"Slack answered {error.code}. {advice}")
    else:
        by_name = not name[:1].isupper()
        yield Check(
            name="slack channel",
            state="look" if by_name else "ok",
            text=f"SlackChannel is {name}, a name; messages can be updated by id only. Write the channel's id (C…)."
            if by_name
            else f"The app may write to {name}.",
        )


def _dagy(found: Found) -> Iterator[Check]:
    settings = found.settings
    if not settings.dagy_api_url:
        yield Check(name="dagy", state="ok", text="Not configured: backfills are neither seen nor cancelled.")
        return
    if not settings.dagy_secret_arn:
        yield Check(
            name="dagy", state="broken", text="DagyApiUrl is set and DagySecretArn is not: dagy asks for a token."
        )
        return
    try:
        token = found.secrets.token(settings.dagy_secret_arn)
        running = DagyBackfills(settings.dagy_api_url, lambda: token, timeout_s=5).running()
    except (BackfillsUnavailable, BackfillsRefused, ValueError) as error:
        yield Check(
            name="dagy",
            state="broken",
            text=f"{error} Backfills are neither seen nor cancelled: check DagyApiUrl, that it is reached from here, and the "
            "token in DagySecretArn.",
        )
    except (NotFound, BadInput) as error:
        yield Check(name="dagy", state="broken", text=f"{error} Store dagy's token in DagySecretArn.")
    else:
        yield Check(name="dagy", state="ok", text=f"It answers; {len(running)} backfills run.")


def _paging(found: Found) -> Iterator[Check]:
    topic = found.settings.escalation_topic_arn
    if not topic:
        words = "No EscalationTopicArn: an escalation is a Slack message only. Name an SNS topic that pages a person."
        yield Check(name="paging", state="look", text=words)
        return
    try:
        subscribers = OwnSetUp(found.session.access).subscribers(topic)
    except NotFound:
        words = (
            f"There is no topic {topic}: an escalation pages nobody. Make it, or name another as EscalationTopicArn."
        )
        yield Check(name="paging", state="broken", text=words)
        return
    yield Check(
        name="paging",
        state="ok" if subscribers else "broken",
        text=f"The topic has {subscribers} confirmed subscriptions."
        if subscribers
        else f"Nobody has confirmed a subscription of {topic}: an escalation pages nobody. Subscribe your pager to it.",
    )


LOOKS: tuple[tuple[str, Callable[[Found], Iterator[Check]]], ...] = (
    ("stack", _stack),
    ("settings", _settings),
    ("roles", _roles),
    ("workflow", _workflow),
    ("incidents table", _table),
    ("pool", _pool),
    ("alarms", _alarms),
    ("slack", _slack),
    ("dagy", _dagy),
    ("paging", _paging),
)
