"""Would the template's own policies let this call through? The gate's first handler in every rehearsal.

Every call is judged by the policies of the role that signed it: the function's own, the Observer's or the Actor's. To
assume a role, the caller's policies and the role's trust must both say yes (AWS asks for one of the two within an account
when the trust names the caller; both is stricter). A call that is not allowed gets AWS's refusal, and is remembered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.aws.calls import Refuse, Request
from sandbox.aws.iam_calls import permissions, reading_tags
from sandbox.aws.iam_policy import Allowed, Asked, Denied, Statement, Verdict, judge

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

SERVICE_CONTROL = "service control policy"
"""The label of a statement that stands for an organisation's service control policy."""
_CODES: Mapping[str, str] = {"sts": "AccessDenied", "sns": "AuthorizationError"}
"""What services that speak XML call it; the others say AccessDeniedException."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role of the stack: what it may do, and who may become it."""

    arn: str
    statements: tuple[Statement, ...]
    trust: tuple[Statement, ...]

    def grants(self) -> frozenset[tuple[str, str]]:
        """Every statement that allows something, with each of its actions."""
        return frozenset((one.label, action) for one in self.statements if one.allows for action in one.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A call that the policies did not let through. `by` names the statement that denies it; None: none allows it."""

    request: Request
    asked: Asked
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSide:
    """Another account that calls go to: what is in it (for one Region), its own roles, and its organisation's denies.

    An action that a service control policy denies is denied whatever the role's policies say (AWS: IAM user guide, "Policy
    evaluation logic"). `roles` is empty for the own account in another Region, whose roles are those of home.
    """

    account: "EmbeddedAccount"
    roles: Mapping[str, Role]
    denies: tuple[Statement, ...] = ()


class PolicyGate:
    """Judges calls. *roles* go by the names under which the gate knows who signed; a call of nobody is refused.

    `used` collects the grants that calls needed: (role, label of the statement, action), a member's with its account id
    before the role. `refusals` are the calls that were not let through.
    """

    def __init__(
        self,
        roles: Mapping[str, Role],
        account: "EmbeddedAccount",
        *,
        durable_function_arn: str,
        members: Sequence[MemberSide] = (),
    ) -> None:
        self.roles = dict(roles)
        for member in members:
            self.roles |= {f"{member.account.account_id}/{name}": role for name, role in member.roles.items()}
        self.used: set[tuple[str, str, str]] = set()
        self.refusals: list[Refusal] = []
        self._account = account
        self._places = {(one.account.account_id, one.account.region): one.account for one in members}
        self._denies = {one.account.account_id: one.denies for one in members}
        self._durable_function_arn = durable_function_arn
        self._by_arn = {role.arn: role for role in self.roles.values()}

    def handle(self, request: Request) -> Refuse | None:
        """Refuse the call, or leave it to those who answer it."""
        return self._judged(request, permissions(request, self._place(request), self._durable_function_arn))

    def hides_tags(self, request: Request) -> str | None:
        """Say why GetFunction shows its caller no tags; None: it shows them."""
        refused = self._judged(request, reading_tags(request, self._place(request), self._durable_function_arn))
        return refused.message if refused else None

    def _place(self, request: Request) -> "EmbeddedAccount":
        return self._places.get((request.account or "", request.region), self._account)

    def _judged(self, request: Request, needed: Sequence[Asked]) -> Refuse | None:
        name = self._name(request)
        role = self.roles.get(name)
        statements = (*self._denies.get(request.account or "", ()), *(role.statements if role else ()))
        for asked in needed:
            verdict = judge(statements, asked)
            if isinstance(verdict, Allowed):
                verdict = self._trusted(request, role, asked) or verdict
            if isinstance(verdict, Denied):
                return self._refuse(request, role, asked, verdict)
            action = next(one for one in verdict.by.actions if one.lower() == asked.action.lower() or "*" in one)
            self.used.add((name, verdict.by.label, action))
        return None

    def _name(self, request: Request) -> str:
        """The name of the role that signed; one of a member account bears the account's id before it."""
        abroad = f"{request.account}/{request.role}"
        return abroad if abroad in self.roles else request.role or ""

    def unused(self) -> frozenset[tuple[str, str, str]]:
        """Grants that no call needed so far."""
        granted = {(name, *grant) for name, role in self.roles.items() for grant in role.grants()}
        return frozenset(granted - self.used)

    def _trusted(self, request: Request, caller: Role | None, asked: Asked) -> Verdict | None:
        """Judge the trust of a role to be assumed. None: it says yes, or there is nothing to be judged."""
        target = self._by_arn.get(asked.resource)
        if request.call != "sts.AssumeRole" or target is None:
            return None
        principal = caller.arn if caller else ""
        context = {**asked.context, "aws:PrincipalArn": principal}
        trust = Asked(action=asked.action, resource="*", context=context, principal=principal)
        verdict = judge(target.trust, trust)
        return verdict if isinstance(verdict, Denied) else None

    def _refuse(self, request: Request, role: Role | None, asked: Asked, verdict: Denied) -> Refuse:
        by = verdict.by.label if verdict.by else None
        self.refusals.append(Refusal(request=request, asked=asked, by=by))
        who = role.arn.replace(":iam:", ":sts:").replace(":role/", ":assumed-role/") if role else "nobody"
        why = (
            f"because no identity-based policy allows the {asked.action} action"
            if by is None
            else f"with an explicit deny in {'a service control' if by == SERVICE_CONTROL else 'an identity-based'} policy"
        )
        return Refuse(
            code=_CODES.get(request.service, "AccessDeniedException"),
            message=f"User: {who}/{request.session_name or request.role} is not authorized to perform: {asked.action} "
            f"on resource: {asked.resource} {why}",
        )
