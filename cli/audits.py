"""`unthrottle audit` and `unthrottle diagnose`: look at accounts with a person's own credentials, and change nothing."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.exits import Exit
from cli.printing import check_writable, progress, read_json, show, show_json, write
from cli.session import Place, Session, moment
from unthrottle.adapters.clock import SystemClock
from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.adapters.slack import SlackChannel
from unthrottle.audit import backtest, words
from unthrottle.audit.document import NotLookedAt, compared, document, exposures_of, needs_a_person
from unthrottle.audit.exposures import Exposure
from unthrottle.audit.inventory import Inventory
from unthrottle.audit.looking import Look, find, look
from unthrottle.audit.take_stock import FAILURES, Stocktaking
from unthrottle.audit.webpage import page
from unthrottle.chat import ChatError
from unthrottle.errors import BadInput, NotFound
from unthrottle.settings import Settings, from_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What a person said of where to look."""

    profile: str | None
    regions: tuple[str, ...]
    accounts: tuple[str, ...]
    role: str | None

    def session(self) -> Session:
        return Session(self.profile, self.regions[0] if self.regions else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a person said of how to print."""

    as_json: bool
    html: Path | None
    slack: bool
    quiet: bool
    against: Path | None
    owner_tags: tuple[str, ...]


def settings_of_person(max_pool_share: int | None) -> Settings:
    """Read settings from UNTHROTTLE_* variables; an option wins. Raises SettingsError."""
    environment = dict(os.environ)
    if max_pool_share is not None:
        environment["UNTHROTTLE_MAX_POOL_SHARE"] = str(max_pool_share)
    return from_environment(environment)


def audit(where: Where, output: Output, *, max_pool_share: int | None) -> Exit:
    """Say what is exposed now. Returns NEEDS_ACTION when anything is."""
    settings = settings_of_person(max_pool_share)
    check_writable(output.html)
    before = read_json(output.against) if output.against else None
    channel = _channel() if output.slack else None
    session = where.session()
    tell = progress(quiet=output.quiet)
    kept: list[tuple[Inventory, Sequence[Exposure]]] = []
    failed: list[NotLookedAt] = []
    for place in session.places(where.accounts, where.regions, where.role):
        tell(f"account {place.account}, {place.region}")
        try:
            inventory = Stocktaking(
                place.observer,
                place.survey,
                account=place.account,
                region=place.region,
                now=session.now,
                tell=lambda text: tell(f"  {text}"),
            ).take()
        except FAILURES as error:
            failed.append(_not_looked_at(place, error))
            continue
        kept.append((inventory, exposures_of(inventory, settings, output.owner_tags)))
    found = document(kept, failed, at=session.now, settings=settings, calls=session.clients.calls)
    if before is not None:
        found = compared(found, before)
    return _put_out(found, output, channel, lines=words.lines, acts=needs_a_person(found))


def back_test(where: Where, output: Output, start: str, end: str | None, *, max_pool_share: int | None) -> Exit:
    """Say what would have been done in a past window. Returns NEEDS_ACTION when it would have acted or called a person."""
    if output.against or output.slack:
        raise BadInput("--against and --slack belong to the audit of now, not to --from. Nothing was sent.")
    settings = settings_of_person(max_pool_share)
    check_writable(output.html)
    now = SystemClock().now()
    first = moment(start, now).replace(second=0, microsecond=0)
    last = (moment(end, now) if end else now).replace(second=0, microsecond=0)
    if first >= last:
        raise BadInput(f"--from {start} is not before --to {end or 'now'}. Nothing was read.")
    session = where.session()
    tell = progress(quiet=output.quiet)
    found: list[backtest.Relived] = []
    failed: list[NotLookedAt] = []
    notes: list[str] = []
    for place in session.places(where.accounts, where.regions, where.role):
        tell(f"account {place.account}, {place.region}")
        try:
            relived, said = backtest.relive(
                place.observer,
                place.survey,
                settings,
                account=place.account,
                region=place.region,
                start=first,
                end=last,
                now=session.now,
                tell=lambda text: tell(f"  {text}"),
                own_prefix=os.environ.get("UNTHROTTLE_STACK") or None,
            )
        except FAILURES as error:
            failed.append(_not_looked_at(place, error))
            continue
        found.extend(relived)
        notes.extend(said)
    told = backtest.document(found, failed, notes, start=first, end=last, calls=session.clients.calls)
    summary = told["summary"]
    acts = bool(summary["would_act"] or summary["needs_a_person"])
    return _put_out(told, output, None, lines=words.past_lines, acts=acts)


def _not_looked_at(place: Place, error: Exception) -> NotLookedAt:
    hint = " The Region may be switched off in this account." if "UnrecognizedClient" in str(error) else ""
    return NotLookedAt(account=place.account, region=place.region, why=f"{error}{hint}")


def _put_out(found: dict[str, Any], output: Output, channel: SlackChannel | None, *, lines: Any, acts: bool) -> Exit:
    if output.html:
        write(output.html, page(found))
    if output.as_json:
        show_json(found)
    elif channel is not None:
        _post(channel, words.slack_text(found))
    else:
        show(lines(found))
    if output.html and not output.as_json:
        print(f"Written to {output.html}.")
    if found["failed"]:
        for one in found["failed"] if output.as_json else ():
            print(f"Not looked at: account {one['account']}, {one['region']}: {one['why']}", file=sys.stderr)
        return Exit.FAILED
    return Exit.NEEDS_ACTION if acts else Exit.FINE


def _channel() -> SlackChannel:
    token, channel = os.environ.get("UNTHROTTLE_SLACK_TOKEN", ""), os.environ.get("UNTHROTTLE_SLACK_CHANNEL", "")
    if not token or not channel:
        raise BadInput(
            "--slack needs UNTHROTTLE_SLACK_TOKEN (a bot token with chat:write) and UNTHROTTLE_SLACK_CHANNEL. Nothing was "
            "read or sent."
        )
    return SlackChannel(token, channel, base_url=os.environ.get("UNTHROTTLE_SLACK_API_URL") or None)


def _post(channel: SlackChannel, text: str) -> None:
    try:
        channel.post(text)
    except ChatError as error:
        raise BadInput(f"{error} The audit itself was done; run it again without --slack to read it.") from error
    print("Posted to Slack.")


def diagnose(where: Where, resource: str, at: str | None, *, as_json: bool, max_pool_share: int | None) -> Exit:
    """Say what is the matter with one resource, now or then."""
    settings = settings_of_person(max_pool_share)
    asked = moment(at, SystemClock().now()) if at else None
    session = where.session()
    when = asked or session.now
    region, account = _of_arn(resource)
    place = session.places(
        where.accounts or ((account,) if account else ()), (region,) if region else where.regions, where.role
    )[0]
    seen = _looked(place, settings, resource, when, session.now)
    told = {
        "version": 1,
        "kind": "diagnosis",
        "account": place.account,
        "region": place.region,
        "resource": resource,
        **backtest.look_document(seen),
        "aws_calls": dict(sorted(session.clients.calls.items())),
    }
    if as_json:
        show_json(told)
    else:
        show(words.look_lines(told))
    return Exit.NEEDS_ACTION if seen.needs_a_person_or_acts else Exit.FINE


def _looked(place: Place, settings: Settings, resource: str, when: datetime, now: datetime) -> Look:
    try:
        subject = find(place.observer, resource)
    except NotFound as error:
        raise NotFound(
            f"{error} Looked in account {place.account}, {place.region}. Check the name, or look elsewhere with --region, "
            "--profile or --account and --role.",
            code=error.code,
        ) from error
    return look(place.observer, settings, subject, moment=when, now=now, backfills=_dagy(settings))


def _dagy(settings: Settings) -> DagyBackfills | None:
    """Ask dagy which backfills run, where it is named; its token is taken from the environment, not from a secret."""
    if not settings.dagy_api_url:
        return None
    token = os.environ.get("UNTHROTTLE_DAGY_TOKEN", "")
    return DagyBackfills(settings.dagy_api_url, lambda: token, timeout_s=5)


def _of_arn(resource: str) -> tuple[str | None, str | None]:
    """Return Region and account of an ARN; a name has none."""
    parts = resource.split(":")
    return (parts[3], parts[4]) if parts[0] == "arn" and len(parts) > 5 else (None, None)
