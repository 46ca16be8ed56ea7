"""What is built: thin handlers, exact packages, and everything each of them needs."""

import ast
import re
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTIONS = ["intake", "respond", "slack", "sweep", "audit"]
PIN = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)==(?P<version>[^;\s]+)")


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(path: str) -> dict[str, str]:
    lines = (line.split("#")[0].strip() for line in (ROOT / path).read_text().splitlines())
    found: dict[str, str] = {}
    for line in filter(None, lines):
        if not line.startswith("-r "):
            pin = PIN.match(line)
            assert pin, f"{path}: {line} is not an exact pin"
            found[_name(pin["name"])] = pin["version"]
    return found


LAYER = _pins("layers/unthrottle/requirements.txt")
RESPOND = _pins("functions/respond/requirements.txt")
DEVELOPMENT = _pins("requirements-dev.txt")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_handler_imports_only_the_library_so_that_it_never_needs_a_neighbour_file(name: str) -> None:
    tree = ast.parse((ROOT / "functions" / name / "app.py").read_text())
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    allowed = {"functools", "gc", "typing", "unthrottle"} | (
        {"aws_durable_execution_sdk_python"} if name == "respond" else set()
    )
    assert {module.split(".")[0] for module in modules} <= allowed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_handler_is_short_enough_to_read_at_a_glance(name: str) -> None:
    assert 15 <= len((ROOT / "functions" / name / "app.py").read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", ["intake", "slack", "sweep", "audit"])
def test_a_light_function_is_built_from_its_handler_alone(name: str, tmp_path: Path) -> None:
    target = f"build-{name.capitalize()}Function"
    subprocess.run(
        ["make", "-C", str(ROOT / "functions" / name), target, f"ARTIFACTS_DIR={tmp_path}"],
        check=True,
        capture_output=True,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]


def test_the_layer_and_respond_have_the_build_targets_that_sam_calls() -> None:
    assert "\nbuild-UnthrottleLayer:\n" in (ROOT / "layers/unthrottle/Makefile").read_text()
    assert "\nbuild-RespondFunction:\n" in (ROOT / "functions/respond/Makefile").read_text()


def test_what_is_deployed_is_tested_in_the_same_versions() -> None:
    pinned = LAYER | RESPOND
    assert {name: distribution(name).version for name in pinned} == pinned


def test_boto3_is_deployed_with_the_durable_workflow_only() -> None:
    assert {"boto3", "botocore", "s3transfer"} & set(LAYER) == set()
    assert {"boto3", "botocore", "s3transfer"} <= set(RESPOND)


@pytest.mark.parametrize(
    ("deployed", "given"),
    [(LAYER, {"botocore"}), (RESPOND, set(LAYER))],
    ids=["the layer needs the runtime's botocore only", "respond needs the layer only"],
)
def test_pins_are_complete_since_they_are_installed_without_dependencies(
    deployed: dict[str, str], given: set[str]
) -> None:
    missing = {
        f"{name} needs {requirement}"
        for name in deployed
        for requirement in distribution(name).requires or []
        if "extra ==" not in requirement
        and _name(re.split(r"[\s<>=!~;\[(]", requirement)[0]) not in set(deployed) | given
    }
    assert missing == set()


def test_heavy_packages_that_nothing_imports_stay_out_of_the_environment() -> None:
    assert {"cfn-lint", "sympy", "docker", "aws-sam-cli"} & set(DEVELOPMENT) == set()
