"""Who comes through the front door: by signature, app, workspace, own workspace, channel and list; and nobody by a name."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlencode

import pytest

from sandbox.memory_incidents import MemoryIncidents
from sandbox.slack import SlackStandIn
from sandbox.slack_people import SlackPeople
from tests.report.samples import applied, approval, pool_hog
from tests.slack.test_front_door import form, payload, signed
from unthrottle.adapters.slack_light import KEPT_FOR, SlackLight
from unthrottle.answers import Answer, read_answer
from unthrottle.control import Control
from unthrottle.errors import TryAgain
from unthrottle.incident import Incident
from unthrottle.settings import Settings
from unthrottle.slack_door import COPY, Door, SlackApp

NOW = datetime(2026, 8, 24, 4, 33, tzinfo=UTC)
SECRET = "a-signing-secret-for-tests"
APP = SlackApp(signing_secrets=(SECRET,), app_id="A0UNTHROTTLE", teams=frozenset({"T0SANDBOX"}))
PEOPLE = SlackPeople(secret=SECRET)


@dataclass
class StillClock:
    time: datetime = NOW

    def now(self) -> datetime:
        return self.time


@dataclass
class Workflows:
    """Takes every answer to a question that waits."""

    answers: list[Answer] = field(default_factory=list)
    waits: bool = True

    def start(self, incident_id: str) -> None:
        raise AssertionError(f"nobody asked to start {incident_id}")

    def answer(self, _callback: str, text: str) -> bool:
        if self.waits:
            self.answers.append(read_answer(text))
            self.waits = False
            return True
        return False


@dataclass
class House:
    """The bot behind its door, with one incident that waits for approval."""

    app: SlackApp = APP
    settings: Settings = field(default_factory=lambda: Settings(operators=("U0OPS",), slack_channel="C0OPS"))
    clock: StillClock = field(default_factory=StillClock)
    workflows: Workflows = field(default_factory=Workflows)
    incidents: MemoryIncidents = field(default_factory=MemoryIncidents)
    more: dict[str, Any] = field(default_factory=dict)
    reply: Callable[[str, str, bool], None] | None = None
    incident: Incident = field(default_factory=lambda: approval(pool_hog()))

    def __post_init__(self) -> None:
        self.incidents.open_or_join(self.incident, "alarm")

    @property
    def value(self) -> str:
        assert self.incident.question is not None
        return f"{self.incident.id}:{self.incident.question.version}"

    def ask(self, event: object) -> tuple[int, str]:
        control = Control(
            incidents=cast("Any", self.incidents),
            starter=self.workflows,
            accounts=cast("Any", None),
            clock=self.clock,
            settings=self.settings,
            home_account="111122223333",
            home_region="eu-west-1",
            **self.more,
        )
        door = Door(
            app=lambda: self.app,
            control=lambda: control,
            clock=self.clock,
            is_seen=self.incidents.is_seen,
            reply=self.reply,
        )
        answer = door.answer(event)
        body = str(answer["body"])
        status = answer["statusCode"]
        assert isinstance(status, int)
        return status, str(json.loads(body)["text"]) if body.startswith("{") else body

    def click(self, people: SlackPeople = PEOPLE, user: str = "U0OPS", value: str = "") -> tuple[int, str]:
        return self.ask(people.click(user, "approve", value or self.value, self.clock.now(), message_ts="1.0"))


def test_an_operators_click_decides() -> None:
    house = House()
    assert house.click() == (200, "")
    assert house.workflows.answers == [Answer(do="approve", by="U0OPS")]


def test_the_same_request_twice_decides_once_and_a_second_click_is_told_so() -> None:
    house = House()
    event = PEOPLE.click("U0OPS", "approve", house.value, NOW, message_ts="1.0")
    assert [house.ask(event), house.ask(event)] == [(200, ""), (200, "")]
    assert len(house.workflows.answers) == 1
    later = PEOPLE.click("U0OPS", "approve", house.value, NOW.replace(second=9), message_ts="1.0")
    assert "was decided already" in house.ask(later)[1]
    assert len(house.workflows.answers) == 1


def test_a_button_of_an_earlier_state_decides_nothing() -> None:
    house = House()
    assert "from an earlier state" in house.click(value=f"{house.incident.id}:1")[1]
    assert house.workflows.answers == []


@pytest.mark.parametrize(
    ("people", "who"),
    [
        pytest.param(
            SlackPeople(secret=SECRET, home_team="T0GUEST"), "a person of another workspace", id="a Connect guest"
        ),
        pytest.param(SlackPeople(secret=SECRET, team="T0OTHER"), "another workspace", id="another workspace"),
        pytest.param(SlackPeople(secret=SECRET, app="A0OTHER"), "another app", id="another app"),
    ],
)
def test_strangers_with_a_good_signature_decide_nothing(people: SlackPeople, who: str) -> None:
    """Even with an operator's user id: that is unique in its own workspace only."""
    house = House()
    assert house.click(people) == (200, f"Unthrottle does not take requests from {who}. Nothing was run.")
    assert house.workflows.answers == []


