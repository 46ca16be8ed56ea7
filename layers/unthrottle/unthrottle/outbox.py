"""What becomes of a report that Slack did not take?

It reaches a person at once through the escalation topic, and waits in the incident's record until Slack takes it: the
workflow tries before its next report, the sweep while the workflow sleeps or has ended. What comes late says so, under the
number it had, so that a page, a late message and a copy are recognised as the same report. Nothing here raises for Slack.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle.chat import ChatBroken, ChatError, ChatGone, ChatLater, ChatRefusedFormat
from unthrottle.errors import Conflict, Refused, TryAgain
from unthrottle.incident import Incident, Unsent
from unthrottle.ports import Chat, Pager, Ports
from unthrottle.report.moments import Message, Step, head, message
from unthrottle.report.page import page

log = logging.getLogger("unthrottle")

Save = Callable[[Incident, int], Incident]
"""Write a record from which the report of this number was taken, because Slack has it now; 0: none was taken yet."""

BY_THE_SWEEP = ("sweep.", "report.late", "lease.drift-seen", "lease.symptom-returned")
"""How lines of the story begin that the sweep writes while the workflow sleeps; the workflow's next write keeps them."""
ASLEEP_AFTER = timedelta(minutes=3)
"""A workflow whose last line is older sleeps or waits: until then it delivers by itself, and is not disturbed."""
TOKEN_CHECK_HOUR = 6
"""UTC. Early enough that a token that was revoked over night is replaced before the day's incidents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What Slack has not taken yet: how many reports, and how long the oldest has waited. `late`: delivered just now.

    `failed` names the incidents whose record could not be written, so that nobody knows what was delivered.
    """

    unsent: int = 0
    oldest_s: int = 0
    late: int = 0
    failed: tuple[str, ...] = ()


# --- in the workflow --------------------------------------------------------------------------------------------


def page_instead(ports: Ports, incident: Incident, step: Step, detail: str, why: str) -> Incident:
    """Page a person with a report Slack did not take, and keep it. Returns the record, not yet written.

    Raises what the pager raises (TryAgain, Refused): then call `kept`, so that it is at least delivered late.
    """
    after = kept(incident, step, detail, ports.clock.now())
    said = f"#{after.reports} {step.value}: {detail}".rstrip(": ")
    subject, text = page(incident, f"{said}\nSlack did not take this report: {why}")
    ports.pager.page(subject, text)
    log.error("report.unsent", extra={"incident_id": incident.id, "step": step.value, "number": after.reports})
    return after


def kept(incident: Incident, step: Step, detail: str, now: datetime) -> Incident:
    """Put a report into the outbox, under the next number. Returns the record, not yet written."""
    number = incident.reports + 1
    waiting = (*incident.outbox, Unsent(number=number, step=step.value, detail=detail[:1000], at=now))
    return replace(incident, outbox=waiting, unsent=len(waiting), reports=number).told(now, "report.unsent", step.value)


def merged(mine: Incident, stored: Incident) -> Incident:
    """Take over from the stored record what the sweep delivered and told meanwhile; all else is as the workflow has it."""
    waiting = {unsent.number for unsent in stored.outbox}
    left = tuple(one for one in mine.outbox if one.number in waiting or one.number > stored.reports)
    copies = max(mine.head_copies, stored.head_copies)
    theirs = [one for one in stored.timeline if one.event.startswith(BY_THE_SWEEP) and one not in mine.timeline]
    told = replace(mine, timeline=tuple(sorted((*mine.timeline, *theirs), key=lambda one: one.at))) if theirs else mine
    kept = replace(
        told, escalated=mine.escalated or stored.escalated, head=mine.head or stored.head, head_copies=copies
    )
    return replace(kept, outbox=left, unsent=len(left))


def deliver_late(ports: Ports, incident: Incident, save: Save) -> Incident:
    """Send what waits, oldest first, until Slack refuses again. Returns the record, written after each report."""
    chat = ports.chat_of(incident)
    while chat is not None and incident.outbox:
        waiting = incident.outbox[0]
        now = ports.clock.now()
        try:
            sent = _send(chat, incident, waiting, now, lambda record: save(record, 0))
        except ChatRefusedFormat as error:  # it would be refused for ever; a person has been paged with its words
            log.error("report.unsendable", extra={"incident_id": incident.id, "error": error.code})
            sent = incident
        except ChatError as error:
            log.info("report.still-unsent", extra={"incident_id": incident.id, "error": error.code})
            return incident
        left = sent.outbox[1:]
        incident = save(
            replace(sent, outbox=left, unsent=len(left)).told(now, "report.late", f"#{waiting.number} {waiting.step}"),
            waiting.number,
        )
    return incident


def _send(
    chat: Chat, incident: Incident, waiting: Unsent, now: datetime, save: Callable[[Incident], Incident]
) -> Incident:
    """Send one report late, in the thread; make the head current where this is the newest report."""
    step = Step(waiting.step)
    line = message(incident, step, detail=waiting.detail, number=waiting.number, at=waiting.at, late_at=now)
    if incident.head is None or waiting.number == incident.reports:
        incident = show_head(chat, incident, head(incident, step), save)
    chat.post(line.text, line.blocks, thread_ts=incident.head, broadcast=line.broadcast)
    return incident


# --- the head ---------------------------------------------------------------------------------------------------


