"""The app asks for as little as it can work with, and every address in its manifest is the one front door."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from unthrottle.slack_grammar import USAGE

_FILE = Path(__file__).parents[2] / "slack-app-manifest.yaml"


@pytest.fixture
def manifest() -> dict[str, Any]:
    found = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_it_asks_for_two_rights_and_no_more(manifest: dict[str, Any]) -> None:
    assert manifest["oauth_config"]["scopes"] == {"bot": ["chat:write", "commands"]}
    assert manifest["settings"]["token_rotation_enabled"] is False
    assert manifest["settings"]["socket_mode_enabled"] is False


def test_commands_buttons_and_the_home_tab_go_to_one_address_over_https(manifest: dict[str, Any]) -> None:
    command, settings = manifest["features"]["slash_commands"][0], manifest["settings"]
    addresses = {
        command["url"],
        settings["interactivity"]["request_url"],
        settings["event_subscriptions"]["request_url"],
    }
    assert len(addresses) == 1
    assert addresses.pop().startswith("https://")
    assert settings["event_subscriptions"]["bot_events"] == ["app_home_opened"]
    assert manifest["features"]["app_home"]["home_tab_enabled"] is True


def test_the_command_is_named_as_the_answers_name_it_and_hints_at_what_exists(manifest: dict[str, Any]) -> None:
    (command,) = manifest["features"]["slash_commands"]
    assert command["command"] == "/unthrottle"
    assert command["should_escape"] is False
    assert {part.split()[0] for part in command["usage_hint"].split("|")} <= set(USAGE)


def test_texts_are_within_slacks_limits(manifest: dict[str, Any]) -> None:
    """Slack, app manifest reference: name 35, description 140, command 32, its description 2,000, hint 1,000."""
    assert len(manifest["display_information"]["name"]) <= 35
    assert len(manifest["display_information"]["description"]) <= 140
    (command,) = manifest["features"]["slash_commands"]
    assert len(command["command"]) <= 32
    assert len(command["description"]) <= 2000
    assert len(command["usage_hint"]) <= 1000
