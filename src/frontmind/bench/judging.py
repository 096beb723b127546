"""Judges an answer by plain rules on its text. Pure; knows no window and no model.

The rules, all without regard to case:

- An answer *names* a value when one of the value's spellings stands in it as whole words (a plural ``s`` or ``es`` may
  follow letters), not as a part of a longer number or time, and not denied: with none of "not", "n't", "never", "no",
  "nor", "without", "rather than", "instead of" among the four words in front of it in the same clause. "Not only" and
  "not just" deny nothing.
- It is *right* when it names the value that holds and no other value of the same list.
- It *invents* when it names a value of the list that no fact of the run has.
- It is in the *third person* when it calls the person "the user" or "this user".
- It speaks of the person's fact *as its own* when it begins the sentence of the fact with "I" or "my" where it had to
  say "you" or "your".
- It *echoes* when a rule, the header, or a tag, name or attribute of a section is in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from frontmind.bench.facts import Fact
from frontmind.bench.subjects import Value
from frontmind.values.section import HEADER, RULE_CHARACTER

_DENIAL: Final = re.compile(
    r"(?:\b(?:not(?! only| just)|never|no|nor|without|rather than|instead of)|\w+n't)\b(?:[^\w]+[\w'-]+){0,4}[^\w]*$"
)
_CLAUSE_END: Final = re.compile(r"[.!?;,](?=\s|$)|[:\n]\s|\bbut\b")
_THIRD: Final = re.compile(r"\b(?:the|this) user\b|^user\b")
_SHORTEST_RULE: Final = 8
_FIRST_PERSON: Final = {"prefer": "(?:prefer|like|love)", "are": "(?:am|'m)", "were": "was"}
_OTHER_HALF: Final = r"(?!\s*(?:a\.?m\b|p\.?m\b))"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is; see the module for each rule."""

    right: bool
    third_person: bool
    as_its_own: bool
    echo: bool
    invented: bool


def judge(answer: str, fact: Fact, *, given: Iterable[Value], section_names: Iterable[str]) -> Verdict:
    """Judge an answer to the question of a fact.

    Args:
        given: the values of all facts of the run: to name one of another fact is wrong, but not invented.
        section_names: the names of the sections and elements that were sent.
    """
    text = plain(answer)
    held = {value.text for value in given}
    others = [value for value in fact.distractors if names(text, value)]
    return Verdict(
        right=names(text, fact.value) and not others,
        third_person=_THIRD.search(text) is not None,
        as_its_own=_is_its_own(text, fact.subject.second),
        echo=_is_echo(answer, section_names),
        invented=any(value.text not in held for value in others),
    )


def plain(text: str) -> str:
    """The text in lower case, with plain quotes and single spaces, as the rules read it."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("‘", "'")
    return re.sub(r"[^\S\n]+", " ", folded).strip()


def names(text: str, value: Value) -> bool:
    """Whether a `plain` text names the value somewhere without denying it."""
    return any(not _is_denied(text[: found.start()]) for form in value.forms for found in _pattern(form).finditer(text))


def _pattern(form: str) -> re.Pattern[str]:
    spelled = re.escape(plain(form))
    if form[-1].isdigit():
        ending = rf"(?!\w)(?![.,:]\d){_OTHER_HALF if ':' in form or '.' in form else ''}"
    elif form[-1].isalpha():
        ending = r"(?:s|es)?(?!\w)"
    else:
        ending = ""
    return re.compile(rf"(?<!\w)(?<!\d[.,:]){spelled}{ending}")


def _is_denied(before: str) -> bool:
    clause = _CLAUSE_END.split(before)[-1]
    return _DENIAL.search(clause) is not None


def _is_its_own(text: str, second: str) -> bool:
    words = second.split()
    if words[:1] == ["you"]:
        verb = _FIRST_PERSON.get(words[1], re.escape(words[1]))
        # Of "are" and "were" alone nobody could tell what they are about.
        about = rf" {re.escape(words[2])}" if words[1] in ("are", "were") else ""
        return re.search(rf"\bi ?{verb}{about}\b", text) is not None
    if "your" in words:
        noun = words[words.index("your") + 1]
        return re.search(rf"\bmy {re.escape(noun)}\b", text) is not None
    return False


def _is_echo(answer: str, section_names: Iterable[str]) -> bool:
    if RULE_CHARACTER * _SHORTEST_RULE in answer or any(line in answer for line in HEADER.split("\n")[:2]):
        return True
    tags = "|".join(re.escape(name) for name in section_names)
    longer = "|".join(re.escape(name) for name in section_names if "_" in name)
    found = re.search(rf"</?(?:{tags})\b" if tags else r"(?!)", answer)
    named = re.search(rf"\b(?:{longer})\b" if longer else r"(?!)", answer)
    return bool(found or named or re.search(r"\b(?:observed|due|status|noted)=[\"']", answer))
