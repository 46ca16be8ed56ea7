"""The permanent fix is what a person pastes into the code that owns the resource."""

from dataclasses import replace

import pytest

from tests.report.samples import (
    applied,
    hot_index,
    pool_hog,
    provisioned_capacity,
    runaway_backfill,
    short_index,
    two_hogs_one_on_a_queue,
)
from unthrottle.incident import Incident
from unthrottle.plan import CapEventSource
from unthrottle.report.permanent import owner_of, permanent_fixes


def knob(name: str) -> Incident:
    base = two_hogs_one_on_a_queue()
    assert base.plan is not None
    source = base.plan.changes[1]
    assert isinstance(source, CapEventSource)
    changed = replace(source, knob=name)  # type: ignore[arg-type]  # one of the three, from the table below
    return replace(base, plan=replace(base.plan, changes=(changed,)))


@pytest.mark.parametrize(
    ("name", "terraform", "cloudformation"),
    [
        ("MaximumConcurrency", "maximum_concurrency = 120", "MaximumConcurrency: 120"),
        ("MaximumPollers", "maximum_pollers = 120", "MaximumPollers: 120"),
        ("ParallelizationFactor", "parallelization_factor = 120", "ParallelizationFactor: 120"),
    ],
)
def test_each_knob_of_an_event_source_has_its_own_attribute(name: str, terraform: str, cloudformation: str) -> None:
    fix = permanent_fixes(knob(name))[0]
    assert terraform in fix.terraform
    assert cloudformation in fix.cloudformation


def test_a_switched_table_stays_on_demand() -> None:
    fix = permanent_fixes(applied(provisioned_capacity()))[0]
    assert fix.terraform == 'billing_mode = "PAY_PER_REQUEST"'
    assert fix.cloudformation == "BillingMode: PAY_PER_REQUEST"
    assert "sets them to 1" in fix.caution


def test_a_raised_index_is_given_with_the_tables_own_numbers() -> None:
    fix = permanent_fixes(short_index())[0]
    assert 'name           = "by-status"' in fix.terraform
    assert "write_capacity = 200" in fix.terraform
    assert '- IndexName: "by-status"' in fix.cloudformation


def test_cancelling_and_escalating_have_no_lasting_form() -> None:
    assert permanent_fixes(runaway_backfill()) == ()
    assert permanent_fixes(hot_index()) == ()


def test_what_undoes_it_depends_on_who_owns_it() -> None:
    assert "drift-aware deployment of that stack" in permanent_fixes(pool_hog())[0].caution
    assert "next terraform apply removes it" in permanent_fixes(knob("MaximumPollers"))[0].caution


def test_no_tag_is_no_owner_rather_than_a_guess() -> None:
    assert owner_of({}) is None
    assert owner_of({"Name": "x"}) is None
    assert owner_of({"aws:cloudformation:stack-name": "s"}) == "CloudFormation stack s"
    assert owner_of({"owner": "orders", "terraform-workspace": "prod"}) == "tag terraform-workspace = prod"
