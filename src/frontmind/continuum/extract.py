"""Title and summary of a stretch of conversation, made of sentences that were said in it. Pure.

No model is asked, and no word is added: what is chosen are whole sentences, by how much the words in them tell of the
stretch and by where they stand. Nothing here knows a language; words are told apart by length, repetition and case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Final

from frontmind.continuum.history import settled
from frontmind.values.message import Message
from frontmind.values.records import Turn, TurnState
from frontmind.values.titles import TITLE_LENGTH, title

EXTRACT_LENGTH: Final = 480
"""The most characters of an extracted summary: about 120 tokens, so that a dozen of them can stand together."""

USER: Final = "User"
ASSISTANT: Final = "Assistant"

_READ_OF_A_MESSAGE: Final = 8_000
_SENTENCES_OF_A_MESSAGE: Final = 40
_MOST_SENTENCES: Final = 400
_SHORTEST, _LONGEST = 12, 240
_MOST_OF: Final = {USER: 3, ASSISTANT: 2}
"""How many sentences of each speaker: what the person said is what an assistant has to know later."""

_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ENDS: Final = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|(?<=[。！？])|\s*\n+\s*")
_LEAD: Final = re.compile(r"^(?:[-*+>#|•]+|\d{1,2}[.)])\s*")
_MARKS: Final = re.compile(r"\*\*|__|`")
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# Scripts that set no spaces between words: each pair of characters stands for a word.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_SHORTEST_WORD: Final = 4
_FULL_WORD: Final = 8
_COMMON: Final = 0.1


@dataclass(frozen=True, slots=True)
class Extract:
    """Title and summary; the summary is empty where nobody said a whole sentence."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence that was said.

    Attributes:
        place: counts the sentences in the order in which they were said.
        terms: what its words tell, with how much each is worth by its form alone.
        weight: what its place is worth.
    """

    place: int
    speaker: str
    text: str
    terms: dict[str, float]
    weight: float


def extract(turns: Sequence[Turn]) -> Extract | None:
    """Title and summary of these turns (by number); None where none of them was answered.

    A message that waits for a reply is not looked at: it may yet be refused, and must not come back then.
    """
    said = list(_said(turns))
    if not said:
        return None
    sentences = _sentences(said)
    worth = _worth(sentences)
    chosen = _chosen(sentences, worth)
    text = "\n".join(f"{sentence.speaker}: {sentence.text}" for sentence in chosen)
    return Extract(_title(said, sentences, worth), text)


def _said(turns: Sequence[Turn]) -> Iterable[tuple[str, str]]:
    """Speaker and text of each message of the answered turns, those that waited in front of one included."""
    waiting: list[Message] = []
    for turn in map(settled, turns):
        if not turn.state.counts:
            continue
        waiting.append(turn.user)
        if turn.state is TurnState.DONE and turn.reply is not None:
            yield from ((USER, message.text[:_READ_OF_A_MESSAGE]) for message in waiting)
            replies = (*(step.said for step in turn.steps), turn.reply)
            yield from ((ASSISTANT, reply.text[:_READ_OF_A_MESSAGE]) for reply in replies)
            waiting.clear()


def _sentences(said: Sequence[tuple[str, str]]) -> list[_Sentence]:
    first = next((index for index, (speaker, _) in enumerate(said) if speaker == USER), 0)
    sentences: list[_Sentence] = []
    for index, (speaker, text) in enumerate(said):
        for number, sentence in enumerate(_split(text)[:_SENTENCES_OF_A_MESSAGE]):
            weight = 1.3 if speaker == USER else 1.0
            weight *= 1.5 if index == first else 1.0
            # The first sentence of a message says what the rest is about.
            weight *= 1.2 if number == 0 else 1.0
            sentences.append(_Sentence(len(sentences), speaker, sentence, _terms(sentence), weight))
            if len(sentences) == _MOST_SENTENCES:
                return sentences
    return sentences


def _split(text: str) -> list[str]:
    pieces = (_MARKS.sub("", _LEAD.sub("", piece.strip())) for piece in _ENDS.split(_CODE.sub("\n", text)) if piece)
    return [" ".join(piece.split()) for piece in pieces if _is_sentence(piece)]


def _is_sentence(text: str) -> bool:
    unspaced = _UNSPACED.search(text) is not None
    return (4 if unspaced else _SHORTEST) <= len(text) <= _LONGEST and (unspaced or len(_WORD.findall(text)) >= 3)


def _terms(sentence: str) -> dict[str, float]:
    terms: dict[str, float] = {}
    for found in _WORD.finditer(sentence):
        word = found[0]
        named = found.start() > 0 and word[0].isupper()
        counted = any(letter.isdigit() for letter in word)
        if len(word) >= _SHORTEST_WORD or named or counted:
            by_length = min(len(word), _FULL_WORD) / _FULL_WORD
            terms[word.casefold()] = max(terms.get(word.casefold(), 0.0), 1.3 if named or counted else by_length)
    for found in _UNSPACED.finditer(sentence):
        terms |= {found[0][index : index + 2]: 1.0 for index in range(len(found[0]) - 1)}
    return terms


def _worth(sentences: Sequence[_Sentence]) -> dict[str, float]:
    """What each term tells of the whole: more when it comes again, and little when it stands in most sentences."""
    counts = Counter(term for sentence in sentences for term in sentence.terms)
    different = {sentence.text: sentence.terms for sentence in sentences}
    spread = Counter(term for terms in different.values() for term in terms)
    common = max(4, len(different) // 2)
    return {term: log(1 + count) if spread[term] <= common else _COMMON for term, count in counts.items()}


def _score(sentence: _Sentence, worth: dict[str, float], told: set[str]) -> float:
    sum_of = sum(form * worth[term] * (0.2 if term in told else 1.0) for term, form in sorted(sentence.terms.items()))
    return sentence.weight * sum_of / sqrt(len(sentence.terms) + 3)


def _chosen(sentences: Sequence[_Sentence], worth: dict[str, float]) -> list[_Sentence]:
    """The sentences that tell most, each beside those chosen before it, in the order in which they were said."""
    chosen: list[_Sentence] = []
    told: set[str] = set()
    room = EXTRACT_LENGTH
    left = list(sentences)
    while True:
        # What cannot be chosen any more is not scored again: the scores are nearly all of the work.
        said = {sentence.text for sentence in chosen}
        full = {
            speaker for speaker, most in _MOST_OF.items() if sum(each.speaker == speaker for each in chosen) == most
        }
        left = [each for each in left if _length(each) <= room and each.speaker not in full and each.text not in said]
        best = max(left, key=lambda sentence: (_score(sentence, worth, told), -sentence.place), default=None)
        if best is None or _score(best, worth, told) <= 0:
            break
        chosen.append(best)
        told |= best.terms.keys()
        room -= _length(best)
    return sorted(chosen, key=lambda sentence: sentence.place)


def _length(sentence: _Sentence) -> int:
    return len(sentence.speaker) + len(sentence.text) + 3


def _as_title(sentence: _Sentence, worth: dict[str, float]) -> float:
    # One that would be cut tells less.
    return _score(sentence, worth, set()) * min(1.0, TITLE_LENGTH / len(sentence.text))


def _title(said: Sequence[tuple[str, str]], sentences: Sequence[_Sentence], worth: dict[str, float]) -> str:
    own = [sentence for sentence in sentences if sentence.speaker == USER]
    if own:
        best = max(own, key=lambda sentence: (_as_title(sentence, worth), -sentence.place))
        return title(best.text.rstrip(".。 "))
    return title(next((text for speaker, text in said if speaker == USER and text.strip()), ""))
