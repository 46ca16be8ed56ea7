"""Which keys may a scenario file hold, of which type, and with which defaults?

Pydantic models for scenario format version 1, key by key. What only several keys together can get wrong is judged in
`sandbox.scenario.checks`; files are read in `sandbox.scenario.load`. Unset is None and never 0.
"""

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
)

TriggerType = Literal[
    "eventbridge", "s3", "sns", "api", "url", "step-functions", "sqs", "kinesis", "dynamodb-stream", "msk", "none"
]
Billing = Literal["provisioned", "on-demand"]
InsightsMode = Literal["off", "accessed-and-throttled", "throttled"]
DagyApi = Literal["up", "down", "slow", "401", "409", "404"]
MemberState = Literal["ready", "not-set-up", "without-roles", "suspended"]
SlackState = Literal["up", "down", "429", "token-revoked", "invalid-blocks-charts"]

NAME_PATTERN = re.compile(r"\{i(?::0(\d)d)?\}")
"""Where a function name may hold its number: {i} or {i:03d}."""

MAX_EVENT_AGE_S = 21_600
"""Lambda keeps an asynchronous event for at most six hours (AWS: "Error handling for asynchronous invocation")."""


ACCOUNT_ID = r"^\d{12}$"
REGION = r"^[a-z]{2}(-[a-z]+)+-\d$"
ACTION = r"^[a-z0-9-]+:[A-Z*][A-Za-z*]*$"
BACKFILL_ID = r"^[A-Za-z0-9_-]{1,64}$"
CALL = r"^(?:[a-z0-9-]+\.[A-Z][A-Za-z0-9]+|slack\.[a-z]+(?:\.[A-Za-z]+)+)$"
ERROR = (
    r"^(?:[A-Z][A-Za-z0-9.]+|(?:timeout|crash)-(?:before|after)|refused|slow|malformed|truncated"
    r"|[45][0-9]{2}|[a-z]+(?:_[a-z]+)*)$"
)
ALWAYS = 1_000_000_000
"""Times that nothing in a rehearsal outlives."""

PATTERNS: dict[str, str] = {
    ACCOUNT_ID: "twelve digits in quotes",
    REGION: "a Region such as eu-west-1",
    ACTION: "service:Action as IAM writes it, such as lambda:PutFunctionConcurrency",
    BACKFILL_ID: "1 to 64 of letters, digits, - and _",
    CALL: "service.Operation, such as lambda.PutFunctionConcurrency; or slack.chat.postMessage, dagy.GET, dagy.POST",
    ERROR: "an AWS error code such as TooManyRequestsException, or timeout- or crash- with before or after, refused, "
    "slow, malformed, truncated; for slack and dagy also an HTTP status such as 503, for slack its error codes",
}
"""What each pattern means to the file's author."""


def _moment(value: object) -> object:
    """Refuse what pydantic would read as a timestamp: a bare number or a day."""
    if isinstance(value, datetime | str):
        return value
    found = "a day without a time" if isinstance(value, date) else "no moment"
    raise ValueError(f"this is {found}; write for example 2026-08-24T04:00:00Z")


def _word(value: object) -> object:
    """Let 401 and 429 be written without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _tag_value(value: object) -> object:
    """Tag values are text in AWS; YAML reads `true` and `7` as something else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _word(value)


def _times(value: object) -> object:
    """Read `always`."""
    return ALWAYS if value == "always" else value


def _slack_steps(value: object) -> object:
    """One word stands for one step from minute 0."""
    return {"steps": [[0, value]]} if isinstance(value, str | int) and not isinstance(value, bool) else value


