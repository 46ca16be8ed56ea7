"""How does text nobody vouches for (names, tags, alarm reasons, error texts) enter a sentence without becoming markup?

Two voices say the same words: one for Slack's mrkdwn, one for terminals and mail. Everything untrusted passes through a
voice; the words around it are ours. Knows nothing of incidents.
"""

import re
from dataclasses import dataclass
from typing import Literal

from unthrottle.chat import escape

# Control, zero-width, direction-changing and line-separating characters: they can hide or reorder what is read.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ud800-\udfff]"
)
# Slack formats *bold*, _italic_ and ~strike~ only at a word's edge, so svc_a_b may stay as it is.
_AT_THE_EDGE = re.compile(r"(?<![A-Za-z0-9*_~])[*_~]+|[*_~]+(?![A-Za-z0-9*_~])")
_LOOKALIKES = str.maketrans({"*": "∗", "_": "ˍ", "~": "∼", "`": "ʼ"})
_BARE = str.maketrans("<>&`", "‹›+ʼ")
_EMOJI_CODE = re.compile(r"(?<![A-Za-z0-9]):(?=[a-z0-9_+'-]+:)")
_OUR_COMMAND = re.compile(r"(`/?unthrottle [A-Za-z0-9 ._:/-]{1,300}`)", re.ASCII)
_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}", re.ASCII)
_GROUP = re.compile(r"S[A-Z0-9]{2,20}", re.ASCII)

LONGEST_NAME = 80  # on a phone a longer one is noise; whole names stand in commands and in the record
LONGEST_TEXT = 600


def visible(text: str) -> str:
    """Return the text without characters that cannot be seen or that reorder what is read; spaces stay."""
    return _INVISIBLE.sub("", text)


def cleaned(text: str) -> str:
    """Return the text on one line, without characters that cannot be seen."""
    return " ".join(visible(text).split())


def cut(text: str, room: int) -> str:
    """Shorten to at most `room` characters, with an ellipsis where something is missing."""
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def middle_cut(name: str, room: int) -> str:
    """Shorten a name in its middle, so that names that differ only at their end stay different."""
    short = cleaned(name)
    if len(short) <= room:
        return short
    tail = (room - 1) // 2
    return f"{short[: room - 1 - tail]}…{short[len(short) - tail :]}"


def harmless(text: str) -> str:
    """Make untrusted text readable and inert in mrkdwn: no mention, link, format, quote, or emoji comes out of it.

    Slack's own escaping covers & < > only; formatting has no escape, so its characters become look-alikes. Our own
    commands, which error texts quote in backticks, stay code.
    """
    parts = _OUR_COMMAND.split(cleaned(text))
    return "".join(part if number % 2 else _inert(part) for number, part in enumerate(parts))


def _inert(text: str) -> str:
    inert = _EMOJI_CODE.sub("꞉", text).replace("`", "ʼ").replace("://", ":∕∕")
    return escape(_AT_THE_EDGE.sub(lambda found: found.group().translate(_LOOKALIKES), inert))


def title(text: str, room: int) -> str:
    """Make text fit for a plain_text object; angle brackets go, since a fallback may show it as mrkdwn."""
    return cut(_EMOJI_CODE.sub("꞉", cleaned(text)).translate(_BARE), room)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A way of saying untrusted things."""

    manner: Literal["slack", "plain"]

    def name(self, text: str, room: int = LONGEST_NAME) -> str:
        """Say the name of a resource."""
        short = middle_cut(text, room) or "(no name)"
        return f"`{escape(short.replace('`', 'ʼ'))}`" if self.manner == "slack" else short

    def text(self, text: str, room: int = LONGEST_TEXT) -> str:
        """Say a sentence from elsewhere."""
        short = cut(cleaned(text), room)
        return harmless(short) if self.manner == "slack" else short

    def person(self, who: str) -> str:
        """Say who: a Slack id becomes that person's name in Slack; anything else is only quoted."""
        if _PERSON.fullmatch(who):
            return f"<@{who}>" if self.manner == "slack" else f"@{who}"
        if _GROUP.fullmatch(who):
            return f"`{who}`" if self.manner == "slack" else who
        return self.name(who)

    def strong(self, trusted: str) -> str:
        """Stress our own words."""
        return f"*{trusted}*" if self.manner == "slack" else trusted

    def typed(self, command: str) -> str:
        """Show something to type, whole."""
        return f"`{escape(cleaned(command).replace('`', 'ʼ'))}`" if self.manner == "slack" else cleaned(command)


SLACK = Voice(manner="slack")
PLAIN = Voice(manner="plain")