def show_head(chat: Chat, incident: Incident, top: Message, save: Callable[[Incident], Incident]) -> Incident:
    """Make the head current: post it where there is none, else update it. Returns the record, with the head's address.

    Slack has no key by which a repeated post is known as the same, and the app may not read what it posted; so an answer
    that is lost leaves a head nobody can update. That is written down, before it is tried again: the next head says that it
    is the one that counts. Raises what the chat raises.
    """
    if incident.head is not None:
        try:
            chat.update(incident.head, top.text, top.blocks)
        except ChatGone:
            log.warning("report.head-gone", extra={"incident_id": incident.id})
        else:
            return incident
    try:
        posted = chat.post(top.text, top.blocks)
    except ChatLater as error:
        if error.may_have_arrived:
            save(replace(incident, head_copies=incident.head_copies + 1))
        raise
    return save(replace(incident, head=posted.ts))


def as_posted(incident: Incident, stored: Incident | None) -> Incident:
    """Take over what an earlier try noted of the head."""
    if stored is None:
        return incident
    return replace(incident, head=stored.head, head_copies=max(stored.head_copies, incident.head_copies))


# --- in the sweep -----------------------------------------------------------------------------------------------


def tell_asleep(ports: Ports, incident: Incident, step: Step, why: str, *, is_paged: bool = False) -> None:
    """Report a step in the thread while the workflow sleeps, and write the record. Raises what the state table raises.

    Where Slack does not take it, a person is paged, unless that was done, and it is kept for later even if that fails, too.
    """
    chat = ports.chat_of(incident)
    refused = "it is not set up" if chat is None else "it has not taken the reports before this one either"
    if chat is not None and not incident.outbox:
        numbered = replace(incident, reports=incident.reports + 1)
        line = message(numbered, step, detail=why, number=numbered.reports)
        try:
            shown = show_head(chat, numbered, head(numbered, step), ports.incidents.save)
            chat.post(line.text, line.blocks, thread_ts=shown.head, broadcast=line.broadcast)
        except ChatError as error:
            refused = str(error)
        else:
            ports.incidents.save(shown)
            return
    waiting = kept(incident, step, why, ports.clock.now())
    if not is_paged:
        try:
            waiting = page_instead(ports, incident, step, why, refused)
        except (Refused, TryAgain) as error:
            log.error("report.not-paged", extra={"incident_id": incident.id, "step": step.value, "error": str(error)})
    ports.incidents.save(waiting)


def deliver_all(ports: Ports, still_open: Sequence[Incident] | None = None) -> Backlog:
    """Deliver what waits in any incident, open or closed, whose workflow does not do it itself just now.

    *still_open* are the open incidents, where they were listed just now.
    """
    now = ports.clock.now()
    listed = ports.incidents.open_incidents() if still_open is None else still_open
    found = [one for one in (*listed, *ports.incidents.untold()) if one.outbox]
    late = 0
    left: list[Unsent] = []
    failed: list[str] = []
    for incident in found:
        after = incident
        if not incident.is_open or now - _last_line(incident) > ASLEEP_AFTER:
            try:
                after = deliver_late(ports, incident, lambda record, sent: _save(ports, record, sent))
            except (Refused, TryAgain) as error:  # one record that cannot be written keeps nobody else's report back
                log.error("outbox.failed", extra={"incident_id": incident.id, "error": str(error)})
                failed.append(incident.id)
        late += len(incident.outbox) - len(after.outbox)
        left.extend(after.outbox)
    oldest = min((unsent.at for unsent in left), default=now)
    age_s = int((now - oldest).total_seconds())
    backlog = Backlog(unsent=len(left), oldest_s=age_s, late=late, failed=tuple(failed))
    if found:
        log.info("outbox.swept", extra={"unsent": backlog.unsent, "oldest_s": backlog.oldest_s, "late": backlog.late})
    return backlog


def _last_line(incident: Incident) -> datetime:
    return incident.timeline[-1].at if incident.timeline else incident.opened_at


def _save(ports: Ports, record: Incident, sent: int) -> Incident:
    """Write the record; if its workflow wrote it meanwhile, take what was just sent out of the newer one."""
    try:
        return ports.incidents.save(record)
    except Conflict:
        stored = ports.incidents.load(record.id) or record
    left = tuple(unsent for unsent in stored.outbox if unsent.number != sent)
    try:
        mine = replace(stored, outbox=left, unsent=len(left), head=stored.head or record.head)
        return ports.incidents.save(replace(mine, head_copies=max(stored.head_copies, record.head_copies)))
    except Conflict:  # its workflow is awake after all, and delivers by itself; a copy bears the same number
        log.info("outbox.conflict", extra={"incident_id": record.id})
        return replace(record, outbox=())


# --- is the token still good? -----------------------------------------------------------------------------------


def is_time_to_check(now: datetime, every: timedelta) -> bool:
    """Say whether this run of a schedule, which comes `every` so often, is the one of the day that checks the token."""
    since = now - now.replace(hour=TOKEN_CHECK_HOUR, minute=0, second=0, microsecond=0)
    return timedelta(0) <= since < every


def check_token(whoami: Callable[[], str], pager: Pager) -> str | None:
    """Ask Slack whether the token is still good; page a person when it is not. Returns Slack's error, None when good.

    A Slack that does not answer now is no finding: the next incident's reports have their own way out.
    """
    try:
        whoami()
    except ChatError as error:
        log.error("slack.token-check", extra={"error": error.code})
        if not isinstance(error, ChatBroken):
            return error.code
        _page(
            pager,
            f"Slack does not take reports: {error.code}",
            f"The daily check of the Slack token failed: {error}\nUntil it is mended, every report comes as a page like this "
            "one. Nothing else is affected. Install the app again if needed, store the new bot_token in the secret, and run "
            "`unthrottle doctor`.",
        )
        return error.code
    return None


def _page(pager: Pager, subject: str, text: str) -> None:
    try:
        pager.page(subject, text)
    except (Refused, TryAgain) as error:
        log.error("slack.token-check-not-paged", extra={"error": str(error)})
