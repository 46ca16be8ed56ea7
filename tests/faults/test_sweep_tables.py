"""What a sweep found is counted by kind of fault and by what broke, and written between marks of a document."""

import pytest

from sandbox.aws.calls import ALWAYS
from sandbox.faults.cases import Case
from sandbox.faults.play import Result
from sandbox.faults.tables import by_kind, by_place, replaced


def result(
    call: str = "lambda.Invoke", kind: str = "500", times: int = 1, engine: str = "simulated", bad: int = 0
) -> Result:
    case = Case(scene="cap", call=call, kind=kind, error="x", nth=1, times=times, engine=engine)  # type: ignore[arg-type]
    return Result(case=case, violations=("wrong",) * bad, ending=())


def test_runs_are_counted_by_kind_and_by_how_long_the_fault_lasted() -> None:
    found = by_kind([result(), result(times=12), result(times=ALWAYS, bad=2), result(kind="limit")]).splitlines()
    assert "| 500 | 1 | 1 | 1 | 2 |" in found
    assert "| limit | 1 | 0 | 0 | 0 |" in found
    assert found[-1] == "| all | 2 | 1 | 1 | 2 |"


def test_runs_are_counted_by_what_broke_and_by_engine() -> None:
    found = by_place([result(), result(engine="durable"), result("slack.chat.update"), result("dagy.POST", bad=1)])
    assert found.splitlines()[2:] == ["| dagy | 1 | 0 | 1 |", "| lambda | 2 | 1 | 0 |", "| slack | 1 | 0 | 0 |"]


def test_figures_go_between_their_marks_and_nowhere_else() -> None:
    document = "a\n<!-- runs -->\nold\n<!-- /runs -->\nb\n"
    assert replaced(document, "runs", "new") == "a\n<!-- runs -->\nnew\n<!-- /runs -->\nb\n"
    with pytest.raises(ValueError, match="Nothing was written"):
        replaced("a", "runs", "new")
