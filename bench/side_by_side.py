"""Who finds the cause, heals, and does no harm? Everybody on the same incidents, in the same sandbox."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path

from bench import arena, custodian, named, rivals
from bench.arena import OURS, Played
from bench.cheaper import spare_what_repeats
from bench.incidents import Generated, generate
from bench.section import Goal, Section, median, percent
from sandbox.rehearsal import rehearse
from sandbox.scenario import load

CUSTODIAN = "Cloud Custodian"
RIVALS: Mapping[str, Callable[[], str | None]] = {
    "runbook to the letter": rivals.runbook,
    "most throttled is guilty": rivals.most_throttled,
    "alarm-threshold script": rivals.alarm_threshold,
    CUSTODIAN: custodian.custodian,
    "nobody": rivals.nobody,
}
COLUMNS = ["who", "right cause", "right target", "healed", "harmful", "of incidents", "throttled min", "not given back"]
WORKERS = 2

Results = dict[str, list[Played]]


def measure(seed: int, count: int, *, with_named: bool) -> tuple[list[Section], Results]:
    """Play *count* generated incidents with everybody, and the named scenarios too if wanted."""
    incidents = generate(seed, count)
    results: Results = defaultdict(list)
    files = sorted(named.FOLDER.glob("*.yaml")) if with_named else []
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"), initializer=spare_what_repeats) as workers:
        told = workers.map(play_named, files)
        for played in workers.map(play_all, incidents, chunksize=4):
            for who, one in played.items():
                results[who].append(one)
        sections = [_section(seed, results)]
        if with_named:
            sections.append(_named_section(list(told)))
    return sections, results


def play_all(generated: Generated) -> dict[str, Played]:
    """Play one incident with everybody."""
    return arena.play_all(arena.field_of(generated), _present())[0]


def _present() -> dict[str, arena.Rival]:
    """Name the rivals that are here."""
    return {name: rival for name, rival in RIVALS.items() if name != CUSTODIAN or custodian.version() is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What came of a named scenario. `unmet` is what is not as its file expects; `left_out` why no rival plays it."""

    unmet: str | None
    left_out: str | None = None
    played: Mapping[str, Played] = field(default_factory=dict)


def play_named(file: Path) -> Named:
    """Play a named scenario: with everybody, or where it is not about a diagnosis with Unthrottle alone."""
    wanted = named.field_of(file)
    if isinstance(wanted, str):
        outcome, played = rehearse(load(file)), dict[str, Played]()
    else:
        played, outcome = arena.play_all(wanted, _present())
    unmet = f"{file.stem}: {outcome['unmet'][0]}" if outcome["unmet"] else None
    return Named(unmet=unmet, left_out=wanted if isinstance(wanted, str) else None, played=played)


def _named_section(found: list[Named]) -> Section:
    results: Results = defaultdict(list)
    for one in found:
        for who, played in one.played.items():
            results[who].append(played)
    unmet = [one.unmet for one in found if one.unmet is not None]
    left_out = Counter(one.left_out for one in found if one.left_out is not None)
    section = Section(
        key="named",
        title=f"Named scenarios: {len(found) - left_out.total()} of {len(found)} played by everybody",
        columns=COLUMNS[:-1],
        rows=[_row(who, played)[:-1] for who, played in results.items()],
    )
    section.bars = _bars(results)
    section.notes += [
        f"Unthrottle played all {len(found)}: {len(found) - len(unmet)} come out as their files expect"
        + (f"; not so: {'; '.join(unmet)}" if unmet else "."),
        f"Left out for the rivals: {left_out.total()}; "
        + "; ".join(f"{number} {why}" for why, number in left_out.most_common())
        + ".",
        (
            "Judged as above; the pressure ends where without anybody the last one was throttled. What only settings or people "
            "forbid Unthrottle, or what a person in the file agrees to, is no harm where a rival does it. AWS errors of a file "
            "are not played to rivals."
        ),
        "With a safe fix and not healed by Unthrottle: "
        + (", ".join(one.kind for one in results[OURS] if one.healed is False) or "none")
        + ".",
    ]
    section.data = {who: _summary(played) for who, played in results.items()}
    section.data |= {"played": len(found), "unmet": unmet, "left_out": dict(left_out)}
    section.goals = [
        Goal(
            text="every named scenario comes out as its file expects",
            found=f"{len(found) - len(unmet)} of {len(found)}",
            reached=not unmet,
            why_not="; ".join(unmet),
        ),
        Goal(
            text="0 harmful changes in the named scenarios",
            found=str(sum(len(one.harmful) for one in results[OURS])),
            reached=not any(one.harmful for one in results[OURS]),
            why_not="; ".join(f"{one.kind}: {', '.join(one.harmful)}" for one in results[OURS] if one.harmful),
        ),
    ]
    return section


def _bars(results: Results) -> dict[str, dict[str, float]]:
    return {
        "Right cause, % of incidents": {
            who: 100 * _share(one.right_cause for one in all_) for who, all_ in results.items()
        },
        "Healed, % of incidents with a safe fix": {
            who: 100 * _share(one.healed for one in all_ if one.healed is not None) for who, all_ in results.items()
        },
        "Harmful changes": {who: float(sum(len(one.harmful) for one in all_)) for who, all_ in results.items()},
    }


