"""Two roles in every account: one to look, one to change."""

from datetime import timedelta

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID

from tests.adapters.world import NOW, REGION, SHARED, Scripted, StillClock
from unthrottle.adapters.access import Access, Credentials
from unthrottle.adapters.accounts import AwsAccounts
from unthrottle.errors import NotAllowed, NotFound, TryAgain

ROLE = "arn:aws:iam::444455556666:role/bot-actor"


def accounts(script: Scripted, clock: StillClock, external_id: str | None = None) -> AwsAccounts:
    return AwsAccounts(
        home_account=DEFAULT_ACCOUNT_ID,
        home_region=REGION,
        observer_role_name="bot-observer",
        actor_role_name="bot-actor",
        external_id=external_id,
        clients=script,
        clock=clock,
    )


def grant(script: Scripted, *, role: str = ROLE, session: str = "INC-AAAA", **more: str) -> None:
    script.answers(
        "sts",
        "assume_role",
        {
            "Credentials": {
                "AccessKeyId": "ASIA000000000000",
                "SecretAccessKey": "secret",
                "SessionToken": "token",
                "Expiration": NOW + timedelta(hours=1),
            }
        },
        RoleArn=role,
        RoleSessionName=session,
        **more,
    )


def test_to_change_is_to_assume_the_actor_role_under_the_incidents_id(script: Scripted, clock: StillClock) -> None:
    grant(script)
    script.answers("lambda", "get_function_concurrency", {}, FunctionName="hog")

    actor = accounts(script, clock).act("444455556666", REGION, "INC-AAAA")

    assert actor.reserved("hog") is None
    assert [service for service, _ in script.made] == ["sts", "lambda"]
    assert script.made[0][1] is None
    assert isinstance(script.made[1][1], Credentials)


def test_in_dry_run_the_actor_role_is_not_there_and_asking_says_so(script: Scripted, clock: StillClock) -> None:
    script.refuses("sts", "assume_role", "AccessDenied", "not authorized to perform: sts:AssumeRole", 403)

    with pytest.raises(NotAllowed, match="In dry-run the Actor role does not exist") as refused:
        accounts(script, clock).act("444455556666", REGION, "INC-AAAA")
    assert refused.value.code == "AccessDenied"
    assert ROLE in str(refused.value)
    assert "Nothing was changed" in str(refused.value)


def test_to_look_assumes_nothing_before_the_first_read(script: Scripted, clock: StillClock) -> None:
    observer = accounts(script, clock).observe("444455556666", REGION, "INC-AAAA")
    assert script.made == []

    grant(script, role="arn:aws:iam::444455556666:role/bot-observer")
    script.refuses("lambda", "get_function", "ResourceNotFoundException", "Function not found: x", 404)
    with pytest.raises(NotFound):
        observer.functions.describe("x")


def test_credentials_are_kept_until_five_minutes_before_their_end(script: Scripted, clock: StillClock) -> None:
    all_accounts = accounts(script, clock)
    grant(script)
    all_accounts.act("444455556666", REGION, "INC-AAAA")
    clock.time = NOW + timedelta(minutes=54)
    all_accounts.act("444455556666", REGION, "INC-AAAA")

    clock.time = NOW + timedelta(minutes=55)
    grant(script)
    all_accounts.act("444455556666", REGION, "INC-AAAA")


def test_each_incident_has_its_own_session(script: Scripted, clock: StillClock) -> None:
    all_accounts = accounts(script, clock, external_id="shared-word")
    grant(script, session="INC-AAAA", ExternalId="shared-word")
    grant(script, session="audit-by-hand", ExternalId="shared-word")

    all_accounts.act("444455556666", REGION, "INC-AAAA")
    all_accounts.act("444455556666", REGION, "audit by hand")


def test_credentials_aws_no_longer_takes_are_replaced_at_the_next_try(script: Scripted, clock: StillClock) -> None:
    grant(script)
    actor = accounts(script, clock).act("444455556666", REGION, "INC-AAAA")
    script.refuses("lambda", "get_function_concurrency", "ExpiredTokenException", "expired", 403)
    with pytest.raises(TryAgain):
        actor.reserved("hog")

    grant(script)
    script.answers("lambda", "get_function_concurrency", {"ReservedConcurrentExecutions": 0})
    assert actor.reserved("hog") == 0


def test_a_secret_key_is_not_shown_by_its_repr() -> None:
    shown = repr(Credentials(access_key="ASIA1", secret_key="geheim", token="geheim", until=NOW))

    assert "ASIA1" in shown
    assert "geheim" not in shown


def test_every_call_has_time_outs_and_few_attempts(aws: None) -> None:
    for service, mode in (("lambda", "standard"), ("dynamodb", "legacy")):
        config = SHARED.make(service, REGION, None).meta.config  # type: ignore[arg-type]  # one of the services
        assert (config.connect_timeout, config.read_timeout) == (3, 10)
        assert config.retries["mode"] == mode
        assert config.retries["total_max_attempts"] == 3


def test_a_client_is_made_once(script: Scripted) -> None:
    access = Access(script, REGION)
    for _ in range(2):
        script.answers("lambda", "get_account_settings", {})
        with access.use("lambda", "look") as client:
            client.get_account_settings()
    assert len(script.made) == 1
