"""Are changes frozen now? Asks an SSM Change Calendar."""

from unthrottle.adapters.access import Access


class AwsCalendar:
    """The `Calendar` port."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def is_frozen(self, calendar_arn: str) -> bool:
        """Say whether the calendar is CLOSED now. Raises TryAgain, NotFound, NotAllowed, Refused."""
        with self._access.use("ssm", f"read the change calendar {calendar_arn}") as client:
            answer = client.get_calendar_state(CalendarNames=[calendar_arn])
        return answer["State"] == "CLOSED"
