"""How is a person reached when Slack may not do? An SNS topic, whose subscribers are the operator's choice.

Where it is wanted, the first page of an incident also opens an OpsItem in Systems Manager OpsCenter, with the evidence.
"""

import json
import logging

from unthrottle.adapters.access import Access
from unthrottle.errors import Refused, TryAgain

LONGEST_SUBJECT = 100
LARGEST_MESSAGE_BYTES = 262_144
"""SNS API, Publish: a subject is ASCII, at most 100 characters, on one line; a message at most 256 KiB."""
LONGEST_DESCRIPTION = 2048
"""SSM API, CreateOpsItem: a description has at most 2,048 characters (a title 1,024)."""

_CUT = "\n… cut here: the rest is in the incident's record."

logger = logging.getLogger(__name__)


class SnsPager:
    """The `Pager` port. Without a topic a page cannot be sent: that is logged as an error, and nothing is raised.

    With `ops_items` each page opens an OpsItem too; OpsCenter keeps one for an incident as long as it is open.
    """

    def __init__(self, access: Access, topic_arn: str, *, ops_items: bool = False) -> None:
        self._access = access
        self._topic_arn = topic_arn
        self._ops_items = ops_items

    def page(self, subject: str, text: str) -> None:
        """Publish. Raises TryAgain, NotFound, NotAllowed, Refused: for the topic; an OpsItem is no reason to page twice."""
        head, body = subject_line(subject), _cut(text) or subject or "(no text)"
        if not self._topic_arn:
            logger.error("page.not-sent", extra={"subject": head, "reason": "no escalation topic is configured"})
        else:
            with self._access.use("sns", f"page a person through {self._topic_arn}") as client:
                client.publish(TopicArn=self._topic_arn, Subject=head, Message=body)
        if self._ops_items:
            self._open_item(head, body)

    def _open_item(self, head: str, body: str) -> None:
        about = head.split(":", 1)[0]  # the incident's id, with which every page of an incident begins
        try:
            with self._access.use("ssm", f"open an OpsItem for {about}") as client:
                client.create_ops_item(
                    Title=head,
                    Description=_shortened(body),
                    Source="unthrottle",
                    Category="Availability",
                    Severity="2",
                    OperationalData={
                        # OpsCenter refuses a second item of the same key while the first is open.
                        "/aws/dedup": {
                            "Value": json.dumps({"dedupString": f"unthrottle {about}"}),
                            "Type": "SearchableString",
                        }
                    },
                )
        except (Refused, TryAgain) as error:
            if error.code == "OpsItemAlreadyExistsException":
                return
            logger.warning("ops-item.not-opened", extra={"subject": head, "error": str(error)})


def subject_line(text: str) -> str:
    """Make a subject SNS takes: printable ASCII on one line, beginning with a letter or digit, at most 100 long."""
    plain = text.replace("…", "...").encode("ascii", "replace").decode("ascii")
    line = "".join(character if character.isprintable() else " " for character in plain)
    line = " ".join(line.split())
    if not line[:1].isalnum():
        line = f"Unthrottle: {line}".strip(": ")
    return line if len(line) <= LONGEST_SUBJECT else line[: LONGEST_SUBJECT - 3] + "..."


def _cut(text: str) -> str:
    data = text.encode()
    if len(data) <= LARGEST_MESSAGE_BYTES:
        return text
    return data[: LARGEST_MESSAGE_BYTES - len(_CUT.encode())].decode(errors="ignore") + _CUT


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - len(_CUT)] + _CUT
