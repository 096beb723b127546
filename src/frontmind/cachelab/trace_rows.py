"""One row of a request log: whom it went to, the request, and what was counted. Liberal in how it is spelled.

A row is ``{provider, model, request, usage, time}``; of these only the request is needed. A request as it was sent, or
one beside its address (``{path, body}``), is a row as well. Knows no other row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

from frontmind.cachelab.trace_usage import ImpossibleUsage, read_usage
from frontmind.continuum.exports.moments import read_moment
from frontmind.errors import UsageError
from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.decoding.reply import DecodedRequest
from frontmind.providers.names import Provider
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.reading import SAVED_WINDOW, Hints, is_request, read_request
from frontmind.providers.reading_gemini import camel
from frontmind.values.harmless import one_line
from frontmind.values.message import Message
from frontmind.values.parts import Part, ProviderBlock, ToolResult
from frontmind.values.tool import AnyTool
from frontmind.values.usage import Usage
from frontmind.window.canonical import parse_json
from frontmind.window.layout import Layout

_BODIES: Final = ("request", "body")
_ADDRESSES: Final = ("uri", "url", "path")
_MOMENTS: Final = ("time", "timestamp", "at", "sent_at")
_CONVERSATIONS: Final = ("conversation", "conversation_id", "session", "session_id", "source")
_LOGGED: Final = frozenset({"provider", "usage", *_MOMENTS})
_ALIASES: Final = {"google": "gemini", "aws": "bedrock", "azure": "openai"}
# Where the shape of a short body does not tell its format.
_PATHS: Final = {
    "anthropic": "/v1/messages",
    **dict.fromkeys(("openrouter", "deepseek", "ollama", "compatible", "local"), "/chat/completions"),
}
_KNOWN: Final = ", ".join(provider.value for provider in Provider)
_WHAT: Final = "write {provider, model, request, usage, time} with the request as it was sent"
_SHOWN: Final = 80


class BrokenRow(Exception):
    """The row cannot be replayed; the text says why and what to do, on one line."""


class LeftOut(Exception):
    """The row is none that a replay counts; the text says what it is, on one line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was read.

    Attributes:
        conversation: what the row says that it belongs to; empty where it says nothing.
        at: None where it does not tell.
        usage: None where it does not tell, or not usably.
        layout: the request as a cache sees it.
        decoded: the request as values.
        reply: what the model answered; None where the row does not tell.
        is_sum: whether the figures are those of several calls that the provider made by itself for this one.
        faults: what is wrong with the row, and what to do, one line each; the rest of it holds.
    """

    conversation: str
    at: datetime | None
    usage: Usage | None
    layout: Layout
    decoded: DecodedRequest
    reply: Message | None
    is_sum: bool = False
    faults: tuple[str, ...] = ()


def read_row(value: object) -> Row:
    """Read a row.

    Raises:
        BrokenRow: there is no request in it, or not one that can be read, or its provider is unknown.
        LeftOut: it is of another kind than a call of a model.
    """
    if not isinstance(value, Mapping):
        raise BrokenRow(f"it is no object; {_WHAT}")
    body, wrapped = _body(value)
    provider = _provider(value)
    hints = _hints(value, provider)
    _require_call(body, hints)
    try:
        layout = read_request(body, hints)
    except (UsageError, RecursionError) as error:
        raise BrokenRow(f"its request cannot be read: {_said(error)}") from error
    if layout.wire == SAVED_WINDOW:
        raise BrokenRow("it is a saved window, which was sent to nobody; pass requests")
    if layout.stateful:
        raise LeftOut("it goes on from something that only the provider has")
    if provider:
        layout = replace(layout, provider=provider)
    faults: list[str] = []
    if not layout.model:
        faults.append("it names no model; write it under model")
    at = _moment(value, faults)
    usage, reply = _counted(value, layout, wrapped=wrapped, faults=faults)
    is_sum = _has_inner_calls(value.get("usage")) or (reply is not None and used_provider_tools(reply))
    return Row(_conversation(value), at, usage, layout, _decoded(body, layout), reply, is_sum, tuple(faults))


def used_provider_tools(message: Message) -> bool:
    """Whether the provider carried out tools while it made this message, and asked its model again for each."""
    blocks = (part for part in message.parts if isinstance(part, ProviderBlock))
    return any('"type":"server_tool_use"' in block.data for block in blocks)


def _has_inner_calls(figures: object) -> bool:
    listed = figures if isinstance(figures, list) else [figures]
    inner = [item.get("iterations") for item in listed if isinstance(item, Mapping)]
    return any(isinstance(calls, list) and len(calls) > 1 for calls in inner)


def _body(value: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The request, and whether it stands by itself, without a log around it."""
    if is_request(value):
        return dict(value), True
    for key in _BODIES:
        body = value.get(key)
        if isinstance(body, str):
            try:
                body = parse_json(body)
            except ValueError as error:
                raise BrokenRow(f"its {key} is a text that is not JSON ({_said(error)}); {_WHAT}") from error
        if isinstance(body, dict):
            return body, not value.keys() & _LOGGED
    raise BrokenRow(f"it has no request; {_WHAT}")


