"""An alarm that somebody muted is left by the sweep, too; it hides no other alarm of the same pool."""

from dataclasses import replace

import pytest

from tests.safety.test_reopen import HOUR, Night, alarm, closed
from tests.unit.fakes import ACCOUNT, MINUTE, NOW, REGION, incident
from unthrottle.incident import Incident, Status
from unthrottle.ports import FiringAlarm, Opened
from unthrottle.subjects import PoolSubject, fingerprint, muted_mark

POOL = fingerprint(ACCOUNT, REGION, PoolSubject())


def muted(ago: int, *, name: str = "muted", triggers: int = 1, number: int = 1) -> Incident:
    """The incident of a muted alarm; it was open for two minutes, and ended `ago` minutes ago."""
    end = NOW - ago * MINUTE
    plain = incident(id=f"INC-MUTED00{number}", fingerprint=muted_mark(POOL), muted_by="mute rule load-test")
    return replace(plain, opened_at=end - 2 * MINUTE, closed_at=end, alarm_name=name, triggers=triggers)


def swept(ringing: FiringAlarm, *known: Incident) -> bool:
    """Whether the sweep opens an incident for the alarm."""
    night = Night(ringing)
    for number, one in enumerate(known):
        assert isinstance(night.incidents.open_or_join(replace(one, closed_at=None), f"m{number}"), Opened)
        if one.closed_at is not None:
            night.incidents.close(one)
    return night.sweep() != ()


def test_a_muted_alarm_that_still_rings_is_left() -> None:
    """Else the sweep would act ten minutes later on what somebody muted."""
    assert not swept(alarm("muted", minutes=20), muted(15))
    assert not swept(alarm("muted", minutes=300), muted(297))
    assert not swept(alarm("muted", minutes=20), muted(20))
    assert not swept(alarm("muted", minutes=20), replace(muted(15), closed_at=None))


def test_another_alarm_of_the_same_pool_is_opened() -> None:
    """A load test's muted alarm must not hide the alarm of a pool that is really full, whose event was lost."""
    assert swept(alarm("meant", minutes=20), muted(15))
    assert swept(alarm("meant", minutes=11), muted(60 * 11))


def test_a_muted_alarm_that_rings_anew_is_opened() -> None:
    """The mute may be over; a mute that goes on makes an incident of its own."""
    assert swept(alarm("muted", minutes=20), muted(30))


def test_the_newest_muted_alarm_does_not_stand_for_those_before_it() -> None:
    known = (muted(60, name="muted"), muted(20, name="another", number=2))
    assert not swept(alarm("muted", minutes=65), *known)
    assert not swept(alarm("another", minutes=25), *known)


@pytest.mark.parametrize(
    ("minutes", "is_opened"),
    [
        pytest.param(17, False, id="it may have joined the muted one"),
        pytest.param(32, False, id="its event may have come late"),
        pytest.param(33, True, id="it rang long before"),
        pytest.param(14, True, id="it rings since the muted one ended"),
    ],
)
def test_where_muted_alarms_joined_whatever_rang_then_is_left(minutes: int, *, is_opened: bool) -> None:
    """No names are kept of those that joined: to act on what somebody muted would be worse."""
    assert swept(alarm("joined", minutes=minutes), muted(15, triggers=2)) is is_opened


def test_a_muted_alarm_beside_an_incident_that_was_closed_is_left() -> None:
    """What nobody knows of comes back after half an hour, but not by the alarm that is muted since."""
    over = closed(HOUR, status=Status.REVERTED)
    assert not swept(alarm("muted", minutes=20), over, muted(15))
    assert swept(alarm("meant", minutes=20), over, muted(15))
