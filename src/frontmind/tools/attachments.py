"""Which pictures and files of a result go to the model; the others are named in its text.

One that the model cannot take would have every later request of the conversation refused. Knows no tool.
"""

from __future__ import annotations

from dataclasses import replace

from frontmind.errors import RunError
from frontmind.providers.encoding.dialect import is_base64
from frontmind.tools.tool import ToolOutput
from frontmind.values.harmless import one_line
from frontmind.values.parts import Document, Image


def with_fitting_attachments(output: ToolOutput, inputs: frozenset[str] | None, limit: int) -> ToolOutput:
    """The output with only those attachments that can be sent, and a line in its text for each of the others.

    Args:
        inputs: the media types that the model takes; None where nobody knows.
        limit: the most characters of base64 of all attachments together.

    Raises:
        RunError: an attachment is neither a picture nor a document.
    """
    if not output.attachments:
        return output
    kept: list[Image | Document] = []
    lines = [output.text] if output.text else []
    left = limit
    for item in output.attachments:
        if not isinstance(item, Image | Document):
            raise RunError(f"it attached a {type(item).__name__}, not an Image or a Document")
        problem = _problem(item, inputs, left, limit)
        if problem:
            lines.append(f"({_described(item)}: {problem})")
        else:
            kept.append(item)
            left -= len(item.data)
    return replace(output, text="\n".join(lines), attachments=tuple(kept))


def _problem(item: Image | Document, inputs: frozenset[str] | None, left: int, limit: int) -> str:
    if inputs is not None and item.media_type not in inputs:
        return "this model does not take it"
    if len(item.data) > left:
        return f"too large, a result may attach {_bytes(limit):,} bytes"
    if bool(item.data) == bool(item.url) or (item.data and not is_base64(item.data)):
        return "it cannot be read"
    return ""


def _described(item: Image | Document) -> str:
    name = f"{one_line(item.name, 80)}, " if isinstance(item, Document) and item.name else ""
    size = f", {_bytes(len(item.data) - item.data[-2:].count('=')):,} bytes" if item.data else ""
    return f"{name}{one_line(item.media_type, 80)}{size}"


def _bytes(characters: int) -> int:
    return characters * 3 // 4
