"""What does the text after `/unthrottle` ask for?

Phones and Slack change what people type: a long dash for two hyphens, curly quotes, a link made of a name with a dot.
That is undone first. Then every word must be one we know: an unknown word or option runs nothing, since a `--dry-run`
that was not understood must never become a live run. Knows nothing of who may ask.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches

MAX_TEXT = 1000
LONGEST_PAUSE = timedelta(hours=999)
"""A pause for longer is one without an end, which somebody has to end."""
USAGE = {
    "help": "help",
    "check": "check <table or function>",
    "fix": "fix <table or function> [--dry-run]",
    "status": "status [incident]",
    "snooze": "snooze <incident> [2h]",
    "revert": "revert <incident>",
    "keep": "keep <incident> [24h]",
    "pause": "pause [2h]",
    "resume": "resume",
    "audit": "audit",
}
_RESOURCE = re.compile(r"[A-Za-z0-9_.:/][A-Za-z0-9_.:/-]{0,255}", re.ASCII)
_INCIDENT = re.compile(r"INC-[0-9A-Z]{4,8}", re.ASCII)
_DURATION = re.compile(r"([0-9]{1,3})([mhdw])", re.ASCII)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD])
_PLAIN = {
    0x00A0: " ",
    0x202F: " ",
    0x2007: " ",
    0x2010: "-",
    0x2011: "-",
    0x2018: "'",
    0x2019: "'",
    0x201A: "'",
    0x201C: '"',
    0x201D: '"',
    0x201E: '"',
    0x00AB: '"',
    0x00BB: '"',
}
_LONG_DASHES = "\u2012\u2013\u2014\u2015\u2212"


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """Show what can be typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Diagnose one table or function; change nothing."""

    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Diagnose one table or function and do what is right for it, or only say what that would be."""

    resource: str
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Tell about one incident, or about all that are open."""

    incident_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snooze:
    """Put an approval, or what was handed to a person, off: for *duration*, or an hour."""

    incident_id: str
    duration: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """Give back what an incident changed, now."""

    incident_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Let what an incident changed stay: for good, or for another day."""

    incident_id: str
    for_a_day: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Stop all new changes, for *duration* or until somebody says resume."""

    duration: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """End the pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Say what would be done about everything, without doing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUnderstood:
    """Nothing was run. `message` is safe to show; `suggestion` is a whole command, where one is close."""

    message: str
    suggestion: str | None = None


Asked = Help | Check | Fix | Status | Snooze | Revert | Keep | Pause | Resume | Audit | NotUnderstood

_PLAIN_REQUESTS: dict[str, Asked] = {"help": Help(), "resume": Resume(), "audit": Audit()}


def understand(text: str) -> Asked:
    """Turn what a person typed after `/unthrottle` into one request, or say why nothing was run."""
    if len(text) > MAX_TEXT:
        return NotUnderstood(message=f"That is longer than {MAX_TEXT} characters; nothing was run.")
    try:
        words = _split(normalise(text))
    except ValueError:
        return NotUnderstood(message="A quote is not closed; nothing was run.")
    if not words:
        return Help()
    verb, rest = words[0].casefold(), words[1:]
    if verb not in USAGE:
        return _unknown_verb(words)
    options = [word for word in rest if word.startswith("-")]
    arguments = [word for word in rest if not word.startswith("-")]
    allowed = ["--dry-run"] if verb == "fix" else []
    for option in options:
        if option.casefold() not in allowed:
            return _unknown_option(verb, option, arguments, allowed)
    match verb:
        case "check" | "fix":
            return _about_resource(verb, arguments, dry_run=bool(options))
        case "status" | "snooze" | "revert" | "keep":
            return _about_incident(verb, arguments)
        case "pause":
            return _pause(arguments)
    if arguments:
        return _misused(verb, f"`{verb}` takes nothing after it")
    return _PLAIN_REQUESTS[verb]


def normalise(text: str) -> str:
    """Undo what phones and Slack do to typed text: dashes, quotes, odd spaces, links, escapes, code marks."""
    text = text.translate(_INVISIBLE).translate(_PLAIN)
    text = re.sub(r"<(?:https?://|mailto:)?([^<>|\s]+)\|([^<>|\s]+)>", r"\2", text)
    text = re.sub(r"<(?:https?://|mailto:)([^<>|\s]+)>", r"\1", text)
    for escaped, plain in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(escaped, plain)
    text = re.sub(rf"(?<!\S)[{_LONG_DASHES}]+-?(?=[A-Za-z])", "--", text)
    return " ".join(word.strip("`*") for word in text.split())