Count = Annotated[StrictInt, Field(ge=0)]
Positive = Annotated[StrictInt, Field(ge=1)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Text = Annotated[StrictStr, StringConstraints(min_length=1)]
Tags = dict[StrictStr, Annotated[StrictStr, BeforeValidator(_tag_value)]]
Steps = list[tuple[Count, Amount]]
"""[minute, amount wanted]; a step lasts until the next."""


class Part(BaseModel):
    """A mapping of the file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Account(Part):
    """The account and its Lambda limits."""

    id: Annotated[StrictStr, StringConstraints(pattern=ACCOUNT_ID)] = "111122223333"
    region: Annotated[StrictStr, StringConstraints(pattern=REGION)] = "eu-west-1"
    concurrency_limit: Positive = 1000
    unreserved_floor: Count = 100
    change_calendar: Literal["open", "closed"] = "open"


class Trigger(Part):
    """What starts a function. Which of the keys a type takes is checked in `checks`."""

    type: TriggerType = "none"
    maximum_concurrency: Annotated[StrictInt, Field(ge=2, le=1000)] | None = None
    provisioned_pollers: Annotated[StrictInt, Field(ge=2, le=10_000)] | None = None
    max_receive_count: Annotated[StrictInt, Field(ge=1, le=1000)] | None = None
    shards: Positive | None = None
    parallelization_factor: Annotated[StrictInt, Field(ge=1, le=10)] | None = None
    partitions: Positive | None = None


class AsyncConfig(Part):
    """How long an asynchronous event may wait, and whether it has somewhere to go then."""

    max_event_age_s: Annotated[StrictInt, Field(ge=60, le=MAX_EVENT_AGE_S)] | None = None
    on_failure: StrictBool = False


class FunctionSpec(Part):
    """One function, or `count` functions whose name holds {i:03d}."""

    name: Text
    count: Annotated[StrictInt, Field(ge=1, le=20_000)] = 1
    tags: Tags = {}
    trigger: Trigger = Trigger()
    duration_ms: Annotated[float, Field(strict=True, gt=0, le=900_000, allow_inf_nan=False)] = 1000
    demand: Steps = [(0, 0.0)]
    reserved: Count | None = None
    provisioned: Count = 0
    timeout_s: Annotated[StrictInt, Field(ge=1, le=900)] = 900
    async_: AsyncConfig | None = Field(default=None, alias="async")
    managed_instances: StrictBool = False

    def expanded(self) -> list["FunctionSpec"]:
        """Name each function of a pattern, counting from 1; a plain name stands for itself."""
        if NAME_PATTERN.search(self.name) is None:
            return [self]
        return [self.model_copy(update={"name": _numbered(self.name, i), "count": 1}) for i in range(1, self.count + 1)]


def _numbered(pattern: str, i: int) -> str:
    return NAME_PATTERN.sub(lambda match: f"{i:0{match[1] or 1}d}", pattern)


class ScalingBounds(Part):
    """One Application Auto Scaling target with its target-tracking policy."""

    min: Positive
    max: Positive
    target: Annotated[float, Field(strict=True, ge=20, le=90)] = 70


class Scaling(Part):
    """Autoscaling of a table's reads, writes or both."""

    read: ScalingBounds | None = None
    write: ScalingBounds | None = None


class Ceiling(Part):
    """A maximum the owner set for on-demand, units per second."""

    read: Positive | None = None
    write: Positive | None = None


class TableDemand(Part):
    """Units per second wanted, without backfills. `replicated` are writes of other Regions, on top of `write`."""

    write: Steps = [(0, 0.0)]
    read: Steps = [(0, 0.0)]
    replicated: Steps = [(0, 0.0)]


class BulkOperation(Part):
    """A bulk load of DynamoDB's own that writes the table from `start` up to `end`; `max_write` is its own limit."""

    start: Count = 0
    end: Positive | None = None
    writes: Amount
    max_write: Annotated[StrictInt, Field(ge=1024)] | None = None


class IndexDemand(Part):
    """Units per second read from an index; its writes come from the table."""

    read: Steps = [(0, 0.0)]


class IndexSpec(Part):
    """One global secondary index. `share`: index writes per table write."""

    name: Text
    read: Positive | None = None
    write: Positive | None = None
    share: Amount = 1.0
    keys: Positive = 1000
    hot_key_share: Share = 0.0
    contributor_insights: InsightsMode = "off"
    autoscaling: Scaling | None = None
    demand: IndexDemand = IndexDemand()


class TableSpec(Part):
    """One DynamoDB table, its load and its indexes."""

    name: Text
    billing: Billing = "provisioned"
    billing_summary: Literal["absent", "present"] | None = None
    read: Positive | None = None
    write: Positive | None = None
    autoscaling: Scaling | None = None
    max_on_demand: Ceiling | None = None
    switches_last_24h: Annotated[StrictInt, Field(ge=0, le=4)] = 0
    switch_takes_minutes: Count = 3
    replicas: list[Text] = []
    tags: Tags = {}
    keys: Positive = 1000
    hot_key_share: Share = 0.0
    contributor_insights: InsightsMode = "off"
    demand: TableDemand = TableDemand()
    bulk_operations: list[BulkOperation] = []
    indexes: list[IndexSpec] = []

    @property
    def summary_present(self) -> bool:
        """Whether DescribeTable carries BillingModeSummary; AWS omits it on a table that never was on-demand."""
        if self.billing_summary is None:
            return self.billing == "on-demand" or self.switches_last_24h > 0
        return self.billing_summary == "present"


class BackfillSpec(Part):
    """A backfill of dagy: runs from `start` up to `end` and adds writes to tables meanwhile."""

    id: Annotated[StrictStr, StringConstraints(pattern=BACKFILL_ID)]
    flow: Text = "backfill"
    environment: Text = "develop"
    requested_by: Text = "unknown"
    start: Count = 0
    end: Positive | None = None
    runs_total: Count = 0
    dispatch_rate_per_minute: Amount = 0
    writes: dict[StrictStr, Amount] = {}


class Dagy(Part):
    """The data-orchestration platform beside the account."""

    backfills: list[BackfillSpec] = []
    api: Annotated[DagyApi, BeforeValidator(_word)] = "up"


class Person(Part):
    """One thing a person does: at a minute, or so many minutes after something happened."""

    when: Literal["approval-requested", "acted", "recovered"] | None = None
    after_minutes: Count | None = None
    at: Count | None = None
    do: Literal["approve", "reject", "snooze", "revert", "keep"] | None = None
    say: Text | None = None
    user: Text = "U0OPS"


class OutsideChange(Part):
    """What someone else sets on a function or a table. `reserved: null` removes the reservation; `index` makes a new one."""

    function: Text | None = None
    reserved: Count | None = None
    table: Text | None = None
    billing: Billing | None = None
    read: Positive | None = None
    write: Positive | None = None
    index: Text | None = None


class Outside(Part):
    """A change that someone else makes at a minute."""

    at: Count
    set: OutsideChange


class ExtraEvent(Part):
    """An event put on the bus as it is. After loading, `event` always holds it."""

    at: Count
    file: Text | None = None
    event: dict[StrictStr, object] | None = None


class RawMetric(Part):
    """A raw series that replaces what the model would publish; null is a missing datapoint."""

    namespace: Text
    name: Text
    dimensions: dict[StrictStr, StrictStr] = {}
    start: StrictInt = 0
    period_s: Annotated[StrictInt, Field(ge=60, multiple_of=60)] = 60
    stat: Literal["Sum", "Average", "Minimum", "Maximum", "SampleCount"] = "Sum"
    values: list[Annotated[float, Field(strict=True, allow_inf_nan=False)] | None]


class Slack(Part):
    """How Slack behaves from which minute on."""

    steps: list[tuple[Count, Annotated[SlackState, BeforeValidator(_word)]]] = [(0, "up")]

    def at(self, minute: int) -> SlackState:
        """Say how Slack behaves in *minute*; before the first step it is up."""
        state: SlackState = "up"
        for start, value in self.steps:
            if start <= minute:
                state = value
        return state


class MemberStates(Part):
    """How a member account is from which minute on."""

    steps: list[tuple[Count, MemberState]] = [(0, "ready")]

    def at(self, minute: int) -> MemberState:
        """Say how the account is in *minute*; before the first step it is ready."""
        return next((value for start, value in reversed(self.steps) if start <= minute), "ready")


class Fault(Part):
    """The nth call of that name fails, and the next ones up to `times`, which may be `always`."""

    call: Annotated[StrictStr, StringConstraints(pattern=CALL)]
    nth: Positive = 1
    times: Annotated[Positive, BeforeValidator(_times)] = 1
    error: Annotated[StrictStr, StringConstraints(pattern=ERROR), BeforeValidator(_word)]

    @property
    def is_of_aws(self) -> bool:
        """Whether it strikes a call to AWS, and not one to Slack or dagy."""
        return self.call.partition(".")[0] not in {"slack", "dagy"}


class Member(Part):
    """Another account, or another Region, that the bot looks after: `member.yaml` deployed there, and what happens in it.

    `state` says from which minute on it is ready; not-set-up (no member.yaml); without-roles (deployed, but not in
    RolesRegion, so that it forwards alarms and cannot be entered); suspended (AWS closed it: nobody enters, nothing comes).
    `denies` are actions that its organisation's service control policy denies. `mode` is member.yaml's own; left out it is
    the bot's.
    """

    account: Account
    state: Annotated[MemberStates, BeforeValidator(_slack_steps)] = MemberStates()
    mode: Literal["dry-run", "approve", "auto"] | None = None
    denies: list[Annotated[StrictStr, StringConstraints(pattern=ACTION)]] = []
    functions: list[FunctionSpec] = []
    tables: list[TableSpec] = []
    outside: list[Outside] = []
    alarms: Literal["default", "none"] = "default"
    events: list[ExtraEvent] = []
    metrics: list[RawMetric] = []

    @property
    def place(self) -> tuple[str, str]:
        """Its account id and Region."""
        return self.account.id, self.account.region


class Scenario(Part):
    """A whole scenario. Its order of keys is that of the format's description."""

    version: Literal[1]
    name: Text
    start: Annotated[AwareDatetime, BeforeValidator(_moment)] = datetime(2026, 8, 24, 4, 0, tzinfo=UTC)
    minutes: Annotated[StrictInt, Field(ge=1, le=20_160)]
    settings: dict[StrictStr, object] = {}
    account: Account = Account()
    functions: list[FunctionSpec] = []
    tables: list[TableSpec] = []
    dagy: Dagy = Dagy()
    people: list[Person] = []
    outside: list[Outside] = []
    alarms: Literal["default", "none"] = "default"
    events: list[ExtraEvent] = []
    metrics: list[RawMetric] = []
    metric_delay_minutes: Annotated[StrictInt, Field(ge=0, le=60)] = 2
    slack: Annotated[Slack, BeforeValidator(_slack_steps)] = Slack()
    faults: list[Fault] = []
    members: list[Member] = []
    expect: dict[StrictStr, object] = {}

    _file: Path = PrivateAttr(default=Path("-"))

    @property
    def file(self) -> Path:
        """The file it was loaded from."""
        return self._file

    def of_member(self, member: Member) -> "Scenario":
        """What happens in a member account, as a scenario of its own. dagy writes to tables of the bot's account only."""
        part = {name: getattr(member, name) for name in ("account", "functions", "tables", "outside", "alarms")}
        part |= {"events": member.events, "metrics": member.metrics, "dagy": Dagy(), "members": []}
        return self.model_copy(update=part)

    def expanded_functions(self) -> list[FunctionSpec]:
        """Name every function of the account, patterns spelled out, in the file's order."""
        return [function for spec in self.functions for function in spec.expanded()]
