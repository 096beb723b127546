"""Reads conversations that are lists of role/content messages, as the APIs of OpenAI and Anthropic take them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from frontmind.continuum.exports.blocks import named, without_blank
from frontmind.continuum.exports.moments import read_moment
from frontmind.continuum.exports.value import BrokenEntry, Found, Problems, Said, name_of
from frontmind.continuum.importing import read_message
from frontmind.errors import UsageError
from frontmind.values.message import Message
from frontmind.values.parts import Document, Image, Text

_KEYS: Final = ("conversation_id", "id", "uuid")
_TITLES: Final = ("title", "name")
_MOMENTS: Final = ("create_time", "created_at", "created", "timestamp", "time", "date")
# The last is what tools had for a role until 2023.
_UNSEEN_ROLES: Final = ("system", "developer", "function")


def key_of(entry: Mapping[str, Any]) -> str:
    """What the conversation is called; empty where it has no name."""
    return next((name for name in (name_of(entry.get(key)) for key in _KEYS) if name), "")


def read_openai_messages(entry: Mapping[str, Any], problems: Problems) -> Found:
    """Read an object with the list ``messages``.

    Raises:
        BrokenEntry: it has no such list.
    """
    messages = entry.get("messages")
    if not isinstance(messages, list):
        raise BrokenEntry("it has no list 'messages'")
    said = []
    for number, item in enumerate(messages, start=1):
        if isinstance(item, Mapping) and item.get("role") in _UNSEEN_ROLES:
            continue
        try:
            message = read_message(number, item, source="the conversation")
        except UsageError as error:
            problems.add(str(error), message=number)
            continue
        texts = () if message is None else _texts(message)
        if message is not None and texts:
            said.append(Said(message.role, texts, _moment(item), name_of(item.get("id"))))
    title = next((entry[key] for key in _TITLES if isinstance(entry.get(key), str)), "")
    return Found(key_of(entry), title, tuple(said), _moment(entry))


def _texts(message: Message) -> tuple[str, ...]:
    """What is said; pictures and files are named, reasoning and the traffic of tools left out."""
    texts = []
    for part in message.parts:
        match part:
            case Text(text):
                texts.append(text)
            case Image():
                texts.append(named("image"))
            case Document():
                texts.append(named(f"file: {part.name}" if part.name else "file"))
            case _:
                continue
    return without_blank(texts)


def _moment(item: Mapping[str, Any]) -> datetime | None:
    moments = (read_moment(item.get(key)) for key in _MOMENTS)
    return next((moment for moment in moments if moment is not None), None)
