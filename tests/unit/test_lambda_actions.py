"""A cap stays within its bounds, is never zero, and what is given back is exactly what was there before."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import FakeActor, FakeFunctions, arn_of, observer, series
from unthrottle import actions
from unthrottle.actions import cap_concurrency, cap_event_source
from unthrottle.actions.outcome import GivenBack, LeftAlone
from unthrottle.errors import Drifted, Refused
from unthrottle.evidence.pool import AsyncSettings, Candidate, ConcurrencyAccount, EventSource, SourceKind
from unthrottle.plan import CapConcurrency, CapEventSource
from unthrottle.settings import Settings

SETTINGS = Settings()


def account(limit: int, reserved: int = 0) -> ConcurrencyAccount:
    return ConcurrencyAccount(limit=limit, unreserved_limit=limit - reserved, function_count=362)


def hog(name: str = "hog", **changes: object) -> Candidate:
    return replace(Candidate(name=name, arn=arn_of(name), reserved=None, timeout_s=900), **changes)  # type: ignore[arg-type]


def cap(before: int | None = None, after: int = 250, **changes: object) -> CapConcurrency:
    plain = CapConcurrency(function="hog", arn=arn_of("hog"), before=before, after=after, peak=841)
    return replace(plain, **changes)  # type: ignore[arg-type]  # any field, by name


@pytest.mark.parametrize(
    ("limit", "percent", "tag", "expected"),
    [
        (1000, 25, None, 250),
        (1000, 25, "100", 100),
        (1000, 25, " 100 ", 100),
        (1000, 25, "251", 250),
        (1000, 25, "0", 250),
        (1000, 25, "-5", 250),
        (1000, 25, "many", 250),
        (1000, 25, "1", 1),
        (10, 25, None, 2),
        (3, 25, None, 1),
        (1, 1, None, 1),
    ],
    ids=["plain", "tag below", "tag with blanks", "tag above", "tag zero", "tag negative", "tag a word", "tag one",
         "rounded down", "less than one", "least"],
)  # fmt: skip
def test_one_function_may_keep_its_share_or_what_its_tag_says(
    limit: int, percent: int, tag: str | None, expected: int
) -> None:
    """A tag only lowers the share; the result is never below one."""
    tags = {} if tag is None else {"unthrottle:max-concurrency": tag}

    assert cap_concurrency.share(limit, replace(SETTINGS, max_pool_share=percent), tags) == expected


@pytest.mark.parametrize(
    ("pool", "others", "expected"),
    [
        pytest.param(account(1000), [153.0], [250, 250], id="two hogs of 502 and 345, others 153"),
        pytest.param(account(1000), [0.0], [250, 250], id="nobody else"),
        pytest.param(account(1000), [300.0], [200, 200], id="others get twice what they use"),
        pytest.param(account(1000), [600.0], [100, 100], id="others get half of the rest"),
        pytest.param(account(1000), [1000.0], [1, 1], id="others use everything"),
        pytest.param(account(1000, reserved=899), [0.0], [1, 1], id="the pool is at AWS's floor"),
        pytest.param(account(120), [0.0], [10, 10], id="a small account keeps AWS's floor"),
        pytest.param(account(50), [0.0], [12, 12], id="a new account"),
        pytest.param(account(10), [0.0], [2, 2], id="the smallest account"),
    ],
)
def test_the_caps_of_two_hogs_together_leave_the_others_room(
    pool: ConcurrencyAccount, others: list[float], expected: list[int]
) -> None:
    """A reservation is withdrawn from the shared pool in full, so two caps could starve the victims by themselves."""
    found = cap_concurrency.caps(pool, (hog("a"), hog("b")), others[0], SETTINGS)

    assert [found["a"], found["b"]] == expected


@given(
    limit=st.integers(1, 20_000),
    reserved=st.floats(0, 1),
    used=st.floats(0, 1),
    hogs=st.integers(1, 5),
    percent=st.integers(1, 90),
    tag=st.none() | st.integers(0, 5000),
)
def test_no_caps_ever_leave_their_bounds(
    *, limit: int, reserved: float, used: float, hogs: int, percent: int, tag: int | None
) -> None:
    """Never above the share, never below one, and together they leave the others more than they use, where there is any."""
    pool = account(limit, reserved=int(limit * reserved))
    others = pool.unreserved_limit * used
    settings = replace(SETTINGS, max_pool_share=percent)
    tags = {} if tag is None else {"unthrottle:max-concurrency": str(tag)}
    names = tuple(hog(f"hog-{number}", tags=tags) for number in range(hogs))

    found = cap_concurrency.caps(pool, names, others, settings)

    assert set(found) == {one.name for one in names}
    for value in found.values():
        assert 1 <= value <= max(1, limit * percent // 100)
        assert tag is None or tag < 1 or value <= tag
    if any(value > 1 for value in found.values()):
        left = pool.unreserved_limit - sum(found.values())
        assert left >= math.floor(others)
        assert left >= (100 if limit > 100 else 1)


def test_a_cap_stays_above_provisioned_concurrency() -> None:
    """At or below it, every version without provisioned concurrency would be refused."""
    assert cap_concurrency.change(hog(provisioned=300), 250, 841.4, 120).after == 301
    assert cap_concurrency.change(hog(provisioned=249), 250, 841.4, 120).after == 250
    assert cap_concurrency.change(hog(provisioned=0), 250, 841.4, 120).after == 250
    assert cap_concurrency.change(hog(provisioned=None), 250, 841.4, 120).after == 250


SQS = EventSource(uuid="u1", kind=SourceKind.SQS, source_arn="arn:aws:sqs:eu-west-1:111122223333:q")


@pytest.mark.parametrize(
    ("candidate", "waits"),
    [
        pytest.param(hog(invocations=series(100.0), async_events=series(100.0)), False, id="all queued"),
        pytest.param(hog(invocations=series(100.0), async_events=series(50.0)), False, id="queued, and some run again"),
        pytest.param(hog(invocations=series(100.0), async_events=series(49.0)), True, id="most are calls"),
        pytest.param(
            hog(invocations=series(100.0), async_events=series(1.0)), True, id="one queued event of a hundred"
        ),
        pytest.param(hog(invocations=series(100.0), async_events=series(None)), True, id="calls only"),
        pytest.param(hog(invocations=series(None), async_events=series(50.0)), False, id="queued, none has ended yet"),
        pytest.param(hog(invocations=series(5.0), async_events=series(5.0)), True, id="five queued, a hundred run"),
        pytest.param(hog(), True, id="nothing is known"),
        pytest.param(hog(event_sources=(SQS,)), True, id="fed by a queue, and who knows by whom else"),
        pytest.param(
            hog(event_sources=(replace(SQS, enabled=False),), invocations=series(9.0)),
            True,
            id="the queue is turned off",
        ),
    ],
)
def test_a_function_whose_callers_wait_is_told_as_such(candidate: Candidate, waits: bool) -> None:
    """Callers that wait would get errors from a cap, so a person is asked; a few queued events do not change that.

    It runs a hundred at once: invocations show when they have ended, so that fewer of them, or none, are only not visible yet.
    An event source says nothing of who else invokes a function.
    """
    assert (cap_concurrency.change(candidate, 50, 100.0, 120).synchronous is not None) is waits


@pytest.mark.parametrize(
    ("settings", "lost"),
    [
        (None, False),
        (AsyncSettings(max_event_age_s=7200), False),
        (AsyncSettings(max_event_age_s=7199), True),
        (AsyncSettings(max_event_age_s=60, has_destination=True), False),
    ],
    ids=["not asynchronous", "kept as long as the lease", "dropped before", "dropped into a destination"],
)
def test_events_that_would_age_out_are_told(settings: AsyncSettings | None, lost: bool) -> None:
    """Events older than their maximum are dropped; with a destination they are not lost."""
    assert (cap_concurrency.change(hog(async_settings=settings), 250, 841, 120).loses_events is not None) is lost


# --- apply and give back ---------------------------------------------------------------------------------------------


@given(before=st.none() | st.integers(0, 1000), after=st.integers(1, 1000))
def test_apply_then_give_back_restores_the_reservation(before: int | None, after: int) -> None:
    """Unset stays unset, a number comes back as that number, and zero is a number."""
    actor = FakeActor(reservations={} if before is None else {"hog": before})
    change = cap(before, after)

    cap_concurrency.compare(change, actor)
    made = actions.apply(change, observer(), actor, None)
    assert actor.reserved("hog") == after
    actions.give_back(made, actor)

    assert actor.reserved("hog") == before
    assert ("hog" in actor.reservations) is (before is not None)


def test_giving_back_deletes_the_reservation_where_there_was_none() -> None:
    """None is a deletion; zero would switch the function off."""
    actor = FakeActor(reservations={"hog": 250})
    result = cap_concurrency.give_back(cap(None), actor)

    assert result == GivenBack(detail="reserved concurrency of hog: 250 -> unset")
    assert actor.made == ["reserve hog None"]


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (100, "reserved concurrency of hog is 100, not our 250"),
        (0, "reserved concurrency of hog is 0, not our 250"),
        (None, "reserved concurrency of hog is unset already: someone put it back"),
    ],
    ids=["another number", "switched off by a person", "deleted, as Terraform does"],
)
def test_a_value_that_is_not_ours_is_left_and_told(now: int | None, found: str) -> None:
    """Somebody changed it meanwhile; it is theirs now."""
    actor = FakeActor(reservations={} if now is None else {"hog": now})

    assert cap_concurrency.give_back(cap(None), actor) == LeftAlone(found=found, is_back=now is None)
    assert actor.made == []


@pytest.mark.parametrize(("now", "before"), [(0, None), (None, 0), (300, None), (299, 300)])
def test_a_reservation_that_changed_since_the_diagnosis_stops_the_cap(now: int | None, before: int | None) -> None:
    """Unset and zero are different things; either way somebody is working on the function."""
    actor = FakeActor(reservations={} if now is None else {"hog": now})

    with pytest.raises(Drifted, match=r"Nothing was changed\.") as told:
        cap_concurrency.compare(cap(before), actor)
    assert told.value.code == "changed-since"
    assert actor.made == []


FLOOR_TEXT = (
    "Could not give function hog reserved concurrency: AWS said InvalidParameterValueException: Specified "
    "ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value "
    "of [{}]."
)


def keeps(unreserved: int, floor: int, own: int = 0) -> FakeActor:
    """An account that refuses what would leave less than its floor."""

    def refuse(value: int) -> str | None:
        return FLOOR_TEXT.format(floor) if unreserved + own - value < floor else None

    return FakeActor(reservations={"hog": own} if own else {}, floor=refuse)


@pytest.mark.parametrize(
    ("limit", "unreserved", "floor", "own", "expected"),
    [
        pytest.param(1000, 300, 100, 0, 200, id="[100], lowered"),
        pytest.param(1000, 350, 100, 0, 250, id="[100], it just fits"),
        pytest.param(1000, 101, 100, 0, 1, id="[100], one is left"),
        pytest.param(1000, 100, 100, 0, None, id="[100], nothing is left"),
        pytest.param(400, 200, 40, 0, 160, id="[40]"),
        pytest.param(50, 50, 50, 0, None, id="[50], a limit of 50"),
        pytest.param(10, 10, 10, 0, None, id="[10], a limit of 10"),
        pytest.param(300, 260, 10, 0, 250, id="[10], room"),
        pytest.param(1000, 80, 100, 200, 180, id="the own reservation counts as room"),
    ],
)
def test_the_floor_aws_names_lowers_the_cap_or_ends_in_a_clear_no(
    limit: int, unreserved: int, floor: int, own: int, expected: int | None
) -> None:
    """The floor is read from AWS's own words; the answer is a lower cap of at least one, or Refused. Never zero."""
    actor = keeps(unreserved, floor, own)
    seen = observer(
        functions=FakeFunctions(ConcurrencyAccount(limit=limit, unreserved_limit=unreserved, function_count=1))
    )
    change = cap(own or None)

    if expected is None:
        with pytest.raises(Refused, match=rf"AWS keeps {floor} .* Nothing was changed\.") as told:
            cap_concurrency.apply(change, seen, actor)
        assert told.value.code == "no-room-above-floor"
        assert actor.made == []
    else:
        made = cap_concurrency.apply(change, seen, actor)
        assert made == replace(change, after=expected)
        assert actor.reservations == {"hog": expected}


