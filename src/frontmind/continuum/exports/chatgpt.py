"""Reads a conversation of ChatGPT's data export: a tree of nodes, and the one that was open.

The branch from that node to the root is the conversation. Nodes on it that the person never saw (system, tools,
reasoning, hidden context) are passed over, and their children follow the nearest that is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from frontmind.continuum.exports.blocks import file_names, named, without_blank
from frontmind.continuum.exports.moments import read_moment
from frontmind.continuum.exports.tree import branch_to, newest_leaf
from frontmind.continuum.exports.value import BrokenEntry, Found, Problems, Said, name_of
from frontmind.values.message import Role

_UNSEEN_TYPES: Final = frozenset({"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"})
_UNSEEN_MARKS: Final = ("is_visually_hidden_from_conversation", "is_user_system_message")
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT}
_ASSETS: Final = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
    "real_time_user_audio_video_asset_pointer": "audio",
}
_KNOWN_TYPES: Final = frozenset({"text", "multimodal_text", "code"})


def key_of(entry: Mapping[str, Any]) -> str:
    """What ChatGPT calls the conversation; empty where it has no name."""
    return name_of(entry.get("conversation_id")) or name_of(entry.get("id"))


def read_chatgpt(entry: Mapping[str, Any], problems: Problems) -> Found:
    """Read one element of ``conversations.json``.

    Raises:
        BrokenEntry: it has no tree of messages.
    """
    nodes = entry.get("mapping")
    if not isinstance(nodes, Mapping):
        raise BrokenEntry("it has no 'mapping' of messages")
    parents = _parents(nodes)
    leaf = entry.get("current_node")
    if not isinstance(leaf, str) or leaf not in parents:
        leaf = newest_leaf(parents, _moments(nodes))
    said: list[Said] = []
    if leaf is not None:
        branch = branch_to(leaf, parents)
        if branch.fault:
            problems.add(branch.fault)
        said = _read_branch(nodes, branch.nodes, problems)
    began = read_moment(entry.get("create_time")) or read_moment(entry.get("update_time"))
    title = entry.get("title")
    return Found(key_of(entry), title if isinstance(title, str) else "", tuple(said), began)


def _read_branch(nodes: Mapping[str, Any], branch: tuple[str, ...], problems: Problems) -> list[Said]:
    said = []
    number = 0
    for key in branch:
        node = nodes[key]
        message = node.get("message") if isinstance(node, Mapping) else None
        if message is None and isinstance(node, Mapping):
            continue
        number += 1
        try:
            kept = _read_message(key, message)
        except BrokenEntry as error:
            problems.add(str(error), message=number)
            continue
        if kept is not None:
            said.append(kept)
    return said


def _parents(nodes: Mapping[str, Any]) -> dict[str, str | None]:
    """Each node's parent, as it says itself, or else as the parent says."""
    told = {
        child: key
        for key, node in nodes.items()
        if isinstance(node, Mapping) and isinstance(node.get("children"), list)
        for child in node["children"]
        if isinstance(child, str)
    }
    parents: dict[str, str | None] = {}
    for key, node in nodes.items():
        parent = node.get("parent") if isinstance(node, Mapping) else None
        own = parent if isinstance(parent, str) else None
        parents[key] = own if own in nodes else told.get(key, own)
    return parents


def _moments(nodes: Mapping[str, Any]) -> dict[str, datetime]:
    moments = {}
    for key, node in nodes.items():
        message = node.get("message") if isinstance(node, Mapping) else None
        moment = read_moment(message.get("create_time")) if isinstance(message, Mapping) else None
        if moment is not None:
            moments[key] = moment
    return moments


def _read_message(key: str, message: object) -> Said | None:
    """The message; None where the person never saw it."""
    if not isinstance(message, Mapping):
        raise BrokenEntry("it is not an object")
    author = message.get("author")
    role = author.get("role") if isinstance(author, Mapping) else None
    if not isinstance(role, str):
        raise BrokenEntry("it has no author with a role")
    if role in ("system", "developer"):
        return None
    if role not in _ROLES:
        raise BrokenEntry(f"it has the unknown role {role!r}")
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    content = message.get("content")
    if content is None or _is_unseen(message, metadata, content):
        return None
    if not isinstance(content, Mapping):
        raise BrokenEntry("its content is not an object")
    # What a tool says is for the model; a picture that it made is shown to the person.
    texts = _pictures(content) if role == "tool" else (*_texts(content, metadata), *_attached(metadata))
    return Said(_ROLES[role], texts, read_moment(message.get("create_time")), key) if texts else None


def _is_unseen(message: Mapping[str, Any], metadata: Mapping[str, Any], content: object) -> bool:
    weight = message.get("weight")
    return (
        (isinstance(weight, int | float) and weight == 0)
        or message.get("recipient") not in (None, "", "all")
        or message.get("channel") == "analysis"
        or any(metadata.get(mark) is True for mark in _UNSEEN_MARKS)
        or (isinstance(content, Mapping) and name_of(content.get("content_type")) in _UNSEEN_TYPES)
    )


def _texts(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, ...]:
    kind = name_of(content.get("content_type"))
    parts = content.get("parts")
    if parts is not None and not isinstance(parts, list):
        raise BrokenEntry("the parts of its content are not a list")
    texts = [] if not kind or kind in _KNOWN_TYPES else [named(kind)]
    text = content.get("text")
    if kind == "code":
        code = text if isinstance(text, str) and text.strip() else metadata.get("finished_text")
        texts += [_fenced(code, content.get("language"))] if isinstance(code, str) and code.strip() else []
    elif isinstance(text, str):
        texts.append(text)
    attached = _attached_ids(metadata)
    for part in parts or ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and (not kind or kind in _KNOWN_TYPES):
            texts.append(_part(part, attached))
        elif part is not None and not isinstance(part, Mapping):
            raise BrokenEntry("a part of its content is neither a text nor an object")
    return without_blank(texts)


def _part(part: Mapping[str, Any], attached: frozenset[str]) -> str:
    """A part that is no plain text: its words where it has any, else its type. A file is named only once."""
    pointer = part.get("asset_pointer")
    if isinstance(pointer, str) and pointer.rpartition("/")[2] in attached:
        return ""
    text = part.get("text")
    kind = name_of(part.get("content_type"))
    return text if isinstance(text, str) else named(_ASSETS.get(kind, kind) or "part")


def _pictures(content: Mapping[str, Any]) -> tuple[str, ...]:
    parts = content.get("parts")
    kinds = [part.get("content_type") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return tuple(named("image") for kind in kinds if kind == "image_asset_pointer")


def _attached(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    return file_names(metadata.get("attachments"), "name")


def _attached_ids(metadata: Mapping[str, Any]) -> frozenset[str]:
    files = metadata.get("attachments")
    found = [file.get("id") for file in files if isinstance(file, Mapping)] if isinstance(files, list) else []
    return frozenset(name for name in found if isinstance(name, str))


def _fenced(code: str, language: object) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    name = language if isinstance(language, str) and language.isalnum() and language != "unknown" else ""
    return f"{fence}{name}\n{code.rstrip()}\n{fence}"
