"""What `/unthrottle ...` means, as people and phones type it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unthrottle.slack_grammar import (
    Asked,
    Audit,
    Check,
    Fix,
    Help,
    Keep,
    NotUnderstood,
    Pause,
    Resume,
    Revert,
    Snooze,
    Status,
    help_text,
    understand,
)

RUNS = "dagy-runs-develop"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param("", Help(), id="nothing"),
        pytest.param("help", Help(), id="help"),
        pytest.param(f"check {RUNS}", Check(resource=RUNS), id="check"),
        pytest.param(f"fix {RUNS}", Fix(resource=RUNS, dry_run=False), id="fix"),
        pytest.param(f"fix {RUNS} --dry-run", Fix(resource=RUNS, dry_run=True), id="fix, dry run"),
        pytest.param(f"fix --dry-run {RUNS}", Fix(resource=RUNS, dry_run=True), id="option first"),
        pytest.param("status", Status(incident_id=None), id="status of all"),
        pytest.param("status INC-7Q2M", Status(incident_id="INC-7Q2M"), id="status of one"),
        pytest.param("snooze INC-7Q2M", Snooze(incident_id="INC-7Q2M"), id="snooze"),
        pytest.param(
            "snooze INC-7Q2M 2h", Snooze(incident_id="INC-7Q2M", duration=timedelta(hours=2)), id="snooze for hours"
        ),
        pytest.param("revert INC-7Q2M", Revert(incident_id="INC-7Q2M"), id="revert"),
        pytest.param("keep INC-7Q2M", Keep(incident_id="INC-7Q2M"), id="keep"),
        pytest.param("pause", Pause(duration=None), id="pause until resume"),
        pytest.param("pause 2h", Pause(duration=timedelta(hours=2)), id="pause for hours"),
        pytest.param("pause 30m", Pause(duration=timedelta(minutes=30)), id="pause for minutes"),
        pytest.param("pause 1d", Pause(duration=timedelta(days=1)), id="pause for a day, as in a terminal"),
        pytest.param("pause 5w", Pause(duration=timedelta(weeks=5)), id="pause for weeks"),
        pytest.param("resume", Resume(), id="resume"),
        pytest.param("audit", Audit(), id="audit"),
    ],
)
def test_every_command_is_understood(text: str, asked: Asked) -> None:
    assert understand(text) == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param(f"fix {RUNS} —dry-run", Fix(resource=RUNS, dry_run=True), id="phone made a long dash"),
        pytest.param(f"fix {RUNS} –dry-run", Fix(resource=RUNS, dry_run=True), id="phone made a shorter long dash"),
        pytest.param(f"fix {RUNS} --dry\u2011run", Fix(resource=RUNS, dry_run=True), id="hyphen that does not break"),
        pytest.param(f"FIX {RUNS} --DRY-RUN", Fix(resource=RUNS, dry_run=True), id="capitals"),
        pytest.param(f"check\u00a0`{RUNS}`", Check(resource=RUNS), id="code marks and a hard space"),
        pytest.param(f"check “{RUNS}”", Check(resource=RUNS), id="curly quotes"),
        pytest.param("check <http://my.func|my.func>", Check(resource="my.func"), id="a link made of a name"),
        pytest.param("check <http://my.func>", Check(resource="my.func"), id="a link without a label"),
        pytest.param("check Svc-CRMPL", Check(resource="Svc-CRMPL"), id="names keep their case"),
        pytest.param("check \u200bdagy-runs\u200b", Check(resource="dagy-runs"), id="invisible characters"),
        pytest.param("revert inc-7q2m", Revert(incident_id="INC-7Q2M"), id="incident in small letters"),
        pytest.param(
            "check arn:aws:lambda:eu-west-1:111122223333:function:f",
            Check(resource="arn:aws:lambda:eu-west-1:111122223333:function:f"),
            id="a whole ARN",
        ),
    ],
)
def test_what_phones_and_slack_do_to_text_is_undone(text: str, asked: Asked) -> None:
    assert understand(text) == asked


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        pytest.param(f"chekc {RUNS}", f"/unthrottle check {RUNS}", id="a slip in the verb"),
        pytest.param(f"fix {RUNS} --dryrun", f"/unthrottle fix {RUNS} --dry-run", id="a slip in the option"),
        pytest.param(f"fix {RUNS} -dry-run", f"/unthrottle fix {RUNS} --dry-run", id="one hyphen"),
        pytest.param(f"fix {RUNS} --dry-run=false", f"/unthrottle fix {RUNS} --dry-run", id="an option with a value"),
        pytest.param(f"fix {RUNS} --force", "/unthrottle fix <table or function> [--dry-run]", id="an invented option"),
        pytest.param(
            f"fix {RUNS} dry-run", "/unthrottle fix <table or function> [--dry-run]", id="option without hyphens"
        ),
        pytest.param(
            f"check {RUNS} --dry-run", "/unthrottle check <table or function>", id="an option of another verb"
        ),
        pytest.param("fix", "/unthrottle fix <table or function> [--dry-run]", id="fix what"),
        pytest.param("check a b", "/unthrottle check <table or function>", id="two resources"),
        pytest.param("check <!channel>", "/unthrottle check <table or function>", id="a mention as a name"),
        pytest.param("check a—b", "/unthrottle check <table or function>", id="a long dash inside a name"),
        pytest.param("revert", "/unthrottle revert <incident>", id="revert what"),
        pytest.param("revert 7Q2M", "/unthrottle revert <incident>", id="half an incident"),
        pytest.param("pause 0m", "/unthrottle pause [2h]", id="no time at all"),
        pytest.param("pause forever", "/unthrottle pause [2h]", id="no duration"),
        pytest.param("pause 1000h", "/unthrottle pause [2h]", id="a year"),
        pytest.param("pause 42d", "/unthrottle pause [2h]", id="longer than the longest"),
        pytest.param("keep INC-7Q2M 2h", "/unthrottle keep <incident> [24h]", id="keep for what nobody can choose"),
        pytest.param("resume now", "/unthrottle resume", id="resume with an argument"),
        pytest.param("xyzzy", None, id="nothing like it"),
        pytest.param('check "dagy', None, id="an open quote"),
        pytest.param("approve INC-7Q2M", None, id="approving is a button"),
        pytest.param("check " + "a" * 1000, None, id="endless text"),
    ],
)
def test_unknown_words_and_options_run_nothing_and_suggest(text: str, suggestion: str | None) -> None:
    asked = understand(text)
    assert isinstance(asked, NotUnderstood)
    assert asked.suggestion == suggestion
    assert "nothing was run" in asked.message


def test_message_repeats_what_was_typed_without_letting_it_mention_anyone() -> None:
    asked = understand("<!channel> `x`")
    assert asked == NotUnderstood(message="`&lt;!channel&gt;` is no command; nothing was run.")


@given(text=st.text(max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    understand(text)


@given(option=st.text(alphabet="-—–dryunDRYUN =0", min_size=1, max_size=14))
def test_nothing_like_dry_run_ever_becomes_a_live_run(option: str) -> None:
    asked = understand(f"fix {RUNS} {option}")
    if isinstance(asked, Fix) and not asked.dry_run:
        assert option.strip() == ""


def test_help_lists_every_command() -> None:
    assert help_text().count("\n") == 9
    assert "`/unthrottle fix <table or function> [--dry-run]`" in help_text()


def test_a_snooze_without_a_usable_duration_runs_nothing() -> None:
    answer = understand("snooze INC-7Q2M tomorrow")
    assert answer == NotUnderstood(
        message="`tomorrow` is no duration; write 30m or 2h, or nothing for an hour; nothing was run.",
        suggestion="/unthrottle snooze <incident> [2h]",
    )


def test_a_keep_of_another_length_says_which_there_is() -> None:
    asked = understand("keep INC-7Q2M 2h")
    assert isinstance(asked, NotUnderstood)
    assert asked.message == "`keep` takes 24h or nothing after the incident; nothing was run."
