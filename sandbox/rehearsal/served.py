"""In how many minutes was anything but a capped target throttled, in one account and Region?"""

from collections.abc import Iterable

from sandbox.aws.calls import AFTER, Call
from sandbox.model.world import TickFacts
from sandbox.scenario.format import Scenario


class Served:
    """Counts for one account. A function that the bot capped is as it should be, and no longer counts."""

    def __init__(self, scenario: Scenario) -> None:
        self.throttled = {"lambda": 0, "dynamodb": 0}
        self._place = (scenario.account.id, scenario.account.region)
        self._reserved = {one.name: one.reserved for one in scenario.expanded_functions()}
        self._capped: set[str] = set()

    def count(self, facts: TickFacts, calls: Iterable[Call]) -> None:
        """Count one minute. *calls* are those made since the last one."""
        for call in calls:
            if call.role == "actor" and call.result in {"ok", *AFTER} and (call.account, call.region) == self._place:
                self._follow(call)
        if any(name not in self._capped for name in facts.throttled_functions):
            self.throttled["lambda"] += 1
        if facts.throttled_tables:
            self.throttled["dynamodb"] += 1

    def _follow(self, call: Call) -> None:
        function = str(call.parameters.get("FunctionName", "")).rsplit(":", 1)[-1]
        if call.operation == "PutFunctionConcurrency":
            before = self._reserved.get(function)
            given_back = function in self._reserved and before == call.parameters.get("ReservedConcurrentExecutions")
            (self._capped.discard if given_back else self._capped.add)(function)
        elif call.operation == "DeleteFunctionConcurrency":
            self._capped.discard(function)