def _provider(value: Mapping[str, Any]) -> str:
    """The provider that the row names; empty where it names none."""
    named = value.get("provider")
    if named is None:
        return ""
    text = str(named).strip().lower()
    name = _ALIASES.get(text, text)
    if name not in set(Provider):
        raise BrokenRow(f"the provider {one_line(str(named), _SHOWN)!r} is unknown; use one of {_KNOWN}")
    return name


def _hints(value: Mapping[str, Any], provider: str) -> Hints:
    address = next((value[key] for key in _ADDRESSES if isinstance(value.get(key), str)), "")
    model = value.get("model")
    return Hints(address or _PATHS.get(provider, ""), model if isinstance(model, str) else "")


def _require_call(body: Mapping[str, Any], hints: Hints) -> None:
    address = hints.uri.partition("?")[0]
    if address.endswith(("/count_tokens", ":countTokens", "/count-tokens")):
        raise LeftOut("it only counts tokens")
    if address.endswith(("/cachedContents", "/embeddings")) or address.endswith(":embedContent"):
        raise LeftOut("it makes an entry of a cache or an embedding, and no reply")
    if not is_request(body) and "messages" not in body:
        raise BrokenRow(f"its request has the shape of no supported format; {_WHAT}")


def _moment(value: Mapping[str, Any], faults: list[str]) -> datetime | None:
    found = next((value[key] for key in _MOMENTS if value.get(key) is not None), None)
    if found is None:
        return None
    at = read_moment(found)
    if at is None:
        faults.append(f"the time {one_line(str(found), _SHOWN)!r} cannot be read; write ISO 8601 or seconds since 1970")
    return at


def _counted(
    value: Mapping[str, Any], layout: Layout, *, wrapped: bool, faults: list[str]
) -> tuple[Usage | None, Message | None]:
    wire = Wire(layout.wire)
    answer = value.get("response")
    response = answer if isinstance(answer, Mapping) else {}
    figures = next(
        (found for found in (value.get("usage"), response.get("usage"), response.get("usageMetadata")) if found), None
    )
    usage = None
    profile = resolve_profile(layout.provider, layout.model)
    try:
        meaning = profile.usage if profile.wire is wire else None
        usage = read_usage(wire, figures, meaning=meaning, both=layout.provider == "openrouter")
        if usage is None and not wrapped:
            faults.append("it has no usage; write what the provider counted, as it gave it")
    except ImpossibleUsage as error:
        faults.append(f"its usage cannot be: {error}; write what the provider counted, as it gave it")
    return usage, _reply(wire, value.get("response_content"), response)


def _reply(wire: Wire, content: object, response: Mapping[str, Any]) -> Message | None:
    body = response
    if not body and isinstance(content, list) and wire in (Wire.ANTHROPIC, Wire.BEDROCK_INVOKE):
        body = {"content": content}
    try:
        said = DECODERS[wire].reply(body).message if body else None
        require_plain(said.parts if said is not None else ())
    except (ValueError, TypeError, LookupError, AttributeError):
        # The reply only serves the turn behind it, and there is none.
        return None
    return said if said is not None and said.parts else None


def _decoded(body: dict[str, Any], layout: Layout) -> DecodedRequest:
    wire = Wire(layout.wire)
    if wire is Wire.GEMINI:
        body = camel(body)
    inner = body.get("body")
    if wire is Wire.BEDROCK_INVOKE and isinstance(inner, str):
        body = {**body, "body": parse_json(inner)}
    try:
        decoded = DECODERS[wire].request(body)
        require_plain(part for message in decoded.messages for part in message.parts)
        require_plain(decoded.tools)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BrokenRow(f"its request is out of shape ({_said(error)}); pass it as it was sent") from error
    return decoded


def require_plain(items: Iterable[Part | AnyTool]) -> None:
    """Check that parts and tools hold what they should: decoders take what they are given as it is.

    Raises:
        ValueError: one has something else where a text must be, or a text that cannot be.
    """
    for item in items:
        for field in fields(item):
            value = getattr(item, field.name)
            if field.type == "str" and not isinstance(value, str):
                raise ValueError(f"{field.name} of a {type(item).__name__} is no text")
            if field.type == "str | None" and not isinstance(value, str | None):
                raise ValueError(f"{field.name} of a {type(item).__name__} is no text")
        if isinstance(item, ToolResult):
            require_plain(item.attachments)


def _conversation(value: Mapping[str, Any]) -> str:
    return next((value[key] for key in _CONVERSATIONS if isinstance(value.get(key), str) and value[key]), "")


def _said(error: BaseException) -> str:
    return one_line(str(error) or type(error).__name__, _SHOWN)
