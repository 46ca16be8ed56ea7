"""The workflow's steps that touch the world: look, judge, record, act, verify, give back, tell.

Each method is one step of a run (or a few), so that a resumed run does nothing twice. The order in which they happen, and
why, is in `workflow.py`.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle import actions
from unthrottle.actions.outcome import GiveBack
from unthrottle.actions.planning import make_plan
from unthrottle.causes import diagnose
from unthrottle.chat import ChatError, ChatGone, ChatLater
from unthrottle.diagnosis import Cause, Confidence, Diagnosis, Finding
from unthrottle.errors import Conflict, NotAllowed, NotFound, Refused, StepFailed, TryAgain
from unthrottle.evidence.pool import PoolEvidence
from unthrottle.evidence.read_pool import is_own, read_pool
from unthrottle.evidence.read_table import read_table
from unthrottle.evidence.table import TableEvidence
from unthrottle.guardrails import Context, effective_mode, judge
from unthrottle.incident import AppliedChange, Incident, Question, Reason, Verdict
from unthrottle.plan import Action, Change, Plan
from unthrottle.ports import Answered, Expired, Observer, Ports, Run
from unthrottle.pressure import Pressure, pressure_on
from unthrottle.report.moments import Step, head, message
from unthrottle.report.page import page
from unthrottle.report.picture import Picture, picture_of
from unthrottle.settings import Settings
from unthrottle.subjects import FunctionSubject, TableSubject
from unthrottle.symptom import judge_symptom
from unthrottle.verification import Judgement

log = logging.getLogger("unthrottle")

UNREAD = Plan(
    action=Action.ESCALATE,
    why="The evidence could not be read, and Unthrottle does not act on a guess.",
    follow_up="Mend what the finding names (permissions, a wrong name or Region), then run /unthrottle check.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A look: the record with its diagnosis and plan, what to draw, and when the evidence was read."""

    incident: Incident
    picture: Picture
    at: datetime


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
        """Write the record. This run is its only writer, so a conflict is a write of its own that was not remembered."""
        try:
            return self._ports.incidents.save(incident)
        except Conflict:
            stored = self._ports.incidents.load(incident.id)
            return self._ports.incidents.save(replace(incident, version=stored.version if stored else 0))

    def _observer(self, incident: Incident) -> Observer:
        return self._ports.accounts.observe(incident.account, incident.region, incident.id)

    def load(self, incident_id: str) -> Incident:
        """Read the record. Raises StepFailed when there is none."""

        def work() -> Incident:
            found = self._ports.incidents.load(incident_id)
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
            return self._run.step(self._name("look"), lambda: self._look(incident), Seen)
        except StepFailed as failure:
            unread = str(failure)
            return self._run.step(self._name("look-failed"), lambda: self._unread(incident, unread), Seen)

    def _look(self, incident: Incident) -> Seen:
        now = self._ports.clock.now()
        try:
            evidence = self._evidence(incident, now)
        except (NotFound, NotAllowed, Refused) as error:
            return self._unread(incident, str(error))
        diagnosis = diagnose(evidence, self._settings, itself=self._own(evidence))
        plan = make_plan(diagnosis, evidence, self._settings)
        saved = self._save(
            replace(
                incident,
                diagnosis=diagnosis,
                plan=plan,
                early_warning=incident.early_warning and not _is_throttled(evidence),
                mode=effective_mode(plan, self._settings, forced_dry_run=incident.forced_dry_run),
            )
            .told(now, "diagnosis.made", f"{diagnosis.cause.value}, {diagnosis.confidence.value} confidence")
            .told(now, "plan.made", plan.action.value)
        )
        log.info(
            "diagnosis.made",
            extra={"incident_id": incident.id, "cause": diagnosis.cause.value, "targets": list(diagnosis.targets)},
        )
        return Seen(incident=saved, picture=picture_of(evidence, diagnosis), at=evidence.end)

    def _evidence(self, incident: Incident, now: datetime) -> PoolEvidence | TableEvidence:
        observer = self._observer(incident)
        subject = incident.subject
        if isinstance(subject, TableSubject):
            return read_table(
                observer,
                self._settings,
                now,
                table=subject.table,
                index=subject.index,
                backfills=self._ports.backfills,
            )
        return read_pool(
            observer,
            self._settings,
            now,
            alarmed=(subject.function,) if isinstance(subject, FunctionSubject) else (),
            early_warning=incident.early_warning,
            own_prefix=self._own_prefix,
        )

    def _own(self, evidence: PoolEvidence | TableEvidence) -> frozenset[str]:
        if isinstance(evidence, TableEvidence):
            return frozenset()
        return frozenset(use.name for use in evidence.ranking if is_own(use.name, self._own_prefix))

    def _unread(self, incident: Incident, why: str) -> Seen:
        now = self._ports.clock.now()
        diagnosis = Diagnosis(
            cause=Cause.INCONCLUSIVE,
            confidence=Confidence.LOW,
            findings=(Finding(text=f"The evidence could not be read: {why}"),),
            gaps=(why,),
        )
        plan = UNREAD
        saved = self._save(
            replace(incident, diagnosis=diagnosis, plan=plan).told(now, "diagnosis.made", "inconclusive: " + why)
        )
        return Seen(incident=saved, picture=Picture(columns=(), rows=()), at=now)

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
        """Write before-state, after-state and lease, take the resources, spend the budget: before anything changes.

        Raises StepFailed with code Busy when another incident holds a resource.
        """

        def work() -> Incident:
            now = self._ports.clock.now()
            try:
                return self._ports.incidents.record_intent(
                    incident.told(now, "action.intended", _in_words(incident)), now
                )
            except Conflict:  # a run that died right after this write: it is there already, under an earlier clock
                stored = self._ports.incidents.load(incident.id)
                if stored is not None and any(moment.event == "action.intended" for moment in stored.timeline):
                    return stored
                raise

        return self._run.step(self._name("record"), work, Incident)

    def compare(self, incident: Incident, change: Change) -> None:
        """Read the target again. Raises StepFailed with code Drifted when it changed since the diagnosis."""

        def work() -> Done:
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            actions.compare(change, actor, self._ports.backfills)
            return Done(at=self._ports.clock.now())

        self._run.step(self._name("compare"), work, Done)

    def apply(self, incident: Incident, change: Change) -> AppliedChange:
        """Make one change. Raises StepFailed when it was refused."""

        def work() -> AppliedChange:
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            made = actions.apply(change, self._observer(incident), actor, self._ports.backfills)
            log.info("action.applied", extra={"incident_id": incident.id, "target": change.target})
            return AppliedChange(change=made, at=self._ports.clock.now())

        return self._run.step(self._name("act"), work, AppliedChange)

    # --- verify, hold, give back ---

    def verify(self, incident: Incident, since: datetime, deadline: datetime) -> Judgement:
        """Read the measurement that raised the symptom again, and judge."""

        def work() -> Judgement:
            now = self._ports.clock.now()
            return judge_symptom(self._observer(incident), incident, since=since, deadline=deadline, now=now)

        try:
            return self._run.step(self._name("verify"), work, Judgement)
        except StepFailed as failure:
            return Judgement(outcome=None, because=str(failure))

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
        self, incident: Incident, about: str, wait: timedelta, step: Step, detail: str = ""
    ) -> tuple[Incident, Answered | Expired]:
        """Ask people, and wait for their answer. The question is written and told before the wait begins."""

        def submit(callback: str) -> None:
            def put(found: Incident, now: datetime) -> Incident:
                question = Question(
                    about="approval" if about == "approval" else "lease",
                    callback=callback,
                    version=found.version + 1,
                    expires_at=now + wait,
                )
                if about == "lease":
                    return replace(found, question=question, lease_until=now + wait)
                return replace(found, question=question).told(
                    now, "approval.requested", f"until {now + wait:%H:%M} UTC"
                )

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
            return self._ports.incidents.close(
                replace(incident, version=version, closed_at=now, question=None).told(now, "incident.closed")
            )

        return self._run.step(self._name("close"), work, Incident)

    # --- tell ---

    def tell(self, incident: Incident, step: Step, detail: str = "", picture: Picture | None = None) -> Incident:
        """Report one step to Slack; to the escalation topic where Slack does not take it. Never stops the incident."""
        try:
            return self._run.step(
                self._name(f"tell-{step.value}"), lambda: self._deliver(incident, step, detail, picture), Incident
            )
        except StepFailed as failure:
            unsent = str(failure)

            def fall_back() -> Incident:
                now = self._ports.clock.now()
                subject, text = page(incident, f"{step.value}: {detail}\nSlack did not take this report: {unsent}")
                self._ports.pager.page(subject, text)
                log.error("report.unsent", extra={"incident_id": incident.id, "step": step.value})
                return self._save(
                    replace(incident, unsent=incident.unsent + 1, reports=incident.reports + 1).told(
                        now, "report.unsent", step.value
                    )
                )

            return self._run.step(self._name("tell-by-page"), fall_back, Incident)

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
            raise TryAgain(str(error)) from error
        except ChatError as error:
            raise Refused(str(error), code="slack") from error
        log.info("report.sent", extra={"incident_id": incident.id, "step": step.value, "number": numbered.reports})
        return self._save(numbered)

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


def _is_throttled(evidence: PoolEvidence | TableEvidence) -> bool:
    return isinstance(evidence, PoolEvidence) and any(series.sum() > 0 for _, series in evidence.throttled)


def _with_approval(asked: Verdict, fresh: Verdict) -> Verdict:
    """Keep what was asked in the record beside what a fresh judgement says now."""
    seen = {reason.guardrail for reason in fresh.reasons}
    earlier: tuple[Reason, ...] = tuple(reason for reason in asked.reasons if reason.guardrail not in seen)
    return Verdict(decision=fresh.decision, reasons=(*fresh.reasons, *earlier))


def _in_words(incident: Incident) -> str:
    return "; ".join(incident.plan.commands) if incident.plan else ""
