"""What an MCP server gives back for a call, as the output of a tool. Knows nothing of connections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from frontmind.providers.encoding.dialect import is_base64
from frontmind.tools.tool import ToolOutput
from frontmind.values.parts import Document, Image
from frontmind.window.canonical import canonical_text

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

_DOCUMENTS = ("application/pdf", "text/")


def tool_output(result: CallToolResult) -> ToolOutput:
    """The result's texts, a blank line between, and its pictures and documents.

    Structured content is said where nothing else is: a server that has both says the same in both. What no model
    takes, such as sound, is named.

    Raises:
        ValueError: the structured content cannot be said as JSON.
    """
    texts: list[str] = []
    attachments: list[Image | Document] = []
    for item in map(_part, result.content):
        if isinstance(item, str):
            texts.append(item)
        else:
            attachments.append(item)
    if not result.content and result.structured_content is not None:
        texts.append(canonical_text(result.structured_content))
    return ToolOutput("\n\n".join(texts), is_error=result.is_error, attachments=tuple(attachments))


def _part(block: ContentBlock) -> str | Image | Document:
    match block.type:
        case "text":
            return block.text
        case "image":
            return _file(block.data, block.mime_type, "picture")
        case "audio":
            return f"[{block.mime_type}, which cannot be shown]"
        case "resource_link":
            described = f" ({block.description})" if block.description else ""
            return f"{block.name}: {block.uri}{described}"
        case "resource":
            return _resource(block.resource)


def _resource(resource: Any) -> str | Image | Document:
    text = getattr(resource, "text", None)
    if text is not None:
        return f"{resource.uri}:\n{text}"
    name = resource.uri.rstrip("/").rpartition("/")[2]
    return _file(resource.blob, resource.mime_type or "application/octet-stream", name)


def _file(data: str, media_type: str, name: str) -> str | Image | Document:
    """The file as an attachment; a line that names it where a provider would refuse the whole request for it."""
    if data and is_base64(data):
        if media_type.startswith("image/"):
            return Image(media_type, data=data)
        if media_type.startswith(_DOCUMENTS):
            return Document(media_type, data=data, name=name)
    return f"[{name}: {media_type}, which cannot be shown]"


def first_line(texts: Iterable[str | None]) -> str:
    """The first line of the first text that has one."""
    return next((line for text in texts if text for line in text.splitlines() if line.strip()), "")
