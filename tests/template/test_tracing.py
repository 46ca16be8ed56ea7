"""Tracing is the operator's choice, and so is the right that comes with it."""

import pytest

from tests.template.resolved import hub

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
