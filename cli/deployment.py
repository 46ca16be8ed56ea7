"""Which deployment do the commands talk to? A CloudFormation stack by name, or UNTHROTTLE_* variables.

With --stack the names come from the stack's outputs and the settings from its parameters. Without it,
UNTHROTTLE_INCIDENTS_TABLE (and UNTHROTTLE_RESPOND_FUNCTION) name them, as they do for the functions.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cli.session import Session
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.incidents_table import IncidentsTable
from unthrottle.adapters.secrets import AwsSecrets
from unthrottle.adapters.starter import LambdaStarter
from unthrottle.control import Control, Person
from unthrottle.errors import BadInput, Refused, SettingsError
from unthrottle.ports import Accounts, Actor, Observer
from unthrottle.settings import PARAMETERS, Settings, from_environment, from_parameters

_HOW = (
    "Name the stack with --stack (or UNTHROTTLE_STACK), or set UNTHROTTLE_INCIDENTS_TABLE and "
    "UNTHROTTLE_RESPOND_FUNCTION."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A deployment. `stack` is what CloudFormation says of it, None where it was found by variables.

    `wrong_settings` says which settings cannot be read; they stand at their defaults here, and stop the functions there.
    """

    session: Session
    settings: Settings
    table: str
    respond: str
    stack: Mapping[str, Any] | None = None
    wrong_settings: str = ""

    @property
    def incidents(self) -> IncidentsTable:
        return IncidentsTable(
            self.session.access, self.table, retention_days=self.settings.retention_days, clock=SystemClock()
        )

    @property
    def secrets(self) -> AwsSecrets:
        return AwsSecrets(self.session.access)

    @property
    def person(self) -> Person:
        """Who asks: an IAM identity. What it may do is decided by IAM, not by the list of Slack operators."""
        return Person(id=self.session.identity.arn)

    def control(self) -> Control:
        """Carry out what the person asks, as an operator: whoever may write the table and answer the workflow."""
        return Control(
            incidents=self.incidents,
            starter=LambdaStarter(self.session.access, self.respond),
            accounts=_NoAccounts(),
            clock=SystemClock(),
            settings=replace(self.settings, operators=(self.person.id,)),
            home_account=self.session.identity.account,
            home_region=self.session.region,
        )


class _NoAccounts(Accounts):
    """Decisions and pauses look at no account."""

    def observe(self, account: str, region: str, incident_id: str) -> Observer:
        raise AssertionError(f"nothing here looks at {account}, {region} for {incident_id}")

    def act(self, account: str, region: str, incident_id: str) -> Actor:
        raise AssertionError(f"nothing here acts on {account}, {region} for {incident_id}")


def find(
    stack: str | None, region: str | None, profile: str | None, *, reads_only: bool, tolerant: bool = False
) -> Found:
    """Find the deployment. Raises BadInput where none is named, Refused where the stack is not there.

    Raises SettingsError for settings that cannot be read, unless `tolerant`.
    """
    table = os.environ.get("UNTHROTTLE_INCIDENTS_TABLE", "")
    if not stack and not table:
        raise BadInput(f"No deployment is named. Nothing was sent. {_HOW}")
    session = Session(profile, region, reads_only=reads_only)
    if table:
        settings, wrong = _settings(from_environment, dict(os.environ), tolerant=tolerant)
        return Found(
            session=session,
            settings=settings,
            table=table,
            respond=os.environ.get("UNTHROTTLE_RESPOND_FUNCTION", ""),
            wrong_settings=wrong,
        )
    described = _describe(session, str(stack))
    outputs = {one["OutputKey"]: one.get("OutputValue", "") for one in described.get("Outputs", [])}
    parameters = {one["ParameterKey"]: one.get("ParameterValue", "") for one in described.get("Parameters", [])}
    missing = [name for name in ("IncidentsTableName", "RespondAlias") if not outputs.get(name)]
    if missing:
        raise Refused(
            f"The stack {stack} has no output {' or '.join(missing)}: it is not Unthrottle's, or its deployment did not "
            f"finish ({described.get('StackStatus', 'no status')}). Nothing was changed. {_HOW}",
            code="not-our-stack",
        )
    given = {name: parameters[name] for name in PARAMETERS if parameters.get(name)}
    settings, wrong = _settings(from_parameters, given, tolerant=tolerant)
    return Found(
        session=session,
        settings=settings,
        table=outputs["IncidentsTableName"],
        respond=outputs["RespondAlias"],
        stack=described,
        wrong_settings=wrong,
    )


def _settings(
    read: Callable[[Mapping[str, str]], Settings], given: Mapping[str, str], *, tolerant: bool
) -> tuple[Settings, str]:
    """Read settings; where that is wanted, without those that are wrong, and with what is wrong in words."""
    try:
        return read(given), ""
    except SettingsError as error:
        if not tolerant:
            raise
        wrong = str(error)
    usable: dict[str, str] = {}
    for name, value in given.items():
        try:
            read({name: value})
        except SettingsError:
            continue
        usable[name] = value
    return read(usable), wrong


def _describe(session: Session, stack: str) -> Mapping[str, Any]:
    try:
        with session.access.use("cloudformation", f"find the stack {stack}") as client:
            stacks = client.describe_stacks(StackName=stack).get("Stacks", [])
    except Refused as error:
        if error.code != "ValidationError":
            raise
        stacks = []
    if not stacks:
        raise Refused(
            f"There is no stack {stack} in account {session.identity.account}, {session.region}. Nothing was changed. Check "
            "the name, --region and --profile.",
            code="no-stack",
        )
    found: Mapping[str, Any] = stacks[0]
    return found