def test_a_connect_guest_is_refused_even_where_no_workspace_is_configured() -> None:
    house = House(app=SlackApp(signing_secrets=(SECRET,)))
    assert "another workspace" in house.click(SlackPeople(secret=SECRET, home_team="T0GUEST"))[1]
    assert house.click() == (200, "")


def grid(user_team: str) -> bytes:
    return payload(
        type="block_actions",
        user={"id": "U0OPS", "team_id": user_team},
        team=None,
        enterprise={"id": "E0GRID"},
        is_enterprise_install=True,
        channel={"id": "C0OPS"},
        api_app_id="A0UNTHROTTLE",
        actions=[{"action_id": "approve", "value": House().value}],
    )


@pytest.mark.parametrize(
    ("user_team", "decides"),
    [
        pytest.param("T0SISTER", True, id="a sister workspace that is named"),
        pytest.param("E0GRID", True, id="the organisation itself"),
        pytest.param("T0FOREIGN", False, id="any other workspace"),
    ],
)
def test_on_enterprise_grid_the_organisation_and_its_named_workspaces_are_taken(
    user_team: str, *, decides: bool
) -> None:
    house = House(app=SlackApp(signing_secrets=(SECRET,), teams=frozenset({"E0GRID", "T0SISTER"})))
    house.ask(signed(grid(user_team)))
    assert bool(house.workflows.answers) is decides


def test_commands_and_clicks_of_other_channels_are_refused_where_channels_are_named() -> None:
    app = SlackApp(signing_secrets=(SECRET,), channels=frozenset({"C0OPS"}))
    house = House(app=app)
    elsewhere = SlackPeople(secret=SECRET, channel="C0RANDOM")
    assert "another channel" in house.click(elsewhere)[1]
    assert "another channel" in house.ask(elsewhere.say("U0OPS", "/unthrottle status", NOW))[1]
    assert "Open incidents: 1" in house.ask(PEOPLE.say("U0OPS", "/unthrottle status", NOW))[1]


def test_a_name_of_an_operator_is_worth_nothing() -> None:
    house = House()
    event = signed(form(user_id="U0EVIL", user_name="U0OPS", text=f"revert {house.incident.id}"))
    assert house.ask(event) == (200, "Only operators may decide this. Nothing was changed.")


def test_without_its_secret_the_door_stays_shut() -> None:
    def no_secret() -> SlackApp:
        raise TryAgain("Secrets Manager does not answer.")

    door = Door(app=no_secret, control=lambda: cast("Any", None), clock=StillClock(), is_seen=lambda _: False)
    assert door.answer(PEOPLE.say("U0OPS", "/unthrottle status", NOW))["statusCode"] == 503


# --- user groups --------------------------------------------------------------------------------------------------


@pytest.fixture
def slack() -> Iterator[SlackStandIn]:
    groups = {"S0ONCALL": ["U0MEMBER"]}
    with SlackStandIn(start=NOW, now=lambda: NOW, usergroups=groups) as stand_in:
        yield stand_in


def light(slack: SlackStandIn, clock: StillClock, token: str | None = None) -> SlackLight:
    return SlackLight(lambda: token or slack.token, clock, base_url=slack.base_url)


def with_group(slack: SlackStandIn, token: str | None = None) -> House:
    clock = StillClock()
    settings = Settings(operators=("S0ONCALL",))
    return House(settings=settings, clock=clock, more={"members": light(slack, clock, token).members})


