"""What a linter is told to overlook, it is told why."""

from collections.abc import Iterator
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from tests.template.resolved import ROOT

TEMPLATES = ["template.yaml", "member.yaml"]


def _skipped(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    resources: dict[str, Any] = yaml_parse((ROOT / file).read_text())["Resources"]
    for name, resource in resources.items():
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", []):
            yield name, skip


@pytest.mark.parametrize("file", TEMPLATES)
def test_every_finding_of_the_security_linter_that_is_skipped_says_why(file: str) -> None:
    assert [(name, skip) for name, skip in _skipped(file) if len(skip.get("comment", "")) < 40] == []


def test_only_what_was_weighed_is_skipped() -> None:
    assert {skip["id"] for file in TEMPLATES for _, skip in _skipped(file)} == {
        "CKV_AWS_27",  # queues are encrypted by SQS, which the rule does not know
        "CKV_AWS_116",  # a failure destination instead of a dead letter queue
        "CKV_AWS_117",  # no VPC
    }


@pytest.mark.parametrize("file", TEMPLATES)
def test_nothing_is_skipped_for_a_whole_template(file: str) -> None:
    assert "checkov" not in yaml_parse((ROOT / file).read_text()).get("Metadata", {})


@pytest.mark.parametrize("file", TEMPLATES)
def test_every_rule_of_cfn_lint_that_is_ignored_says_why(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if "ignore_checks" in line]
    assert lines
    assert [line for line in lines if "# " not in line or len(line.split("# ", 1)[1]) < 30] == []


def test_the_security_linter_is_part_of_the_check() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert " validate " in makefile.split("\ncheck:")[1].splitlines()[0]
    assert makefile.split("\nvalidate:")[1].splitlines()[0].endswith(" secure")
    assert "--skip-download" in makefile.split("\nsecure:")[1]
    assert (ROOT / "requirements-checkov.txt").read_text().splitlines()[-1].startswith("checkov==")
