"""The named scenarios are for everybody: what is true follows from their files, and nobody's play touches another's."""

from bench import rivals
from bench.arena import Field, play_all
from bench.named import FOLDER, MEMBERS, NO_CAUSE, SAME, SEVERAL, field_of


def _field(name: str) -> Field:
    found = field_of(FOLDER / f"{name}.yaml")
    assert isinstance(found, Field)
    return found


def test_a_scenario_that_is_not_about_a_diagnosis_is_left_out_and_says_why() -> None:
    names = ("approve-no", "members-denies-change", "small-account", "table-out-of-write-capacity-dry-run")
    assert [field_of(FOLDER / f"{name}.yaml") for name in names] == [NO_CAUSE, MEMBERS, SEVERAL, SAME]


def test_a_fix_that_the_file_expects_without_a_person_is_the_right_one() -> None:
    truth = _field("cause-hogs-five-together").truth
    assert (truth.fix, len(truth.targets), truth.excused) == ("limit-function", 5, None)


def test_what_only_settings_forbid_is_excused_and_what_the_account_forbids_is_not() -> None:
    paused, protected = _field("guard-paused").truth, _field("guard-protected").truth
    assert (paused.fix, paused.excused, paused.targets) == (None, "limit-function", frozenset({"svc-hog-dev"}))
    assert (protected.fix, protected.excused) == (None, None)


def test_what_a_person_in_the_file_agrees_to_is_no_harm_and_no_merit() -> None:
    truth = _field("cause-hog-kinesis-factor-one").truth
    assert (truth.fix, truth.excused, truth.targets) == (None, "limit-function", frozenset({"svc-loader"}))


def test_raising_what_an_index_may_have_is_a_change_of_its_table() -> None:
    played, _ = play_all(_field("cause-index-autoscaling-at-its-maximum-raised"), {})
    assert (played["Unthrottle"].harmful, played["Unthrottle"].right_target) == ((), True)


def test_everybody_plays_as_if_the_others_were_not_there() -> None:
    played = _field("cause-table-switches-two-left")
    several = {"switches": rivals.most_throttled, "looks only": rivals.runbook, "script": rivals.alarm_threshold}
    together, outcome = play_all(played, several)
    assert outcome["unmet"] == []
    assert all(together[name].healed for name in ("Unthrottle", "switches", "script"))
    assert (together["looks only"].healed, together["looks only"].not_given_back) == (False, 0)
    alone, _ = play_all(played, {"script": rivals.alarm_threshold})
    assert alone["script"] == together["script"]
