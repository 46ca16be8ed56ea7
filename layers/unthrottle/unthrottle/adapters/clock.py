"""What time is it? The only module that reads the machine's clock."""

from datetime import UTC, datetime


class SystemClock:
    """The `Clock` port."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)
