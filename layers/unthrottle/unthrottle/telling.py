"""The workflow's steps that reach people: tell what happened, page, and ask.

Slack first, the escalation topic where Slack does not take it; neither ever stops the incident. What becomes of a report
that Slack did not take is `outbox`'s.
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from unthrottle import outbox
from unthrottle.chat import THROTTLED, ChatError, ChatLater
from unthrottle.errors import Refused, StepFailed, TryAgain
from unthrottle.incident import Incident, Question
from unthrottle.ports import Answered, Expired
from unthrottle.records import CLOSED_ELSEWHERE, Done, Records
from unthrottle.report.moments import Step, head, message
from unthrottle.report.page import page
from unthrottle.report.picture import Picture

log = logging.getLogger("unthrottle")

ASKED_AS = {
    Step.REMINDER: "approval.reminded",
    Step.SNOOZED: "approval.snoozed",
    Step.PUT_OFF: "incident.snoozed",
    Step.GOES_ON: "incident.reminded",
}
"""What the story calls a question that is not the first one about a change."""
QUIET = frozenset({Step.SNOOZED, Step.PUT_OFF})
"""Questions that remind nobody until their wait is over."""


class Telling(Records):
    """The mouth and ears of one workflow run."""

    def ask(
        self,
        incident: Incident,
        about: str,
        wait: timedelta,
        step: Step,
        detail: str = "",
        *,
        expires: timedelta | None = None,
        version: int | None = None,
    ) -> tuple[Incident, Answered | Expired]:
        """Ask people, and wait for their answer. The question is written and told before the wait begins.

        `expires` is when it is really over, where this wait only ends in a reminder: of an approval the time to answer, of
        a lease its end. `version`: the question was asked before under it, and is only held open; nobody is told again.

        With an answer, the record's `wish` is what was wished before the question was asked. A newer one was said after the
        answer, while that was on its way: nobody can wish what a question still waits for.
        """
        until = expires or wait
        asked_at: datetime | None = None

        def submit(callback: str) -> None:
            nonlocal asked_at

            def put(found: Incident, now: datetime) -> Incident:
                question = Question(
                    about="approval" if about == "approval" else "lease",
                    callback=callback,
                    version=version or found.version + 1,
                    expires_at=now + until,
                )
                asked = replace(
                    found, question=question, snoozed_until=now + wait if step in QUIET else found.snoozed_until
                )
                if about == "lease":
                    asked = replace(asked, lease_until=now + until)
                event = ASKED_AS.get(step, "approval.requested" if about == "approval" else None)
                if event is None or version is not None:
                    return asked
                by = f"{detail[:1].lower()}{detail[1:]}, " if detail and step in QUIET else ""
                ends = now + (wait if step is Step.PUT_OFF else until)
                return asked.told(now, event, f"{by}until {ends:%H:%M} UTC")

            asked = self.change(incident, "question", put)
            asked_at = asked.question.expires_at - until if asked.question else None
            if version is None:
                self.tell(asked, step, detail)

        answer = self._run.ask(self._name(f"ask-{about}"), wait, submit)
        after = self.load(incident.id)
        is_said_since = after.wish is not None and asked_at is not None and after.wish.at > asked_at
        if isinstance(answer, Answered) and is_said_since:
            after = replace(after, wish=None)
        return self.change(after, "asked", lambda found, _now: replace(found, question=None)), answer

    def tell(self, incident: Incident, step: Step, detail: str = "", picture: Picture | None = None) -> Incident:
        """Report one step to Slack; to the escalation topic where Slack does not take it. Never stops the incident.

        What Slack did not take earlier goes first, marked as late, so that the thread stays in order.
        """
        if incident.outbox:
            waiting = incident
            incident = self._run.step(
                self._name("tell-late"),
                lambda: outbox.deliver_late(self._ports, waiting, lambda record, _: self._save(record)),
                Incident,
            )
        why = "it has not taken the reports before this one either"
        if not incident.outbox:  # else it has just refused: healing does not wait for another round of tries
            try:
                return self._run.step(
                    self._name(f"tell-{step.value}"), lambda: self._deliver(incident, step, detail, picture), Incident
                )
            except StepFailed as failure:
                if failure.code == CLOSED_ELSEWHERE:
                    raise
                why = str(failure)
        try:
            return self._run.step(
                self._name("tell-by-page"),
                lambda: self._save(outbox.page_instead(self._ports, incident, step, detail, why)),
                Incident,
            )
        except StepFailed:
            return self.change(incident, "tell-later", lambda found, now: outbox.kept(found, step, detail, now))

    def _deliver(self, incident: Incident, step: Step, detail: str, picture: Picture | None) -> Incident:
        chat = self._ports.chat_of(incident)
        numbered = replace(incident, reports=incident.reports + 1)
        if chat is None:
            log.warning("report.no-chat", extra={"incident_id": incident.id, "step": step.value})
            return self._save(numbered)
        line = message(numbered, step, detail=detail, number=numbered.reports, picture=picture)
        try:
            if numbered.head is None:  # perhaps an earlier try of this very step posted it, and was not remembered
                numbered = outbox.as_posted(numbered, self._ports.incidents.load(incident.id))
            numbered = outbox.show_head(
                chat,
                numbered,
                head(numbered, step, picture),
                # Without the number: it is taken only when the line is in Slack, else the outbox would think it was.
                lambda found: replace(self._save(replace(found, reports=incident.reports)), reports=found.reports),
            )
            chat.post(line.text, line.blocks, thread_ts=numbered.head, broadcast=line.broadcast)
        except ChatLater as error:
            raise TryAgain(str(error), after_s=error.retry_after_s if error.code in THROTTLED else 0) from error
        except ChatError as error:
            raise Refused(str(error), code="slack") from error
        log.info("report.sent", extra={"incident_id": incident.id, "step": step.value, "number": numbered.reports})
        return self._save(numbered)

    def last_word(self, incident: Incident, why: str) -> None:
        """Reach a person when nothing can be written down any more. Never raises: there is nothing left to do then."""

        def work() -> Done:
            said = f"The record cannot be written, and the workflow ends here: {why}\nThe sweep gives back what is in force."
            self._ports.pager.page(*page(incident, said))
            return Done(at=self._ports.clock.now())

        try:
            self._run.step(self._name("last-word"), work, Done)
        except StepFailed as failure:
            log.error("page.not-sent", extra={"incident_id": incident.id, "error": str(failure)})

    def page(self, incident: Incident, detail: str) -> Incident:
        """Reach a person through the escalation topic, and note that it was done."""

        def work() -> Incident:
            now = self._ports.clock.now()
            subject, text = page(incident, detail)
            self._ports.pager.page(subject, text)
            return self._save(replace(incident, escalated=True).told(now, "incident.escalated", detail))

        try:
            return self._run.step(self._name("page"), work, Incident)
        except StepFailed as failure:
            why = str(failure)
            return self.change(incident, "page-failed", lambda found, now: found.told(now, "page.not-sent", why))
