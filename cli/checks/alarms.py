"""Does any alarm reach intake? Reads only."""

from collections.abc import Iterator

from cli.checks.check import ANEW, Check
from cli.deployment import Found
from unthrottle.adapters.own_setup import OwnSetUp, RuleFacts
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.audit.rings import scopes_of
from unthrottle.errors import NotFound

RULES = {
    "IntakeFunctionAlarmStateChange": "no alarm opens an incident",
    "IntakeFunctionContributorStateChange": "a second throttled table of an alarm that rings already is not heard",
}
"""The template's rules that bring alarms to intake, by logical id, and what is lost without them."""


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
        yield f"The EventBridge rule {name or logical} is not there: {loss}. {ANEW}"
    elif not rule.is_enabled:
        yield f"The EventBridge rule {name} is disabled: {loss}. Enable it: aws events enable-rule --name {name}"
    elif not rule.targets:
        yield f"The EventBridge rule {name} has no target: {loss}. Give it the intake function as its target."
