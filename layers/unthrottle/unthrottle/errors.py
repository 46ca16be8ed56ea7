"""The ways a piece of Unthrottle can fail, one class for each reaction the caller has.

Knows nothing of AWS, Slack or dagy: adapters translate foreign errors into these once, at the boundary.
"""

LONGEST_RETRY_S = 60
"""How long a step waits in all for a service that names its own pause: healing must not wait for a report."""


class UnthrottleError(Exception):
    """Base of every error Unthrottle raises on purpose. The text is written for the person who reads it.

    `code` is what programs tell errors apart by; it survives a step's failure (`StepFailed.code`).
    """

    code: str = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "code" not in cls.__dict__:
            cls.code = cls.__name__


class BadInput(UnthrottleError):
    """What was given cannot be understood. Nothing was changed; the text says what is allowed."""


class SettingsError(BadInput):
    """One or more settings are wrong. The text names every wrong one, not just the first."""


class TryAgain(UnthrottleError):
    """A service did not answer, or said it was busy. Raising is the retry: the step runs again later.

    `after_s` is how long the service wants to be left alone; 0 where it did not say.
    """

    def __init__(self, message: str = "", *, after_s: int = 0) -> None:
        super().__init__(message)
        self.after_s = after_s

    def pause_s(self, pauses_s: tuple[int, ...], attempt: int) -> int | None:
        """Return the seconds before the next attempt after the `attempt`-th; None: give up, it would take too long."""
        if attempt > len(pauses_s) or self.after_s * attempt > LONGEST_RETRY_S:
            return None
        return max(pauses_s[attempt - 1], self.after_s)


class MalformedAnswer(TryAgain):
    """A service's answer is not of the form it promises. After a change it is as good as lost: what was done is looked up."""


class Refused(UnthrottleError):
    """A service said no, for good. Recorded, reported, not retried.

    `code` is the service's own error code (for example ``InvalidParameterValueException``).
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class NotFound(Refused):
    """The table, function or mapping is not there (or not in this account and Region)."""


class NotAllowed(Refused):
    """The credentials do not permit it. In dry-run this is what asking for the Actor role answers."""


class Drifted(UnthrottleError):
    """The resource is no longer what was read. Someone else is working on it; it was left alone.

    `code` is the guardrail to report: ``changed-since``, or ``change-in-progress`` while AWS is still changing it.
    """

    def __init__(self, message: str, *, guardrail: str = "changed-since") -> None:
        super().__init__(message)
        self.code = guardrail


class StepFailed(UnthrottleError):
    """A workflow step failed after all its retries. `step` names it; the cause is chained or quoted."""

    def __init__(self, message: str, *, step: str, code: str) -> None:
        super().__init__(message)
        self.step = step
        self.code = code


class Busy(UnthrottleError):
    """Another open incident holds the resource. `holder` is its id."""

    def __init__(self, resource: str, holder: str) -> None:
        super().__init__(
            f"{holder} holds {resource}. Nothing was changed. Wait until that incident is closed, or revert it."
        )
        self.resource = resource
        self.holder = holder


class OverBudget(UnthrottleError):
    """Other incidents have spent the action budget since this one was judged."""

    def __init__(self, spent: int, budget: int) -> None:
        super().__init__(
            f"{spent} actions in the last hour use up the budget of {budget}, the last of them just now. Nothing was "
            "changed. Many sick at once means that the cause is elsewhere; a person should look."
        )


class Conflict(UnthrottleError):
    """The record was written by someone else since it was read."""
