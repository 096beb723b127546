"""The conversations in front of the questions: given ones or a neutral one of our own, cut to a length.

Reads texts, not files. Knows no facts: what is said of others in a history is passed in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from frontmind.continuum.importing import import_conversation
from frontmind.errors import UsageError
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text
from frontmind.window.canonical import parse_json
from frontmind.window.normalise import normalise

Exchange: TypeAlias = tuple[Message, Message]
Count: TypeAlias = Callable[[str], Awaitable[int]]
"""Counts the tokens of a text."""

_SESSION: Final = "session_"
_FRAME: Final = 5
"""About the tokens that a chat template puts around a message."""
_ASIDES_SHARE: Final = 3
"""At most a third of a history is about what others prefer."""

_FILLER: Final = (
    (
        "How does a sundial work?",
        "A rod throws a shadow on a marked plate. As the earth turns, the shadow moves over the marks and shows the "
        "hour. The rod has to point to the celestial pole, so a sundial is made for its latitude.",
    ),
    (
        "Why does bread rise?",
        "Yeast eats the sugars in the dough and gives off gas. The gluten holds the gas in small bubbles, and the "
        "dough grows. In the oven the bubbles swell once more before the crumb sets.",
    ),
    (
        "What is the difference between a canal and a river?",
        "A river follows the land downhill in a bed that water has cut. A canal is dug, mostly level, and has locks "
        "where boats have to climb. Its water hardly moves.",
    ),
    (
        "How are bridges tested?",
        "Before it opens, a bridge is loaded with heavy lorries in several places, and its bending is measured against "
        "the plan. Later, sensors and regular inspections look for cracks and rust.",
    ),
    (
        "Can you explain how a lens makes an image?",
        "Glass slows light down, so a curved surface bends it. Rays that leave one point of an object meet again in "
        "one point behind the lens. On a screen at that distance all these points make the image, upside down.",
    ),
    (
        "Why do leaves change in autumn?",
        "The tree takes the green pigment apart and stores what it is made of. Other pigments, which were there all "
        "along, come to light. Some trees also make a red one in their last sunny weeks.",
    ),
    (
        "What keeps a kite in the air?",
        "The wind is turned downwards by its slope, and pushes back upwards. The string holds it against the wind; "
        "without it the kite would drift along and feel no wind at all.",
    ),
    (
        "How do lighthouses differ from each other?",
        "Each has a rhythm of its own, written on the chart: so many flashes in so many seconds, sometimes in a "
        "colour. A skipper counts, looks it up, and knows which light it is.",
    ),
    (
        "Why is the sea salty?",
        "Rain washes a little salt out of the rocks, and rivers carry it down. The water evaporates, the salt stays "
        "behind. Over a very long time it has become as much as it is now.",
    ),
    (
        "How is paper made?",
        "Wood is cooked or ground to fibres. With much water they are poured on a sieve, where they settle and hook "
        "into each other. Then the sheet is pressed, dried and smoothed.",
    ),
    (
        "What does a conductor really do?",
        "Most of the work is done in rehearsal: what should be heard, how loud, how long. In the concert the hands "
        "keep everybody together and remind each section of what was agreed.",
    ),
    (
        "Why do cracks in ice sing?",
        "A crack sends a short blow through the sheet. High tones travel faster in it than low ones, so far away one "
        "hears a falling whistle in place of a bang.",
    ),
)


def built_in() -> tuple[Exchange, ...]:
    """A neutral conversation; of no use as a likeness of real ones, but there without a file."""
    return tuple((user(question), assistant(answer)) for question, answer in _FILLER)


def read_history(text: str, *, source: str) -> tuple[Exchange, ...]:
    """The exchanges of a file's text: a JSON list of role/content messages, or conversations in LoCoMo's form.

    Args:
        source: the file's name, for the errors.

    Raises:
        UsageError: it is neither.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise UsageError(
            f"{source} is not valid JSON; pass role/content messages or a file in LoCoMo's form"
        ) from error
    if isinstance(data, list) and data and all(_is_locomo(item) for item in data):
        return tuple(exchange for item in data for exchange in exchanges(_locomo_messages(item["conversation"])))
    imported = import_conversation(text, source=source)
    found = exchanges(imported.messages)
    if not found:
        raise UsageError(f"{source} has no exchange of plain texts; pass a longer conversation")
    return found


def exchanges(messages: Iterable[Message]) -> tuple[Exchange, ...]:
    """The pairs of a question and its reply, their texts alone."""
    texts = [Message(message.role, (Text(message.text),)) for message in messages if message.text.strip()]
    kept = list(normalise(texts).messages)
    return tuple(zip(kept[::2], kept[1::2], strict=False))


async def cut_to(
    history: Sequence[Exchange], tokens: int, *, count: Count, asides: Sequence[str]
) -> tuple[Exchange, ...]:
    """A history of about so many tokens; a short one is told again from its beginning.

    Args:
        asides: what the person says of others, in front of the words of some exchanges: spread evenly, as many as a
            third of the length holds. The replies stay as they are, or a model would only learn a stock phrase.
        count: counts the tokens of a text; the frame of a message is added.
    """
    about_others: list[str] = []
    left = tokens // _ASIDES_SHARE
    for aside in asides:
        left -= await count(aside)
        if left < 0:
            break
        about_others.append(aside)
    spent = sum([await count(aside) for aside in about_others])
    filler: list[Exchange] = []
    while history and spent < tokens:
        further = await _as_long_as(history, tokens - spent, count)
        if not further:
            break
        filler += further
        spent += sum([await _size(exchange, count) for exchange in further])
    return _spread(filler, about_others)


async def _as_long_as(history: Sequence[Exchange], tokens: int, count: Count) -> list[Exchange]:
    kept: list[Exchange] = []
    for exchange in history:
        tokens -= await _size(exchange, count)
        if tokens < 0:
            break
        kept.append(exchange)
    return kept


async def _size(exchange: Exchange, count: Count) -> int:
    return sum([await count(message.text) + _FRAME for message in exchange])


def _spread(filler: Sequence[Exchange], asides: Sequence[str]) -> tuple[Exchange, ...]:
    mixed = list(filler)
    for number, aside in enumerate(asides[: len(filler)]):
        place = int((number + 0.5) * len(filler) / min(len(asides), len(filler)))
        asked, reply = mixed[place]
        mixed[place] = (user(f"{aside} {asked.text}"), reply)
    return tuple(mixed)


def _is_locomo(item: object) -> bool:
    conversation = item.get("conversation") if isinstance(item, dict) else None
    return isinstance(conversation, dict) and isinstance(conversation.get("speaker_a"), str)


def _locomo_messages(conversation: dict[str, Any]) -> list[Message]:
    """All sessions in order; the first speaker is the person, the other one the assistant."""
    sessions = [key for key, value in conversation.items() if key.startswith(_SESSION) and isinstance(value, list)]
    sessions.sort(key=lambda key: int(key.removeprefix(_SESSION)) if key.removeprefix(_SESSION).isdecimal() else 0)
    messages = []
    for key in sessions:
        for line in conversation[key]:
            text = line.get("text") if isinstance(line, dict) else None
            if isinstance(text, str):
                role = Role.USER if line.get("speaker") == conversation["speaker_a"] else Role.ASSISTANT
                messages.append(Message(role, (Text(text),)))
    return messages