@given(
    limit=st.integers(1, 2000),
    part=st.floats(0, 1),
    floor=st.sampled_from([10, 40, 50, 100]),
    wanted=st.integers(1, 500),
)
def test_whatever_the_account_a_cap_is_at_least_one_and_at_most_what_was_planned(
    limit: int, part: float, floor: int, wanted: int
) -> None:
    """AWS's refusal never makes the cap larger, and never zero."""
    unreserved = int(limit * part)
    actor = keeps(unreserved, floor)
    seen = observer(
        functions=FakeFunctions(ConcurrencyAccount(limit=limit, unreserved_limit=unreserved, function_count=1))
    )
    try:
        made = cap_concurrency.apply(cap(None, wanted), seen, actor)
    except Refused:
        assert actor.reservations == {}
        return
    assert 1 <= made.after <= wanted
    assert actor.reservations == {"hog": made.after}
    assert cap_concurrency.give_back(made, actor).kind == "given-back"
    assert actor.reservations == {}


@pytest.mark.parametrize(
    ("unreserved", "floor"),
    [
        pytest.param(100, 100, id="our own cap took the last room"),
        pytest.param(150, 100, id="somebody freed some since"),
        pytest.param(100, 110, id="the floor rose since"),
    ],
)
def test_a_lower_cap_whose_answer_was_lost_is_found_by_the_next_try(unreserved: int, floor: int) -> None:
    """AWS refused 250 by its floor, 180 was put, and nobody heard: the retry is refused by our own 180."""
    actor = keeps(unreserved, floor, own=180)
    seen = observer(
        functions=FakeFunctions(ConcurrencyAccount(limit=1000, unreserved_limit=unreserved, function_count=1))
    )

    made = cap_concurrency.apply(cap(None), seen, actor)

    assert made == cap(None, 180)
    assert actor.made == []
    assert cap_concurrency.give_back(made, actor).kind == "given-back"
    assert actor.reservations == {}


