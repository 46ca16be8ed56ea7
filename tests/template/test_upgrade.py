"""An upgrade reaches the alias, and leaves open incidents to the version that began them."""

import copy
from typing import Any

import pytest
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

from sandbox.aws.iam_policy import Allowed, Asked, judge
from tests.template.resolved import hub


def _translated(text: str, layer: str = "s3://bucket/layer-1", **parameters: str) -> dict[str, Any]:
    source = yaml_parse(text)
    for key, resource in source["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = f"s3://bucket/{key}"
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            resource["Properties"]["ContentUri"] = layer
    defaults = {name: str(one.get("Default", "x")) for name, one in source["Parameters"].items()}

    class NoPolicies:
        def load(self) -> dict[str, str]:
            return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")  # the translator asks for the partition
        done: dict[str, Any] = transform(copy.deepcopy(source), {**defaults, **parameters}, NoPolicies())
    found: dict[str, Any] = done["Resources"]
    return found


def _version(resources: dict[str, Any]) -> str:
    (name,) = [key for key, one in resources.items() if one["Type"] == "AWS::Lambda::Version"]
    return name


def _parameters_in(value: object, known: dict[str, Any]) -> set[str]:
    if isinstance(value, dict):
        if set(value) == {"Ref"} and value["Ref"] in known:
            return {str(value["Ref"])}
        return set().union(*(_parameters_in(inner, known) for inner in value.values()))
    return set().union(*(_parameters_in(inner, known) for inner in value)) if isinstance(value, list) else set()


def test_a_new_setting_or_library_is_a_new_version_of_the_workflow(text: str) -> None:
    """SAM publishes for new code only: without this the alias would go on in dry-run when Mode is auto.

    AWS: AWS::Lambda::Version, Description: an update requires replacement. The same holds for the content of a hosted
    configuration, so its number changes with every setting.
    """
    resources = _translated(text)
    (layer,) = [key for key, one in resources.items() if one["Type"] == "AWS::Lambda::LayerVersion"]
    described = resources[_version(resources)]["Properties"]["Description"]
    assert described == {"Fn::Sub": f"library ${{{layer}}}, settings ${{SettingsVersion.VersionNumber}}"}
    other = _translated(text, layer="s3://bucket/layer-2")
    assert other[_version(other)]["Properties"]["Description"] != described


def test_a_new_version_is_asked_for_exactly_when_there_is_something_new(
    text: str, functions: dict[str, dict[str, Any]], parameters: dict[str, dict[str, Any]]
) -> None:
    """Lambda refuses to publish what is equal to the last version, so nothing else may be in the settings' history."""
    kept = _translated(text)["SettingsVersion"]["Properties"]["Content"]
    told = functions["RespondFunction"]["Environment"]["Variables"]
    beside = {"Tracing", "KmsKeyArn"}  # a version keeps its tracing and its keys, too
    assert _parameters_in(kept, parameters) == _parameters_in(told, parameters) | beside
    assert len(_parameters_in(told, parameters)) > 20


def test_nothing_new_is_no_new_version(text: str) -> None:
    assert _version(_translated(text)) == _version(_translated(text))


def test_the_version_of_an_open_incident_outlives_the_upgrade(text: str) -> None:
    resources = _translated(text)
    version = resources[_version(resources)]
    assert (version["DeletionPolicy"], version["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert resources["RespondFunctionAliaslive"]["Properties"]["FunctionVersion"] == {
        "Fn::GetAtt": [_version(resources), "Version"]
    }


def test_the_record_of_what_was_changed_survives_even_the_stack(resources: dict[str, Any]) -> None:
    table = resources["IncidentsTable"]
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert "TableName" not in table["Properties"]  # so that a stack of the same name can be deployed again


KEY = "arn:aws:kms:eu-west-1:111122223333:key/11111111-2222-4333-8444-555555555555"


def test_a_customer_key_is_used_wherever_something_is_kept() -> None:
    key = KEY
    with_key, without = hub(KmsKeyArn=key).resources, hub().resources
    logs = [one["Properties"] for one in with_key.values() if one["Type"] == "AWS::Logs::LogGroup"]
    functions = [one["Properties"] for one in with_key.values() if one["Type"] == "AWS::Lambda::Function"]
    assert (len(logs), len(functions)) == (6, 5)  # one log for each function, and who knocked at Slack's way in
    assert {log["KmsKeyId"] for log in logs} == {key}
    assert {function["KmsKeyArn"] for function in functions} == {key}
    assert with_key["IncidentsTable"]["Properties"]["SSESpecification"]["KMSMasterKeyId"] == key
    # AWS Lambda guide, "Encrypting AWS Lambda durable execution data": the function's own key is not for its executions.
    assert with_key["RespondFunction"]["Properties"]["DurableConfig"]["KMSKeyArn"] == key
    assert with_key["SettingsProfile"]["Properties"]["KmsKeyIdentifier"] == key
    assert "KMSKeyArn" not in without["RespondFunction"]["Properties"]["DurableConfig"]
    assert "KmsKeyIdentifier" not in without["SettingsProfile"]["Properties"]
    statements = [statement for role in hub().roles.values() for statement in role.statements]
    named = [one for one in statements if any(action.startswith("kms:") for action in one.actions)]
    assert {one.label for one in named} == {
        "OpenSlackSecretUnderYourKey"
    }  # which key a secret has, its ARN does not say
    assert not any(
        "KmsKeyArn" in one["Properties"] for one in without.values() if one["Type"] == "AWS::Lambda::Function"
    )


@pytest.mark.parametrize("name", ["RespondFunctionRole", "SlackFunctionRole"])
def test_whoever_goes_on_with_an_execution_or_answers_it_may_decrypt_its_data(name: str) -> None:
    """AWS, as above: the execution role reads its state, and the callback calls are made, with the caller's kms:Decrypt."""
    role = hub(KmsKeyArn=KEY).roles[name]
    assert isinstance(judge(role.statements, Asked(action="kms:Decrypt", resource=KEY, context={})), Allowed)
