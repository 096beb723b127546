"""Exports of other programs as tests write them, and what was read of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from frontmind.continuum.exports import Entry, Export, ExportKind, ImportedConversation, Problem
from support import REPOSITORY, START

SAMPLES = REPOSITORY / "tests" / "data" / "chat_exports"


def entries(kind: ExportKind, data: object, name: str = "conversations.json") -> list[Entry]:
    """What is read of an export; what is not bytes is written as JSON."""
    written = data if isinstance(data, bytes) else json.dumps(data).encode()
    return list(Export(io.BytesIO(written), name, kind, at=START).entries())


def conversations(found: Sequence[Entry]) -> list[ImportedConversation]:
    return [entry.conversation for entry in found if entry.conversation is not None]


def problems(found: Sequence[Entry]) -> list[Problem]:
    return [problem for entry in found for problem in entry.problems]


def told(conversation: ImportedConversation) -> list[tuple[str, str]]:
    """The exchanges as texts."""
    return [(turn.user.text, turn.reply.text) for turn in conversation.turns]


def zipped(files: Mapping[str, object]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
    return held.getvalue()


def node(
    key: str, parent: str | None, role: str, *parts: object, at: float | None = None, **more: Any
) -> dict[str, Any]:
    """A node of a ChatGPT tree with a message of these parts; ``more`` stands in the message."""
    kind = "text" if all(isinstance(part, str) for part in parts) else "multimodal_text"
    content = {"content_type": kind, "parts": list(parts)}
    message = {"id": key, "author": {"role": role}, "create_time": at, "content": content, **more}
    return {"id": key, "parent": parent, "children": [], "message": message}


def chat(*nodes: Mapping[str, Any], current: str | None = None, key: str = "c-1", **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation of these nodes, the last of which was open."""
    return {
        "id": key,
        "conversation_id": key,
        "title": "Trains",
        "create_time": 1_700_000_000.0,
        "mapping": {item["id"]: item for item in nodes},
        "current_node": nodes[-1]["id"] if current is None and nodes else current,
        **more,
    }
