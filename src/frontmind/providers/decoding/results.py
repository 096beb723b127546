"""Tool results as they are read: what can be said of them everywhere, and the rest for the format they came in.

Knows no format's JSON: a decoder says what its own encoder would make of the readable form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from frontmind.values.parts import Document, Image, Part, ProviderBlock, Text, ToolResult
from frontmind.window.canonical import canonical_json


def readable_result(call_id: str, parts: Iterable[Part], *, is_error: bool = False) -> ToolResult:
    """The result's texts with a blank line between, and the files that have a value of their own.

    A part that says nothing in words is named by its kind.
    """
    texts: list[str] = []
    files: list[Image | Document] = []
    for part in parts:
        if isinstance(part, Image | Document):
            files.append(part)
        elif isinstance(part, Text | ProviderBlock):
            texts.append(part.text or ("" if isinstance(part, Text) else _kind(part)))
    return ToolResult(call_id, "\n\n".join(texts), is_error, tuple(files))


def kept_result(result: ToolResult, wire: str, own: Mapping[str, Any], spelled: Mapping[str, Any]) -> ToolResult:
    """The result with its original, where its readable form would be sent as something else.

    Args:
        own: the result as it came, without the id of its call and without cache markers.
        spelled: what the encoder of the same format makes of ``result``, without the id.
    """
    data = canonical_json(own)
    return result if data == canonical_json(spelled) else replace(result, wire=wire, data=data.decode())


def _kind(part: ProviderBlock) -> str:
    return f"(a part of the format {part.wire})"
