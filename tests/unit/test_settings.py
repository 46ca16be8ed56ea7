"""A wrong setting is told, all wrong ones at once, and never silently becomes a default."""

import pytest

from unthrottle.errors import SettingsError
from unthrottle.settings import PARAMETERS, Mode, Settings, WhenSlackIsDown, from_environment, from_parameters, variable


def test_without_any_setting_the_bot_only_looks() -> None:
    """Dry-run is what a new stack gets."""
    assert from_environment({}) == from_parameters({}) == Settings()
    assert Settings().mode is Mode.DRY_RUN


def test_an_empty_variable_keeps_the_default() -> None:
    """CloudFormation writes an optional parameter that nobody gave as an empty text."""
    assert from_environment({"UNTHROTTLE_MAX_POOL_SHARE": "", "UNTHROTTLE_OPERATORS": ""}) == Settings()


def test_values_are_read_from_either_place() -> None:
    """A parameter and its variable mean the same."""
    wanted = Settings(
        mode=Mode.AUTO,
        max_pool_share=30,
        operators=("U0OPS", "S0TEAM"),
        when_slack_is_down=WhenSlackIsDown.PAUSE,
        max_hourly_cost=12.5,
        act_before_throttling=True,
        member_accounts=("111122223333",),
    )
    parameters = {
        "Mode": "auto",
        "MaxPoolShare": 30,
        "Operators": ["U0OPS", "S0TEAM"],
        "WhenSlackIsDown": "pause",
        "MaxHourlyCost": 12.5,
        "ActBeforeThrottling": True,
        "MemberAccounts": "111122223333",
    }
    texts = {
        "UNTHROTTLE_MODE": "auto",
        "UNTHROTTLE_MAX_POOL_SHARE": " 30 ",
        "UNTHROTTLE_OPERATORS": "U0OPS, S0TEAM",
        "UNTHROTTLE_WHEN_SLACK_IS_DOWN": "pause",
        "UNTHROTTLE_MAX_HOURLY_COST": "12.5",
        "UNTHROTTLE_ACT_BEFORE_THROTTLING": "True",
        "UNTHROTTLE_MEMBER_ACCOUNTS": "111122223333",
    }
    assert from_parameters(parameters) == from_environment(texts) == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("Mode", "off", id="off is a tag's word, not the stack's"),
        pytest.param("Mode", "AUTO", id="another spelling"),
        pytest.param("MaxPoolShare", "0", id="below the least"),
        pytest.param("MaxPoolShare", "91", id="above the most"),
        pytest.param("MaxPoolShare", "25%", id="with a unit"),
        pytest.param("MaxPoolShare", None, id="nothing"),
        pytest.param("CooldownMinutes", "15m", id="minutes with a letter"),
        pytest.param("CooldownMinutes", "-1", id="negative"),
        pytest.param("CooldownMinutes", "1.5", id="not whole"),
        pytest.param("CooldownMinutes", "٣", id="a digit of another script"),
        pytest.param("MaxHourlyCost", "nan", id="no number"),
        pytest.param("MaxHourlyCost", "1e9", id="an exponent"),
        pytest.param("SlackSecretArn", "arn:aws:s3:::x", id="an ARN of something else"),
        pytest.param("DagyApiUrl", "https://user@dagy/", id="a user name in the address"),
        pytest.param("MemberAccounts", "1234", id="no account id"),
        pytest.param("Operators", "@anna", id="a name that can be edited"),
        pytest.param("ActBeforeThrottling", "yes", id="neither true nor false"),
        pytest.param("ProvisionedTableAction", "raise", id="half a choice"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, value: object) -> None:
    """The text names the setting and what was written, so that it can be corrected."""
    with pytest.raises(SettingsError) as told:
        from_parameters({name: value})

    assert f"{name} is {str(value)!r}; write " in str(told.value)
    assert "Nothing was changed." in str(told.value)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("MaxPoolShare", 1, 90),
        ("CapLeaseMinutes", 5, 10080),
        ("OnDemandLeaseMinutes", 30, 43200),
        ("ApprovalMinutes", 1, 1440),
        ("CooldownMinutes", 0, 1440),
        ("MaxActionsPerHour", 0, 100),
        ("RetentionDays", 1, 3650),
    ],
)
def test_a_number_may_be_at_its_bounds_and_not_beyond(name: str, low: int, high: int) -> None:
    """Below and above are errors; exactly at either end is fine."""
    from_parameters({name: low})
    from_parameters({name: high})
    for beyond in (low - 1, high + 1):
        with pytest.raises(SettingsError):
            from_parameters({name: beyond})


def test_all_wrong_values_and_unknown_names_are_told_at_once() -> None:
    """Nobody should have to deploy five times to learn of five mistakes."""
    with pytest.raises(SettingsError) as told:
        from_parameters({"Mode": "on", "MaxPoolShare": "x", "Cooldown": 5, "Tagprefix": "a"})
    for wrong in ("Mode is 'on'", "MaxPoolShare is 'x'", "Unknown: Cooldown, Tagprefix", *PARAMETERS):
        assert wrong in str(told.value)

    with pytest.raises(SettingsError) as told:
        from_environment({"UNTHROTTLE_MODE": "on", "UNTHROTTLE_COOLDOWN_MINUTES": "15m"})
    for wrong in ("UNTHROTTLE_MODE is 'on'", "UNTHROTTLE_COOLDOWN_MINUTES is '15m'"):
        assert wrong in str(told.value)


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    """A value of a megabyte must not become a log line of a megabyte."""
    with pytest.raises(SettingsError) as told:
        from_parameters({"Mode": "x" * 1_000_000})

    assert len(str(told.value)) < 500


def test_variables_are_named_after_parameters() -> None:
    """One rule leads from the parameter to its variable."""
    assert variable("MaxPoolShare") == "UNTHROTTLE_MAX_POOL_SHARE"
    assert variable("DagyApiUrl") == "UNTHROTTLE_DAGY_API_URL"
    assert len({variable(name) for name in PARAMETERS}) == len(PARAMETERS)


@pytest.mark.parametrize("mine", list(Mode))
@pytest.mark.parametrize("tag", list(Mode))
def test_a_tag_only_narrows(mine: Mode, tag: Mode) -> None:
    """Whatever a tag says, the result is never less careful than the stack's mode."""
    order = [Mode.OFF, Mode.DRY_RUN, Mode.APPROVE, Mode.AUTO]

    assert mine.narrowed_by(tag) is order[min(order.index(mine), order.index(tag))]
