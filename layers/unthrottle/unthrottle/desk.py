"""The workflow's steps that touch the world: look, judge, record, act, verify, give back, tell.

Each method is one step of a run (or a few), so that a resumed run does nothing twice. The order in which they happen, and
why, is in `workflow.py`.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle import actions, outbox
from unthrottle.actions.outcome import GiveBack
from unthrottle.chat import THROTTLED, ChatError, ChatGone, ChatLater
from unthrottle.errors import Conflict, Drifted, NotFound, Refused, StepFailed, TryAgain
from unthrottle.evidence.read_pool import is_own
from unthrottle.guardrails import Context, judge
from unthrottle.incident import AppliedChange, Incident, Question, Reason, Verdict, Wish
from unthrottle.look import Seen, look, redraw, unread
from unthrottle.plan import Change
from unthrottle.ports import Answered, Expired, Observer, Ports, Run
from unthrottle.pressure import Pressure, pressure_on
from unthrottle.report.moments import Step, head, message
from unthrottle.report.page import page
from unthrottle.report.picture import Picture
from unthrottle.settings import Settings
from unthrottle.symptom import judge_symptom
from unthrottle.verification import Judgement

log = logging.getLogger("unthrottle")

CLOSED_ELSEWHERE = "closed-elsewhere"
"""The code of a write that was refused because the sweep has closed the incident: this run has nothing more to do."""

ASKED_AS = {Step.REMINDER: "approval.reminded", Step.SNOOZED: "approval.snoozed"}
"""What the story calls a question that is not the first one about a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The symptom read again: the judgement, when, and what a person has asked for meanwhile."""

    judgement: Judgement
    at: datetime
    wish: Wish | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A change that is in force, or None."""

    made: AppliedChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What became of giving one change back."""

    result: GiveBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A step without a result of its own."""

    at: datetime


