"""Does one partition of an index or of the table take more than a partition can serve?

A partition serves 1,000 write and 3,000 read units a second in both billing modes (AWS DynamoDB guide, key range
throughput exceeded), so capacity never helps. Contributor Insights names the keys where it is enabled; it does not
count write throttling that an index causes, so an empty list there is no proof of even access.
"""

import math
from datetime import timedelta

from unthrottle.causes import checks
from unthrottle.causes.opinion import Opinion
from unthrottle.causes.table_view import SHARE, TableView, Throttled
from unthrottle.causes.wording import masked, number, percent
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding, Rejected
from unthrottle.evidence.table import HotKeys, Throttle

HOT_SHARE = 0.20
"""A key with more than this part of the load is hot by itself."""

HOT_RATIO = 3.0
"""A key this many times as active as the second is hot …"""

HOT_RATIO_SHARE = 0.05
"""… if it has at least this part of the load: among thousands of keys, three times next to nothing is nothing."""

KEYS_OF = timedelta(minutes=30)
"""Over how long Contributor Insights was asked."""

PARTITION = "A partition serves at most 1,000 write and 3,000 read units a second, in both billing modes"


def skewed(keys: HotKeys) -> bool:
    """Say whether the most active key stands out. In an empty list none does."""
    shares = sorted((key.share for key in keys.keys), reverse=True)
    if not shares:
        return False
    second = shares[1] if len(shares) > 1 else 0.0
    stands_alone = shares[0] > HOT_RATIO * second or math.isclose(shares[0], HOT_RATIO * second)
    return shares[0] > HOT_SHARE or (shares[0] >= HOT_RATIO_SHARE and stands_alone)


def keys_of(view: TableView, index: str | None) -> HotKeys | None:
    """Return what Contributor Insights saw of a unit; None where it is not enabled."""
    return next((item for item in view.evidence.hot_keys if item.index == index), None)


def hot_index(view: TableView) -> Opinion:
    """High: nothing but key-range throttles on the index, or its hot key is known. Medium: mixed with other reasons."""
    found = [item for item in view.throttled if item.reason is Throttle.KEY_RANGE and item.index is not None]
    if not found:
        return None
    weighty = _weighty(view, found)
    if not weighty:
        return _side_effect(view, Cause.HOT_INDEX, found)
    worst = weighty[0]
    keys = keys_of(view, worst.index)
    pure = all(item.reason is Throttle.KEY_RANGE for item in view.throttled)
    blind = []
    if keys is None:
        blind.append(f"Contributor Insights is not enabled on index {worst.index}: its keys are unknown.")
    elif not keys.keys:
        blind.append(
            f"Contributor Insights names no keys of index {worst.index}: its throttled keys leave out writes that an index "
            "throttles, and the most accessed keys are not recorded."
        )
    return Diagnosis(
        cause=Cause.HOT_INDEX,
        confidence=Confidence.HIGH if pure or (keys is not None and skewed(keys)) else Confidence.MEDIUM,
        victims=(view.table,),
        index=worst.index,
        findings=(*_findings(view, weighty, keys), *_besides(view, weighty)),
        gaps=tuple(blind),
    )


def hot_key(view: TableView) -> Opinion:
    """High: the hot key is known. Medium: key-range throttles, keys unknown. Low: Contributor Insights sees even
    access, so that the hot partition moves (ordered writes, a scan) or the evidence contradicts itself."""
    found = [item for item in view.throttled if item.reason is Throttle.KEY_RANGE and item.index is None]
    if not found:
        return None
    weighty = _weighty(view, found)
    if not weighty:
        return _side_effect(view, Cause.HOT_KEY, found)
    keys = keys_of(view, None)
    gaps: list[str] = []
    if keys is None or not keys.keys:
        confidence = Confidence.MEDIUM
        gaps.append("Contributor Insights names no keys of the table: which key is hot is unknown.")
    else:
        confidence = Confidence.HIGH if skewed(keys) else Confidence.LOW
    return Diagnosis(
        cause=Cause.HOT_KEY,
        confidence=confidence,
        victims=(view.table,),
        findings=(*_findings(view, weighty, keys), *_besides(view, weighty)),
        gaps=tuple(gaps),
    )


def _weighty(view: TableView, found: list[Throttled]) -> list[Throttled]:
    """Leave out what is a side effect on its own unit, or next to nothing beside the rest."""
    return [item for item in found if _share_of_unit(view, item) >= SHARE and item.events >= 0.05 * view.total]


def _share_of_unit(view: TableView, item: Throttled) -> float:
    whole = sum(other.events for other in view.throttled if (other.index, other.way) == (item.index, item.way))
    return item.events / whole


def _side_effect(view: TableView, cause: Cause, found: list[Throttled]) -> Rejected:
    events = sum(item.events for item in found)
    because = (
        f"Only {number(events)} of {number(view.total)} throttles are of one key range ({percent(events, view.total)})."
    )
    return Rejected(cause=cause, because=because)


def _findings(view: TableView, found: list[Throttled], keys: HotKeys | None) -> tuple[Finding, ...]:
    findings = [view.finding(item) for item in found]
    command = checks.contributor_insights(view.table, found[0].index)
    text = f"{PARTITION}; more capacity or another mode would not help."
    findings.append(Finding(text=text, check=checks.describe_table(view.table)))
    if keys is not None and keys.keys:
        top = sorted(keys.keys, key=lambda key: -key.share)[:3]
        shown = ", ".join(f"{masked(key.key)} {percent(key.share, 1)}" for key in top)
        verdict = (
            "one key stands out" if skewed(keys) else "no key repeats, so the hot partition moves or keys are ordered"
        )
        if keys.rule is not None:
            command = checks.insight_report(keys.rule, view.evidence.end - KEYS_OF, view.evidence.end)
        findings.append(Finding(text=f"Most active keys ({keys.source}): {shown}; {verdict}.", check=command))
    return tuple(findings)


def _besides(view: TableView, found: list[Throttled]) -> tuple[Finding, ...]:
    """Name what else is throttled, so that a person who mends the keys knows what comes next."""
    rest = [item for item in view.throttled if item not in found]
    return tuple(Finding(text="Besides: " + (seen := view.finding(item)).text, check=seen.check) for item in rest)
