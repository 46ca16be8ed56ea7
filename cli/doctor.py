"""`unthrottle doctor`: could a deployment act now? Looks at each thing that acting needs, and says what is missing."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from cli.deployment import Found, find
from cli.exits import Exit
from cli.printing import show, show_json
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.adapters.laptop import observer
from unthrottle.adapters.slack import SlackChannel
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.audit.take_stock import FAILURES
from unthrottle.backfills import BackfillsRefused, BackfillsUnavailable
from unthrottle.chat import ChatError
from unthrottle.errors import BadInput
from unthrottle.settings import Mode

State = Literal["ok", "look", "broken", "unknown"]
_STYLES = {"ok": "green", "look": "yellow", "broken": "red", "unknown": "yellow"}
USUAL_FLOOR = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at: what it is, how it is, and what to do."""

    name: str
    state: State
    text: str


def doctor(stack: str | None, region: str | None, profile: str | None, *, as_json: bool) -> Exit:
    """Look at everything; NEEDS_ACTION when something is not as it must be."""
    found = find(stack, region, profile, reads_only=True)
    checks = [check for look in _LOOKS for check in _tried(look, found)]
    if as_json:
        show_json(
            {
                "version": 1,
                "account": found.session.identity.account,
                "region": found.session.region,
                "checks": [{"name": one.name, "state": one.state, "text": one.text} for one in checks],
            }
        )
    else:
        show((f"{one.state:<8}{one.name}: {one.text}", _STYLES[one.state]) for one in checks)
    return Exit.FINE if all(one.state == "ok" for one in checks) else Exit.NEEDS_ACTION


def _tried(look: "Callable[[Found], Iterator[Check]]", found: Found) -> list[Check]:
    try:
        return list(look(found))
    except (*FAILURES, BadInput) as error:
        return [Check(name=look.__name__.strip("_"), state="unknown", text=str(error))]


def _stack(found: Found) -> Iterator[Check]:
    if found.stack is None:
        yield Check(name="stack", state="look", text="Found by variables; name the --stack to have it looked at.")
        return
    status = str(found.stack.get("StackStatus", ""))
    good = status.endswith("_COMPLETE") and "ROLLBACK" not in status and "DELETE" not in status
    yield Check(name="stack", state="ok" if good else "broken", text=status)
    outputs = {one["OutputKey"] for one in found.stack.get("Outputs", [])}
    acting, has_actor = found.settings.mode is not Mode.DRY_RUN, "ActorRoleName" in outputs
    words = f"Mode {found.settings.mode.value}; the Actor role {'exists' if has_actor else 'does not exist'}."
    yield Check(name="mode", state="ok" if acting == has_actor else "broken", text=words)
    if acting and not found.settings.operators:
        yield Check(
            name="operators", state="look", text="Operators is empty: nobody may approve or give back in Slack."
        )


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
        text=f"{max(0, room):,} executions can still be reserved above the floor; a cap takes up to {share:,}.",
    )
    name = found.respond.rsplit(":function:", 1)[-1].split(":", 1)[0]
    if name:
        own = AwsSurvey(found.session.access).reserved(name)
        yield Check(
            name="own concurrency",
            state="ok" if own else "look",
            text=f"{name} has {own} executions of its own."
            if own
            else f"{name} has no reserved concurrency: the incident it heals can starve it.",
        )


def _alarms(found: Found) -> Iterator[Check]:
    alarms = AwsSurvey(found.session.access).alarms()
    ours = sorted({one.name for one in alarms if "AWS/Lambda" in f"{one.namespace} {one.expression}"
                   or "AWS/DynamoDB" in f"{one.namespace} {one.expression}"})  # fmt: skip
    yield Check(
        name="alarms",
        state="ok" if ours else "broken",
        text=f"{len(ours)} alarms watch Lambda or DynamoDB." if ours else "No alarm watches Lambda or DynamoDB.",
    )


def _slack(found: Found) -> Iterator[Check]:
    settings = found.settings
    if not settings.slack_channel or not settings.slack_secret_arn:
        yield Check(
            name="slack", state="broken", text="SlackChannel or SlackSecretArn is not set: no report reaches anyone."
        )
        return
    token = found.secrets.field(settings.slack_secret_arn, "bot_token")
    found.secrets.field(settings.slack_secret_arn, "signing_secret")
    try:
        team = SlackChannel(token, settings.slack_channel, base_url=_slack_address()).whoami()
    except ChatError as error:
        yield Check(name="slack", state="broken", text=str(error))
    else:
        yield Check(name="slack", state="ok", text=f"The token is good for workspace {team}.")


def _slack_address() -> str | None:

    return os.environ.get("UNTHROTTLE_SLACK_API_URL") or None


def _dagy(found: Found) -> Iterator[Check]:
    settings = found.settings
    if not settings.dagy_api_url:
        yield Check(name="dagy", state="ok", text="Not configured: backfills are neither seen nor cancelled.")
        return
    token = found.secrets.token(settings.dagy_secret_arn) if settings.dagy_secret_arn else ""
    try:
        running = DagyBackfills(settings.dagy_api_url, lambda: token, timeout_s=5).running()
    except (BackfillsUnavailable, BackfillsRefused) as error:
        yield Check(name="dagy", state="broken", text=str(error))
    else:
        yield Check(name="dagy", state="ok", text=f"It answers; {len(running)} backfills run.")


def _escalation(found: Found) -> Iterator[Check]:
    topic = found.settings.escalation_topic_arn
    words = "An SNS topic pages a person." if topic else "No EscalationTopicArn: an escalation is a Slack message only."
    yield Check(name="paging", state="ok" if topic else "look", text=words)


_LOOKS: tuple[Callable[[Found], Iterator[Check]], ...] = (
    _stack,
    _incidents,
    _pool,
    _alarms,
    _slack,
    _dagy,
    _escalation,
)