class Desk:
    """The hands and eyes of one workflow run. Holds no state of the incident; each method is given it and returns it."""

    def __init__(self, run: Run, ports: Ports, settings: Settings, own_prefix: str | None) -> None:
        self._run = run
        self._ports = ports
        self._settings = settings
        self._own_prefix = own_prefix
        self._count: dict[str, int] = {}

    def _name(self, step: str) -> str:
        """Number the steps of one kind, so that every step of a run has its own name, the same on every resume."""
        self._count[step] = self._count.get(step, 0) + 1
        number = self._count[step]
        return step if number == 1 else f"{step}-{number}"

    def _save(self, incident: Incident) -> Incident:
        """Write the record. A conflict is a write of this run's own that was not remembered, or a late delivery.

        Raises Refused when the incident was closed without this run: the sweep took over, and has the last word.
        """
        try:
            return self._ports.incidents.save(incident)
        except Conflict:
            stored = self._ports.incidents.load(incident.id)
            if stored is not None and not stored.is_open and incident.is_open:
                raise Refused(
                    f"{incident.id} was closed by the sweep. Nothing was changed.", code=CLOSED_ELSEWHERE
                ) from None
            mine = outbox.merged(incident, stored) if stored else incident
            return self._ports.incidents.save(replace(mine, version=stored.version if stored else 0))

    def _observer(self, incident: Incident) -> Observer:
        return self._ports.accounts.observe(incident.account, incident.region, incident.id)

    def load(self, incident_id: str) -> Incident:
        """Read the record. Raises StepFailed when there is none."""

        def work() -> Incident:
            try:
                found = self._ports.incidents.load(incident_id)
            except (
                Refused
            ) as refusal:  # without the record nothing can be done, not even told: ask again before giving up
                raise TryAgain(str(refusal)) from refusal
            if found is None:
                raise NotFound(f"There is no incident {incident_id}. Nothing was done.", code="no-incident")
            return found

        return self._run.step(self._name("load"), work, Incident)

    def change(self, incident: Incident, name: str, alter: Callable[[Incident, datetime], Incident]) -> Incident:
        """Alter and write the record in one step."""
        return self._run.step(self._name(name), lambda: self._save(alter(incident, self._ports.clock.now())), Incident)

    # --- look ---

    def look(self, incident: Incident) -> Seen:
        """Read the evidence, diagnose, plan, and write all three into the record.

        What cannot be read is not an error of the workflow: the diagnosis is then inconclusive, and says why.
        """
        try:
            return self._run.step(
                self._name("look"),
                lambda: self._kept(look(self._ports, self._settings, self._own_prefix, incident)),
                Seen,
            )
        except StepFailed as failure:
            why = str(failure)
            return self._run.step(
                self._name("look-failed"), lambda: self._kept(unread(incident, why, self._ports.clock.now())), Seen
            )

    def picture(self, incident: Incident) -> Picture | None:
        """Read the evidence anew for a report: what it is like now. None where it cannot be read."""
        try:
            return self._run.step(
                self._name("picture"),
                lambda: redraw(self._ports, self._settings, self._own_prefix, incident),
                Picture,
            )
        except StepFailed:
            return None

    def _kept(self, seen: Seen) -> Seen:
        return replace(seen, incident=self._save(seen.incident))

    # --- judge ---

    def judge(self, seen: Seen, *, approved: bool = False) -> Incident:
        """Ask every guardrail. With `approved`, a person has said yes: what only asks is answered, denials still deny."""

        def work() -> Incident:
            incident, plan = seen.incident, seen.incident.plan
            diagnosis = incident.diagnosis
            if plan is None or diagnosis is None:
                raise Refused(f"{incident.id} has no plan to judge. Nothing was changed.", code="no-plan")
            now = self._ports.clock.now()
            verdict = judge(
                plan,
                Context(
                    now=now,
                    settings=self._settings,
                    diagnosis=diagnosis,
                    ledger=self._ports.incidents.ledger(incident.account, incident.region, incident.resources, now),
                    incident_id=incident.id,
                    itself=frozenset(
                        change.target for change in plan.changes if is_own(change.target, self._own_prefix)
                    ),
                    seen_at=seen.at,
                    pool=seen.pool,
                    switched_at=seen.switched_at,
                    switches_seen=seen.switches_seen,
                    early_warning=incident.early_warning,
                    forced_dry_run=incident.forced_dry_run,
                    frozen=self._is_frozen(incident),
                    unsent_reports=incident.unsent,
                ),
            )
            told = verdict.decision if not approved else f"{verdict.decision} (a person approved)"
            ids = ", ".join(reason.guardrail for reason in verdict.reasons)
            log.info(
                "plan.judged", extra={"incident_id": incident.id, "verdict": verdict.decision.value, "reasons": ids}
            )
            kept = verdict if incident.verdict is None or not approved else _with_approval(incident.verdict, verdict)
            return self._save(replace(incident, verdict=kept).told(now, f"plan.{told}", ids))

        return self._run.step(self._name("judge"), work, Incident)

    def _is_frozen(self, incident: Incident) -> bool:
        calendar = self._settings.change_calendar_arn
        return bool(calendar) and self._observer(incident).calendar.is_frozen(calendar)

    # --- act ---

    def record_intent(self, incident: Incident) -> Incident:
        """Write before-state, after-state, way back and lease, take the resources, spend the budget: before acting.

        All in one write. The lease begins anew once the change is verified; until then this is its end.

        Raises StepFailed with code Busy when another incident holds a resource.
        """

        def work() -> Incident:
            now = self._ports.clock.now()
            minutes = incident.plan.lease_minutes if incident.plan else None
            intended = replace(incident, lease_until=now + timedelta(minutes=minutes) if minutes else None)
            try:
                return self._ports.incidents.record_intent(
                    intended.told(now, "action.intended", _in_words(incident)), now
                )
            except Conflict:  # a run that died right after this write: it is there already, under an earlier clock
                stored = self._ports.incidents.load(incident.id)
                if stored is not None and any(moment.event == "action.intended" for moment in stored.timeline):
                    return stored
                if stored is None:
                    raise
                mine = replace(outbox.merged(intended, stored), version=stored.version)
                return self._ports.incidents.record_intent(mine.told(now, "action.intended", _in_words(mine)), now)

        return self._run.step(self._name("record"), work, Incident)

    def compare(self, incident: Incident, change: Change) -> None:
        """Look once more right before the change: is acting still allowed, and is the target what the diagnosis saw?

        Raises StepFailed with the guardrail as its code: paused, freeze, changed-since, change-in-progress.
        """

        def work() -> Done:
            self._still_allowed(incident)
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            actions.compare(change, actor, self._ports.backfills)
            return Done(at=self._ports.clock.now())

        self._run.step(self._name("compare"), work, Done)

    def _still_allowed(self, incident: Incident) -> None:
        now = self._ports.clock.now()
        until = self._ports.incidents.ledger(incident.account, incident.region, (), now).paused_until
        if until is not None:
            raise Drifted(
                f"Paused until {until:%Y-%m-%d %H:%M} UTC, just before acting. Nothing more was changed. "
                "`/unthrottle resume` ends the pause.",
                guardrail="paused",
            )
        if self._is_frozen(incident):
            raise Drifted(
                "The change calendar closed just before acting. Nothing more was changed.", guardrail="freeze"
            )

    def apply(self, incident: Incident, change: Change) -> AppliedChange:
        """Make one change. Raises StepFailed when it was refused."""

        def work() -> AppliedChange:
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            made = actions.apply(change, self._observer(incident), actor, self._ports.backfills)
            log.info("action.applied", extra={"incident_id": incident.id, "target": change.target})
            return AppliedChange(change=made, at=self._ports.clock.now())

        return self._run.step(self._name("act"), work, AppliedChange)

    def is_in_force(self, incident: Incident, change: Change) -> AppliedChange | None:
        """Say whether a change whose answer never came was made after all. Raises StepFailed where it cannot be read."""

        def work() -> Found:
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            made = AppliedChange(change=change, at=self._ports.clock.now())
            return Found(made=made if actions.is_in_force(change, actor) else None)

        return self._run.step(self._name("made-after-all"), work, Found).made

    # --- verify, hold, give back ---

    def verify(self, incident: Incident, since: datetime, deadline: datetime) -> Checked:
        """Read the measurement that raised the symptom again, and judge; read what people want done, too."""

        def work() -> Checked:
            now = self._ports.clock.now()
            judged = judge_symptom(self._observer(incident), incident, since=since, deadline=deadline, now=now)
            return Checked(judgement=judged, at=now, wish=self._wish(incident))

        try:
            return self._run.step(self._name("verify"), work, Checked)
        except StepFailed as failure:
            unread = Judgement(outcome=None, because=str(failure))

            def without() -> Checked:
                return Checked(judgement=unread, at=self._ports.clock.now(), wish=self._wish(incident))

            return self._run.step(self._name("verify-failed"), without, Checked)

    def _wish(self, incident: Incident) -> Wish | None:
        if not incident.is_in_force:
            return None
        stored = self._ports.incidents.load(incident.id)
        return stored.wish if stored else None

    def wished(self, incident: Incident) -> Wish | None:
        """Read what a person wants done with the change, if anybody said so."""
        return self._run.step(
            self._name("wished"),
            lambda: Checked(
                judgement=Judgement(outcome=None, because=""), at=self._ports.clock.now(), wish=self._wish(incident)
            ),
            Checked,
        ).wish

    def postpone(self, incident: Incident, because: str, pause: timedelta, *, is_first: bool) -> Incident:
        """Wait with giving back, and say in the record until when: the sweep then knows that somebody is at it."""

        def later(found: Incident, now: datetime) -> Incident:
            moved = replace(found, lease_until=now + pause)
            return moved.told(now, "lease.give-back-later", because) if is_first else moved

        return self.change(incident, "postponed", later)

    def pressure(self, incident: Incident) -> Pressure:
        """Look whether what caused the change is still there."""
        try:
            return self._run.step(
                self._name("pressure"),
                lambda: pressure_on(self._observer(incident), incident, self._ports.clock.now()),
                Pressure,
            )
        except StepFailed as failure:
            return Pressure(is_gone=False, because=str(failure))

    def ask(
        self,
        incident: Incident,
        about: str,
        wait: timedelta,
        step: Step,
        detail: str = "",
        *,
        expires: timedelta | None = None,
    ) -> tuple[Incident, Answered | Expired]:
        """Ask people, and wait for their answer. The question is written and told before the wait begins.

        `expires` is when it is really over, where this wait only ends in a reminder.
        """
        until = expires or wait

        def submit(callback: str) -> None:
            def put(found: Incident, now: datetime) -> Incident:
                question = Question(
                    about="approval" if about == "approval" else "lease",
                    callback=callback,
                    version=found.version + 1,
                    expires_at=now + until,
                )
                if about == "lease":
                    return replace(found, question=question, lease_until=now + wait)
                event = ASKED_AS.get(step, "approval.requested")
                by = f"{detail[:1].lower()}{detail[1:]}, " if detail else ""
                return replace(found, question=question).told(now, event, f"{by}until {now + until:%H:%M} UTC")

            self.tell(self.change(incident, "question", put), step, detail)

        answer = self._run.ask(self._name(f"ask-{about}"), wait, submit)
        after = self.load(incident.id)
        return self.change(after, "asked", lambda found, _now: replace(found, question=None)), answer

    def give_back(self, incident: Incident, change: Change) -> GiveBack:
        """Put one change back if it is still ours. Raises StepFailed when AWS refuses."""

        def work() -> Returned:
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            return Returned(result=actions.give_back(change, actor))

        return self._run.step(self._name("give-back"), work, Returned).result

    def wait(self, name: str, duration: timedelta) -> None:
        self._run.sleep(self._name(name), duration)

    def now(self) -> datetime:
        """Read the clock, as a step: the same on every resume."""
        return self._run.step(self._name("clock"), lambda: Done(at=self._ports.clock.now()), Done).at

    def close(self, incident: Incident) -> Incident:
        """End the incident: free its fingerprint and its resources."""

        def work() -> Incident:
            now = self._ports.clock.now()
            stored = self._ports.incidents.load(incident.id)
            if stored is not None and stored.closed_at is not None:
                return stored
            version = stored.version if stored else incident.version
            mine = outbox.merged(incident, stored) if stored else incident
            return self._ports.incidents.close(
                replace(mine, version=version, closed_at=now, question=None).told(now, "incident.closed")
            )

        return self._run.step(self._name("close"), work, Incident)

    # --- tell ---

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
        chat = self._ports.chat
        numbered = replace(incident, reports=incident.reports + 1)
        if chat is None:
            log.warning("report.no-chat", extra={"incident_id": incident.id, "step": step.value})
            return self._save(numbered)
        line = message(numbered, step, detail=detail, number=numbered.reports, picture=picture)
        top = head(numbered, step, picture)
        try:
            if numbered.head is None:
                numbered = replace(numbered, head=chat.post(top.text, top.blocks).ts)
                numbered = self._save(numbered)
            else:
                try:
                    chat.update(numbered.head, top.text, top.blocks)
                except ChatGone:
                    numbered = replace(numbered, head=chat.post(top.text, top.blocks).ts)
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


def _with_approval(asked: Verdict, fresh: Verdict) -> Verdict:
    """Keep what was asked in the record beside what a fresh judgement says now."""
    seen = {reason.guardrail for reason in fresh.reasons}
    earlier: tuple[Reason, ...] = tuple(reason for reason in asked.reasons if reason.guardrail not in seen)
    return Verdict(decision=fresh.decision, reasons=(*fresh.reasons, *earlier))


def _in_words(incident: Incident) -> str:
    return "; ".join(incident.plan.commands) if incident.plan else ""
