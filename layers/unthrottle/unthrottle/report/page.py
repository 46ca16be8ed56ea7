"""What does the page to the person on call say?

Plain text for mail and SMS: the first line says it all, then what to do, what was found, and the commands. SNS takes a
subject of at most 100 ASCII characters that begins with a letter or digit (SNS API, Publish). Knows nothing of SNS.
"""

import unicodedata
from collections.abc import Iterable

from unthrottle.incident import Incident
from unthrottle.report import shell
from unthrottle.report.deeds import ends, way_back
from unthrottle.report.standing import first_line, headline
from unthrottle.report.voice import PLAIN, cleaned, visible
from unthrottle.report.words import changes, confidence, when

_SUBJECT_ROOM = 100
_TEXT_ROOM = 30_000  # SNS takes 256 KB; mail that nobody reads to the end helps nobody
_SHOWN_VICTIMS = 20
_ASCII = str.maketrans({"…": "~", "–": "-", "—": "-", "→": ">", "·": "-", "ʼ": "'", "‹": "(", "›": ")"})


def page(incident: Incident, detail: str = "") -> tuple[str, str]:
    """Return the subject (at most 100 characters of ASCII, one line) and the text, in which `detail` comes second."""
    start = f"{incident.id}: "
    room = _SUBJECT_ROOM - len(start)
    subject = (start + ascii_only(headline(incident, room)))[:_SUBJECT_ROOM].strip()
    text = "\n".join(_lines(incident, detail))
    if len(text) > _TEXT_ROOM:
        text = text[:_TEXT_ROOM] + "\n(cut here: the rest is in the incident's record)"
    return subject, text


def ascii_only(text: str) -> str:
    """Write text in ASCII: accents go, what has no likeness becomes a question mark."""
    plain = unicodedata.normalize("NFKD", cleaned(text).translate(_ASCII))
    without_accents = "".join(character for character in plain if not unicodedata.combining(character))
    return without_accents.encode("ascii", "replace").decode("ascii")


def _lines(incident: Incident, detail: str) -> list[str]:
    plan, diagnosis = incident.plan, incident.diagnosis
    is_said_below = plan is not None and detail.strip() == plan.why.strip()
    said = [PLAIN.text(detail, 2000)] if detail.strip() and not is_said_below else []
    lines = [first_line(incident, PLAIN), *said, ""]
    if plan:
        lines += [text for text in (PLAIN.text(plan.why),) if text]
        lines += _under("What to do", [PLAIN.text(plan.follow_up, 3000)] if plan.follow_up else [])
    if diagnosis:
        lines += _under(f"Cause: {confidence(diagnosis)}", [PLAIN.text(f.text) for f in diagnosis.findings])
        lines += _under("Not known", [PLAIN.text(gap) for gap in diagnosis.gaps])
        lines += _under("What it is not", [f"{r.cause}: {PLAIN.text(r.because)}" for r in diagnosis.rejected])
        victims = [PLAIN.name(victim, 255) for victim in diagnosis.victims]
        hidden = len(victims) - _SHOWN_VICTIMS
        more = [f"and {hidden:,} more"] if hidden > 0 else []
        lines += _under("Who is throttled", [*victims[:_SHOWN_VICTIMS], *more])
    lines += _under("Before -> after", [ends(change, PLAIN).replace("→", "->") for change in changes(incident)])
    if incident.verdict:
        lines += _under("The guard says", [f"{r.guardrail}: {PLAIN.text(r.text)}" for r in incident.verdict.reasons])
    if plan:
        lines += _under(
            "AWS calls" if incident.applied else "AWS calls, not made", _typed(shell.aws(incident, plan.commands))
        )
        back = _typed(shell.aws(incident, plan.way_back_commands)) or list(filter(None, [way_back(incident, PLAIN)]))
        lines += _under("Their way back", back)
    if diagnosis:
        checks = shell.aws(incident, (f.check for f in diagnosis.findings if f.check))
        lines += _under("See for yourself", _typed(checks))
    account = f"account {cleaned(incident.account)}, {cleaned(incident.region)}"
    lines += _under(
        "Where",
        [
            f"{account}, {when(incident)}",
            f"alarm {PLAIN.name(incident.alarm_name, 255)}"
            if incident.alarm_name
            else "no alarm, asked for by a person",
            shell.own(f"unthrottle incidents {incident.id}"),
        ],
    )
    return lines


def _typed(commands: Iterable[str]) -> list[str]:
    return [visible(command).strip() for command in commands]


def _under(heading: str, items: list[str]) -> list[str]:
    return [f"{heading}:", *(f"  - {item}" for item in items), ""] if items else []
