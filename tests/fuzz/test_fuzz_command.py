"""`make fuzz` feeds every input of the bot, finds what breaks, keeps it, and says so."""

import json
import random
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from scripts import fuzz
from scripts.fuzz_seeds import with_seeds
from scripts.fuzz_targets import Target, check, targets

ALL = {target.name: target for target in targets()}


@pytest.fixture(autouse=True)
def _what_other_tests_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most that the process has held is what any test before this one made it hold."""
    monkeypatch.setattr(fuzz, "MOST_MB", 1_000_000)


@pytest.mark.parametrize("name", ALL)
def test_each_target_keeps_its_promises_on_its_seeds_and_on_some_damage(name: str) -> None:
    target, draw = ALL[name], random.Random(7)
    inputs = [*target.seeds, *(fuzz.damaged(draw.choice(target.seeds), draw, target.seeds) for _ in range(15))]
    assert [broke for data in inputs if (broke := fuzz.judged(target, data)) is not None] == []


def test_every_input_that_comes_from_outside_is_a_target() -> None:
    assert set(ALL) == {
        "alarm", "sns", "sqs", "intake", "slack body", "slack request", "slack words", "answer", "dagy", "aws", "slack api",
        "settings", "tags", "scenario",
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


def test_what_breaks_in_one_way_at_many_places_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(data: bytes) -> None:
        raise ValueError(f"byte 0x{len(data):x} in position {len(data)}")

    monkeypatch.setattr(fuzz, "KEPT", tmp_path)
    monkeypatch.setattr(fuzz, "targets", lambda: (Target(name="weak", seeds=[b"12345", b"1"], judge=judge),))
    assert fuzz.main(["--minutes", "0.001"]) == 2
    assert capsys.readouterr().out.count("BROKEN") == 1


def more_seeds(folder: Path) -> dict[str, list[bytes]]:
    found, _ = with_seeds(tuple(ALL.values()), folder)
    return {one.name: [*one.seeds[len(ALL[one.name].seeds) :]] for one in found}


def test_an_example_becomes_a_seed_of_the_inputs_it_looks_like_also_inside_a_description(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    event = {"detail-type": "CloudWatch Alarm State Change", "detail": {"alarmName": "of somebody else"}}
    (tmp_path / "events" / "alarm.json").write_text(json.dumps({"description": "seen once", "given": event}))
    described = {"operation": "ListTags", "response": {"Tags": {"a": "b"}, "AtTime": {"$date": "2026-08-24T04:33:00Z"}}}
    (tmp_path / "tags.json").write_text(json.dumps(described))
    (tmp_path / "scene.yaml").write_text("name: a scene")
    (tmp_path / "form.txt").write_text("payload=%7B%7D\n")
    (tmp_path / "words.md").write_text("# words")
    found = more_seeds(tmp_path)
    assert json.dumps(event).encode() in found["alarm"]
    assert json.dumps(event).encode() in found["intake"]
    assert found["aws"] == [json.dumps({"Tags": {"a": "b"}, "AtTime": "2026-08-24T04:33:00Z"}).encode()]
    assert found["scenario"] == [b"name: a scene"]
    assert found["slack body"] == [b"payload=%7B%7D"]
    assert found["settings"] == found["dagy"] == []


def test_a_click_becomes_a_form_as_slack_sends_it(tmp_path: Path) -> None:
    click = {"type": "block_actions", "user": {"id": "U0OPS"}}
    (tmp_path / "click.json").write_text(json.dumps(click))
    (form,) = more_seeds(tmp_path)["slack body"]
    assert json.loads(parse_qs(form.decode())["payload"][0]) == click


def test_seeds_of_a_folder_are_tried_as_they_are_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[bytes] = []
    one = Target(name="one", seeds=[b'{"a": 1}'], judge=tried.append)
    (tmp_path / "more.json").write_text('{"a": 2}')
    (tmp_path / "other.json").write_text('{"b": 2}')
    monkeypatch.setattr(fuzz, "targets", lambda: (one,))
    assert fuzz.main(["--minutes", "0", "--seeds", str(tmp_path)]) == 0
    assert tried == [b'{"a": 1}', b'{"a": 2}']
    assert capsys.readouterr().out.startswith("1 files gave 1 seeds more")


def test_a_folder_of_seeds_that_is_not_there_is_said_and_nothing_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        fuzz.main(["--seeds", str(tmp_path / "nowhere")])
    assert "is no folder. Nothing was tried." in capsys.readouterr().err