def test_a_member_of_the_operators_group_may_decide_and_another_may_not(slack: SlackStandIn) -> None:
    house = with_group(slack)
    assert "Only operators" in house.click(user="U0OTHER")[1]
    assert house.click(user="U0MEMBER") == (200, "")


@pytest.mark.parametrize("token", ["xoxb-wrong"])
def test_a_group_that_cannot_be_read_lets_nobody_in(slack: SlackStandIn, token: str) -> None:
    assert "Only operators" in with_group(slack, token).click(user="U0MEMBER")[1]
    slack.stop()
    assert "Only operators" in with_group(slack).click(user="U0MEMBER")[1]


def test_a_group_is_read_again_after_five_minutes(slack: SlackStandIn) -> None:
    clock = StillClock()
    asked = light(slack, clock)
    assert asked.members("S0ONCALL") == {"U0MEMBER"}
    slack.stop()
    assert asked.members("S0ONCALL") == {"U0MEMBER"}
    clock.time += KEPT_FOR
    assert asked.members("S0ONCALL") == frozenset()


# --- a private answer, and a copy -----------------------------------------------------------------------------------


def replying(slack: SlackStandIn, **more: Any) -> House:
    return House(reply=light(slack, StillClock()).reply, **more)


def press(house: House, slack: SlackStandIn, action: str = "approve", user: str = "U0OPS", ts: str = "1.0") -> None:
    address = slack.reply_url(f"{action}-{user}-{ts}", ts)
    house.ask(PEOPLE.click(user, action, house.value, NOW, message_ts=ts, response_url=address))


def test_who_presses_in_vain_is_told_why_at_the_clicks_own_address_and_alone(slack: SlackStandIn) -> None:
    """Slack does not show the body of an answer to a click."""
    house = replying(slack)
    press(house, slack, user="U0OTHER")
    press(house, slack)
    press(house, slack, action="reject")
    assert [(call.method, call.text) for call in slack.calls] == [
        ("response_url", "Only operators may decide this. Nothing was changed."),
        ("response_url", f"{house.incident.id} was decided already, or its time ran out. Nothing was changed."),
    ]


@pytest.mark.parametrize("address", ["https://x.invalid/", "https://[", "https://hooks.slack.com.x.invalid/1"])
def test_nothing_is_sent_to_an_address_that_is_not_slacks(slack: SlackStandIn, address: str) -> None:
    house = replying(slack)
    event = PEOPLE.click("U0OTHER", "approve", house.value, NOW, message_ts="1.0", response_url=address)
    assert house.ask(event)[0] == 200
    assert slack.calls == ()


def test_a_slack_that_does_not_answer_does_not_undo_the_decision(slack: SlackStandIn) -> None:
    house = replying(slack)
    slack.stop()
    press(house, slack)
    assert house.workflows.answers == [Answer(do="approve", by="U0OPS")]


def test_a_button_in_a_copy_of_the_head_decides_and_the_copy_says_that_it_is_one(slack: SlackStandIn) -> None:
    posted = [
        SlackLight(lambda: slack.token, StillClock(), base_url=slack.base_url)._call(
            "chat.postMessage", {"channel": slack.channel, "text": "the head"}
        )["ts"]
        for _ in range(2)
    ]
    stale, current = map(str, posted)
    house = replying(slack, incident=replace(approval(pool_hog()), head=current))
    press(house, slack, ts=stale)
    assert house.workflows.answers == [Answer(do="approve", by="U0OPS")]
    assert [message.text for message in slack.messages] == [COPY.format(house.incident.id), "the head"]


# --- who may look ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["status", "check dagy-runs", "audit", "help"])
@pytest.mark.parametrize("channel", ["C0SHARED", "D0DIRECT"])
def test_without_a_list_of_viewers_a_stranger_learns_nothing_outside_the_bots_own_channel(
    channel: str, text: str
) -> None:
    """What is typed does not say of which workspace a person is: a guest can only be where a channel is shared with them."""
    said = House().ask(SlackPeople(secret=SECRET, channel=channel).say("U0GUEST", f"/unthrottle {text}", NOW))[1]
    assert said == (
        "You are not on the list of people who may use Unthrottle here. Nothing was run. Without being on it, ask in "
        "<#C0OPS>; an admin adds people to `Viewers`."
    )


