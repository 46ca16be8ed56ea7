"""Whatever is in a parameter or a variable, settings are right or one error names what is wrong."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from unthrottle.errors import SettingsError
from unthrottle.settings import PARAMETERS, Mode, from_environment, from_parameters, variable

VALUES = (
    st.text(max_size=1000) | st.integers() | st.floats() | st.booleans() | st.none() | st.lists(st.text(max_size=20))
)


@given(given_values=st.dictionaries(st.sampled_from(sorted(PARAMETERS)) | st.text(max_size=20), VALUES, max_size=6))
@settings(max_examples=150)
def test_any_parameters_are_settings_or_one_error(given_values: dict[str, object]) -> None:
    try:
        found = from_parameters(given_values)
    except SettingsError as error:
        assert len(str(error)) < 20_000  # noqa: PT017  either way is right; the error is only to be short
        return
    assert found.mode in set(Mode)
    assert 1 <= found.max_pool_share <= 90
    assert found.cap_lease_minutes >= 5


@given(value=st.text(max_size=200).filter(lambda text: "\x00" not in text))
def test_a_mode_is_never_guessed(value: str) -> None:
    """`Auto`, ` auto`, `auto\\n` are mistakes, not auto."""
    try:
        found = from_environment({variable("Mode"): value})
    except SettingsError:
        return
    assert value in {"", *Mode}
    assert found.mode.value == (value or "dry-run")


def test_a_parameter_of_ten_megabytes_is_refused_at_once() -> None:
    began = time.process_time()
    for name in PARAMETERS:
        try:
            from_parameters({name: "1," * 5_000_000})
        except SettingsError as error:
            assert len(str(error)) < 5000  # noqa: PT017  it may also be a long list that is right
    assert time.process_time() - began < 20