@pytest.mark.parametrize(
    ("before", "found", "ours"),
    [
        (None, None, None),
        (None, 0, None),
        (None, 1, 1),
        (None, 249, 249),
        (None, 250, 250),
        (None, 251, None),
        (300, 300, None),
        (300, 180, 180),
        (180, 180, None),
    ],
)
def test_after_a_try_without_an_end_a_reservation_up_to_the_cap_is_ours(
    before: int | None, found: int | None, ours: int | None
) -> None:
    """AWS's floor may have made it lower. What was there before, zero, and more than the cap are somebody else's."""
    actor = FakeActor(reservations={} if found is None else {"hog": found})
    change = cap(before)

    assert actions.made_after_all(change, actor) == (None if ours is None else replace(change, after=ours))
    assert actions.is_in_force(change, actor) is (found == 250)  # on record a cap has its exact number
    if ours is None and found != before:
        with pytest.raises(Drifted):
            actions.compare_again(change, actor)
    else:
        actions.compare_again(change, actor)
    assert actor.made == []


@pytest.mark.parametrize(("found", "goes_on"), [(250, True), (None, False), (100, False)])
@pytest.mark.parametrize("code", ["ResourceConflictException", "ResourceInUseException"])
def test_a_change_in_the_way_is_our_own_where_the_target_has_our_value(
    code: str, found: int | None, *, goes_on: bool
) -> None:
    """The answer was lost, or the process died: the next try meets what the first one has made."""
    busy = Refused("in use", code=code)
    source = cap_event_source.change(hog(), SQS, 250, 841.0)
    assert source is not None
    changes: list[CapConcurrency | CapEventSource] = [source]
    changes += [cap()] if code == "ResourceConflictException" else []
    for change in changes:
        actor = FakeActor(
            reservations={} if found is None else {"hog": found},
            sources={"u1": replace(SQS, maximum_concurrency=found)},
            said={"set_event_source": [busy], "set_reserved": [busy]},
        )
        if goes_on:
            assert actions.apply(change, observer(), actor, None) == change
            assert actions.give_back(change, actor).kind == "given-back"
        else:
            with pytest.raises(Refused) as told:
                actions.apply(change, observer(), actor, None)
            assert told.value.code == code
            assert actor.made == []


