"""Whom an alarm is about: what its metrics, its query or its contributor fix, and in which account."""

import pytest

from tests.unit.alarm_events import ACCOUNT, TABLE, event, metric, query, writes
from unthrottle.alarms import Muted, NotMine, read, subjects_of
from unthrottle.subjects import FunctionSubject, PoolSubject, Subject, TableSubject


@pytest.mark.parametrize(
    ("watched", "subject"),
    [
        pytest.param(query("WHERE TableName = 'runs'"), TableSubject(table="runs"), id="a table"),
        pytest.param(query("where  \"TableName\"='runs' ORDER BY SUM() DESC"), TableSubject(table="runs"), id="quoted"),
        pytest.param(
            query("WHERE TableName = 'runs' AND GlobalSecondaryIndexName = 'by-day' GROUP BY TableName"),
            TableSubject(table="runs", index="by-day"),
            id="an index",
        ),
        pytest.param(
            query("WHERE FunctionName = 'checkout'", "Throttles", "AWS/Lambda"),
            FunctionSubject(function="checkout"),
            id="a function",
        ),
        pytest.param(
            query("WHERE FunctionName != 'checkout'", "Throttles", "AWS/Lambda"), PoolSubject(), id="all but a function"
        ),
        pytest.param(query("", "Throttles", "AWS/Lambda"), PoolSubject(), id="all functions"),
        pytest.param(query("WHERE TableName != 'runs'"), "other-metric", id="all tables but one: it names none"),
        pytest.param(query(""), "other-metric", id="all tables added up: it names none, and none follows"),
        pytest.param(query("WHERE TableName = 'a' OR TableName = 'b'"), "other-metric", id="one of two"),
        pytest.param(query("WHERE TableName = 'a''b'"), "other-metric", id="no name of a table"),
        pytest.param(query("WHERE TableName = 'runs"), "other-metric", id="a quote that is never closed"),
        pytest.param(query("WHERE Operation = 'PutItem' GROUP BY TableName"), "contributors-follow", id="grouped"),
    ],
)
def test_a_query_is_about_what_its_where_fixes(watched: dict[str, object], subject: Subject | str) -> None:
    """Equations joined by AND name a resource; exclusions, and what nobody can tell, name none."""
    found = subjects_of([watched], {})
    assert (found.reason if isinstance(found, NotMine) else found.subjects[0]) == subject


def test_a_contributor_may_name_the_account_its_table_is_in() -> None:
    """A monitoring account may group by account as well."""
    watched = query("GROUP BY AWS.AccountId, TableName")
    found = subjects_of([watched], {"AWS.AccountId": "777788889999", "TableName": "runs"})
    assert not isinstance(found, NotMine)
    assert (found.subjects, found.account) == ((TableSubject(table="runs"),), "777788889999")


def test_a_grouped_query_of_another_metric_promises_no_contributor() -> None:
    """Errors of callers are no throttling."""
    found = subjects_of([query("GROUP BY TableName", "UserErrors")], {})
    assert isinstance(found, NotMine)
    assert found.reason == "other-metric"


def test_a_contributor_goes_before_what_the_query_fixes() -> None:
    """A query over a table's indexes gives the table, its contributor the index."""
    watched = query("WHERE TableName = 'runs' GROUP BY GlobalSecondaryIndexName")
    found = subjects_of([watched], {"GlobalSecondaryIndexName": "by-day"})
    assert not isinstance(found, NotMine)
    assert found.subjects == (TableSubject(table="runs", index="by-day"),)


@pytest.mark.parametrize(
    ("metrics", "account"),
    [
        pytest.param([writes()], None, id="of this account"),
        pytest.param([{**writes(), "accountId": "777788889999"}], "777788889999", id="of one other account"),
        pytest.param([{**writes(), "accountId": "777788889999"}, writes("other")], None, id="of two accounts"),
        pytest.param(
            [writes(), metric("AWS/EC2", "CPUUtilization", accountId="777788889999")], None, id="beside another's EC2"
        ),
        pytest.param(
            [query(f"WHERE TableName = '{TABLE}' AND AWS.AccountId = '777788889999'")],
            "777788889999",
            id="of the one account a query is about",
        ),
        pytest.param(
            [query(f"WHERE TableName = '{TABLE}' AND AWS.AccountId = 'LOCAL'")],
            None,
            id="of the account itself, by a word",
        ),
    ],
)
def test_a_metric_of_another_account_is_about_that_account(metrics: list[object], account: str | None) -> None:
    """A monitoring account's alarm is about the account its metric belongs to; an unrelated metric says nothing."""
    found = subjects_of(metrics, {})

    assert not isinstance(found, NotMine)
    assert found.account == account


