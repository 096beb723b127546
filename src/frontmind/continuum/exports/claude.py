"""Reads a conversation of claude.ai's data export: a list of messages, which may be the nodes of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from frontmind.continuum.exports.blocks import block_texts, file_names, without_blank
from frontmind.continuum.exports.moments import read_moment
from frontmind.continuum.exports.tree import branch_to, newest_leaf
from frontmind.continuum.exports.value import BrokenEntry, Found, Problems, Said, name_of
from frontmind.values.message import Role

_ROLES: Final = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
# The parent of a first message.
_NO_MESSAGE: Final = "00000000-0000-4000-8000-000000000000"


def key_of(entry: Mapping[str, Any]) -> str:
    """What claude.ai calls the conversation; empty where it has no name."""
    return name_of(entry.get("uuid"))


def read_claude(entry: Mapping[str, Any], problems: Problems) -> Found:
    """Read one element of ``conversations.json``.

    Raises:
        BrokenEntry: it has no list of messages.
    """
    messages = entry.get("chat_messages")
    if not isinstance(messages, list):
        raise BrokenEntry("it has no list 'chat_messages'")
    said = []
    for number, message in _of_the_last_branch(entry, messages, problems):
        kept = _read_message(number, message, problems)
        if kept is not None:
            said.append(kept)
    began = read_moment(entry.get("created_at")) or read_moment(entry.get("updated_at"))
    title = entry.get("name")
    return Found(key_of(entry), title if isinstance(title, str) else "", tuple(said), began)


def _of_the_last_branch(entry: Mapping[str, Any], messages: list[Any], problems: Problems) -> list[tuple[int, Any]]:
    """The messages with their numbers in the list: all, or those of one branch where they name their parents."""
    numbered = list(enumerate(messages, start=1))
    whole = [message for message in messages if isinstance(message, Mapping)]
    by_key = {name_of(message.get("uuid")): message for message in whole}
    named = all(name_of(message.get("uuid")) and "parent_message_uuid" in message for message in whole)
    if not whole or not named or len(by_key) < len(whole):
        return numbered
    parents = {key: _parent(message) for key, message in by_key.items()}
    leaf = entry.get("current_leaf_message_uuid")
    if not isinstance(leaf, str) or leaf not in parents:
        leaf = newest_leaf(parents, _moments(by_key))
    branch = branch_to(leaf, parents) if leaf is not None else None
    if branch is None:
        return numbered
    if branch.fault:
        problems.add(branch.fault)
    place = {name_of(message.get("uuid")): number for number, message in numbered if isinstance(message, Mapping)}
    broken = [(number, message) for number, message in numbered if not isinstance(message, Mapping)]
    return [*((place[key], by_key[key]) for key in branch.nodes), *broken]


def _parent(message: Mapping[str, Any]) -> str | None:
    parent = name_of(message["parent_message_uuid"])
    return None if parent in ("", _NO_MESSAGE) else parent


def _moments(messages: Mapping[str, Mapping[str, Any]]) -> dict[str, datetime]:
    moments = {key: read_moment(message.get("created_at")) for key, message in messages.items()}
    return {key: moment for key, moment in moments.items() if moment is not None}


def _read_message(number: int, message: object, problems: Problems) -> Said | None:
    if not isinstance(message, Mapping):
        if message is not None:
            problems.add("it is not an object", message=number)
        return None
    sender = message.get("sender")
    if sender == "system":
        return None
    if not isinstance(sender, str) or sender not in _ROLES:
        problems.add(f"it has the unknown sender {sender!r}", message=number)
        return None
    texts = block_texts(message.get("content"), lambda why: problems.add(why, message=number))
    text = message.get("text")
    if not message.get("content") and isinstance(text, str):
        # Exports up to 2024 have no list of blocks.
        texts = without_blank((text,))
    texts += file_names(message.get("attachments"), "file_name")
    texts += file_names(message.get("files") or message.get("files_v2"), "file_name", "file_uuid")
    at = read_moment(message.get("created_at"))
    return Said(_ROLES[sender], texts, at, name_of(message.get("uuid"))) if texts else None
