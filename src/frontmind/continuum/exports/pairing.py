"""Makes exchanges of what two people said in turn. Pure; knows no format.

Nothing is lost: messages of one role in a row become one, and where one side is missing, a text says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from frontmind.continuum.exports.value import Found, ImportedConversation, Said, shown_title
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text
from frontmind.window.canonical import canonical_json, digest
from frontmind.window.normalise import OPENING_PLACEHOLDER

NO_REPLY: Final = "(The conversation ends here, without a reply.)"
_KEY_LENGTH: Final = 32


def conversation_of(found: Found, *, key: str, began: datetime) -> ImportedConversation:
    """The conversation in exchanges.

    Args:
        key: what it is called; it stands in the keys of its exchanges as well.
        began: the moment of messages in front of the first that has one.
    """
    turns = tuple(
        exchange.turn(key, number) for number, exchange in enumerate(_exchanges(found.said, found.began or began), 1)
    )
    return ImportedConversation(key, shown_title(found.title) or _beginning(found.said), turns)


def key_by_content(found: Found) -> str:
    """What to call a conversation that has no name: its first exchange, which stays the same while it grows."""
    first = next(_exchanges(found.said, None), None)
    return "" if first is None else _key([*first.asked.texts, "", *first.answered.texts])


def text_digest(turn: ImportedTurn) -> str:
    """Stands for what is said in the exchange."""
    return _key([turn.user.text, turn.reply.text])


@dataclass(frozen=True, slots=True)
class _Side:
    """All that one of the two said in a row."""

    texts: tuple[str, ...]
    key: str
    first_at: datetime | None
    last_at: datetime | None

    @property
    def parts(self) -> tuple[Text, ...]:
        return tuple(Text(text) for text in self.texts)


@dataclass(frozen=True, slots=True)
class _Exchange:
    asked: _Side
    answered: _Side
    before: datetime | None

    def turn(self, conversation: str, number: int) -> ImportedTurn:
        asked_at = self.asked.first_at or self.before
        answered_at = self.answered.last_at or self.asked.last_at or asked_at
        if asked_at is None or answered_at is None:
            raise ValueError("an exchange without any moment")
        # A message without a name is called by its place and its text: both stay while the conversation grows.
        names = [side.key or f"{number} {_key(list(side.texts))}" for side in (self.asked, self.answered)]
        return ImportedTurn(
            key=_key([conversation, *names]),
            user=Message(Role.USER, self.asked.parts),
            asked_at=asked_at,
            reply=Message(Role.ASSISTANT, self.answered.parts),
            answered_at=max(asked_at, answered_at),
        )


def _exchanges(said: Sequence[Said], began: datetime | None) -> Iterator[_Exchange]:
    """The exchanges; a message without a moment has that of the message before it."""
    before = began
    asked: _Side | None = None
    for role, side in _sides(said):
        if role is Role.USER:
            asked = side
            continue
        opening = _Side((OPENING_PLACEHOLDER,), "", side.first_at, side.first_at)
        exchange = _Exchange(asked or opening, side, before)
        yield exchange
        before = side.last_at or (asked.last_at if asked else None) or before
        asked = None
    if asked is not None:
        yield _Exchange(asked, _Side((NO_REPLY,), "", None, None), before)


def _sides(said: Sequence[Said]) -> Iterator[tuple[Role, _Side]]:
    run: list[Said] = []
    for message in said:
        if run and run[-1].role is not message.role:
            yield run[0].role, _side(run)
            run = []
        run.append(message)
    if run:
        yield run[0].role, _side(run)


def _side(run: Sequence[Said]) -> _Side:
    texts = tuple(text for message in run for text in message.texts)
    moments = [message.at for message in run if message.at is not None]
    # Of a question the first message names it, of a reply the last: one that has grown is another exchange.
    named = run[0] if run[0].role is Role.USER else run[-1]
    return _Side(texts, named.key, moments[0] if moments else None, moments[-1] if moments else None)


def _beginning(said: Sequence[Said]) -> str:
    return next((shown_title(message.texts[0]) for message in said), "")


def _key(texts: list[str]) -> str:
    return digest(canonical_json(texts))[:_KEY_LENGTH]
