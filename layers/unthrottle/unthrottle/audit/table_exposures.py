"""Where are tables and their indexes exposed? Pure: an inventory in, exposures out."""

from collections.abc import Iterator, Sequence

from unthrottle.audit import fixes
from unthrottle.audit.exposures import Exposure, Fix, Kind, Severity, owner_of
from unthrottle.audit.inventory import Inventory, TableFacts
from unthrottle.causes import checks
from unthrottle.causes.wording import masked
from unthrottle.evidence.table import Billing, Capacity, ScalingTarget, Way

NEAR = 0.7
"""Share of the capacity above which a busy hour leaves no room for a peak within it; autoscaling's usual target."""
FEW_KEYS_SHARE = 0.5
ROOM = 1.5


def table_exposures(inventory: Inventory, owner_tags: Sequence[str]) -> Iterator[Exposure]:
    """Judge every table of an inventory."""
    for table in inventory.tables:
        owner = owner_of(table.tags, owner_tags)
        if table.settings.billing is Billing.PROVISIONED:
            yield from _provisioned(table, owner)
        else:
            yield from _on_demand(table, owner)
        yield from _keys(table, owner)
        if table.recovery is False:
            yield Exposure(
                kind=Kind.NO_POINT_IN_TIME_RECOVERY,
                severity=Severity.LOW,
                resource=table.settings.name,
                title="Point-in-time recovery is off",
                risk="What a runaway writer overwrites or deletes cannot be brought back.",
                evidence=("DescribeContinuousBackups says DISABLED.",),
                fix=fixes.recovery(table.settings.name),
                owner=owner,
            )


def _units(table: TableFacts) -> Iterator[tuple[str | None, Capacity]]:
    yield None, table.settings.capacity
    for index in table.settings.indexes:
        yield index.name, index.capacity


def _of(capacity: Capacity, way: Way) -> int:
    return capacity.read if way is Way.READ else capacity.write


def _target(table: TableFacts, index: str | None, way: Way) -> ScalingTarget | None:
    return next((one for one in table.scaling if one.index == index and one.way is way), None)


def _name(table: TableFacts, index: str | None) -> str:
    return table.settings.name if index is None else f"{table.settings.name}/{index}"


def _more(table: TableFacts, index: str | None, way: Way, wanted: int) -> Fix:
    capacity = next(one for name, one in _units(table) if name == index)
    read = wanted if way is Way.READ else capacity.read
    write = wanted if way is Way.WRITE else capacity.write
    return fixes.raise_capacity(table.settings.name, index, read, write)


def _provisioned(table: TableFacts, owner: str | None) -> Iterator[Exposure]:
    described = (checks.describe_table(table.settings.name),)
    for index, capacity in _units(table):
        for way in Way:
            has, target = _of(capacity, way), _target(table, index, way)
            bound = max(has, target.maximum) if target else has
            busy, refused = table.busiest.get((index, way)), table.throttles.get((index, way), 0.0)
            used = busy.value if busy else 0.0
            if refused > 0 or (bound and used >= NEAR * bound):
                seen = [
                    f"{has:,} {way.value} units provisioned" + (f", autoscaled up to {bound:,}" if target else "") + "."
                ]
                if busy:
                    seen.append(
                        f"The busiest hour took {used:,.1f} units/s in the mean ({100 * used / bound if bound else 0:.0f} % of "
                        f"that), at {busy.at:%Y-%m-%d %H:%M} UTC."
                    )
                seen.append(f"{refused:,.0f} {way.value} throttle events in 14 days.")
                yield Exposure(
                    kind=Kind.TABLE_NEAR_CAPACITY,
                    severity=Severity.HIGH if refused > 0 else Severity.MEDIUM,
                    resource=_name(table, index),
                    title=f"Its {way.value} capacity "
                    + ("was not enough" if refused > 0 else f"is {100 * used / bound:.0f} % used for an hour"),
                    risk="Requests beyond the capacity are throttled"
                    + (", and a full index throttles the table's own writes." if index and way is Way.WRITE else "."),
                    evidence=tuple(seen),
                    fix=_more(table, index, way, max(has + 1, round(max(used, has) * ROOM))),
                    owner=owner,
                    weight=refused or used / max(1, bound),
                    checks=described,
                )  # fmt: skip
            if target is not None and has >= target.maximum:
                yield Exposure(
                    kind=Kind.AUTOSCALING_AT_MAXIMUM,
                    severity=Severity.HIGH if refused > 0 or used >= NEAR * has else Severity.LOW,
                    resource=_name(table, index),
                    title=f"Autoscaling of its {way.value} capacity stands at its maximum of {target.maximum:,}",
                    risk="More load is throttled: autoscaling has nowhere to go.",
                    evidence=(f"{has:,} units provisioned, the scalable target allows {target.minimum:,}-{target.maximum:,}.",),
                    fix=fixes.autoscale(table.settings.name, index, way, target.minimum, target.maximum * 2),
                    owner=owner,
                    weight=float(has),
                    checks=(checks.scaling_activities(table.settings.name, index),),
                )  # fmt: skip
            if target is None and busy is not None and used > 0:
                yield Exposure(
                    kind=Kind.NO_AUTOSCALING,
                    severity=Severity.MEDIUM if bound and used >= NEAR / 2 * bound else Severity.LOW,
                    resource=_name(table, index),
                    title=f"Nothing raises its {way.value} capacity of {has:,}",
                    risk="A peak above the provisioned units is throttled once five minutes of unused capacity are spent.",
                    evidence=(f"No scalable target for it; the busiest hour took {used:,.1f} units/s in the mean.",),
                    fix=fixes.autoscale(table.settings.name, index, way, max(1, has), max(10, has * 4)),
                    owner=owner,
                    weight=used / max(1, has),
                    checks=described,
                )
        if index is not None and capacity.write < table.settings.capacity.write:
            yield _short_index(table, index, capacity, owner)