def test_without_a_list_of_viewers_who_is_in_the_bots_own_channel_may_look_there() -> None:
    """What they can learn is posted there anyway."""
    assert "Open incidents: 1" in House().ask(PEOPLE.say("U0ANYBODY", "/unthrottle status", NOW))[1]


def test_operators_and_named_viewers_may_look_anywhere() -> None:
    house = House(settings=Settings(operators=("U0OPS",), viewers=("U0VIEW",), slack_channel="C0OPS"))
    elsewhere = SlackPeople(secret=SECRET, channel="C0RANDOM")
    for user in ("U0OPS", "U0VIEW"):
        assert "Open incidents: 1" in house.ask(elsewhere.say(user, "/unthrottle status", NOW))[1]
    assert "not on the list" in house.ask(PEOPLE.say("U0ANYBODY", "/unthrottle status", NOW))[1]


# --- the home tab -------------------------------------------------------------------------------------------------


def opened(user: str) -> bytes:
    return json.dumps(
        {
            "type": "event_callback",
            "team_id": "T0SANDBOX",
            "api_app_id": "A0UNTHROTTLE",
            "event_id": "Ev1",
            "event": {"type": "app_home_opened", "user": user, "tab": "home"},
        }
    ).encode()


def test_the_home_tab_shows_what_is_open_to_those_who_may_look(slack: SlackStandIn) -> None:
    clock = StillClock()
    settings = Settings(operators=("U0OPS",), viewers=("U0VIEW",))
    house = House(settings=settings, clock=clock, more={"publish": light(slack, clock).publish})
    assert house.ask(signed(opened("U0STRANGER"))) == (200, "")
    assert [call.method for call in slack.calls] == []
    house.incidents = MemoryIncidents()
    house.incidents.open_or_join(house.incident, "alarm")
    assert house.ask(signed(opened("U0VIEW"))) == (200, "")
    call = slack.calls[-1]
    assert (call.method, call.user) == ("views.publish", "U0VIEW")
    shown = json.dumps(call.blocks, ensure_ascii=False)
    assert "Open incidents: 1" in shown
    assert house.incident.id in shown
    assert "Not paused" in shown


def shown_home(slack: SlackStandIn, *incidents: Incident, settings: Settings | None = None, user: str = "U0OPS") -> str:
    clock = StillClock()
    house = House(
        settings=settings or Settings(operators=("U0OPS",)), clock=clock, more={"publish": light(slack, clock).publish}
    )
    for incident in incidents:
        house.incidents.open_or_join(incident, incident.id)
    assert house.ask(signed(opened(user))) == (200, "")
    return json.dumps(slack.calls[-1].blocks, ensure_ascii=False)


def test_the_home_tab_lists_the_last_ten_actions_and_no_incident_without_one(slack: SlackStandIn) -> None:
    acted = [replace(applied(pool_hog()), id=f"INC-ACTED{n:03d}", fingerprint=f"f{n}") for n in range(12)]
    shown = shown_home(slack, *acted)
    actions = shown.partition("The last actions")[2]
    assert actions.count("INC-ACTED") == 10
    assert House().incident.id not in actions
    assert "capped `svc-crmpl-dev-batch-processor` at 250" in actions


def test_without_a_list_of_viewers_the_home_tab_of_others_says_only_whose_it_is(slack: SlackStandIn) -> None:
    shown = shown_home(slack, user="U0ANYBODY")
    assert "for those who are named in `Operators` or `Viewers`" in shown
    assert "INC-" not in shown


def test_events_the_app_does_not_use_are_turned_away() -> None:
    body = urlencode({"payload": json.dumps({"type": "event_callback", "event": {"type": "message"}})}).encode()
    assert House().ask(signed(body))[0] == 400


def test_a_snooze_of_what_is_only_watched_is_confirmed_alone_since_its_line_comes_minutes_later(
    slack: SlackStandIn,
) -> None:
    house = replying(slack, incident=replace(pool_hog(), escalated=True))
    value = f"{house.incident.id}:{house.incident.version}"
    address = slack.reply_url("snooze", "1.0")
    house.ask(PEOPLE.click("U0OPS", "snooze", value, NOW, message_ts="1.0", response_url=address))
    assert [call.text for call in slack.calls] == ["Taken. The thread says until when, within five minutes."]
    wish = house.incidents.open_incidents()[0].wish
    assert wish is not None
    assert wish.do == "snooze"
