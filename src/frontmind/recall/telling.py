"""What tells a short text apart: its words without those that nearly every text has. Pure.

Rough on purpose, and for English: it decides whether two texts say the same, whether a reply took something up, and
which part of a long text is shown. What is found and how it is ranked is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from frontmind.recall.words import NEGATIONS, folded, stemmed

Words: TypeAlias = frozenset[str]

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PIECE: Final = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_SPEAKER: Final = re.compile(r"(?:User|Assistant): ")
_ELLIPSIS: Final = "…"

_COMMON_LINES: Final = """
    a about after again all also always am an and any anything are as ask at back be because been before being but by
    can could did do does doing done down each even every for from get give go going got had has have having he her
    here hers him his how i if in into is it its just know let like ll many may me might mine more most much must my of
    off ok okay on one only or other our out over own per please re really s said same say says see she should so some
    something still such sure t tell than that the their them then there these they thing things think this those
    through to too up us ve very want was way we well were what when where which while who whom why will with would
    yeah yes you your yours assistant user remember remind i'm i've i'll i'd it's that's what's you're you've
"""
# More than `STOP_WORDS`, which a search leaves out: in a short text that is compared with another, "said" or "again"
# tells nothing. No negation is common.
_COMMON: Final = frozenset(_COMMON_LINES.split()) - NEGATIONS
_NEGATION_STEMS: Final = frozenset(stemmed(word) for word in NEGATIONS)

_PLEASANTRIES_LINES: Final = """
    hello hey hi hallo good morning afternoon evening night day bye goodbye thank thanks thx cheers welcome great nice
    cool lovely perfect awesome fine wonderful interesting funny haha lol wow alright right sorry understood agreed
    today now doing later soon cu exactly indeed never mind no nope yep
"""
_PLEASANTRIES: Final = frozenset(_PLEASANTRIES_LINES.split())

_REFERRING_LINES: Final = "he her hers him his she their them they there who whom whose when where"
_REFERRING: Final = frozenset(_REFERRING_LINES.split())
"""What refers to something that was said before, and asks for it."""

_FEW: Final = 3
"""Fewer words than these meet by chance in a long text."""

LIKENESS: Final = 0.8
"""The share of a text's telling words that another has when it says what this one says. A sentence in which one word
of four is another, such as the colour of the tea, is below."""

_USED: Final = 1 / 3
"""The share of what a memory adds to a message that a reply has when it took the memory up: of a memory of three
telling words, one is the answer."""


def telling_words(text: str) -> Words:
    """The stems of the words that tell something."""
    return frozenset(stemmed(word.removesuffix("'s")) for word in _all_words(text) if word not in _COMMON)


def is_small_talk(text: str) -> bool:
    """Whether a message has no word that asks for anything: a greeting, thanks, a yes."""
    words = set(_all_words(text))
    return words.isdisjoint(_REFERRING) and words <= _COMMON | _PLEASANTRIES


def says_the_same(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    """Whether the text with fewer telling words says nothing that the other does not say. A number that the other has
    not is something else, and so is a negation, whatever stands around it.
    """
    few, many = sorted((one, other), key=len)
    if not few:
        return not many
    if len(few) < _FEW and len(many) > _FEW * len(few):
        return False
    missing = few - many
    if len(missing) > (1 - LIKENESS) * len(few) + 1e-9 or any(_has_digit(word) for word in missing):
        return False
    return _is_negated(few) == _is_negated(many)


def used(memory: str, message: str, reply: str) -> bool:
    """Whether a reply took a memory up: it has telling words of it that the message did not bring itself."""
    added = telling_words(memory) - telling_words(message)
    return bool(added) and len(added & telling_words(reply)) >= _USED * len(added)


def cites(reply: str, name: str) -> bool:
    """Whether the reply names this id, such as ``m12``."""
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", reply) is not None


def excerpt(text: str, words: AbstractSet[str], length: int) -> str:
    """The text, or the part of it with most of these telling words, of at most ``length`` characters.

    Where the part begins in the middle of what somebody said, the speaker stands in front.
    """
    if len(text) <= length:
        return text
    pieces = _pieces(text)
    told = [len(telling_words(text[start:end]) & words) for start, end in pieces]
    room = length - len(_ELLIPSIS) * 2 - len("Assistant: ")
    first = best_first = 0
    best = -1
    for last, (_, end) in enumerate(pieces):
        while first < last and end - pieces[first][0] > room:
            first += 1
        if sum(told[first : last + 1]) > best:
            best, best_first = sum(told[first : last + 1]), first
    start = pieces[best_first][0]
    fitting = [end for _, end in pieces[best_first:] if end - start <= room]
    end = fitting[-1] if fitting else start + room
    before = _speaker_at(text, start) + _ELLIPSIS if start else ""
    return f"{before}{text[start:end].strip()}{_ELLIPSIS if end < len(text) else ''}"


def _all_words(text: str) -> list[str]:
    return _WORD.findall(folded(text).replace("’", "'"))


def _is_negated(words: AbstractSet[str]) -> bool:
    return any(word in _NEGATION_STEMS or word.endswith("n't") for word in words)


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _pieces(text: str) -> list[tuple[int, int]]:
    """Where sentences and lines begin and end."""
    ends = [found.end() for found in _PIECE.finditer(text)]
    starts = [0, *ends]
    return [(start, end) for start, end in zip(starts, [*ends, len(text)], strict=True) if end > start]


def _speaker_at(text: str, start: int) -> str:
    line = text.rfind("\n", 0, start) + 1
    speaker = _SPEAKER.match(text, line)
    return speaker[0] if speaker is not None and line != start else ""
