"""How does an audit or a back-test read on a terminal and in Slack? Pure: a document in, lines out."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from unthrottle.chat import escape

Document = Mapping[str, Any]
Line = tuple[str, str]
"""Text and style: a name that the terminal knows (bold, dim, red, yellow, cyan, green) or empty."""

SHOWN = 25
STYLES = {"high": "red", "medium": "yellow", "low": ""}
NO_OWNER = "without an owner tag"


def lines(document: Document) -> Iterator[Line]:
    """Write an audit, worst first, then by owner in one line each."""
    for place in document["places"]:
        yield from _place(place)
    for failed in document["failed"]:
        yield f"NOT LOOKED AT: account {failed['account']}, {failed['region']}: {failed['why']}", "red"
    rows = document["exposures"]
    yield "", ""
    if not rows:
        yield "Nothing is exposed, as far as could be seen.", "green"
    else:
        yield f"{len(rows):,} exposures: {count_by(rows)}{_compared(document)}", "bold"
    for number, row in enumerate(rows[:SHOWN], 1):
        yield from _row(number, row)
    if len(rows) > SHOWN:
        yield f"… and {len(rows) - SHOWN:,} more; --json or --html has all of them.", "dim"
    for row in document["gone"]:
        yield f"gone since then: {row['resource']}: {row['title']}", "green"
    yield from _by_owner(rows)
    yield from calls(document)


def by_owner(rows: Sequence[Document]) -> list[tuple[str, list[Document]]]:
    """Group exposures by their owner, most first; nothing where all have the same one."""
    owners: dict[str, list[Document]] = {}
    for row in rows:
        owners.setdefault(row["owner"] or NO_OWNER, []).append(row)
    return sorted(owners.items(), key=lambda item: (-len(item[1]), item[0])) if len(owners) > 1 else []


def count_by(rows: Sequence[Document]) -> str:
    """Count rows by severity in words."""
    counts = [
        (severity, sum(1 for row in rows if row["severity"] == severity)) for severity in ("high", "medium", "low")
    ]
    return ", ".join(f"{count:,} {severity}" for severity, count in counts if count) or "none"


def _compared(document: Document) -> str:
    if document["compared_with"] is None:
        return ""
    new = sum(1 for row in document["exposures"] if row["change"] == "new")
    return f"; since {document['compared_with'][:16].replace('T', ' ')}: {new:,} new, {len(document['gone']):,} gone"


def _place(place: Document) -> Iterator[Line]:
    peak = "unknown" if place["peak"] is None else f"{place['peak']:,.0f}"
    limit = "unknown" if place["concurrency_limit"] is None else f"{place['concurrency_limit']:,}"
    yield (
        f"Account {place['account']}, {place['region']}: {place['functions']:,} functions, {place['tables']:,} tables",
        "bold",
    )
    yield (
        (
            f"  {place['from'][:16].replace('T', ' ')} to {place['to'][:16].replace('T', ' ')} UTC; concurrency limit {limit}, "
            f"reserved {place['reserved'] or 0:,}, peak {peak}; {place['functions_without_a_run']:,} functions show no run"
        ),
        "dim",
    )
    for gap in place["gaps"]:
        yield f"  {gap}", "yellow"


def _row(number: int, row: Document) -> Iterator[Line]:
    new = "NEW " if row["change"] == "new" else ""
    owner = f"  [{row['owner']}]" if row["owner"] else ""
    yield (
        f"{number:>3}. {new}{row['severity']:<6} {row['kind']}  {row['resource']}{owner}",
        STYLES[row["severity"]] or "bold",
    )
    yield f"     {row['title']}.", ""
    for text in row["evidence"][:4]:
        yield f"     · {text}", ""
    yield f"     {row['risk']}", "dim"
    yield f"     fix: {row['fix']['words']}", ""
    if row["fix"]["cli"]:
        yield f"     {row['fix']['cli']}", "cyan"


def _by_owner(rows: Sequence[Document]) -> Iterator[Line]:
    owners = by_owner(rows)
    if not owners:
        return
    yield "", ""
    yield "By owner", "bold"
    for owner, found in owners:
        yield f"  {owner}: {len(found):,} ({count_by(found)})", ""


def calls(document: Document) -> Iterator[Line]:
    """List the AWS calls made."""
    made = document["aws_calls"]
    total = sum(made.values())
    yield "", ""
    yield f"{total:,} AWS calls, all reads: " + ", ".join(f"{name} {count:,}" for name, count in made.items()), "dim"


def slack_text(document: Document, *, most: int = 12) -> str:
    """Write the summary for Slack (mrkdwn): what is new first, and whom it concerns. Names are escaped."""
    rows = document["exposures"]
    fresh = [row for row in rows if row["change"] == "new"]
    when = f"{datetime.fromisoformat(document['at']):%Y-%m-%d}"
    places = ", ".join(f"{place['account']} {place['region']}" for place in document["places"]) or "nothing"
    text = [f"*Unthrottle audit of {when}*: {len(rows):,} exposures ({count_by(rows)}){_compared(document)}. {places}."]
    text.extend(
        f":warning: not looked at: {escape(one['account'])} {escape(one['region'])}: {escape(one['why'][:300])}"
        for one in document["failed"]
    )
    shown = (fresh if document["compared_with"] else rows)[:most]
    for row in shown:
        owner = f" ({escape(row['owner'])})" if row["owner"] else ""
        mark = ":new: " if row["change"] == "new" else ""
        text.append(f"• {mark}*{row['severity']}* `{escape(row['resource'])}`{owner}: {escape(row['title'])}")
    rest = len(fresh if document["compared_with"] else rows) - len(shown)
    if rest > 0:
        text.append(f"… and {rest:,} more.")
    text.extend(
        f"• :white_check_mark: gone: `{escape(row['resource'])}`: {escape(row['title'])}"
        for row in document["gone"][:most]
    )
    gaps = [gap for place in document["places"] for gap in place["gaps"]]
    text.extend(f"_{escape(gap[:300])}_" for gap in gaps[:5])
    return "\n".join(text)


def past_lines(document: Document) -> Iterator[Line]:
    """Write a back-test, oldest incident first, and what it adds up to."""
    yield (
        (
            f"Back-test from {document['from'][:16].replace('T', ' ')} to {document['to'][:16].replace('T', ' ')} UTC, judged as "
            "in mode auto; nothing was changed."
        ),
        "bold",
    )
    for note in document["notes"]:
        yield f"  {note}", "yellow"
    for failed in document["failed"]:
        yield f"NOT LOOKED AT: account {failed['account']}, {failed['region']}: {failed['why']}", "red"
    incidents = document["incidents"]
    if not incidents:
        yield "No incident: nothing was throttled long enough for an alarm.", "green"
    for place, found in groupby(incidents, key=lambda one: (one["account"], one["region"])):
        yield f"Account {place[0]}, {place[1]}", "bold"
        for one in found:
            yield from _incident(one)
    summary = document["summary"]
    yield "", ""
    yield (
        (
            f"{summary['incidents']:,} incidents, {summary['throttled_minutes']:,.0f} throttled minutes. It would have acted by "
            f"itself on {summary['would_act']:,}, asked or called a person on {summary['needs_a_person']:,}, and done nothing on "
            f"{summary['nothing']:,}."
        ),
        "bold",
    )
    yield (
        (
            f"At most {summary['minutes_saved']:,.0f} throttled minutes saved; about USD {summary['cost_usd']:,.2f} for leases "
            "of on-demand."
        ),
        "",
    )
    yield from calls(document)


_BEGAN = {"alarm": "an alarm rang", "metrics": "the default alarms would have rung"}


def _incident(one: Document) -> Iterator[Line]:
    yield "", ""
    yield (
        (
            f"{one['from'][:16].replace('T', ' ')} to {one['to'][11:16]} UTC  {one['resource']}: "
            f"{one['throttled_minutes']:,.0f} throttled minutes, {one['throttles']:,.0f} throttles"
        ),
        "bold",
    )
    if one["error"]:
        yield f"  could not be looked at: {one['error']}", "red"
        return
    yield (
        (
            f"  looked at {one['looked_at'][:16].replace('T', ' ')} UTC ({_BEGAN[one['began_by']]}) with data of "
            f"{one['resolution_s']} s: {one['cause']}, {one['confidence']} confidence"
        ),
        "",
    )
    if one["targets"]:
        yield f"  target: {', '.join(one['targets'])}", "cyan"
    if one["victims"]:
        more = f" and {len(one['victims']) - 5:,} more" if len(one["victims"]) > 5 else ""
        yield f"  victims: {', '.join(one['victims'][:5])}{more}", ""
    for text in one["findings"][:4]:
        yield f"  · {text}", ""
    reasons = "; ".join(f"{reason['guardrail']}: {reason['text']}" for reason in one["reasons"])
    yield f"  plan {one['plan']['action']}; verdict {one['verdict']}" + (f" ({reasons})" if reasons else ""), ""
    for command in one["plan"]["commands"]:
        yield f"    {command}", "cyan"
    if one["minutes_saved"]:
        yield f"  at most {one['minutes_saved']:,.0f} throttled minutes saved", "green"
    for gap in one["gaps"]:
        yield f"  {gap}", "yellow"
    yield f"  alarms that rang: {', '.join(one['alarms']) or 'none known'}", "dim"


def look_lines(document: Document) -> Iterator[Line]:
    """Write a look at one resource."""
    when = document["looked_at"][:16].replace("T", " ")
    yield f"{document['resource']} in account {document['account']}, {document['region']}, at {when} UTC", "bold"
    yield f"{document['cause']}, {document['confidence']} confidence", "bold"
    for text in document["findings"]:
        yield f"  · {text}", ""
    for name, found in (("target", document["targets"]), ("victims", document["victims"])):
        if found:
            more = f" and {len(found) - 10:,} more" if len(found) > 10 else ""
            yield f"  {name}: {', '.join(found[:10])}{more}", ""
    for one in document["rejected"]:
        yield f"  not {one['cause']}: {one['because']}", "dim"
    for gap in document["gaps"]:
        yield f"  not known: {gap}", "yellow"
    plan = document["plan"]
    yield f"It would: {plan['action']}. {plan['why']}", "bold"
    for command in plan["commands"]:
        yield f"  {command}", "cyan"
    for command in plan["way_back_commands"]:
        yield f"  way back: {command}", "cyan"
    for text in (plan["effect"], plan["follow_up"]):
        if text:
            yield f"  {text}", ""
    if document["verdict"] != "none":
        yield f"The guard, in mode auto: {document['verdict']}", ""
    for reason in document["reasons"]:
        yield f"  {reason['guardrail']}: {reason['text']}", "yellow"
    yield "Nothing was changed.", "dim"
    yield from calls(document)
