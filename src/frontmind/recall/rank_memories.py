"""Ranks memories by how likely they bear on a message. Pure.

A memory is a sentence of its own: nothing was said around it, and it stands beside a handful of others as often as
beside hundreds. So other evidence counts than for a passage of a conversation, and it is compared with no other
candidate. The score is a logistic of that evidence, on the same scale as `frontmind.recall.ranking` has.

Fitted to the facts about each speaker that LoCoMo brings along, reworded to "you", with the questions that cite the
same turns as those facts, reworded to "I"; beside them the questions about somebody else and remarks out of another
conversation, which nothing bears on. Random ones of a speaker's facts stood for small stores. How much the number of
memories counts, and where the scores lie, follows a rule: from a score of 0.15 on, at most 3 of 100 messages that
nothing bears on show anything, whether there are 3 memories or a speaker's whole hundred; by words alone at most 6.
Measured on conversations that it was not fitted to, with at most eight finds shown:

    memories    the fact is shown    of what is shown, right    of unanswered questions, something is shown
    with vectors
        3       .77                  .79                        .24
        6       .74                  .68                        .29
       12       .69                  .55                        .33
       40       .61                  .36                        .40
      all       .58                  .31                        .45
     1000       .42                  .41
    words alone
        3       .68                  .83                        .17
        6       .60                  .80                        .15
       12       .59                  .64                        .21
       40       .49                  .48                        .25
      all       .46                  .42                        .29
     1000       .28                  .54

An unanswered question is one of the same person's, whose fact was left out; what is shown then is mostly about the
same thing, and so is much that counts as wrong beside a fact. A thousand are a speaker's own and others' to fill up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from frontmind.recall.rank_evidence import Candidate
from frontmind.recall.ranking import Ranked
from frontmind.recall.telling import Words, telling_words
from frontmind.recall.words import QueryWord, query_words

_COSINE: Final = 7.99
_COVERED: Final = 3.30
_BIAS: Final = -4.33

# Without a vector, all that is known is the words.
_LEXICAL_COVERED: Final = 4.16
_LEXICAL_FOUND: Final = 1.19
_LEXICAL_BIAS: Final = -3.18
_MOST_FOUND: Final = 3

_CROWD: Final = -0.6
_LEXICAL_CROWD: Final = -0.7
"""For the logarithm of how many memories there are: among many, one is the nearest by chance."""

_FEWEST, _MOST = 3, 1000
"""Beyond these nothing was measured, and fewer or more memories change nothing."""

_SHOWN_WORDS: Final = 4
_ALIKE: Final = 0.5


def rank_memories(query: str, candidates: Sequence[Candidate], *, count: int) -> list[Ranked]:
    """All candidates, the likeliest first, ties by id.

    Args:
        candidates: memories, each id once.
        count: how many memories there are in all.
    """
    asked = telling_words(query)
    words = query_words(query)
    crowd = math.log(min(max(count, _FEWEST), _MOST))
    ranked = [_ranked(words, asked, candidate, crowd) for candidate in candidates]
    return sorted(ranked, key=lambda one: (-one.score, one.id))


def _ranked(query: Sequence[QueryWord], asked: Words, candidate: Candidate, crowd: float) -> Ranked:
    found = asked & telling_words(candidate.passage.text)
    covered = len(found) / max(1, len(asked))
    if candidate.cosine is None:
        odds = _LEXICAL_BIAS + _LEXICAL_COVERED * covered + _LEXICAL_FOUND * min(len(found), _MOST_FOUND)
        odds += _LEXICAL_CROWD * crowd
    else:
        odds = _BIAS + _COSINE * max(0.0, candidate.cosine) + _COVERED * covered + _CROWD * crowd
    words = [word.text for word in query if word.stem in found]
    reasons = [f"words: {', '.join(words[:_SHOWN_WORDS])}"] if words else []
    if candidate.cosine is not None and candidate.cosine >= _ALIKE:
        reasons.append("similar meaning")
    return Ranked(candidate.passage.id, 1 / (1 + math.exp(-odds)), tuple(reasons))