def help_text() -> str:
    """List what can be typed, one line each."""
    return "\n".join(f"`/unthrottle {usage}`" for usage in USAGE.values())


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = ""
    return [word for word in lexer if word]


def _about_resource(verb: str, arguments: Sequence[str], *, dry_run: bool) -> Asked:
    if len(arguments) != 1:
        return _misused(verb, f"`{verb}` needs one table or function, {len(arguments)} were given")
    if not _RESOURCE.fullmatch(arguments[0]):
        return _misused(verb, f"{_quote(arguments[0])} is no name of a table or function")
    return Fix(resource=arguments[0], dry_run=dry_run) if verb == "fix" else Check(resource=arguments[0])


def _about_incident(verb: str, arguments: Sequence[str]) -> Asked:
    if verb == "status" and not arguments:
        return Status(incident_id=None)
    for_a_day = verb == "keep" and len(arguments) == 2 and arguments[1].casefold() == "24h"
    duration = _duration(arguments[1]) if verb == "snooze" and len(arguments) == 2 else None
    if len(arguments) != 1 and not for_a_day and duration is None:
        if verb == "snooze" and len(arguments) == 2:
            return _misused(verb, f"{_quote(arguments[1])} is no duration; write 30m or 2h, or nothing for an hour")
        if verb == "keep" and len(arguments) == 2:
            return _misused(verb, "`keep` takes 24h or nothing after the incident")
        return _misused(verb, f"`{verb}` needs one incident, {len(arguments)} were given")
    incident_id = arguments[0].upper()
    if not _INCIDENT.fullmatch(incident_id):
        return _misused(verb, f"{_quote(arguments[0])} is no incident; they look like INC-7Q2M")
    match verb:
        case "status":
            return Status(incident_id=incident_id)
        case "snooze":
            return Snooze(incident_id=incident_id, duration=duration)
        case "revert":
            return Revert(incident_id=incident_id)
        case _:
            return Keep(incident_id=incident_id, for_a_day=for_a_day)


def _pause(arguments: Sequence[str]) -> Asked:
    if not arguments:
        return Pause(duration=None)
    duration = _duration(arguments[0])
    if len(arguments) != 1 or duration is None:
        return _misused("pause", f"{_quote(' '.join(arguments))} is no duration; write 30m, 2h or 1d, or nothing")
    if duration > LONGEST_PAUSE:
        return _misused("pause", f"the longest pause that ends by itself is {hours(LONGEST_PAUSE)}")
    return Pause(duration=duration)


def _duration(word: str) -> timedelta | None:
    match = _DURATION.fullmatch(word.casefold())
    if match is None or int(match[1]) == 0:
        return None
    return int(match[1]) * _UNITS[match[2]]


def hours(duration: timedelta) -> str:
    """Write a duration as it can be typed."""
    return f"{duration // _UNITS['h']}h"


def _unknown_verb(words: Sequence[str]) -> NotUnderstood:
    verb = words[0].casefold()
    if verb in ("approve", "reject"):
        return NotUnderstood(
            message=f"`{verb}` is a button in the incident's message, or `unthrottle {verb} <incident>` in a terminal; "
            "nothing was run."
        )
    close = get_close_matches(verb, USAGE, n=1, cutoff=0.6)
    # The rest is repeated only where it is plainly a name: a suggestion is copied and run.
    rest = [word for word in words[1:] if _RESOURCE.fullmatch(word) or word == "--dry-run"]
    suggestion = " ".join(["/unthrottle", close[0], *rest]) if close and len(rest) == len(words) - 1 else None
    if close and suggestion is None:
        suggestion = f"/unthrottle {USAGE[close[0]]}"
    return NotUnderstood(message=f"{_quote(words[0])} is no command; nothing was run.", suggestion=suggestion)


def _unknown_option(verb: str, option: str, arguments: Sequence[str], allowed: Sequence[str]) -> NotUnderstood:
    close = get_close_matches("--" + option.casefold().lstrip("-"), allowed, n=1, cutoff=0.6)
    names = [word for word in arguments if _RESOURCE.fullmatch(word)]
    suggestion = " ".join(["/unthrottle", verb, *names, close[0]]) if close else f"/unthrottle {USAGE[verb]}"
    return NotUnderstood(message=f"`{verb}` has no option {_quote(option)}; nothing was run.", suggestion=suggestion)


def _misused(verb: str, what: str) -> NotUnderstood:
    return NotUnderstood(message=f"{what}; nothing was run.", suggestion=f"/unthrottle {USAGE[verb]}")


def _quote(word: str) -> str:
    """Repeat a person's word so that it can mention nobody and end no code mark."""
    safe = "".join(c for c in word[:60] if c.isprintable()).replace("`", "'")
    return "`" + safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + "`"
