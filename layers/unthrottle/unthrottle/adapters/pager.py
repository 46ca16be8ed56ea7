"""How is a person reached when Slack may not do? An SNS topic, whose subscribers are the operator's choice."""

import logging

from unthrottle.adapters.access import Access

LONGEST_SUBJECT = 100
LARGEST_MESSAGE_BYTES = 262_144
"""SNS API, Publish: a subject is ASCII, at most 100 characters, on one line; a message at most 256 KiB."""

_CUT = "\n… cut here: the rest is in the incident's record."

logger = logging.getLogger(__name__)


class SnsPager:
    """The `Pager` port. Without a topic a page cannot be sent: that is logged as an error, and nothing is raised."""

    def __init__(self, access: Access, topic_arn: str) -> None:
        self._access = access
        self._topic_arn = topic_arn

    def page(self, subject: str, text: str) -> None:
        """Publish. Raises TryAgain, NotFound, NotAllowed, Refused."""
        head, body = subject_line(subject), _cut(text) or subject or "(no text)"
        if not self._topic_arn:
            logger.error("page.not-sent", extra={"subject": head, "reason": "no escalation topic is configured"})
            return
        with self._access.use("sns", f"page a person through {self._topic_arn}") as client:
            client.publish(TopicArn=self._topic_arn, Subject=head, Message=body)


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
