"""How large an account do the sandbox and the audit bear? 5,000 functions for three hours."""

import resource
import time
from datetime import timedelta
from pathlib import Path

from moto import mock_aws

from bench.calls import pool
from bench.documents import scenario
from bench.growth import fit
from bench.section import Curve, Goal, Section
from bench.stage import Stage, credentials
from sandbox.aws.calls import Answer, Request, Respond
from sandbox.rehearsal import rehearse
from sandbox.rehearsal.isolation import isolated, simulated_time
from sandbox.scenario import load
from unthrottle.adapters.access import Access, Clients
from unthrottle.adapters.accounts import observer
from unthrottle.adapters.survey import AwsSurvey
from unthrottle.audit.take_stock import Stocktaking

SIZES, QUICK_SIZES = (1_000, 5_000), (250, 1_000)
MINUTES, QUICK_MINUTES = 180, 60
LONGEST_DAY_S = 10.0
_REGION, _ACCOUNT = "eu-west-1", "111122223333"


def measure(*, quick: bool) -> Section:
    """Rehearse and audit accounts of growing size."""
    minutes = QUICK_MINUTES if quick else MINUTES
    section = Section(
        key="scale",
        title=f"Scale: an account for {minutes} minutes, and its audit",
        columns=["functions", "rehearsal", "simulated minutes a second", "audit", "audit's AWS calls"],
    )
    walls: list[tuple[float, float]] = []
    audits: list[tuple[float, float]] = []
    _rehearsal(50, 10)  # reads the service models, once
    for size in QUICK_SIZES if quick else SIZES:
        wall = _rehearsal(size, minutes)
        seconds, calls = _audit(size)
        walls.append((float(size), wall))
        audits.append((float(size), float(calls)))
        section.rows.append([f"{size:,}", f"{wall:.1f} s", f"{minutes / wall:,.0f}", f"{seconds:.1f} s", f"{calls:,}"])
        section.data[str(size)] = {"rehearsal_s": wall, "audit_s": seconds, "audit_calls": calls}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    section.notes += [
        f"Growth of the rehearsal with functions: {fit(walls).in_words(' s')}",
        f"Growth of the audit's calls with functions: {fit(audits).in_words(' calls')}",
        f"Peak memory of this process: {peak:,.0f} MB",
    ]
    section.curves += [
        Curve(title="Rehearsal", x="functions", y="seconds", lines={f"{minutes} minutes": walls}),
        Curve(title="The audit's AWS calls", x="functions", y="calls", lines={"audit": audits}),
    ]
    section.data["peak_mb"] = peak
    day = _day()
    section.data["post_mortem_day_s"] = day
    section.goals.append(
        Goal(
            text="the 362-function day (1,440 minutes) rehearsed in under 10 s",
            found=f"{day:.1f} s",
            reached=day < LONGEST_DAY_S,
            why_not="" if day < LONGEST_DAY_S else "the machine is busy, or the sandbox has become slower",
        )
    )
    return section


def _day() -> float:
    """Time the post-mortem's day, as the scenario of the tests plays it."""
    day = load(Path(__file__).parent.parent / "tests" / "scenarios" / "pool-hog-one-function.yaml")
    before = time.perf_counter()
    rehearse(day)
    return time.perf_counter() - before


def _rehearsal(size: int, minutes: int) -> float:
    document = {**pool(size), "minutes": minutes}
    before = time.perf_counter()
    rehearse(scenario(document))
    return time.perf_counter() - before


def _audit(size: int) -> tuple[float, int]:
    """Take stock of the account with the audit's own readers; seconds and AWS calls."""
    played = scenario(pool(size))
    with simulated_time(played.start) as clock, isolated(), mock_aws(), credentials(_REGION):
        stage = Stage(played)
        for minute in range(played.minutes):
            stage.world.tick(minute)
        now = played.start + timedelta(minutes=played.minutes)
        clock.move_to(now)
        access = Access(Clients(), _REGION)
        stage.gate.handlers.append(_no_contributor_insights)
        with stage.gate as gate:
            before = time.perf_counter()
            Stocktaking(
                observer(access), AwsSurvey(access), account=_ACCOUNT, region=_REGION, now=now, tell=lambda _: None
            ).take()
            return time.perf_counter() - before, len(gate.calls)


def _no_contributor_insights(request: Request) -> Answer | None:
    """Nobody has switched them on; moto does not know the call."""
    return (
        Respond(parsed={"ContributorInsightsSummaries": []}) if request.operation == "ListContributorInsights" else None
    )
