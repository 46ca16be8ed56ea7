"""Every race there is."""

from collections.abc import Callable, Iterator

from sandbox.races.ground import Ground
from sandbox.races.of_people import (
    alarms,
    answered,
    asked,
    at_the_end_of_the_lease,
    beside_a_muted_one,
    leased,
    no_alarm_lost,
    one_incident,
    only_the_meant_one,
    verifying,
)
from sandbox.races.of_upkeep import (
    acted_at_most,
    an_earlier_release,
    delivered,
    given_back_once,
    late_reports,
    not_yet,
    once,
    overdue,
    paused,
    silent,
    stopped_at_the_last_look,
    two_incidents,
)
from sandbox.races.play import Play, Works


def plays(ground: Ground) -> tuple[Play, ...]:
    """Every race there is."""

    def play(
        name: str,
        begins: Callable[[Ground], Works],
        ends: Callable[[Ground], Iterator[str]] = lambda _: iter(()),
        *,
        is_long: bool = True,
        keeps_all: bool = True,
    ) -> Play:
        return Play(name=name, ground=ground, begins=begins, ends=ends, is_long=is_long, keeps_all=keeps_all)

    return (
        play("two alarms of one symptom", alarms("a", "b"), is_long=False, ends=one_incident(2)),
        play("one alarm delivered three times", alarms("a", "a", "a"), is_long=False, ends=one_incident(1)),
        play("an alarm delivered twice, and another", alarms("a", "a", "b"), is_long=False, ends=one_incident(2)),
        play("an alarm while the incident closes", at_the_end_of_the_lease("b"), no_alarm_lost(2)),
        play("an alarm twice while the incident closes", at_the_end_of_the_lease("b", "b"), no_alarm_lost(2)),
        play("an alarm beside a muted one that closes", beside_a_muted_one, only_the_meant_one),
        play(
            "approve and reject",
            asked(workflow=False, ann="approve", bob="reject"),
            answered(ann="approve", bob="reject"),
        ),
        play("approve and the question's end", asked(workflow=True, ann="approve"), answered(ann="approve")),
        play("revert and keep", leased(workflow=False, ann="revert", bob="keep"), answered(ann="revert", bob="keep")),
        play("keep and the lease's end", leased(workflow=True, bob="keep"), answered(bob="keep")),
        play(
            "revert and a renewal",
            leased(workflow=True, is_gone=False, ann="revert"),
            answered(ann="revert"),
        ),
        play("keep while it is verified", verifying(bob="keep"), answered(bob="keep")),
        play("the sweep and a workflow that was held up", overdue(), given_back_once),
        play("two sweeps", overdue(sweeps=2, workflow=False), given_back_once),
        play("the sweep and a person who keeps", overdue(workflow=False, bob="keep"), answered(bob="keep")),
        play("a workflow that never came", silent),
        play(
            "two incidents, one target",
            two_incidents(blamed={"t-one": "hog", "t-two": "hog"}),
            acted_at_most(1),
        ),
        play("two incidents, budget for one", two_incidents(blamed={}, budget=1), acted_at_most(1)),
        play("a pause and a change on its way", paused, stopped_at_the_last_look),
        play("a give-back that has to wait, the sweep and a person who keeps", not_yet, answered(bob="keep")),
        play("late reports and the lease's end", late_reports, delivered),
        play("an earlier release's workflow and the sweep", an_earlier_release, once, keeps_all=False),
        play(
            "revert, keep and the lease's end",
            leased(workflow=True, ann="revert", bob="keep"),
            answered(ann="revert", bob="keep"),
        ),
    )