@pytest.mark.parametrize(("found", "may_go_on"), [(None, True), (250, True), (100, False), (251, False)])
def test_a_second_try_at_an_event_source_starts_from_the_value_before_or_from_ours(
    found: int | None, *, may_go_on: bool
) -> None:
    """What somebody set between the tries is not overwritten."""
    change = cap_event_source.change(hog(), SQS, 250, 841.0)
    assert change is not None
    actor = FakeActor(sources={"u1": replace(SQS, maximum_concurrency=found)})
    if may_go_on:
        actions.compare_again(change, actor)
    else:
        with pytest.raises(Drifted):
            actions.compare_again(change, actor)


PROVISIONED_TEXT = (
    " ReservedConcurrentExecutions  250 should not be lower than function's total provisioned concurrency [{}]."
)


def test_provisioned_concurrency_that_aws_names_raises_the_cap_just_above_it() -> None:
    """AWS refuses a reservation below it, and at it every other version would be refused."""
    refusal = Refused(PROVISIONED_TEXT.format(300), code="InvalidParameterValueException")
    actor = FakeActor(said={"set_reserved": [refusal]})

    assert cap_concurrency.apply(cap(), observer(), actor) == cap(after=301, provisioned=300)
    assert actor.reservations == {"hog": 301}


def test_a_cap_above_what_the_function_holds_is_not_tried() -> None:
    """A reservation above the peak would take from the others and slow nobody."""
    refusal = Refused(PROVISIONED_TEXT.format(900), code="InvalidParameterValueException")
    actor = FakeActor(said={"set_reserved": [refusal]})

    with pytest.raises(Refused, match="provisioned concurrency"):
        cap_concurrency.apply(cap(), observer(), actor)
    assert actor.made == []


@pytest.mark.parametrize("text", ["Function not found", "minimum value of [many]", ""])
def test_another_refusal_is_let_through(text: str) -> None:
    """What AWS says is not guessed at."""
    actor = FakeActor(said={"set_reserved": [Refused(text, code="ResourceNotFoundException")]})

    with pytest.raises(Refused) as told:
        cap_concurrency.apply(cap(), observer(), actor)
    assert (str(told.value), told.value.code) == (text, "ResourceNotFoundException")


def test_the_commands_shown_are_the_change_and_its_inverse() -> None:
    """A person can do the same by hand, also with a name that needs quoting."""
    assert cap_concurrency.commands(cap(None)) == (
        "aws lambda put-function-concurrency --function-name hog --reserved-concurrent-executions 250",
        "aws lambda delete-function-concurrency --function-name hog",
    )
    assert cap_concurrency.commands(cap(0))[1].endswith("--reserved-concurrent-executions 0")
    assert "'a; rm'" in cap_concurrency.commands(cap(function="a; rm"))[0]
