"""Does any alarm reach intake? Reads only."""

from collections.abc import Iterator, Mapping

from cli.checks.check import ANEW, Check
from cli.deployment import Found
from unthrottle.adapters.accounts import observer
from unthrottle.adapters.own_setup import OwnSetUp, RuleFacts
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.audit.inventory import AlarmFacts
from unthrottle.audit.rings import scopes_of
from unthrottle.errors import NotFound

RULES = {
    "IntakeFunctionAlarmStateChange": "no alarm opens an incident",
    "IntakeFunctionContributorStateChange": "a second throttled table of an alarm that rings already is not heard",
}
"""The template's rules that bring alarms to intake, by logical id, and what is lost without them."""

EARLY_WARNING = "LambdaConcurrencyAlarm"
"""The template's alarm that rings before anybody is throttled, by logical id."""
USUAL_PERCENT = 80
"""Of the account's limit: where the template's description puts the early warning."""


def alarms(found: Found) -> Iterator[Check]:
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
    yield from _own_alarms(found, {one.name: one for one in alarms})


def _own_alarms(found: Found, there: Mapping[str, AlarmFacts]) -> Iterator[Check]:
    """Look for the stack's own alarms, for the rules that bring any alarm to intake, and whether the early one is early."""
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
    warning = there.get(resources.get(EARLY_WARNING, ("", ""))[1])
    if warning is not None and warning.threshold is not None:
        yield _early_warning(found, warning.threshold)


def _early_warning(found: Found, threshold: float) -> Check:
    """Compare with the account's limit: a small or new account has 10 or 50, and the default is for 1,000."""
    limit = observer(found.session.access).functions.account().limit
    is_early = threshold < limit
    words = f"comes at {threshold:,.0f} concurrent executions; the account's limit is {limit:,}."
    advice = (
        f" So it never comes before functions are throttled: deploy with ConcurrencyAlarmThreshold "
        f"{max(1, limit * USUAL_PERCENT // 100)}, or ask AWS for a higher limit."
    )
    return Check(
        name="early warning",
        state="ok" if is_early else "look",
        text=f"It {words}" + ("" if is_early else advice),
    )


def _rule_problems(own: OwnSetUp, resources: dict[str, tuple[str, str]], logical: str) -> Iterator[str]:
    name, loss = resources.get(logical, ("", ""))[1], RULES[logical]
    try:
        rule: RuleFacts | None = own.rule(name) if name else None
    except NotFound:
        rule = None
    if rule is None:
        yield f"The EventBridge rule {name or logical} is not there: {loss}. {ANEW}"
    elif not rule.is_enabled:
        yield f"The EventBridge rule {name} is disabled: {loss}. Enable it: aws events enable-rule --name {name}"
    elif not rule.targets:
        yield f"The EventBridge rule {name} has no target: {loss}. Give it the intake function as its target."
