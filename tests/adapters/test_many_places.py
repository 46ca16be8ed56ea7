"""A sweep over 200 accounts in three Regions: how often AWS is asked, and what becomes of those there is no time for."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.memory_incidents import MemoryIncidents
from tests.adapters.world import NOW, StillClock
from unthrottle.adapters.access import Clients, Credentials, Service
from unthrottle.adapters.accounts import MOST_CREDENTIALS, MOST_KEPT, AwsAccounts
from unthrottle.adapters.time_left import time_left
from unthrottle.errors import NotAllowed
from unthrottle.reopen import NO_TIME, Place, reopen
from unthrottle.rounds import in_turn
from unthrottle.sweep import SWEEP_EVERY

REGIONS = ("eu-west-1", "us-east-1", "ap-south-1")
PLACES = tuple(Place(account=f"{number:012d}", region=region) for number in range(200) for region in REGIONS)


class Counted(Clients):
    """Clients that count their calls by operation, and by the role that is taken; nothing rings anywhere."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self.signed: Counter[tuple[str, str]] = Counter()
        self._clock = clock
        self._counting = threading.Lock()

    def make(self, service: Service, region: str, credentials: Credentials | None) -> Any:
        def assume_role(RoleArn: str, RoleSessionName: str) -> dict[str, Any]:  # noqa: N803  AWS's names
            with self._counting:
                self.calls["AssumeRole"] += 1
                self.taken[f"{RoleArn} {RoleSessionName}"] += 1
                key = f"{RoleArn.split(':')[4]} {self.calls['AssumeRole']}"
            until = self._clock.now() + timedelta(hours=1)
            keys = {"AccessKeyId": key, "SecretAccessKey": "s", "SessionToken": "t", "Expiration": until}
            return {"Credentials": keys}

        def paginate(**_: object) -> Iterator[dict[str, Any]]:
            assert credentials is not None
            with self._counting:
                self.calls["DescribeAlarms"] += 1
                self.signed[(credentials.access_key.split()[0], region)] += 1
            return iter([])

        return SimpleNamespace(
            assume_role=assume_role,
            get_paginator=lambda _name: SimpleNamespace(paginate=paginate),
            _unthrottle_reads=True,
        )


@pytest.fixture
def clients(clock: StillClock) -> Counted:
    return Counted(clock)


def _accounts(clients: Counted, clock: StillClock) -> AwsAccounts:
    return AwsAccounts(
        home_account="0" * 12,
        home_region="eu-west-1",
        observer_role_name="bot-observer",
        actor_role_name="bot-actor",
        clients=clients,
        clock=clock,
    )


def test_a_role_is_taken_once_an_account_for_all_its_regions_and_kept_for_the_next_runs(
    clients: Counted, clock: StillClock
) -> None:
    accounts = _accounts(clients, clock)
    reopen(accounts, MemoryIncidents(), PLACES, NOW, lambda _: (), still_open=())
    assert clients.calls == {"AssumeRole": 200, "DescribeAlarms": 600}
    assert set(clients.taken.values()) == {1}
    assert clients.signed == {(place.account, place.region): 1 for place in PLACES}

    clock.time += 10 * SWEEP_EVERY
    reopen(accounts, MemoryIncidents(), PLACES, clock.time, lambda _: (), still_open=())
    assert clients.calls == {"AssumeRole": 200, "DescribeAlarms": 1200}

    clock.time += SWEEP_EVERY  # five minutes before the credentials' end
    reopen(accounts, MemoryIncidents(), PLACES, clock.time, lambda _: (), still_open=())
    assert clients.calls == {"AssumeRole": 400, "DescribeAlarms": 1800}


def test_what_is_kept_is_bounded_and_enough_for_both_roles_in_two_hundred_accounts(
    clients: Counted, clock: StillClock
) -> None:
    accounts = _accounts(clients, clock)
    for number in range(2 * MOST_CREDENTIALS):
        accounts.act(f"{number:012d}", "eu-west-1", "INC-AAAA")
    assert len(accounts._taken) == MOST_CREDENTIALS > 2 * 200
    assert len(accounts._kept) == MOST_KEPT


def test_regions_share_new_credentials_when_aws_no_longer_takes_the_old_ones(
    clients: Counted, clock: StillClock
) -> None:
    """Each Region finds it out by itself, and only the first of them takes the role again."""
    accounts = _accounts(clients, clock)
    regions = [accounts._access("1" * 12, region, "bot-observer", "sweep", "") for region in REGIONS]
    for one in regions:
        one.ensure()
    assert clients.calls["AssumeRole"] == 1
    for one in regions:
        one.forget()
        one.ensure()
    assert clients.calls["AssumeRole"] == 2
    assert len({id(one._credentials) for one in regions}) == 1


class Slow:
    """Accounts of which each look takes a second; one of them may not be looked into."""

    def __init__(self, denied: Place | None = None) -> None:
        self.seconds = 0.0
        self.looked: set[Place] = set()
        self._denied = denied
        self._lock = threading.Lock()

    def observe(self, account: str, region: str, _session: str) -> Any:
        def firing() -> tuple[()]:
            place = Place(account=account, region=region)
            with self._lock:
                self.seconds += 1
                self.looked.add(place)
            if place == self._denied:
                raise NotAllowed("Could not assume the role.", code="AccessDenied")
            return ()

        return SimpleNamespace(alarms=SimpleNamespace(firing=firing))

    def act(self, account: str, region: str, incident_id: str) -> Any:
        raise AssertionError("a sweep for alarms changes nothing")


def test_the_sweep_ends_in_time_tells_what_it_did_not_reach_and_each_place_has_its_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    had: set[Place] = set()
    for run in range(12):
        slow, late = Slow(), list[Place]()
        unreadable: dict[Place, str] = {}
        now = NOW + run * SWEEP_EVERY
        with caplog.at_level(logging.WARNING, "unthrottle"):
            reopen(
                slow,
                MemoryIncidents(),
                PLACES,
                now,
                lambda _: (),
                still_open=(),
                unreadable=unreadable.setdefault,
                not_looked_at=late.append,
                left=lambda slow=slow: 120 - slow.seconds,  # type: ignore[misc]  # bound at once
            )
        assert 120 <= len(slow.looked) <= 130
        assert slow.looked.isdisjoint(late)
        assert slow.looked | set(late) == set(PLACES)
        assert unreadable == {}
        line = caplog.records[-1].__dict__
        assert (line["message"], line["not_looked_at"], line["places"]) == ("reopen.not-looked-at", len(late), 600)
        had |= slow.looked
    assert had == set(PLACES)


def test_places_that_have_no_turn_for_an_hour_are_told_like_those_that_cannot_be_read() -> None:
    first = in_turn(PLACES, NOW, SWEEP_EVERY)[0]
    slow = Slow(denied=first)
    unreadable: dict[Place, str] = {}
    reopen(
        slow,
        MemoryIncidents(),
        PLACES,
        NOW,
        lambda _: (),
        still_open=(),
        unreadable=unreadable.setdefault,
        left=lambda: 1 - slow.seconds,
    )
    assert unreadable.pop(first) == "Could not assume the role."
    assert set(unreadable.values()) == {NO_TIME}
    assert len(unreadable) > 300


def test_lambda_says_how_much_time_is_left_and_where_nobody_says_there_is_enough() -> None:
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 200_000)
    assert time_left(context, timedelta(minutes=1))() == 140
    assert time_left(context, timedelta(minutes=4))() == -40
    assert time_left(None, timedelta(minutes=4))() > 3600
