"""Can the bot look into its member accounts and change something there, and do their alarms reach it?

Nobody but the stack's functions is let into a member account, so the sweep is asked to try; it changes nothing.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cli.checks.check import ANEW, Check
from cli.deployment import Found
from unthrottle.adapters.access import Access
from unthrottle.adapters.aws_answers import text_as_json
from unthrottle.adapters.own_setup import OwnSetUp
from unthrottle.errors import NotFound, Refused
from unthrottle.reach import question
from unthrottle.settings import Mode

HUB_RULE = "HubRule"
SWEEP = "SweepFunction"
_DEPLOY = (
    "Deploy member.yaml there, in RolesRegion too, with this stack's account and name as HubAccount and HubStack, and the same "
    "ExternalId."
)


def members(found: Found) -> Iterator[Check]:
    """Look at each account of MemberAccounts, in each of MemberRegions."""
    if found.stack is None or not found.settings.member_accounts:
        return
    own = OwnSetUp(found.session.access)
    resources = own.resources(str(found.stack.get("StackName", "")))
    parameters = {one["ParameterKey"]: one.get("ParameterValue", "") for one in found.stack.get("Parameters", [])}
    if not parameters.get("ExternalId"):
        yield Check(
            name="external id",
            state="broken",
            text="MemberAccounts is set and ExternalId is not: member.yaml's roles ask for one. Set the same in both.",
        )
    yield from _hub_rule(own, resources.get(HUB_RULE, ("", ""))[1])
    sweep = resources.get(SWEEP, ("", ""))[1]
    for place in _asked(found, sweep):
        yield from _place(found, place)


def _hub_rule(own: OwnSetUp, physical: str) -> Iterator[Check]:
    """CloudFormation names a rule of another bus `bus|rule`."""
    bus, _, name = physical.rpartition("|")
    try:
        rule = own.rule(name, bus=bus) if name and bus else None
    except NotFound:
        rule = None
    if rule is None:
        text = f"The hub's rule for alarms of members is not there: none of theirs is heard. {ANEW}"
    elif not rule.is_enabled:
        text = (
            f"The hub's rule {name} is disabled: no alarm of a member is heard. Enable it: aws events enable-rule "
            f"--name {name} --event-bus-name {bus}"
        )
    else:
        yield Check(name="hub rule", state="ok", text="The rule that takes alarms of members is there and enabled.")
        return
    yield Check(name="hub rule", state="broken", text=text)


def _asked(found: Found, sweep: str) -> list[Mapping[str, Any]]:
    """Let the sweep try. Its answer names home too, which is looked at by itself."""
    # The one call that is no read: the question changes nothing, and a sweep that does not know it only sweeps.
    access = Access(found.session.clients.for_one_call(), found.session.region)
    places: list[Mapping[str, Any]] = []
    while True:
        with access.use("lambda", f"ask {sweep} whether it reaches the member accounts") as client:
            answer = client.invoke(FunctionName=sweep, Payload=json.dumps(question(len(places))).encode())
            said = text_as_json(answer["Payload"].read().decode(errors="replace") or "null", "a payload")
        more = said.get("places") if isinstance(said, dict) else None
        if more is None:
            raise Refused(
                f"{sweep} did not say whether it reaches the member accounts. Nothing was changed. Deploy this version of the "
                "stack, and look at its log.",
                code="no-answer",
            )
        if not more:
            break
        places += more
    home = (found.session.identity.account, found.session.region)
    return [one for one in places if (one["account"], one["region"]) != home]


def _place(found: Found, place: Mapping[str, Any]) -> Iterator[Check]:
    name = f"member {place['account']} {place['region']}"
    if place["observer"]:
        yield Check(name=name, state="broken", text=f"{place['observer']} {_DEPLOY}")
        return
    mode = found.settings.mode
    if place["actor"] and mode is not Mode.DRY_RUN:
        yield Check(
            name=name,
            state="look",
            text=f"It can be looked at, and nothing can be changed there though Mode is {mode.value}: {place['actor']} As it "
            "must be where member.yaml's own Mode is dry-run.",
        )
        return
    may = "looked at" if mode is Mode.DRY_RUN else "looked at and changed"
    yield Check(name=name, state="ok", text=f"It can be {may}.")
