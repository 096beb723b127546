"""Other people's text made harmless. Pure; knows neither elements nor terminals.

What could draw the window's own rules or break an encoding is replaced; the words stay.
"""

from __future__ import annotations

import re

from frontmind.values.section import RULE_CHARACTER

_LINE_END = re.compile("\r\n?")
# Controls but tab and line feed, lone surrogates, and the noncharacters at the end of the basic plane.
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_RULE_REFERENCE = f"&#x{ord(RULE_CHARACTER):X};"


def harmless(text: str) -> str:
    """The text with line feeds as its line ends, and without rules, controls and what is no character."""
    text = _LINE_END.sub("\n", text)
    return _UNSPEAKABLE.sub("\ufffd", text).replace(RULE_CHARACTER, _RULE_REFERENCE)


def one_line(text: str, limit: int = 300) -> str:
    """The text made harmless, on one line of at most ``limit`` characters, shortened at its end."""
    # Only so much is looked at: a message of megabytes is shortened anyway.
    line = " ".join(harmless(text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