def _section(seed: int, results: Results) -> Section:
    ours = results[OURS]
    section = Section(
        key="accuracy",
        title=f"Accuracy and harm: {len(ours):,} generated incidents of {len({one.kind for one in ours})} kinds, seed {seed}",
        columns=COLUMNS,
    )
    for who, played in results.items():
        section.rows.append(_row(who, played))
        section.data[who] = _summary(played)
    section.bars = _bars(results)
    section.notes += [
        "right target: exactly what had to be changed was changed, and nothing else; of the incidents with a safe fix.",
        (
            "healed: nobody but a rightly limited function was throttled in the last three minutes before the pressure ended by "
            "itself, without a person and without harm; of the incidents with a safe fix."
        ),
        (
            "harmful: changes of a victim, of what is protected, without the approval a synchronous caller needs, capacity for a "
            "hot key, index or backfill; by the number of changes, and of incidents with one."
        ),
        "throttled min: minutes after the alarm in which anybody else was throttled; of the incidents with a safe fix.",
        "not given back: changes in force at the end that nothing will take back"
        + _held(ours)
        + ". Rivals look at the first alarm, and where they changed nothing once more five minutes later.",
    ]
    if custodian.version() is None:
        section.notes.append("Cloud Custodian is not installed (`make bench` installs it); it was left out.")
    section.goals = _goals(ours)
    section.data["missed"] = [asdict(one) for one in ours if not _is_well(one)]
    for kind, number in Counter(one.kind for one in ours if not _is_well(one)).items():
        first = next(one for one in ours if one.kind == kind and not _is_well(one))
        section.notes.append(
            f"Unthrottle missed {number} of kind {kind}; the first: cause {first.cause}, healed {first.healed}, "
            f"harmful {list(first.harmful)}, not given back {first.not_given_back}."
        )
    return section


def _is_well(one: Played) -> bool:
    return one.right_cause and not one.harmful and one.healed is not False and not one.not_given_back


def _held(ours: list[Played]) -> str:
    held = sum(one.held for one in ours)
    return f" (Unthrottle held {held} more under a lease that ends, renewed while the backlog lasts)" if held else ""


def _row(who: str, played: list[Played]) -> list[str]:
    fixable = [one for one in played if one.healed is not None]
    return [
        who,
        percent(sum(one.right_cause for one in played), len(played)),
        percent(sum(one.right_target is True for one in fixable), len(fixable)),
        percent(sum(one.healed is True for one in fixable), len(fixable)),
        f"{sum(len(one.harmful) for one in played):,}",
        f"{sum(bool(one.harmful) for one in played):,}",
        f"{sum(one.throttled_minutes for one in fixable):,}",
        f"{sum(one.not_given_back for one in played):,}",
    ]


def _summary(played: list[Played]) -> dict[str, object]:
    fixable = [one for one in played if one.healed is not None]
    by_kind: dict[str, dict[str, int]] = {}
    for one in played:
        kind = by_kind.setdefault(one.kind, {"incidents": 0, "right_cause": 0, "healed": 0, "harmful": 0})
        kind["incidents"] += 1
        kind["right_cause"] += one.right_cause
        kind["healed"] += one.healed is True
        kind["harmful"] += len(one.harmful)
    return {
        "incidents": len(played),
        "right_cause": sum(one.right_cause for one in played),
        "with_safe_fix": len(fixable),
        "right_target": sum(one.right_target is True for one in fixable),
        "healed": sum(one.healed is True for one in fixable),
        "harmful_changes": sum(len(one.harmful) for one in played),
        "throttled_minutes": sum(one.throttled_minutes for one in played),
        "not_given_back": sum(one.not_given_back for one in played),
        "held_under_a_lease": sum(one.held for one in played),
        "median_calls": median([float(one.calls) for one in played if one.alarm_minute is not None]),
        "by_kind": by_kind,
    }


def _share(flags: Iterable[bool | None]) -> float:
    known = [flag is True for flag in flags]
    return sum(known) / len(known) if known else 0.0


def _goals(ours: list[Played]) -> list[Goal]:
    right = _share(one.right_cause for one in ours)
    harmful = sum(len(one.harmful) for one in ours)
    fixable = [one for one in ours if one.healed is not None]
    healed = _share(one.healed for one in fixable)
    wrong = Counter(one.kind for one in ours if not one.right_cause)
    sick = Counter(one.kind for one in fixable if not one.healed)
    return [
        Goal(
            text="at least 99 % right causes",
            found=f"{100 * right:.1f} %",
            reached=right >= 0.99,
            why_not=f"wrong by kind: {dict(wrong)}",
        ),
        Goal(text="0 harmful changes", found=str(harmful), reached=harmful == 0, why_not="see the missed incidents"),
        Goal(
            text="at least 95 % of the incidents with a safe fix healed without a person",
            found=f"{100 * healed:.1f} %",
            reached=healed >= 0.95,
            why_not=f"not healed by kind: {dict(sick)}",
        ),
    ]
