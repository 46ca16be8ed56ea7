"""The measure itself: which changes are made, and that a change is noticed exactly where a test looks."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mutants import equivalents
from scripts.mutation import changed, mutants


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("a < b", ["Lt -> LtE"]),
        ("a <= b < c", ["LtE -> Lt (1.)", "Lt -> LtE (2.)"]),
        ("a and not b", ["And -> Or", "not left out"]),
        ("a + 1", ["Add -> Sub", "1 -> 2"]),
        ("a + 'x'", []),
        ("True", ["True -> False"]),
        ("min(a, b)", ["min -> max"]),
        ("any(a)", ["any -> all"]),
        ("a if b else c", ["condition turned round"]),
        ("a if b > c else c", ["Gt -> GtE"]),
        ("f'{a + 1}'", []),
    ],
)
def test_a_small_change_is_made_wherever_one_can_be(tmp_path: Path, line: str, changes: list[str]) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"def f(a: 'int < 1', b, c):\n    return {line}\n", encoding="utf-8")
    assert [mutant.change for mutant in mutants(file, "module")] == changes


def test_each_change_is_of_one_place_and_keeps_its_lines(tmp_path: Path) -> None:
    """The same change of the same words in two places has two names."""
    file = tmp_path / "module.py"
    source = "LIMIT = 3\n\ndef f(a):\n    log.info(1)\n    g(a)\n    return a > 3 or a > 3\n"
    file.write_text(source, encoding="utf-8")
    made = list(mutants(file, "unthrottle.module"))

    assert [(mutant.line, mutant.key) for mutant in made] == [
        (1, "module | module | 3 -> 4: 3"),
        (5, "module | f | call left out: g(a)"),
        (6, "module | f | Or -> And: a > 3 or a > 3"),
        (6, "module | f | Gt -> GtE: a > 3"),
        (6, "module | f | 3 -> 4: 3"),
        (6, "module | f | Gt -> GtE: a > 3 #2"),
        (6, "module | f | 3 -> 4: 3 #2"),
    ]
    for mutant in made:
        lines = ast.unparse(changed(mutant)).splitlines()
        before = ast.unparse(ast.parse(source)).splitlines()
        assert sum(one != other for one, other in zip(lines, before, strict=True)) == 1


def test_a_change_counts_as_noticed_only_when_a_test_fails_with_it(tmp_path: Path) -> None:
    """Of a function's and of a constant's; the second run believes the first."""
    (tmp_path / "adding.py").write_text(
        "LIMIT = 3\nUNUSED = 5\n\n"
        "def add(a):\n    return a + 1 if a < LIMIT else a\n\n"
        "def is_low(n):\n    return n > 0 and n < LIMIT\n\n"
        "def nobody(a):\n    return a * 2\n",
        encoding="utf-8",
    )
    (tmp_path / "test_adding.py").write_text(
        "from adding import add, is_low\n\n"
        "def test_add():\n    assert (add(2), add(9)) == (3, 9)\n\n"
        "def test_is_low():\n    assert is_low(1) and not is_low(0)\n",
        encoding="utf-8",
    )
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from scripts import mutant_runs\n"
        "from scripts.mutation import mutants\n"
        "sys.path.insert(0, '.')\n"
        "mutant_runs._load_third_parties = lambda: None\n"
        "made = list(mutants(Path('adding.py').resolve(), 'adding'))\n"
        "for anew in (True, False):\n"
        "    saved = mutant_runs.Saved(Path('saved.json'), anew=anew)\n"
        "    print(json.dumps(dict(mutant_runs.measure(made, ['test_adding.py'], saved))))\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    first, second = (json.loads(line) for line in done.stdout.splitlines())

    assert first == second
    noticed = {key.split(" | ", 1)[1]: by for key, by in first.items() if by is not None}
    assert {key: by.split("::")[-1] for key, by in noticed.items()} == {
        "add | Add -> Sub: a + 1": "test_add",
        "add | 1 -> 2: 1": "test_add",
        "is_low | And -> Or: n > 0 and n < LIMIT": "test_is_low",
        "is_low | Gt -> GtE: n > 0": "test_is_low",
        "is_low | 0 -> 1: 0": "test_is_low",
    }
    left = sorted(key.split(" | ", 1)[1] for key, by in first.items() if by is None)
    assert left == [
        "add | Lt -> LtE: a < LIMIT",
        "is_low | Lt -> LtE: n < LIMIT",
        "module | 3 -> 4: 3",
        "module | 5 -> 6: 5",
        "nobody | 2 -> 3: 2",
        "nobody | Mult -> Div: a * 2",
    ]


def test_what_is_listed_as_making_no_difference_says_why() -> None:
    found = equivalents()
    assert all(reason and key.count(" | ") == 2 for key, reason in found.items())
