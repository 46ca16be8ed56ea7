"""Play scenario files and show what came of them: as a JSON document, or as a short story for each.

Every file is read and checked before the first is played: a typo in the last one costs no time.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.exits import Exit
from cli.story import tell
from sandbox.rehearsal import EngineName, check, rehearse
from sandbox.scenario import Scenario, ScenarioError, load
from unthrottle.errors import BadInput

Document = dict[str, Any]


def play(files: Sequence[Path], *, as_json: bool, mode: str | None, engine: str) -> Exit:
    """Play all files in their order and print the outcome. Returns the exit code."""
    chosen: EngineName = "durable" if engine == "durable" else "simulated"
    scenarios = _read(files, mode)
    if scenarios is None:
        return Exit.WRONG_INPUT
    documents: list[Document] = []
    for scenario in scenarios:
        documents.append(_played(scenario, mode, chosen))
        if not as_json:
            tell(documents[-1])
    if as_json:
        json.dump({"version": 1, "scenarios": documents}, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    elif len(documents) > 1:
        _sum_up(documents)
    return Exit.FAILED if any(has_failed(document) for document in documents) else Exit.FINE


def has_failed(document: Document) -> bool:
    """Say whether a scenario's expectation was not met, or something broke that no fault of the scenario explains."""
    return document["expectation"] == "not met" or any(not error["expected"] for error in document["errors"])


def _read(files: Sequence[Path], mode: str | None) -> list[Scenario] | None:
    """Read all files; None when one cannot be used, after saying why."""
    scenarios: list[Scenario] = []
    complaints: list[str] = []
    for file in files:
        try:
            scenario = load(file)
            check(scenario, mode=mode)
        except ScenarioError as error:
            complaints.append(str(error))
        except BadInput as error:
            complaints.append(f"{file}: {error}")
        else:
            scenarios.append(scenario)
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        return None
    return scenarios


def _played(scenario: Scenario, mode: str | None, engine: EngineName) -> Document:
    try:
        return rehearse(scenario, mode=mode, engine=engine)
    except Exception as error:  # noqa: BLE001  one scenario that breaks the sandbox must not hide the others
        why = f"the rehearsal broke off: {type(error).__name__}: {error}"
        print(f"{scenario.file}: {why}", file=sys.stderr)
        return _broken(scenario, why)


def _broken(scenario: Scenario, why: str) -> Document:
    """Keep the shape of the document for a scenario that could not be played to its end."""
    lists = ("incidents", "mutations", "dagy_calls", "slack", "escalations", "people")
    return {
        "name": scenario.name,
        "file": str(scenario.file),
        "minutes": scenario.minutes,
        "expectation": "not met",
        "unmet": [why],
        **{name: [] for name in lists},
        "aws_calls": {},
        "aws_calls_until_action": {},
        "final": {
            "functions": {},
            "tables": {},
            "backfills": {},
            "throttled_minutes": {"lambda": 0, "dynamodb": 0},
        },
        "errors": [{"minute": None, "function": None, "error": why, "expected": False}],
    }


def _sum_up(documents: Sequence[Document]) -> None:
    words = [document["expectation"] for document in documents]
    counts = [f"{words.count(word)} {word}" for word in ("met", "not met", "none") if word in words]
    print(f"{len(documents)} scenarios: {', '.join(counts).replace('none', 'without expectation')}")
