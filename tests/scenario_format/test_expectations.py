"""`expect` names paths of the output; what is not as expected is told with path, expectation and finding."""

import pytest

from sandbox.scenario import unmet

OUTPUT = {
    "name": "one",
    "incidents": [
        {"cause": "pool-hog", "targets": ["hog"], "acted_minute": 34, "escalated": False, "reverted_minute": None},
        {"cause": "hot-index", "targets": [], "acted_minute": None, "escalated": True, "reverted_minute": None},
    ],
    "mutations": [],
    "final": {"tables": {"a.b-runs": {"write": 50}}, "functions": {"hog": {"reserved": None}}},
}


@pytest.mark.parametrize(
    "expect",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"name": "one", "mutations": []}, id="equal values"),
        pytest.param({"incidents": [{"cause": "pool-hog"}, {"escalated": True}]}, id="elements in part"),
        pytest.param({"incidents.0.cause": "pool-hog", "incidents.-1.cause": "hot-index"}, id="dotted paths"),
        pytest.param({"incidents": {"0": {"targets": ["hog"]}}}, id="an element by number"),
        pytest.param({"final.tables.a.b-runs.write": 50}, id="a name that holds a dot"),
        pytest.param({"final": {"functions": {"hog": {"reserved": None}}}}, id="unset is null"),
        pytest.param({"incidents.0.acted_minute": {"min": 30}, "name": {"not": "two"}}, id="operators"),
        pytest.param({"incidents.0.acted_minute": {"max": 34.0}}, id="inclusive bounds"),
        pytest.param({"incidents": {"length": 2}, "mutations": {"length": {"max": 3}}}, id="length"),
        pytest.param({"incidents": {"contains": {"cause": "hot-index", "escalated": True}}}, id="contains in part"),
        pytest.param({"name": {"contains": "ne"}, "final": {"contains": "tables"}}, id="contains text and key"),
        pytest.param({"incidents.0.cause": {"any_of": ["pool-hog", "pool-growth"]}}, id="any of"),
        pytest.param({"incidents.5": {"not": {"contains": "x"}}}, id="what is not there is not that"),
    ],
)
def test_a_met_expectation_is_silent(expect: dict[str, object]) -> None:
    assert unmet(expect, OUTPUT) == []


@pytest.mark.parametrize(
    ("expect", "line"),
    [
        pytest.param({"name": "two"}, 'name: expected "two", found "one"', id="another value"),
        pytest.param({"incidents.0.cause": "x"}, 'incidents.0.cause: expected "x", found "pool-hog"', id="dotted"),
        pytest.param({"incidents.7.cause": "x"}, 'incidents.7.cause: expected "x", found no such key', id="no element"),
        pytest.param({"nam": "one"}, 'nam: expected "one", found no such key', id="no key"),
        pytest.param({"mutations": [1]}, "mutations: expected 1 elements: [1], found 0: []", id="length"),
        pytest.param({"incidents.0.escalated": 0}, "incidents.0.escalated: expected 0, found false", id="no number"),
        pytest.param({"incidents.1.acted_minute": 0}, "incidents.1.acted_minute: expected 0, found null", id="a gap"),
        pytest.param(
            {"incidents.0.acted_minute": {"min": 35}},
            'incidents.0.acted_minute: expected {"min": 35}, found 34',
            id="min",
        ),
        pytest.param(
            {"incidents.1.acted_minute": {"min": 0}},
            'incidents.1.acted_minute: expected {"min": 0}, found null',
            id="a gap is not 0",
        ),
        pytest.param({"absent": {"max": 5}}, 'absent: expected {"max": 5}, found no such key', id="no key for a test"),
        pytest.param({"name": {"not": "one"}}, 'name: expected {"not": "one"}, found "one"', id="not"),
    ],
)  # fmt: skip
def test_an_unmet_expectation_says_path_expected_and_found(expect: dict[str, object], line: str) -> None:
    assert unmet(expect, OUTPUT) == [line]


def test_every_unmet_path_is_listed() -> None:
    lines = unmet({"incidents": [{"cause": "a"}, {"cause": "b"}], "name": "c"}, OUTPUT)
    assert [line.split(":")[0] for line in lines] == ["incidents.0.cause", "incidents.1.cause", "name"]
