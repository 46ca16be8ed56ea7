"""What every engine promises a workflow: the `Run` port, told once for the durable SDK and for simulated time.

A test of an engine wraps one of these workflows, drives it to its end, and compares the effects.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from unthrottle.errors import NotAllowed, Refused, StepFailed, TryAgain
from unthrottle.evidence.series import Series
from unthrottle.ports import Answered, Expired, Run

Workflow = Callable[[Run], object]


class Engine(Protocol):
    """Drives one execution of a workflow to its end, with time passing as fast as it can."""

    def finish(self, workflow: Workflow) -> object:
        """Run to the end without answering anything; return what the workflow returned (JSON values)."""

    def answer(self, workflow: Workflow, name: str, text: str) -> object:
        """Run until the question `name` waits, answer it with `text`, run to the end."""


@dataclass
class Effects:
    """What a workflow did to the world, in order."""

    done: list[str] = field(default_factory=list)

    def do(self, what: str) -> str:
        self.done.append(what)
        return f"{what} #{self.done.count(what)}"


SERIES = Series(start=datetime(2026, 6, 1, tzinfo=UTC), period_s=60, values=(1.0, None, 3.5))


def a_step_is_done_once_and_remembered_over_a_sleep(engine: Engine) -> None:
    effects = Effects()

    def workflow(run: Run) -> object:
        first = run.step("look", lambda: effects.do("look"), str)
        run.sleep("settle", timedelta(minutes=5))
        second = run.step("act", lambda: effects.do("act"), str)
        return [first, second]

    assert engine.finish(workflow) == ["look #1", "act #1"]
    assert effects.done == ["look", "act"]


def a_remembered_result_has_its_type_again(engine: Engine) -> None:
    def workflow(run: Run) -> object:
        before = run.step("look", lambda: SERIES, Series)
        run.sleep("settle", timedelta(minutes=5))
        nothing: None = run.step("write", lambda: None, type(None))
        return [before == SERIES, before.start.isoformat(), nothing]

    assert engine.finish(workflow) == [True, SERIES.start.isoformat(), None]


def a_busy_service_is_asked_again_three_times(engine: Engine) -> None:
    effects = Effects()

    def look() -> str:
        done = effects.do("look")
        if len(effects.done) < 4:
            raise TryAgain("CloudWatch is busy")
        return done

    assert engine.finish(lambda run: run.step("look", look, str)) == "look #4"


def a_service_that_stays_busy_fails_the_step_after_four_attempts(engine: Engine) -> None:
    effects = Effects()

    def look() -> str:
        effects.do("look")
        raise TryAgain("CloudWatch is busy")

    def workflow(run: Run) -> object:
        try:
            return run.step("look", look, str)
        except StepFailed as failed:
            return [failed.step, failed.code, str(failed)]

    assert engine.finish(workflow) == ["look", "TryAgain", "CloudWatch is busy"]
    assert effects.done == ["look"] * 4


def a_refusal_fails_the_step_at_once_and_is_remembered(engine: Engine) -> None:
    effects = Effects()

    def act() -> str:
        effects.do("act")
        raise Refused("AWS said no", code="ValidationException")

    def look() -> str:
        effects.do("look")
        raise NotAllowed("not allowed", code="AccessDenied")

    def workflow(run: Run) -> object:
        codes = []
        for name, work in (("act", act), ("look", look)):
            try:
                run.step(name, work, str)
            except StepFailed as failed:
                codes.append(f"{failed.step}: {failed.code}: {failed}")
            run.sleep(f"after {name}", timedelta(minutes=1))
        return codes

    assert engine.finish(workflow) == ["act: ValidationException: AWS said no", "look: AccessDenied: not allowed"]
    assert effects.done == ["act", "look"]


def an_answer_is_given_back_as_it_was_sent_and_asked_for_once(engine: Engine) -> None:
    effects = Effects()

    def put() -> str:
        effects.do("put")
        return "put"

    def workflow(run: Run) -> object:
        def submit(_: str) -> None:
            run.step("put it", put, str)

        answer = run.ask("approval", timedelta(minutes=30), submit)
        run.sleep("settle", timedelta(minutes=5))
        match answer:
            case Answered(text=text):
                return text
            case Expired():
                return "expired"

    assert engine.answer(workflow, "approval", '{"by":"U0OPS","yes":true}') == '{"by":"U0OPS","yes":true}'
    assert effects.done == ["put"]


def a_question_nobody_answers_expires(engine: Engine) -> None:
    def workflow(run: Run) -> object:
        return isinstance(run.ask("approval", timedelta(seconds=1), lambda _: None), Expired)

    assert engine.finish(workflow) is True


def a_question_that_cannot_be_put_fails_its_step(engine: Engine) -> None:
    def refuse() -> str:
        raise Refused("Slack said no", code="channel_not_found")

    def workflow(run: Run) -> object:
        def submit(_: str) -> None:
            run.step("approval submit", refuse, str)

        try:
            run.ask("approval", timedelta(minutes=30), submit)
        except StepFailed as failed:
            return [failed.step, failed.code]
        return "asked"

    assert engine.finish(workflow) == ["approval submit", "channel_not_found"]


def a_sleep_of_nothing_is_no_sleep(engine: Engine) -> None:
    def workflow(run: Run) -> object:
        run.sleep("no settle time", timedelta())
        return "on"

    assert engine.finish(workflow) == "on"


PROMISES: tuple[Callable[[Engine], None], ...] = (
    a_step_is_done_once_and_remembered_over_a_sleep,
    a_remembered_result_has_its_type_again,
    a_busy_service_is_asked_again_three_times,
    a_service_that_stays_busy_fails_the_step_after_four_attempts,
    a_refusal_fails_the_step_at_once_and_is_remembered,
    an_answer_is_given_back_as_it_was_sent_and_asked_for_once,
    a_question_nobody_answers_expires,
    a_question_that_cannot_be_put_fails_its_step,
    a_sleep_of_nothing_is_no_sleep,
)
"""Everything above: parametrise a test with it."""
