"""The safety net beside the workflow: what is overdue is given back or told, whatever became of the execution.

A durable execution that times out or is stopped leaves its change in force and runs no more. So every lease is in the record
before the change, and this looks at the records, not at executions.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal, get_args

from unthrottle import actions, drift, outbox
from unthrottle.actions.outcome import GiveBack, GivenBack, LeftAlone, NotYet
from unthrottle.errors import BadInput, Conflict, NotFound, Refused, TryAgain
from unthrottle.incident import Incident, Outcome, Settling, Status, Wish
from unthrottle.plan import CapEventSource, Change
from unthrottle.ports import Ports, Starter
from unthrottle.report.page import page

log = logging.getLogger("unthrottle")

Did = Literal["started", "given_back", "left", "drifted", "failed"]
"""What became of one incident, by the name of the list that it is put on."""
SWEEP_EVERY = timedelta(minutes=5)
"""How often the schedule in template.yaml runs this."""
OVERDUE_AFTER = timedelta(minutes=15)
"""How long after its end a lease may still be in the workflow's hands: it may be giving back, or renewing, right now."""
SILENT_AFTER = timedelta(minutes=15)
"""How long an incident may stand without a line in its story before its workflow is started again (by name: no second)."""
LONGEST_VERIFICATION = timedelta(minutes=60)
"""A workflow verifies a table's change for up to an hour before its lease begins."""
DEAD_AFTER = timedelta(hours=3)
"""A workflow watches a symptom for up to two hours without a line in the story; after three it is gone."""
WISH_AFTER = timedelta(minutes=10)
"""How long what a person asked for may lie there: a workflow that lives reads it within a minute or two."""
AT_IT_FOR = 2 * SWEEP_EVERY
"""How long an incident is left to whoever began to end it: longer than a sweep may run, or a step of a workflow. Then it died."""
NOT_YET = "sweep.not-yet"
"""The line of the story that says that a change cannot be given back now."""
TRIED = frozenset({NOT_YET, "lease.give-back-later"})
"""Lines of the story after which a change may have been given back by a call whose answer never came."""
PAGE_AGAIN = timedelta(hours=1)
"""How often a give-back that cannot be done is told again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep found and did, by incident id. `failed`: those whose records could not be read or written."""

    looked_at: int
    started: tuple[str, ...] = ()
    given_back: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    drifted: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    backlog: outbox.Backlog = field(default_factory=outbox.Backlog)

    @property
    def has_changed(self) -> bool:
        """Whether any record may differ from what was listed before."""
        return bool(self.started or self.given_back or self.left or self.drifted or self.failed)

    def complain(self) -> None:
        """Raise TryAgain where an incident could not be swept: called at the end of all, so that the errors' alarm rings."""
        failed = sorted({*self.failed, *self.backlog.failed})
        if failed:
            raise TryAgain(
                f"Could not read or write {len(failed)} incidents: {', '.join(failed[:20])}. All others were swept. The log "
                "says why (sweep.failed, outbox.failed); the next sweep tries again."
            )


