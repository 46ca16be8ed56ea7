"""Tracing is the operator's choice, and so is the right that comes with it."""

from typing import Any

import pytest

from tests.template.resolved import ROOT, hub

FUNCTIONS = 5


def _rights(tracing: str | None) -> list[str]:
    stack = hub(**({} if tracing is None else {"Tracing": tracing}))
    return [key for key, role in stack.roles.items() if any("xray:" in a for s in role.statements for a in s.actions)]


@pytest.mark.parametrize("tracing", [None, "Disabled"])
def test_without_tracing_nobody_may_write_to_x_ray_and_nothing_is_traced(tracing: str | None) -> None:
    stack = hub(**({} if tracing is None else {"Tracing": tracing}))
    assert _rights(tracing) == []
    assert all("TracingConfig" not in stack.resources[key]["Properties"] for key in stack.functions)


def test_with_tracing_each_function_is_traced_and_may_write_its_trace() -> None:
    stack = hub(Tracing="Active")
    assert [stack.resources[key]["Properties"]["TracingConfig"] for key in stack.functions] == [
        {"Mode": "Active"}
    ] * FUNCTIONS
    assert sorted(_rights("Active")) == sorted(f"{key}Role" for key in stack.functions)


@pytest.mark.parametrize("name", ["intake", "respond", "slack", "sweep", "audit"])
def test_what_the_parameter_says_of_the_five_functions_each_of_them_does(
    parameters: dict[str, dict[str, Any]], name: str
) -> None:
    described = " ".join(parameters["Tracing"]["Description"].split())
    assert "the invocations of the five functions that it samples, with their calls to AWS" in described
    assert f'with traced("{name}")' in (ROOT / f"layers/unthrottle/unthrottle/entry/{name}.py").read_text()
