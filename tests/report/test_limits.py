"""Nothing that can be in an incident makes a message that Slack refuses."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.samples import SAMPLES, at_step, pool_evidence, pool_hog, short_index
from tests.report.told import buttons, objections, tell
from unthrottle.diagnosis import Diagnosis, Finding, Rejected
from unthrottle.evidence.pool import FunctionUse
from unthrottle.evidence.table import Capacity
from unthrottle.incident import Incident, Reason, Verdict
from unthrottle.plan import CapConcurrency, Plan, RaiseCapacity, SavedTable
from unthrottle.report.moments import Message, Step, head, message, picture_of
from unthrottle.report.page import page

FUNCTION = "f" * 64
TABLE = "t" * 255
INDEX = "i" * 252


def check(told: tuple[Message, Message]) -> None:
    for one in told:
        assert objections(one) == []
        buttons(one)
    assert len(told[0].blocks) <= 7


def longest_pool() -> Incident:
    """Every name as long as AWS allows, 500 victims, 20 functions to cap, and texts that go on and on."""
    base = pool_hog()
    assert base.plan is not None
    assert base.diagnosis is not None
    names = [f"{number:03d}{FUNCTION}"[:64] for number in range(520)]
    caps = tuple(
        CapConcurrency(function=name, arn=f"arn:{name}", before=900, after=250, peak=841, tags={"owner": "o" * 256})
        for name in names[:20]
    )
    long = "the evidence says that " * 200
    return replace(
        base,
        alarm_name="a" * 255,
        triggers=100_000,
        diagnosis=replace(
            base.diagnosis,
            targets=tuple(names[:20]),
            victims=tuple(names[20:]),
            findings=tuple(Finding(text=long, check="aws " + "x" * 5000) for _ in range(10)),
            rejected=tuple(Rejected(cause=base.diagnosis.cause, because=long) for _ in range(16)),
            gaps=(long,) * 50,
        ),
        plan=replace(
            base.plan,
            changes=caps,
            why=long,
            effect=long,
            follow_up=long,
            commands=tuple(f"aws lambda put-function-concurrency --function-name {name}" for name in names[:20]),
            way_back_commands=tuple(f"aws lambda delete-function-concurrency --function-name {name}" for name in names),
        ),
    )


def longest_table() -> Incident:
    base = short_index()
    assert base.plan is not None
    assert base.diagnosis is not None
    indexes = [f"{number:02d}{INDEX}"[:255] for number in range(20)]
    low, high = Capacity(read=10**9, write=10**9), Capacity(read=10**10, write=10**10)
    change = RaiseCapacity(
        table=TABLE,
        arn="arn",
        before=SavedTable(capacity=low, indexes=dict.fromkeys(indexes, low)),
        after=SavedTable(capacity=high, indexes=dict.fromkeys(indexes, high)),
    )
    call = "aws dynamodb update-table --global-secondary-index-updates " + " ".join(
        f"'{index}' " * 2 for index in indexes
    )
    return replace(
        base,
        diagnosis=replace(base.diagnosis, targets=(TABLE,), victims=(TABLE,), index=indexes[0]),
        plan=replace(base.plan, changes=(change,), commands=(call,), way_back_commands=(call,)),
    )


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_ordinary_message_is_taken_by_slack(sample: str, step: Step) -> None:
    check(tell(SAMPLES[sample](), step))


@pytest.mark.parametrize("step", Step)
def test_500_victims_and_the_longest_function_names_fit(step: Step) -> None:
    check(tell(longest_pool(), step, "d" * 5000))


@pytest.mark.parametrize("step", Step)
def test_20_indexes_with_the_longest_names_fit(step: Step) -> None:
    check(tell(longest_table(), step))


def test_a_picture_of_the_longest_names_fits_and_keeps_them_apart() -> None:
    incident = at_step(longest_pool(), Step.DIAGNOSED)
    assert incident.diagnosis is not None
    one = pool_evidence()
    ranking = tuple(
        FunctionUse(name=name, concurrency=one.ranking[0].concurrency) for name in incident.diagnosis.targets
    )
    picture = picture_of(replace(one, ranking=ranking), incident.diagnosis)
    assert len(picture.rows) <= 12
    assert all(len(chart.labels) <= 20 for chart in picture.charts)
    check((head(incident, Step.DIAGNOSED, picture), message(incident, Step.DIAGNOSED, number=1, picture=picture)))


def test_what_does_not_fit_is_said_and_where_it_is() -> None:
    _, told = tell(longest_pool(), Step.APPROVAL_NEEDED)
    assert any("unthrottle incidents INC-7Q2M4K8X" in str(block) for block in told.blocks)


def test_a_command_that_is_too_long_for_one_block_goes_on_in_the_next() -> None:
    base = pool_hog()
    assert base.plan is not None
    call = "aws dynamodb update-table " + " ".join(f"--word-{number}&" for number in range(400))
    told = message(replace(base, plan=replace(base.plan, commands=(call,))), Step.ACTING, number=1)
    code = [str(block["text"]["text"]) for block in told.blocks if "```" in str(block)]  # type: ignore[index]
    shown = "".join(part.split("```")[1].strip("\n") for part in code)
    assert call in shown.replace("&amp;", "&")


anything = st.text(max_size=400)
names = st.text(min_size=1, max_size=255)


@st.composite
def any_incident(draw: st.DrawFn) -> Incident:
    base = SAMPLES[draw(st.sampled_from(sorted(SAMPLES)))]()
    found = base.diagnosis
    plan = base.plan
    assert found is not None
    assert plan is not None
    text = draw(anything)
    diagnosis: Diagnosis = replace(
        found,
        targets=tuple(draw(st.lists(names, max_size=3))),
        victims=tuple(draw(st.lists(names, max_size=5))),
        findings=(Finding(text=text, check=draw(anything)),),
        gaps=(draw(anything),),
        index=draw(st.none() | names),
    )
    wanted: Plan = replace(
        plan, why=draw(anything), effect=text, follow_up=draw(anything), commands=(draw(anything),), way_back=text
    )
    return replace(
        base,
        alarm_name=draw(st.text(max_size=255)),
        requested_by=draw(st.none() | names),
        muted_by=draw(st.none() | names),
        diagnosis=diagnosis,
        plan=wanted,
        verdict=Verdict(decision=base.verdict.decision, reasons=(Reason(guardrail=draw(names), text=text),))
        if base.verdict
        else None,
    )


@settings(max_examples=150, deadline=None)
@given(incident=any_incident(), step=st.sampled_from(Step), detail=anything)
def test_no_text_makes_a_message_slack_refuses(incident: Incident, step: Step, detail: str) -> None:
    check(tell(incident, step, detail))


@settings(max_examples=100, deadline=None)
@given(incident=any_incident(), detail=anything)
def test_a_pages_subject_is_one_short_line_of_ascii(incident: Incident, detail: str) -> None:
    subject, text = page(incident, detail)
    assert subject.isascii()
    assert subject.isprintable()
    assert 0 < len(subject) <= 100
    assert text.strip()
