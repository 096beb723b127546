"""How values are spelled in the tables: text, moments, JSON, messages. Knows no SQL and no connection.

The functions `from_…` take what their counterpart gave; they raise ValueError or TypeError for anything else,
which `decoding` makes an error of the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

from frontmind.errors import UsageError
from frontmind.stores.sqlite.failures import Damaged
from frontmind.values.message import Message, Role
from frontmind.values.parts import (
    Document,
    Image,
    Notice,
    Part,
    ProviderBlock,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Voice,
)
from frontmind.values.records import Sent, SentSection
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json, JsonObject

StoredText: TypeAlias = str | bytes


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Around code that makes a value of a row; ``what`` names the value.

    Raises:
        Damaged: nothing that was ever stored looks like this row.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError) as error:
        raise Damaged(what) from error


def to_text(text: str) -> StoredText:
    """The text as TEXT, or as BLOB where SQLite's TEXT cannot hold it: NUL and lone surrogates.

    Each string has exactly one spelling, so that a column of them can be compared and be unique.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors="surrogatepass")
    return text.encode("utf-8") if "\0" in text else text


def from_text(stored: StoredText) -> str:
    """What `to_text` was given."""
    return stored if isinstance(stored, str) else str(stored, "utf-8", errors="surrogatepass")


def to_moment(moment: datetime) -> str:
    """The moment in UTC, always equally long, so that moments sort as text.

    Raises:
        UsageError: the moment has no offset from UTC.
    """
    if moment.utcoffset() is None:
        raise UsageError(f"the time {moment.isoformat()} has no time zone; pass an aware datetime")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def from_moment(stored: str) -> datetime:
    """What `to_moment` was given, in UTC."""
    return datetime.fromisoformat(stored)


def to_due(due: datetime | date) -> str:
    """A moment or a date; the length tells which."""
    return to_moment(due) if isinstance(due, datetime) else due.isoformat()


def from_due(stored: str) -> datetime | date:
    """What `to_due` was given; a moment in UTC."""
    return from_moment(stored) if "T" in stored else date.fromisoformat(stored)


def to_json(value: Json) -> StoredText:
    """The value as JSON with sorted keys, from which `from_json` makes the same value again."""
    # Not canonical_json: that escapes lone surrogates, and two escapes side by side are read as one character.
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return to_text(text)


def from_json(stored: StoredText) -> Any:
    """What `to_json` was given."""
    return json.loads(from_text(stored))


def to_message(message: Message) -> StoredText:
    """The message as JSON."""
    return to_json({"role": message.role.value, "parts": [_fields(part) for part in message.parts]})


def from_message(stored: StoredText) -> Message:
    """What `to_message` was given."""
    match from_json(stored):
        case {"role": "user" | "assistant" as role, "parts": [*parts]}:
            return Message(Role(role), tuple(_part(part) for part in parts))
    raise ValueError("this JSON is no message")


def to_sent(sent: Sent) -> StoredText:
    """What stood beside a turn, as JSON."""
    return to_json(
        {
            "notices": [_fields(notice) for notice in sent.notices],
            "sections": sent.sections,
            "window_start": sent.window_start,
            "head": sent.head,
            "system": [[section.name, section.text, section.cache_policy] for section in sent.system],
            "framing": sent.framing,
            "ttl": sent.ttl,
            **({"caller_tools": list(sent.caller_tools)} if sent.caller_tools else {}),
            **({"framing_reason": sent.framing_reason} if sent.framing_reason else {}),
        }
    )


def from_sent(stored: StoredText) -> Sent:
    """What `to_sent` was given."""
    fields = from_json(stored)
    match fields:
        case {"notices": [*notices], "sections": {**sections}, "window_start": int(start), "head": str(head)}:
            parts = tuple(part for notice in notices if isinstance(part := _part(notice), Notice))
            digests = {str(name): str(value) for name, value in sections.items()}
            system = tuple(SentSection(*section) for section in fields.get("system", ()))
            layout = (str(fields.get("framing", "")), str(fields.get("ttl", "")))
            callers = tuple(str(name) for name in fields.get("caller_tools", ()))
            return Sent(parts, digests, start, head, system, *layout, callers, str(fields.get("framing_reason", "")))
    raise ValueError("this JSON does not say what was sent")


def to_usage(usage: Usage) -> StoredText:
    """The token counts as JSON."""
    return to_json({**asdict(usage), "written_by_ttl": dict(usage.written_by_ttl)})


def from_usage(stored: StoredText) -> Usage:
    """What `to_usage` was given."""
    fields = from_json(stored)
    return Usage(**{**fields, "written_by_ttl": tuple(fields["written_by_ttl"].items())})


def _fields(part: Part) -> JsonObject:
    """Fields that hold their default are left out: what was stored before they existed stays as it was."""
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image() | Document() as file:
            return {"type": type(file).__name__.lower(), **_file_fields(file)}
        case Thinking(text, wire, data):
            return {"type": "thinking", "text": text, "wire": wire, "data": data}
        case ProviderBlock(wire, data, text):
            return {"type": "provider_block", "wire": wire, "data": data, "text": text}
        case Notice(text, voice, sections, lasting):
            said = [list(pair) for pair in sections]
            return {"type": "notice", "text": text, "voice": voice.value, "sections": said, "lasting": lasting}
        case ToolCall(call_id, name, arguments, signature):
            signed = {"signature": signature} if signature else {}
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments, **signed}
        case ToolResult(call_id, text, is_error, attachments, wire, data):
            files = {"attachments": [_fields(item) for item in attachments]} if attachments else {}
            own = {key: value for key, value in (("wire", wire), ("data", data)) if value}
            return {"type": "tool_result", "call_id": call_id, "text": text, "is_error": is_error, **files, **own}


def _file_fields(file: Image | Document) -> dict[str, Json]:
    fields: dict[str, Json] = {"media_type": file.media_type, "data": file.data, "url": file.url}
    return fields if isinstance(file, Image) else {**fields, "name": file.name}


def _part(fields: Any) -> Part:
    match fields:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "media_type": str(media_type), "data": str(data), "url": str(url)}:
            return Image(media_type, data, url)
        case {"type": "document", "media_type": str(kind), "data": str(data), "url": str(url), "name": str(name)}:
            return Document(kind, data, url, name)
        case {"type": "thinking", "text": str(text), "wire": str(wire), "data": str(data)}:
            return Thinking(text, wire, data)
        case {"type": "provider_block", "wire": str(wire), "data": str(data), "text": str(text)}:
            return ProviderBlock(wire, data, text)
        case {"type": "notice", "text": str(text), "voice": str(voice), "sections": [*said], "lasting": bool(lasting)}:
            sections = tuple((str(name), str(value)) for name, value in said)
            return Notice(text, Voice(voice), sections, lasting)
        case {"type": "tool_call", "id": str(call_id), "name": str(name), "arguments": str(arguments), **more}:
            return ToolCall(call_id, name, arguments, str(more.get("signature", "")))
        case {"type": "tool_result", "call_id": str(call_id), "text": str(text), "is_error": bool(is_error)}:
            parts = [_part(item) for item in fields.get("attachments", ())]
            files = tuple(part for part in parts if isinstance(part, Image | Document))
            return ToolResult(call_id, text, is_error, files, str(fields.get("wire", "")), str(fields.get("data", "")))
    raise ValueError("this JSON is no part of a message")
