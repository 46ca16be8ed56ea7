"""`make fuzz` feeds every input of the bot, finds what breaks, keeps it, and says so."""

import random
from pathlib import Path

import pytest

from scripts import fuzz
from scripts.fuzz_targets import Target, check, targets

ALL = {target.name: target for target in targets()}


@pytest.mark.parametrize("name", ALL)
def test_each_target_keeps_its_promises_on_its_seeds_and_on_some_damage(name: str) -> None:
    target, draw = ALL[name], random.Random(7)
    inputs = [*target.seeds, *(fuzz.damaged(draw.choice(target.seeds), draw, target.seeds) for _ in range(15))]
    assert [broke for data in inputs if (broke := fuzz.judged(target, data)) is not None] == []


def test_every_input_that_comes_from_outside_is_a_target() -> None:
    assert set(ALL) == {
        "alarm", "sns", "sqs", "slack body", "slack request", "slack words", "answer", "dagy", "aws", "settings", "tags",
        "scenario",
    }  # fmt: skip


def test_what_breaks_is_kept_told_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(data: bytes) -> None:
        check(len(data) != 5, "five bytes")

    weak = Target(name="weak", seeds=[b"12345", b"1"], judge=judge)
    monkeypatch.setattr(fuzz, "KEPT", tmp_path)
    monkeypatch.setattr(fuzz, "targets", lambda: (weak,))
    assert fuzz.main(["--minutes", "0.001"]) == 2
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == b"12345"
    assert "BROKEN weak" in capsys.readouterr().out


def test_damage_is_the_same_for_the_same_seed_and_bounded() -> None:
    seeds = ALL["alarm"].seeds
    first, second = (
        [fuzz.damaged(seeds[0], draw, seeds) for _ in range(50)] for draw in (random.Random(3), random.Random(3))
    )
    assert first == second
    assert all(len(one) <= fuzz.MOST_BYTES for one in first)
    assert len(set(first)) > 40
