"""What is the secret now? Secrets Manager, asked at most every five minutes, so that a rotated secret is picked up.

A secret's text never gets into an error, a log line or a repr.
"""

import json
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from unthrottle.adapters.access import Access
from unthrottle.adapters.clock import SystemClock
from unthrottle.errors import BadInput

if TYPE_CHECKING:
    from unthrottle.ports import Clock

KEPT_FOR = timedelta(minutes=5)


class AwsSecrets:
    """Reads secrets by ARN, as plain text or as fields of a JSON object."""

    def __init__(self, access: Access, clock: "Clock | None" = None) -> None:
        self._access = access
        self._clock = clock or SystemClock()
        self._kept: dict[str, tuple[datetime, str]] = {}
        self._lock = threading.Lock()

    def text(self, arn: str) -> str:
        """Return the whole secret. Raises TryAgain, NotFound, NotAllowed, Refused; BadInput for a binary one."""
        now = self._clock.now()
        with self._lock:
            kept = self._kept.get(arn)
            if kept is not None and now - kept[0] < KEPT_FOR:
                return kept[1]
            with self._access.use("secretsmanager", f"read the secret {arn}") as client:
                answer = client.get_secret_value(SecretId=arn)
            value = answer.get("SecretString")
            if value is None:
                raise BadInput(f"The secret {arn} is binary. Nothing was changed. Store it as text or as JSON.")
            self._kept[arn] = (now, value)
            return value

    def field(self, arn: str, name: str, *, default: str | None = None) -> str:
        """Return one field of a secret that is a JSON object; `default` where the field is missing.

        Raises BadInput when it is no object, or the field is missing and has no default, or is not a string.
        """
        text = self.text(arn)
        try:
            fields = json.loads(text)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise BadInput(f"The secret {arn} is not a JSON object. Nothing was changed. It needs the field {name}.")
        value = fields.get(name, default)
        if not isinstance(value, str):
            raise BadInput(f"The secret {arn} has no text field {name}. Nothing was changed. Add it to the secret.")
        return value

    def token(self, arn: str, name: str = "token") -> str:
        """Return a token stored as plain text, or as the field `name` of a JSON object."""
        text = self.text(arn)
        return self.field(arn, name) if text.lstrip().startswith("{") else text.strip()

    def forget(self) -> None:
        """Ask Secrets Manager again at the next use, for instance after a token was refused."""
        with self._lock:
            self._kept.clear()