def sweep(
    ports: Ports,
    starter: Starter,
    found: Sequence[Incident] | None = None,
    *,
    about: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Swept:
    """Look at every open incident once. *found* are the open incidents, where they were listed just now.

    *about* is entered with an incident's id for as long as it is looked at: what is logged meanwhile is about it.

    One that cannot be read or written is logged and named, and keeps nobody else's change in force: see `Swept.complain`.
    """
    now = ports.clock.now()
    done: dict[Did, list[str]] = {did: [] for did in get_args(Did)}
    found = ports.incidents.open_incidents() if found is None else found
    for incident in found:
        what: Did | None
        with about(incident.id):
            try:
                what = _sweep_one(ports, starter, incident, now)
            except (BadInput, Refused, TryAgain) as error:
                log.error("sweep.failed", extra={"incident_id": incident.id, "error": str(error)})
                what = "failed"
        if what is not None:
            done[what].append(incident.id)
    swept = Swept(
        looked_at=len(found),
        started=tuple(done["started"]),
        given_back=tuple(done["given_back"]),
        left=tuple(done["left"]),
        drifted=tuple(done["drifted"]),
        failed=tuple(done["failed"]),
    )
    told = {"started": swept.started, "given_back": swept.given_back, "left": swept.left, "failed": swept.failed}
    log.info("sweep.done", extra={"open": len(found), **told})
    return replace(swept, backlog=outbox.deliver_all(ports, None if swept.has_changed else found))


def _sweep_one(ports: Ports, starter: Starter, incident: Incident, now: datetime) -> Did | None:
    """Look at one open incident, and say what was done; None: it needs nothing."""
    end = _end_of(incident, now)
    if end is not None:
        mine = _taken_over(ports, incident, now)
        return "given_back" if mine is not None and end(ports, mine, now) else "left"
    if _is_silent(incident, now):
        starter.start(incident.id)
        return "started"
    return "drifted" if drift.notice(ports, incident, now) else None


def _end_of(incident: Incident, now: datetime) -> Callable[[Ports, Incident, datetime], bool] | None:
    """Say how this incident has to be ended in its workflow's place; None: it need not be, or somebody is at it."""
    if incident.settling is not None and now - incident.settling.at < AT_IT_FOR:
        return None
    if _is_wished_in_vain(incident, now):
        return _carry_out
    if _is_overdue(incident, now):
        return _give_back
    return _bury if _is_dead(incident, now) or _is_half_done(incident, now) else None


def _taken_over(ports: Ports, incident: Incident, now: datetime) -> Incident | None:
    """Say in the record that the sweep ends this incident, and read it again, with what people wanted up to that moment.

    None: its workflow wrote it since, so it lives; or another sweep was faster. Whoever comes later writes no more.
    """
    again = incident.settling is not None or any(moment.event in TRIED for moment in incident.timeline)
    try:
        ports.incidents.save(replace(incident, settling=Settling(by="sweep", at=now, again=again)))
    except Conflict:
        log.info("sweep.conflict", extra={"incident_id": incident.id})
        return None
    return ports.incidents.load(incident.id)


def _is_overdue(incident: Incident, now: datetime) -> bool:
    if incident.status is not Status.APPLIED:
        return False
    return now - _lease_end(incident) > OVERDUE_AFTER


def _lease_end(incident: Incident) -> datetime:
    """Return when the change should have been given back. The lease begins anew once the change is verified."""
    if incident.lease_until is not None:
        return incident.lease_until + (LONGEST_VERIFICATION if incident.outcome is Outcome.NONE else timedelta())
    minutes = incident.plan.lease_minutes if incident.plan else None
    return (incident.acted_at or incident.opened_at) + LONGEST_VERIFICATION + timedelta(minutes=minutes or 0)


def _is_dead(incident: Incident, now: datetime) -> bool:
    """Say whether nothing was done for longer than any workflow waits: later alarms would join it for nothing."""
    if incident.status is Status.APPLIED:
        return False
    last = last_line(incident)
    if incident.question is not None:
        last = max(last, incident.question.expires_at)
    return now - last > DEAD_AFTER


def _is_half_done(incident: Incident, now: datetime) -> bool:
    """Say whether a change was begun, its end never written, and its lease is over; or somebody wants it back before.

    Not while its workflow may be making it.
    """
    if not incident.is_half_done:
        return False
    is_wanted_back = incident.wish is not None and incident.wish.do == "revert"
    if is_wanted_back and now - last_line(incident) > SILENT_AFTER:
        return True
    return now - _lease_end(incident) > OVERDUE_AFTER


def last_line(incident: Incident) -> datetime:
    """Return when the workflow last wrote a line; the sweep's own lines are no sign of its life."""
    written = [moment.at for moment in incident.timeline if not moment.event.startswith("sweep.")]
    return written[-1] if written else incident.opened_at


def _is_silent(incident: Incident, now: datetime) -> bool:
    if incident.status is not Status.NONE or incident.question is not None or incident.escalated:
        return False
    return now - last_line(incident) > SILENT_AFTER


def _is_wished_in_vain(incident: Incident, now: datetime) -> bool:
    """Say whether a person asked for something and no workflow took it. One that keeps trying to give back has."""
    wish = incident.wish
    if wish is None or wish.do == "snooze" or not incident.is_in_force or now - wish.at <= WISH_AFTER:
        return False
    return wish.do == "keep" or all(moment.event != "lease.give-back-later" for moment in incident.timeline)


def _carry_out(ports: Ports, incident: Incident, now: datetime) -> bool:
    """Do what a person asked for, in the place of a workflow that is gone."""
    wish = incident.wish
    if wish is None or wish.do != "keep":
        by = _by(wish) if wish is not None else "A person"
        return _all_back(ports, incident, now, f"{by} asked for it, and its workflow is gone.")
    detail = f"Kept by {_by(wish)}; its workflow is gone."
    return _close(ports, incident.told(now, "action.kept", f"by {_by(wish)}").now(Status.KEPT), now, detail)


def _by(wish: Wish) -> str:
    return f"{wish.by} ({wish.instead_of})" if wish.instead_of else wish.by


def _intended(incident: Incident) -> tuple[Change, ...]:
    """Return the changes that may be in force, newest first: those made, and those begun whose end was never written.

    Giving back compares first, so one that was never made is left alone. Where the end was written, and it was no change,
    what is there now is somebody else's, even if it is what was planned.
    """
    made = [item.change for item in incident.applied]
    is_unknown = incident.status in {Status.NONE, Status.APPLIED}
    begun = is_unknown and incident.is_begun
    known = {_key(change) for change in made}
    planned = incident.plan.changes if incident.plan and begun else ()
    return tuple(reversed([*made, *(change for change in planned if _key(change) not in known)]))


def _key(change: Change) -> tuple[str, str]:
    return change.arn, change.uuid if isinstance(change, CapEventSource) else change.kind


def _give_back(ports: Ports, incident: Incident, now: datetime) -> bool:
    """End an overdue incident: as a person said in the last moment, else by giving its changes back."""
    if incident.wish is not None and incident.wish.do != "snooze":
        return _carry_out(ports, incident, now)
    return _all_back(ports, incident, now, "The lease was overdue and its workflow is gone.")


def _all_back(ports: Ports, incident: Incident, now: datetime, why: str) -> bool:
    """Give an incident's changes back in the workflow's place, close it, and page. False: could not, told."""
    results = [_put_back(ports, incident, change) for change in _intended(incident)]
    told = "; ".join(_in_words(result) for result in results) or "no change is on record"
    detail = f"{why} {told}"
    if any(isinstance(result, NotYet) for result in results):
        _try_later(ports, incident, now, detail)
        return False
    was_given_back = any(isinstance(result, GivenBack) for result in results)
    status = Status.REVERTED if was_given_back else Status.KEPT
    after = incident.told(now, "sweep.overdue", detail).now(status)
    return _close(ports, replace(after, reverted_at=now if was_given_back else None), now, detail)


def _bury(ports: Ports, incident: Incident, now: datetime) -> bool:
    """Close an incident whose workflow is gone, so that the next alarm opens a new one; give back what it had begun."""
    results = [_put_back(ports, incident, change) for change in _intended(incident)]
    told = "; ".join(_in_words(result) for result in results) or "Nothing had been changed."
    detail = f"Its workflow is gone without an end. {told} If the symptom goes on, the next alarm opens a new incident."
    if any(isinstance(result, NotYet) for result in results):
        _try_later(ports, incident, now, detail)
        return False
    after = incident.told(now, "sweep.closed", detail)
    if after.status is Status.NONE:
        after = after.now(Status.FAILED)
    if any(isinstance(result, GivenBack) for result in results) and after.status is Status.FAILED:
        after = replace(after, reverted_at=now).now(Status.REVERTED)
    return _close(ports, after, now, detail)


def _put_back(ports: Ports, incident: Incident, change: Change) -> GiveBack:
    try:
        actor = ports.accounts.act(incident.account, incident.region, incident.id)
        result = actions.give_back(change, actor)
    except NotFound as error:
        return LeftAlone(found=f"{change.target} is not there any more ({error.code})")
    except (Refused, TryAgain) as error:
        return NotYet(because=str(error))
    is_tried = incident.settling is not None and incident.settling.again
    if is_tried and isinstance(result, LeftAlone) and result.is_back:
        return GivenBack(detail=f"{change.target}: given back, by a call whose answer never came")
    return result


def _in_words(result: GiveBack) -> str:
    match result:
        case GivenBack():
            return result.detail
        case LeftAlone():
            return result.found
        case NotYet():
            return f"not yet: {result.because}"


def _try_later(ports: Ports, incident: Incident, now: datetime, detail: str) -> None:
    """Leave the incident open for the next sweep, and say so: once an hour, not at every sweep.

    The story keeps when it began and how it stands, so that weeks of it do not make the record too large to be written.
    """
    tried = [moment for moment in incident.timeline if moment.event == NOT_YET]
    is_told = bool(tried) and now - tried[-1].at < PAGE_AGAIN
    after = replace(incident, settling=None)
    if not is_told:
        story = tuple(moment for moment in incident.timeline if moment not in tried[1:])
        after = replace(after, escalated=True, timeline=story).told(now, NOT_YET, detail)
    try:
        ports.incidents.save(after)
    except Conflict:
        log.info(
            "sweep.conflict", extra={"incident_id": incident.id}
        )  # another sweep, long after, took it over in turn
        return
    if not is_told:
        _page(ports, after, detail)


def _close(ports: Ports, incident: Incident, now: datetime, detail: str) -> bool:
    ended = replace(incident, closed_at=now, question=None, settling=None, escalated=True)
    closed = ended.told(now, "incident.closed")
    try:
        ports.incidents.close(closed)
    except Conflict:
        log.info(
            "sweep.conflict", extra={"incident_id": incident.id}
        )  # another sweep, long after, took it over in turn
        return False
    _page(ports, closed, detail)
    return True


def _page(ports: Ports, incident: Incident, detail: str) -> None:
    """Reach a person. One page that fails must not keep the sweep from the other incidents; its failure is an alarm."""
    subject, text = page(incident, detail)
    try:
        ports.pager.page(subject, text)
    except (Refused, TryAgain) as error:
        log.error("sweep.page-not-sent", extra={"incident_id": incident.id, "error": str(error)})