def _short_index(table: TableFacts, index: str, capacity: Capacity, owner: str | None) -> Exposure:
    own, whole = table.busiest.get((index, Way.WRITE)), table.settings.capacity.write
    evidence = [f"The index has {capacity.write:,} write units, its table {whole:,}."]
    if own:
        evidence.append(f"The index took {own.value:,.1f} write units/s in its busiest hour.")
    refused = table.throttles.get((index, Way.WRITE), 0.0)
    tight = refused > 0 or (own is not None and own.value >= NEAR * capacity.write)
    return Exposure(
        kind=Kind.INDEX_SMALLER_THAN_TABLE,
        severity=Severity.HIGH if tight else Severity.MEDIUM,
        resource=_name(table, index),
        title=f"It can take {capacity.write:,} writes a second, its table {whole:,}",
        risk="When the index cannot follow, DynamoDB throttles the writes of the table, whose own metrics look healthy.",
        evidence=tuple(evidence),
        fix=fixes.raise_capacity(table.settings.name, index, capacity.read, whole),
        owner=owner,
        weight=whole / max(1, capacity.write),
        checks=(checks.describe_table(table.settings.name),),
    )


def _on_demand(table: TableFacts, owner: str | None) -> Iterator[Exposure]:
    settings = table.settings
    for (index, way), refused in table.throttles.items():
        if index is None and _ceiling(table, way) is not None:
            continue  # told with its own maximum
        yield Exposure(
            kind=Kind.TABLE_NEAR_CAPACITY,
            severity=Severity.HIGH,
            resource=_name(table, index),
            title=f"Its {way.value}s were throttled although it is on-demand",
            risk="That is one partition's limit, or a rise beyond twice the earlier peak: capacity is not what is missing.",
            evidence=(f"{refused:,.0f} {way.value} throttle events in 14 days.",),
            fix=Fix(
                words="Spread the key if it is one key; set warm throughput before a planned rise. `unthrottle diagnose "
                f"{settings.name} --at <time>` tells which."
            ),
            owner=owner,
            weight=refused,
            checks=(checks.contributor_insights(settings.name, index),),
        )
    for way, ceiling in ((Way.READ, settings.max_on_demand_read), (Way.WRITE, settings.max_on_demand_write)):
        if ceiling is None:
            continue
        busy, refused = table.busiest.get((None, way)), table.throttles.get((None, way), 0.0)
        used = busy.value if busy else 0.0
        if refused == 0 and used < NEAR * ceiling:
            continue
        yield Exposure(
            kind=Kind.ON_DEMAND_NEAR_MAXIMUM,
            severity=Severity.HIGH if refused > 0 else Severity.MEDIUM,
            resource=settings.name,
            title=f"Its own maximum of {ceiling:,} {way.value} units a second is near",
            risk="Somebody set that maximum, usually to bound the cost; beyond it requests are throttled.",
            evidence=(
                f"The busiest hour took {used:,.1f} units/s in the mean, {100 * used / max(1, ceiling):.0f} % of the maximum.",
                f"{refused:,.0f} {way.value} throttle events in 14 days.",
            ),
            fix=fixes.on_demand_maximum(settings.name, way, round(max(used, ceiling) * ROOM)),
            owner=owner,
            weight=used / max(1, ceiling),
            checks=(checks.describe_table(settings.name),),
        )


def _ceiling(table: TableFacts, way: Way) -> int | None:
    return table.settings.max_on_demand_read if way is Way.READ else table.settings.max_on_demand_write


def _keys(table: TableFacts, owner: str | None) -> Iterator[Exposure]:
    for hot in table.hot_keys:
        top = max(hot.keys, key=lambda key: key.share, default=None)
        if top is None or top.share < FEW_KEYS_SHARE:
            continue
        yield Exposure(
            kind=Kind.FEW_KEYS,
            severity=Severity.MEDIUM,
            resource=_name(table, hot.index),
            title=f"One key takes {100 * top.share:.0f} % of what Contributor Insights counted",
            risk="A partition serves 1,000 writes and 3,000 reads a second, whatever the capacity; more is throttled.",
            evidence=(
                f"{hot.source} keys: {masked(top.key)} has {100 * top.share:.0f} %, of {len(hot.keys)} keys listed.",
            ),
            fix=Fix(words="Spread the key: add a suffix to it (write sharding), or cache the hot item."),
            owner=owner,
            weight=top.share,
            checks=(checks.contributor_insights(table.settings.name, hot.index),),
        )
