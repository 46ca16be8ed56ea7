"""The stack's parameters and the library's settings are the same settings."""

import re
from dataclasses import asdict
from typing import Any

import pytest

from unthrottle.adapters.dagy import DagyBackfills
from unthrottle.errors import SettingsError
from unthrottle.settings import PARAMETERS, Settings, from_environment, from_parameters, snake, variable
from unthrottle.wiring import Deployment

NOT_SETTINGS = {
    # they shape the stack, no code reads them
    "ConcurrencyAlarmThreshold",
    "HealthDashboard",
    "KmsKeyArn",
    "OrganizationId",
    "ReserveConcurrency",
    "Tracing",
    # they are about the deployment and its accounts, not about healing; the wiring reads them
    "ExternalId",
    "OpsItems",
}


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_mode_is_dry_run_unless_someone_says_otherwise(parameters: dict[str, dict[str, Any]]) -> None:
    assert parameters["Mode"]["Default"] == "dry-run"
    assert parameters["Mode"]["AllowedValues"] == ["dry-run", "approve", "auto"]


def test_every_setting_is_a_parameter_and_every_parameter_a_setting(parameters: dict[str, dict[str, Any]]) -> None:
    of_the_stack = {name for name in parameters if not name.startswith("Alarm")} - NOT_SETTINGS
    assert of_the_stack == set(PARAMETERS)


@pytest.mark.parametrize("name", PARAMETERS)
def test_defaults_are_the_same_in_template_and_library(parameters: dict[str, dict[str, Any]], name: str) -> None:
    required = {"SlackChannel", "SlackSecretArn"}  # nothing is deployed that cannot report
    expected = None if name in required else _in_words(asdict(Settings())[snake(name)])
    default = parameters[name].get("Default")
    assert (None if default is None else str(default)) == expected


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_function_is_told_every_setting(functions: dict[str, dict[str, Any]], name: str) -> None:
    plain: list[object] = [{"Ref": name}, {"Fn::Join": [",", {"Ref": name}]}]
    for properties in functions.values():
        assert properties["Environment"]["Variables"][variable(name)] in plain


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_library_takes_whatever_the_template_lets_through(parameters: dict[str, dict[str, Any]], name: str) -> None:
    declared = parameters[name]
    edges = [declared[key] for key in ("MinValue", "MaxValue", "Default") if key in declared]
    for value in [*edges, *declared.get("AllowedValues", [])]:
        from_environment({variable(name): str(value)})
        from_parameters({name: value})


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in {"MaxHourlyCost", "RetentionDays"}])
def test_bounds_are_the_same_in_template_and_library(parameters: dict[str, dict[str, Any]], name: str) -> None:
    declared = parameters[name]
    for beyond in [declared[key] + step for key, step in (("MinValue", -1), ("MaxValue", 1)) if key in declared]:
        with pytest.raises(Exception, match=name):
            from_parameters({name: beyond})


LISTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "MemberAccounts": (("222222222222",), ("22222222222", "O222222222222", "2222222222223")),
    "MemberRegions": (("eu-west-1", "us-gov-west-1", "ap-southeast-2"), ("eu-west", "EU-WEST-1", "eu-west-1a")),
    "Operators": (("U0OPS", "W0OPS", "S0GROUP"), ("u0ops", "@ops", "C0OPS")),
    "Viewers": (("U0OPS", "S0GROUP"), ("everyone", "D0OPS")),
    "SlackChannels": (
        ("222222222222=C0TEAM", "222222222222/eu-west-1=G0TEAM"),
        (
            "C0TEAM",
            "222222222222:C0TEAM",
            "222222222222/eu-west=C0TEAM",
            "222222222222=",
            "2222=C0TEAM",
            "222222222222=a b",
            "222222222222=#team-a",
            "222222222222=team-a",
            "222222222222=D0TEAM",
        ),
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_template_and_library_agree_on_what_an_entry_of_a_list_may_be(
    parameters: dict[str, dict[str, Any]], name: str
) -> None:
    """AWS: CloudFormation user guide, Parameters: a pattern must match each value of a CommaDelimitedList."""
    pattern, (good, bad) = parameters[name]["AllowedPattern"], LISTS[name]
    for entry in ("", *good):
        assert re.fullmatch(pattern, entry), entry
        from_parameters({name: entry})
    from_parameters({name: ",".join(good)})
    for entry in bad:
        assert not re.fullmatch(pattern, entry), entry
        with pytest.raises(SettingsError, match=name):
            from_parameters({name: entry})


SINGLE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # messages are updated by the channel's id (Slack, chat.update), and people's commands name it by the id
    "SlackChannel": (("C0123ABCD", "G0OPS"), ("#ops", "ops", "D0OPS", "U0OPS", "C0 OPS", "c0ops")),
    # dagy's token goes there
    "DagyApiUrl": (
        ("", "https://dagy.internal", "https://dagy.example.com:8443/api/v1"),
        (
            "http://dagy.internal",
            "http://10.0.0.7:8080",
            "dagy.internal",
            "https://",
            "https://u@dagy.internal",
            "https://dagy.internal?x=1",
            "https://:443",
            "https://dagy.internal:port",
        ),
    ),
}


@pytest.mark.parametrize("name", SINGLE)
def test_template_and_library_agree_on_what_a_text_may_be(parameters: dict[str, dict[str, Any]], name: str) -> None:
    pattern, (good, bad) = parameters[name]["AllowedPattern"], SINGLE[name]
    for value in good:
        assert re.fullmatch(pattern, value), value
        from_parameters({name: value})
    for value in bad:
        assert not re.fullmatch(pattern, value), value
        with pytest.raises(SettingsError, match=name):
            from_parameters({name: value})
    assert parameters[name]["ConstraintDescription"].startswith("must ")


def test_every_address_of_dagy_that_may_be_deployed_can_be_asked(parameters: dict[str, dict[str, Any]]) -> None:
    for address in filter(None, SINGLE["DagyApiUrl"][0]):
        DagyBackfills(address, lambda: "token")
    from_parameters({"DagyApiUrl": "http://127.0.0.1:8080"})  # a rehearsal's; the template does not let it through
    assert not re.fullmatch(parameters["DagyApiUrl"]["AllowedPattern"], "http://127.0.0.1:8080")


def test_every_function_is_told_all_that_the_wiring_needs_to_know(functions: dict[str, dict[str, Any]]) -> None:
    for properties in functions.values():
        told = dict.fromkeys(properties["Environment"]["Variables"], "told")
        Deployment.read({**told, "AWS_REGION": "eu-west-1"})  # Lambda itself sets the Region


def test_every_parameter_says_what_it_is_and_is_shown_in_a_group(template: dict[str, Any]) -> None:
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]
    assert sorted(shown) == sorted(template["Parameters"])
    assert [
        name for name, declared in template["Parameters"].items() if len(declared.get("Description", "")) < 30
    ] == []
