"""The workflow's steps that touch the world: look, judge, record, act, verify, give back.

Each method is one step of a run (or a few), so that a resumed run does nothing twice. The order in which they happen, and
why, is in `workflow.py`.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from unthrottle import actions, outbox
from unthrottle.actions.outcome import GiveBack, LeftAlone
from unthrottle.errors import Conflict, Drifted, NotFound, Refused, StepFailed
from unthrottle.evidence.read_pool import is_own
from unthrottle.guardrails import Context, judge
from unthrottle.incident import AppliedChange, Incident, Reason, Verdict, Wish
from unthrottle.look import Seen, look, redraw, unread
from unthrottle.plan import Change
from unthrottle.ports import Actor, Observer, Ports, Run
from unthrottle.pressure import Pressure, pressure_on
from unthrottle.records import CLOSED_ELSEWHERE, Done
from unthrottle.report.picture import Picture
from unthrottle.settings import Mode, Settings
from unthrottle.symptom import judge_symptom
from unthrottle.telling import Telling
from unthrottle.verification import Judgement

log = logging.getLogger("unthrottle")

MAY_ACT = frozenset({Mode.AUTO, Mode.APPROVE})
"""The modes in which anything may be changed at all."""
AT_ONCE = timedelta(seconds=4)
"""How soon after the last look at the target its change is made; a second try, or another process, comes later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The symptom read again: the judgement, when, and what a person has asked for meanwhile."""

    judgement: Judgement
    at: datetime
    wish: Wish | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A change that is in force, or None. `is_missing`: the table, function or event source is not there any more."""

    made: AppliedChange | None
    is_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What became of giving one change back."""

    result: GiveBack


class Desk(Telling):
    """The hands and eyes of one workflow run; what it says and writes comes with `Telling` and `Records`."""

    def __init__(self, run: Run, ports: Ports, settings: Settings, own_prefix: str | None) -> None:
        super().__init__(run, ports)
        self._settings = settings
        self._own_prefix = own_prefix

    def _observer(self, incident: Incident) -> Observer:
        return self._ports.accounts.observe(incident.account, incident.region, incident.id)

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

        Raises StepFailed with code Busy when another incident holds a resource, OverBudget when others have spent the
        budget since it was judged, and mode where nothing may be changed: whoever gets here must have asked before.
        """
        budget = self._settings.max_actions_per_hour

        def work() -> Incident:
            if incident.mode not in MAY_ACT:
                raise Refused(
                    f"The mode is {incident.mode.value}, in which nothing is changed. Nothing was changed.", code="mode"
                )
            now = self._ports.clock.now()
            minutes = incident.plan.lease_minutes if incident.plan else None
            intended = replace(incident, lease_until=now + timedelta(minutes=minutes) if minutes else None)
            try:
                return self._ports.incidents.record_intent(
                    intended.told(now, "action.intended", _in_words(incident)), now, budget=budget
                )
            except Conflict:  # a run that died right after this write: it is there already, under an earlier clock
                stored = self._ports.incidents.load(incident.id)
                if stored is not None:
                    self._not_taken_over(stored)
                if stored is not None and stored.is_begun:
                    return stored
                if stored is None:
                    raise
                mine = replace(outbox.merged(intended, stored), version=stored.version)
                told = mine.told(now, "action.intended", _in_words(mine))
                return self._ports.incidents.record_intent(told, now, budget=budget)

        return self._run.step(self._name("record"), work, Incident)

    def compare(self, incident: Incident, change: Change) -> datetime:
        """Look once more right before the change: is acting still allowed, and is the target what the diagnosis saw?

        Both are asked again in `apply`, which a process that died may come to much later. Returns when it was looked.

        Raises StepFailed with the guardrail as its code: paused, freeze, changed-since, change-in-progress.
        """

        def work() -> Done:
            self._still_allowed(incident)
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            actions.compare(change, actor, self._ports.backfills)
            return Done(at=self._ports.clock.now())

        return self._run.step(self._name("compare"), work, Done).at

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

    def apply(self, incident: Incident, change: Change, compared_at: datetime) -> AppliedChange:
        """Make one change. Raises StepFailed when it was refused.

        A process that died in here is followed by another, perhaps long after: the sweep may have given the change back and
        closed the incident meanwhile, and it must not be made again; or a person may have set the target otherwise. So
        whoever comes later than right after `compared_at` looks again, and goes on only from the before-state, or from the
        after-state that an earlier try of its own has made.
        """

        def work() -> AppliedChange:
            stored = self._ports.incidents.load(incident.id)
            if stored is None or not stored.is_open or stored.is_taken_over:
                raise Refused(f"{incident.id} was closed by the sweep. Nothing was changed.", code=CLOSED_ELSEWHERE)
            self._still_allowed(incident)
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            if self._ports.clock.now() - compared_at > AT_ONCE:
                actions.compare_again(change, actor)
            made = actions.apply(change, self._observer(incident), actor, self._ports.backfills)
            at = self._ports.clock.now()
            seconds = int((at - incident.opened_at).total_seconds())
            log.info("action.applied", extra={"incident_id": incident.id, "target": change.target, "seconds": seconds})
            return AppliedChange(change=made, at=at)

        return self._run.step(self._name("act"), work, AppliedChange)

    def made_after_all(self, incident: Incident, change: Change) -> AppliedChange | None:
        """Find a change whose answer never came, as it was made; None: it was not. Raises StepFailed if it cannot be read."""
        return self._found(incident, "made-after-all", lambda actor: actions.made_after_all(change, actor)).made

    def is_in_force(self, incident: Incident, change: Change) -> bool:
        """Say whether a change on record is still there. Raises StepFailed where it cannot be read.

        Of what is not there any more nothing is in force.
        """
        return self._still(incident, change).made is not None

    def is_missing(self, incident: Incident, change: Change) -> bool:
        """Say whether the target of a change is not there any more. Raises StepFailed where it cannot be read."""
        return self._still(incident, change).is_missing

    def _still(self, incident: Incident, change: Change) -> Found:
        return self._found(
            incident, "still-in-force", lambda actor: change if actions.is_in_force(change, actor) else None
        )

    def _found(self, incident: Incident, name: str, read: Callable[[Actor], Change | None]) -> Found:
        def work() -> Found:
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            try:
                made = read(actor)
            except NotFound:
                return Found(made=None, is_missing=True)
            return Found(made=None if made is None else AppliedChange(change=made, at=self._ports.clock.now()))

        return self._run.step(self._name(name), work, Found)

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
        """Read what a person wants: with a change in force to revert or keep it, and where a person was paged a snooze."""
        if not (incident.is_in_force or incident.is_snoozed_by_wish):
            return None
        stored = self._ports.incidents.load(incident.id)
        wish = stored.wish if stored else None
        if wish is None or (wish.do == "snooze") is incident.is_in_force:
            return None
        return None if wish.do == "snooze" and wish.until == incident.snoozed_until else wish

    def postpone(self, incident: Incident, because: str, pause: timedelta, *, is_first: bool) -> Incident:
        """Wait with giving back, and say in the record until when: the sweep then knows that somebody is at it."""

        def later(found: Incident, now: datetime) -> Incident:
            moved = replace(found, lease_until=now + pause, settling=None)
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

    def give_back(self, incident: Incident, change: Change) -> GiveBack:
        """Put one change back if it is still ours and its target still there. Raises StepFailed when AWS refuses."""

        def work() -> Returned:
            stored = self._ports.incidents.load(incident.id)
            if stored is not None:  # a process that died in here is followed by another, perhaps after the sweep
                self._not_taken_over(stored)
            actor = self._ports.accounts.act(incident.account, incident.region, incident.id)
            try:
                return Returned(result=actions.give_back(change, actor))
            except NotFound as error:  # deleted or renamed meanwhile: nobody can give it back, however often they try
                return Returned(result=LeftAlone(found=f"{change.target} is not there any more ({error.code})"))

        return self._run.step(self._name("give-back"), work, Returned).result


def _with_approval(asked: Verdict, fresh: Verdict) -> Verdict:
    """Keep what was asked in the record beside what a fresh judgement says now."""
    seen = {reason.guardrail for reason in fresh.reasons}
    earlier: tuple[Reason, ...] = tuple(reason for reason in asked.reasons if reason.guardrail not in seen)
    return Verdict(decision=fresh.decision, reasons=(*fresh.reasons, *earlier))


def _in_words(incident: Incident) -> str:
    return "; ".join(incident.plan.commands) if incident.plan else ""
