"""The template as written, as text, and as CloudFormation would get it from SAM's own translator."""

import copy
from pathlib import Path
from typing import Any

import pytest
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]


class _ManagedPolicies:
    """What the translator would ask IAM for."""

    def load(self) -> dict[str, str]:
        return {}


@pytest.fixture(scope="session")
def text() -> str:
    return (ROOT / "template.yaml").read_text()


@pytest.fixture(scope="session")
def template(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml_parse(text)
    return parsed


@pytest.fixture(scope="session")
def parameters(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = template["Parameters"]
    return found


@pytest.fixture(scope="session")
def resources(text: str) -> dict[str, Any]:
    """Every resource, SAM's translated. Code is taken to be uploaded already."""
    source = yaml_parse(text)
    for resource in source["Resources"].values():
        for key in ("CodeUri", "ContentUri"):
            if key in resource.get("Properties", {}):
                resource["Properties"][key] = "s3://bucket/key"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")  # the translator asks for the partition
        translated: dict[str, Any] = transform(copy.deepcopy(source), {}, _ManagedPolicies())
    found: dict[str, Any] = translated["Resources"]
    return found


@pytest.fixture(scope="session")
def functions(resources: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The five functions' properties by logical id."""
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == "AWS::Lambda::Function"}


@pytest.fixture(scope="session")
def member() -> dict[str, Any]:
    """What StackSets put into a member account, as written."""
    parsed: dict[str, Any] = yaml_parse((ROOT / "member.yaml").read_text())
    return parsed
