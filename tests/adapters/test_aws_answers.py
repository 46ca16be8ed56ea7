"""What AWS answers is held against what it promises; a mistake of ours is not taken for one of AWS."""

from typing import Any

import pytest

from tests.adapters.world import NOW, Scripted
from unthrottle.adapters.access import Access, assume
from unthrottle.adapters.aws_answers import Part, text_as_json
from unthrottle.errors import MalformedAnswer, TryAgain

ROLE = "arn:aws:iam::444455556666:role/bot-observer"


def test_a_malformed_answer_is_tried_again_like_a_lost_one() -> None:
    assert issubclass(MalformedAnswer, TryAgain)
    assert MalformedAnswer.code == "MalformedAnswer"


@pytest.mark.parametrize(
    "wrong", [KeyError("x"), TypeError("x"), ValueError("x"), AttributeError("x"), IndexError("x")]
)
def test_a_mistake_of_ours_beside_a_call_is_not_tried_again(scripted: Access, wrong: Exception) -> None:
    """It would be repeated for ever, and nobody would see it."""
    with pytest.raises(type(wrong)) as raised, scripted.use("lambda", "look at something"):
        raise wrong
    assert raised.value is wrong


def test_a_hook_that_fails_inside_a_call_is_not_taken_for_aws(script: Scripted) -> None:
    def fails(**_: object) -> None:
        raise TypeError("mine")

    script.answers("lambda", "get_account_settings", {})
    script.on("lambda").client.meta.events.register("provide-client-params.lambda.GetAccountSettings", fails)
    access = Access(script, "eu-west-1")
    with pytest.raises(TypeError, match="mine"), access.use("lambda", "look") as client:
        client.get_account_settings()
    script.on("lambda").client.meta.events.unregister("provide-client-params.lambda.GetAccountSettings", fails)
    with access.use("lambda", "look") as client:
        client.get_account_settings()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"ReservedConcurrentExecutions": "7"}, "has str as GetFunctionConcurrency.ReservedConcurrentExecutions"),
        ({"ReservedConcurrentExecutions": True}, "has bool as GetFunctionConcurrency.ReservedConcurrentExecutions"),
        ({"ReservedConcurrentExecutions": [7]}, "which is to be an integer"),
        ([], "has list as GetFunctionConcurrency, which is to be an object"),
    ],
)
def test_an_answer_of_another_type_says_where(script: Scripted, answer: Any, words: str) -> None:
    client: Any = script.on("lambda").client
    client._make_api_call = lambda _operation, _parameters: answer
    with (
        pytest.raises(MalformedAnswer) as raised,
        Access(script, "eu-west-1").use("lambda", "read the cap of hog") as used,
    ):
        used.get_function_concurrency(FunctionName="hog")
    assert "Could not read the cap of hog: AWS's answer" in str(raised.value)
    assert words in str(raised.value)


def test_what_an_answer_does_not_have_is_named(script: Scripted) -> None:
    script.answers("sts", "assume_role", {})
    with pytest.raises(MalformedAnswer, match="AWS's answer has no Credentials"):
        assume(Access(script, "eu-west-1"), ROLE, "INC-1", None, "")


def test_nested_parts_and_lists_are_held_against_the_model_too(script: Scripted) -> None:
    script.answers(
        "cloudwatch",
        "get_metric_data",
        {"MetricDataResults": [{"Id": "a", "Timestamps": [NOW], "Values": [1.0], "StatusCode": "Complete"}]},
    )
    with Access(script, "eu-west-1").use("cloudwatch", "read") as client:
        (series,) = client.get_metric_data(MetricDataQueries=[], StartTime=NOW, EndTime=NOW)["MetricDataResults"]
    assert isinstance(series, Part)
    assert series["Values"] == [1.0]
    with pytest.raises(MalformedAnswer, match="has no Label"):
        series["Label"]


def test_what_may_be_missing_can_be_asked_for_or_caught() -> None:
    part = Part(a=1)
    assert (part.get("b"), "b" in part, dict(part)) == (None, False, {"a": 1})
    with pytest.raises(KeyError):
        part["b"]


def test_a_text_that_is_to_be_json_is_said_to_be_none() -> None:
    assert text_as_json('{"a": 1}', "a policy") == {"a": 1}
    with pytest.raises(MalformedAnswer, match="has a policy that is no JSON"):
        text_as_json("{", "a policy")
