"""Which autoscaling bounds are still ours to give back? What somebody set during the lease stays, and is told. Pure.

Each bound is compared for itself: an owner who widens the maximum for good does not thereby ask for our raised minimum.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from unthrottle.evidence.table import ScalingTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsBack:
    """`wanted` are the targets to register, `left` what is told instead of touched, one sentence each."""

    wanted: tuple[ScalingTarget, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was left, to be put behind what else became of the table; empty where nothing was."""
        return "".join(f"; {one}" for one in self.left)


def bounds_back(
    before: Sequence[ScalingTarget], ours: Sequence[ScalingTarget], found: Iterable[ScalingTarget]
) -> BoundsBack:
    """Compare what is found with what we set (*ours*), target by target, and say what goes back to *before*.

    A target that we never changed and that is gone is registered again: a switch from the console deletes it (AWS DynamoDB
    guide, considerations when switching capacity modes). One that we raised and that is gone was taken away by somebody.
    """
    there = {(target.way, target.index): target for target in found}
    wanted: list[ScalingTarget] = []
    left: list[str] = []
    for was in before:
        key = (was.way, was.index)
        mine = next((target for target in ours if (target.way, target.index) == key), was)
        now = there.get(key)
        if now is None and mine == was:
            wanted.append(was)
        elif now is None:
            left.append(f"{_name(was)} is gone and was not registered again")
        else:
            back = replace(
                now,
                minimum=was.minimum if now.minimum == mine.minimum else now.minimum,
                maximum=was.maximum if now.maximum == mine.maximum else now.maximum,
            )
            is_possible = back.minimum <= back.maximum
            if back != now and is_possible:
                wanted.append(back)
            if not is_possible or back != was:
                left.append(
                    f"{_name(was)} is {now.minimum} to {now.maximum}, not {mine.minimum} to {mine.maximum}: "
                    f"what somebody set stays ({_range(back if is_possible else now)})"
                )
    return BoundsBack(wanted=tuple(wanted), left=tuple(left))


def _name(target: ScalingTarget) -> str:
    return f"autoscaling of {target.way.value}s" + ("" if target.index is None else f" of index {target.index}")


def _range(target: ScalingTarget) -> str:
    return f"now {target.minimum} to {target.maximum}"