def test_an_alarm_about_two_accounts_asks_for_a_look_at_each() -> None:
    """A table of that name here is not the one that suffers there."""
    readings = read(event({**writes(), "accountId": "777788889999"}, writes("other"), muteDetail={}))

    assert [reading.trigger.account for reading in readings if isinstance(reading, Muted)] == [ACCOUNT, "777788889999"]
    assert [reading.trigger.subjects for reading in readings if isinstance(reading, Muted)] == [
        (TableSubject(table="other"),),
        (TableSubject(table=TABLE),),
    ]
    assert {reading.trigger.strangers for reading in readings if isinstance(reading, Muted)} == {("777788889999",)}


def test_an_entry_may_name_its_own_contributor() -> None:
    """What a composite's child watches is known by its contributors; the composite's event names none."""
    entries = [{**query("GROUP BY TableName"), "attributes": {"TableName": name}} for name in ("a", "b")]
    found = subjects_of([*entries, query("GROUP BY TableName")], {})
    assert not isinstance(found, NotMine)
    assert found.subjects == (TableSubject(table="a"), TableSubject(table="b"))


ARN = "arn:aws:dynamodb:eu-west-1:444455556666:table/runs"


@pytest.mark.parametrize(
    ("watched", "what"),
    [
        pytest.param(writes(ARN), ("TableName", ARN), id="a table's ARN"),
        pytest.param(writes("table/runs"), ("TableName", "table/runs"), id="part of one"),
        pytest.param(writes("..."), ("TableName", "..."), id="dots"),
        pytest.param(writes("r" * 256), ("TableName", "r" * 200), id="too long"),
        pytest.param(
            writes("runs", GlobalSecondaryIndexName=f"{ARN}/index/by-day"),
            ("GlobalSecondaryIndexName", f"{ARN}/index/by-day"),
            id="an index's ARN",
        ),
        pytest.param(writes("runs", GlobalSecondaryIndexName=".."), ("GlobalSecondaryIndexName", ".."), id="no index"),
        pytest.param(
            metric("AWS/Lambda", "Throttles", {"FunctionName": "arn:aws:lambda:eu-west-1:444455556666:function:f"}),
            ("function", "arn:aws:lambda:eu-west-1:444455556666:function:f"),
            id="a function's ARN",
        ),
        pytest.param(
            metric("AWS/Lambda", "Throttles", {"Resource": "444455556666:function:f"}),
            ("function", "444455556666:function:f"),
            id="part of a function's ARN",
        ),
        pytest.param(metric("AWS/Lambda", "Throttles", {"FunctionName": "f.g"}), ("function", "f.g"), id="a dot"),
        pytest.param(metric("AWS/Lambda", "Throttles", {"FunctionName": ":live"}), ("function", ":live"), id="alias"),
        pytest.param(
            metric("AWS/Lambda", "Throttles", {"FunctionName": "f" * 65}), ("function", "f" * 65), id="65 characters"
        ),
    ],
)
def test_what_is_no_name_names_nothing_here_and_is_told(watched: dict[str, object], what: tuple[str, str]) -> None:
    """An ARN that was taken as a name would be the table of that name in this account, whichever account it is of."""
    found = subjects_of([watched], {})
    assert isinstance(found, NotMine)
    dimension, value = what
    assert found.reason == "other-metric"
    assert f"the alarm's {dimension} is {value!r}, and no table, index or function can have that name" in found.detail


@pytest.mark.parametrize(
    ("watched", "subject"),
    [
        (writes("r" * 255), TableSubject(table="r" * 255)),
        (writes("a.b_C-9", GlobalSecondaryIndexName="by.day"), TableSubject(table="a.b_C-9", index="by.day")),
        (metric("AWS/Lambda", "Throttles", {"FunctionName": "f" * 64}), FunctionSubject(function="f" * 64)),
        (metric("AWS/Lambda", "Throttles", {"Resource": "f_1-a:live"}), FunctionSubject(function="f_1-a")),
        (metric("AWS/Lambda", "Throttles", {"Resource": "f:$LATEST"}), FunctionSubject(function="f")),
    ],
)
def test_every_name_that_aws_allows_is_a_name(watched: dict[str, object], subject: Subject) -> None:
    found = subjects_of([watched], {})
    assert not isinstance(found, NotMine)
    assert found.subjects == (subject,)


def test_what_is_no_name_does_not_hide_the_name_beside_it() -> None:
    found = subjects_of([writes(ARN), writes("runs")], {})
    assert not isinstance(found, NotMine)
    assert found.subjects == (TableSubject(table="runs"),)
