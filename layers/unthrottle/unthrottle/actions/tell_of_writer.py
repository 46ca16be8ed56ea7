"""Tell a person of a runaway writer that is no backfill, and what stops it. Nothing is changed: no `apply`, no way back.

Whether it may be stopped, its owner knows; capacity would only feed it.
"""

import shlex

from unthrottle.diagnosis import Writer, WriterKind
from unthrottle.plan import Action, Plan, Watch

_WRITERS: dict[WriterKind, tuple[str, str]] = {
    WriterKind.OTHER_REGION: (
        "A writer in another Region of the global table ({name})",
        (
            "Find the writer in {name} and slow it there: every Region takes the same writes. Compare "
            "ConsumedWriteCapacityUnits with Source=Customer in each Region."
        ),
    ),
    WriterKind.BULK_OPERATION: (
        "A bulk operation of DynamoDB ({name})",
        (
            "Ask its owner. This stops it, and what it has written stays: aws dynamodb cancel-bulk-operation "
            "--bulk-operation-arn {quoted}. Start it again with a lower MaxWriteRequestUnits (at least 1,024)."
        ),
    ),
    WriterKind.SCHEDULER: (
        "dagy's scheduler, by the writes of {name},",
        (
            "In dagy, pause the schedules that became due together or lower their rate limit, then spread them over the hour. "
            "There is no backfill to cancel."
        ),
    ),
}
"""Who it is, and what a person does about it, by the kind of writer."""


def plan(writer: Writer, table: str, watch: Watch) -> Plan:
    """Page a person with the writer's name and the remedy for its kind."""
    who, remedy = _WRITERS[writer.kind]
    return Plan(
        action=Action.ESCALATE,
        why=f"{who.format(name=writer.name)} explains the jump in writes to {table}; more capacity would only feed it, and "
        "Unthrottle does not stop it by itself.",
        follow_up=remedy.format(name=writer.name, quoted=shlex.quote(writer.name)),
        watch=watch,
    )
