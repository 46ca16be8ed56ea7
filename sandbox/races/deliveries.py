"""What if every alarm event comes twice, or two of them in the wrong order?

EventBridge delivers at least once and promises no order (EventBridge user guide, "Event delivery"; CloudWatch alarm events are
"best effort" in order). A rehearsal is played with its deliveries disturbed; what comes of it must be what came of it in order.
Knows no scenario.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

from sandbox.rehearsal import rehearse
from sandbox.rehearsal.delivery import Delivery
from sandbox.scenario import Scenario

Document = Mapping[str, Any]

NEAR = timedelta(minutes=10)
"""Events this close may overtake each other; the sweep has taken a later one's alarm up by itself (`unthrottle.reopen`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One event as it was put on the bus."""

    at: datetime
    event: Document


class _Deliveries:
    """Puts events on the bus in another way. `swap` is the number of the event that the next one overtakes."""

    def __init__(self, *, twice: bool = False, swap: int | None = None) -> None:
        self.sent: list[Sent] = []
        self._twice, self._swap = twice, swap
        self._held: Document | None = None
        self._put = Delivery.put

    def put(self, delivery: Delivery, event: Document, now: datetime) -> list[str]:
        number = len(self.sent)
        self.sent.append(Sent(at=now, event=event))
        if number == self._swap:
            self._held = event
            return []
        targets = self._put(delivery, event, now)
        if self._twice:
            self._put(delivery, event, now)
        if self._held is not None:
            held, self._held = self._held, None
            self._put(delivery, held, now)
        return targets


@contextmanager
def _disturbed(deliveries: _Deliveries) -> Iterator[None]:
    def put(delivery: Delivery, event: Document, now: datetime) -> list[str]:  # a method: a bound one would not get it
        return deliveries.put(delivery, event, now)

    with mock.patch.object(Delivery, "put", put):
        yield


def in_order(scenario: Scenario) -> tuple[dict[str, Any], Sequence[Sent]]:
    """Play it as it is. Returns the outcome and the events, in order."""
    deliveries = _Deliveries()
    with _disturbed(deliveries):
        return rehearse(scenario), tuple(deliveries.sent)


def doubled(scenario: Scenario) -> dict[str, Any]:
    """Play it with every event delivered twice."""
    with _disturbed(_Deliveries(twice=True)):
        return rehearse(scenario)


def swapped(scenario: Scenario, number: int) -> dict[str, Any]:
    """Play it with the event of this number delivered right after the next one."""
    with _disturbed(_Deliveries(swap=number)):
        return rehearse(scenario)


def near_pairs(events: Sequence[Sent]) -> tuple[int, ...]:
    """Number the events that are followed so closely that the next may overtake them; one of the two is an alarm."""
    pairs = enumerate(itertools.pairwise(events))
    return tuple(
        number for number, (one, other) in pairs if other.at - one.at <= NEAR and (_rings(one) or _rings(other))
    )


def _rings(sent: Sent) -> bool:
    return bool(sent.event.get("detail", {}).get("state", {}).get("value") == "ALARM")


def told(outcome: Document) -> dict[str, object]:
    """Say what came of it, as far as it must not depend on how events were delivered: incidents, changes, heads."""
    heads = [call for call in outcome["slack"] if call["method"] == "chat.postMessage" and not call.get("thread_ts")]
    return {
        "incidents": [
            (one["cause"], one["targets"], one["status"], one["outcome"], one["verdict"])
            for one in outcome["incidents"]
        ],
        "changes": sorted(str((call["call"], call["parameters"])) for call in outcome["mutations"]),
        "cancelled": [call["path"] for call in outcome["dagy_calls"] if call["method"] == "POST"],
        "heads": len(heads),
        "final": outcome["final"]["functions"],
    }
