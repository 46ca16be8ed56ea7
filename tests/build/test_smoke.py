"""The smoke run tells a function that works from one that does not."""

import sysconfig
from pathlib import Path

import pytest

from scripts.runtime_api import Answer, Failed, Replied, invoke
from scripts.smoke import CASES, Case, trouble

SITE_PACKAGES = Path(sysconfig.get_path("purelib"))


def _run(folder: Path, code: str, event: object) -> Answer:
    (folder / "app.py").write_text(code)
    answer, _ = invoke(folder, event, path=[SITE_PACKAGES], environment={"AWS_REGION": "eu-west-1"})
    return answer


def test_a_built_function_answers_under_lambdas_own_bootstrap(tmp_path: Path) -> None:
    code = "def handler(event, context):\n    return {'seen': event, 'version': context.function_version}\n"
    assert _run(tmp_path, code, {"n": 1}) == Replied(payload={"seen": {"n": 1}, "version": "$LATEST"})


def test_an_error_in_the_handler_is_told(tmp_path: Path) -> None:
    code = "def handler(event, context):\n    raise ValueError('no table')\n"
    assert _run(tmp_path, code, {}) == Failed(kind="ValueError", message="no table")


def test_a_package_that_was_not_built_in_is_told(tmp_path: Path) -> None:
    answer = _run(tmp_path, "import not_built_in\n\ndef handler(event, context):\n    return {}\n", {})
    assert isinstance(answer, Failed)
    assert answer.kind == "Runtime.ImportModuleError"
    assert "not_built_in" in answer.message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function)
def test_no_function_passes_by_answering_something_else(case: Case) -> None:
    assert trouble(case, Replied(payload={"statusCode": 200, "body": "fine"})) is not None
    assert trouble(case, Failed(kind="ValueError", message="no table")) == "ValueError: no table"


def test_a_process_that_dies_is_told_at_once(tmp_path: Path) -> None:
    code = "import os\n\ndef handler(event, context):\n    os._exit(7)\n"
    assert _run(tmp_path, code, {}) == Failed(kind="Ended", message="the process ended with 7 and did not answer")
