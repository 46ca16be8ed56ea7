"""Which accounts and Regions are looked after, in which channel each is told, and what becomes of one nobody can look into."""

import pytest

from tests.unit.fakes import ACCOUNT, NOW, REGION
from unthrottle.errors import NotAllowed, TryAgain
from unthrottle.ports import Alarms, Observer
from unthrottle.reopen import Place, reopen, tell_unreadable
from unthrottle.settings import Settings

A, B = "222222222222", "333333333333"


@pytest.mark.parametrize(
    ("settings", "places"),
    [
        (Settings(), [(ACCOUNT, REGION)]),
        (Settings(member_accounts=(A,)), [(ACCOUNT, REGION), (A, REGION)]),
        (
            Settings(member_accounts=(A, B), member_regions=("eu-central-1", "eu-north-1")),
            [
                (ACCOUNT, REGION),
                (A, "eu-central-1"),
                (A, "eu-north-1"),
                (B, "eu-central-1"),
                (B, "eu-north-1"),
            ],
        ),
        (
            Settings(member_accounts=(ACCOUNT,), member_regions=(REGION, "eu-central-1")),
            [(ACCOUNT, REGION), (ACCOUNT, "eu-central-1")],
        ),
        (Settings(member_regions=("eu-central-1",)), [(ACCOUNT, REGION)]),
    ],
    ids=["home", "a member at home's Region", "members in two Regions", "home elsewhere", "Regions of nobody"],
)
def test_every_place_is_looked_after_once(settings: Settings, places: list[tuple[str, str]]) -> None:
    assert list(settings.places(ACCOUNT, REGION)) == places


@pytest.mark.parametrize(
    ("account", "region", "channel"),
    [
        (A, "eu-central-1", "C0BOTH"),
        (A, "eu-north-1", "C0TEAM"),
        (B, "eu-central-1", "C0OPS"),
        (ACCOUNT, REGION, "C0OPS"),
    ],
)
def test_the_closest_entry_names_the_channel(account: str, region: str, channel: str) -> None:
    settings = Settings(slack_channel="C0OPS", slack_channels=(f"{A}=C0TEAM", f"{A}/eu-central-1=C0BOTH"))
    assert settings.channel_of(account, region) == channel
    assert settings.channels == ("C0OPS", "C0TEAM", "C0BOTH")


class _Pager:
    def __init__(self, error: Exception | None = None) -> None:
        self.pages: list[tuple[str, str]] = []
        self._error = error

    def page(self, subject: str, text: str) -> None:
        if self._error is not None:
            raise self._error
        self.pages.append((subject, text))


class _Closed:
    """Accounts of which one cannot be looked into."""

    def __init__(self, quiet: Observer) -> None:
        self._quiet = quiet

    def observe(self, account: str, region: str, incident_id: str) -> Observer:
        if account == A:
            raise NotAllowed("Could not assume the role r: AWS said AccessDenied.", code="AccessDenied")
        return self._quiet

    def act(self, account: str, region: str, incident_id: str) -> object:
        raise AssertionError("a sweep for alarms changes nothing")


class _NoAlarms:
    def firing(self) -> tuple[()]:
        return ()


def test_an_account_that_cannot_be_looked_into_is_told_with_the_reason_and_the_others_go_on() -> None:
    alarms: Alarms = _NoAlarms()  # type: ignore[assignment]  # nothing else is asked
    quiet = Observer(metrics=None, functions=None, tables=None, alarms=alarms, calendar=None)  # type: ignore[arg-type]
    looked: dict[Place, str] = {}
    places = [Place(account=one, region=REGION) for one in (ACCOUNT, A, B)]
    reopen(_Closed(quiet), None, places, NOW, lambda _: (), still_open=(), unreadable=looked.setdefault)  # type: ignore[arg-type]
    assert looked == {Place(account=A, region=REGION): "Could not assume the role r: AWS said AccessDenied."}

    pager = _Pager()
    tell_unreadable(pager, looked)
    ((subject, text),) = pager.pages
    assert subject == "Unthrottle cannot look into 1 of its accounts"
    assert f"{A} ({REGION}): Could not assume the role r" in text


def test_nothing_is_paged_when_all_can_be_looked_into_and_a_pager_that_fails_ends_no_sweep() -> None:
    pager = _Pager()
    tell_unreadable(pager, {})
    assert pager.pages == []
    tell_unreadable(_Pager(TryAgain("busy")), {Place(account=A, region=REGION): "no"})
