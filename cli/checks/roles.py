"""May the bot look, and may it change, in its own account? By IAM itself, not by the stack's outputs. Reads only."""

from collections.abc import Iterator

from cli.checks.check import ANEW, Check
from cli.deployment import Found
from unthrottle.adapters.own_setup import OwnSetUp, RoleFacts
from unthrottle.errors import NotFound
from unthrottle.settings import Mode

SEES_TAGS = "lambda:ListTags"
"""Without it GetFunction works and leaves the tags out (Lambda API, GetFunctionResponse)."""


def roles(found: Found) -> Iterator[Check]:
    """Judge the two roles by IAM itself: a role deleted or made by hand is not seen in the stack's outputs."""
    if found.stack is None:
        return
    outputs = {one["OutputKey"]: one.get("OutputValue", "") for one in found.stack.get("Outputs", [])}
    stack = str(found.stack.get("StackName", ""))
    own = OwnSetUp(found.session.access)
    observer = outputs.get("ObserverRoleName") or f"{stack}-observer"
    yield from _observer(found, own, observer)
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
    yield from _function_tags(own, observer)


def _observer(found: Found, own: OwnSetUp, name: str) -> Iterator[Check]:
    role = own.role(name)
    if role is None:
        yield Check(
            name="observer",
            state="broken",
            text=f"There is no Observer role {name}: nothing can be diagnosed. {ANEW}",
        )
        return
    yield from _trust(found, own, role, "observer", "The workflow may assume the Observer role.")


def _function_tags(own: OwnSetUp, name: str) -> Iterator[Check]:
    if own.role(name) is None:
        return  # said by the look at the role itself
    seen = SEES_TAGS.lower() in own.granted(name)
    yield Check(
        name="function tags",
        state="ok" if seen else "broken",
        text="The Observer role sees the tags of functions."
        if seen
        else f"{name} may not {SEES_TAGS}, so AWS shows it no tags of functions: which of them are protected is not known, and "
        "each incident with functions ends inconclusive. Deploy this version of the stack.",
    )


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
