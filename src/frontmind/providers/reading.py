"""From the JSON of a request of any supported format to a `Layout`, and from a layout to what its model allows.

The format is found from the shape of the body. Reads values; knows no file and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from frontmind.errors import UsageError
from frontmind.providers.profiles.profile import TTL_SECONDS, Caching, MarkerKind, Profile, Wire
from frontmind.providers.profiles.resolve import identify, resolve_profile
from frontmind.providers.reading_anthropic import read_anthropic, read_converse
from frontmind.providers.reading_blocks import (
    Blocks,
    JsonDict,
    ReadMessages,
    Spot,
    own_marker,
    require_list,
    require_object,
)
from frontmind.providers.reading_gemini import read_gemini
from frontmind.providers.reading_openai import read_chat, read_responses
from frontmind.providers.reading_settings import settings_of
from frontmind.values.section import PLACEMENT_SYSTEM
from frontmind.window.canonical import parse_json
from frontmind.window.layout import THINKING, TOOL, Area, Layout
from frontmind.window.lint import Allowed

SAVED_WINDOW: Final = "window"
"""The name of the format in which ``frontmind window show --json`` prints."""

_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"}
)
# What a request may go on from that only the provider has.
_ELSEWHERE: Final = ("previous_response_id", "conversation", "cachedContent", "cached_content")
_HOSTS: Final = (
    ("openrouter.ai", "openrouter"),
    ("deepseek.com", "deepseek"),
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
)
_READERS: Final[Mapping[str, Callable[[JsonDict, ReadMessages | None], Blocks]]] = {
    Wire.ANTHROPIC: read_anthropic,
    Wire.BEDROCK_INVOKE: read_anthropic,
    Wire.BEDROCK_CONVERSE: read_converse,
    Wire.OPENAI_CHAT: read_chat,
    Wire.OPENAI_RESPONSES: read_responses,
    Wire.GEMINI: read_gemini,
}


@dataclass(frozen=True, slots=True)
class Hints:
    """What stood beside a body where it was recorded.

    Attributes:
        uri: where it was sent, or the path of it.
        model: the model, where the body does not name one.
    """

    uri: str = ""
    model: str = ""


_NO_HINTS: Final = Hints()


def is_request(value: Any) -> bool:
    """Whether a JSON value has the shape of a request of a supported format, or of a saved window."""
    return isinstance(value, dict) and bool(_shape(value, _NO_HINTS))


def read_request(value: Any, hints: Hints = _NO_HINTS, *, read: ReadMessages | None = None) -> Layout:
    """The layout of a request.

    Args:
        value: the body as JSON, an InvokeModel call with its ``modelId`` and ``body``, or a saved window.
        hints: what is known beside the body.
        read: the messages of the requests of this conversation that were read before, of the same format.

    Raises:
        UsageError: it has the shape of no supported format, or something in it is out of shape.
    """
    body = require_object(value, "the request")
    wire = _shape(body, hints)
    if not wire:
        raise UsageError(
            "this is no request of a supported format; pass the body of an Anthropic, Bedrock, OpenAI, Gemini or "
            "OpenAI-compatible request, or what `frontmind window show --json` printed"
        )
    if wire == SAVED_WINDOW:
        return _read_window(body)
    model = _model(body, hints)
    if wire == Wire.BEDROCK_INVOKE and "body" in body:
        body = _invoke_body(body["body"])
    blocks = _READERS[wire](body, read)
    options = body.get("prompt_cache_options")
    provider = _provider(wire, model, hints)
    return Layout(
        wire=wire,
        provider=provider,
        model=model,
        blocks=blocks.all(),
        automatic=own_marker(body) if wire in (Wire.ANTHROPIC, Wire.BEDROCK_INVOKE, Wire.OPENAI_CHAT) else None,
        implicit=not (isinstance(options, dict) and options.get("mode") == "explicit"),
        stateful=any(body.get(key) for key in _ELSEWHERE),
        guessed=_is_guessed(wire, provider, hints),
        settings=settings_of(wire, body, blocks.items, model),
        entry=str(body.get("cachedContent") or body.get("cached_content") or ""),
    )


def allowed_of(layout: Layout) -> Allowed:
    """What the model of a request allows; for a saved window, and where nothing is known, everything."""
    if layout.wire == SAVED_WINDOW:
        return Allowed()
    profile = resolve_profile(layout.provider, layout.model)
    anthropic = layout.wire in (Wire.ANTHROPIC, Wire.BEDROCK_INVOKE)
    unmarkable = {THINKING}
    if layout.wire in (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES) and layout.provider == "openai":
        unmarkable.add(TOOL)
    return Allowed(
        max_markers=profile.max_markers,
        prefill=_takes_prefill(layout, profile),
        caches_last_user=profile.caching is Caching.LAST_USER,
        empty_text=layout.wire not in (Wire.ANTHROPIC, Wire.BEDROCK_INVOKE, Wire.BEDROCK_CONVERSE),
        blank_text=not anthropic,
        results_first=layout.wire not in (Wire.OPENAI_RESPONSES, Wire.GEMINI),
        pairs_stand_together=layout.wire != Wire.OPENAI_RESPONSES,
        alternate_roles=_must_alternate(layout, profile),
        unmarkable=frozenset(unmarkable),
        unmarkable_roles=frozenset({"assistant"} if profile.markers is MarkerKind.BREAKPOINT else ()),
        ttl_seconds=tuple(TTL_SECONDS.items()),
    )


def _must_alternate(layout: Layout, profile: Profile) -> bool:
    # InvokeModel takes the body of the Messages API, which combines neighbours; items of Responses are no messages.
    lenient = layout.wire in (Wire.BEDROCK_INVOKE, Wire.OPENAI_RESPONSES)
    return profile.alternate_roles and not lenient and not layout.guessed


def _takes_prefill(layout: Layout, profile: Profile) -> bool:
    """Whether a trailing assistant message is taken, or not known to be refused."""
    family, version = identify(layout.model)
    if family.startswith("claude") or layout.provider == "anthropic":
        # It is the model that refuses it, whoever serves it.
        return resolve_profile("anthropic", layout.model).prefill
    return profile.prefill or not (layout.provider == "gemini" and version)


def _shape(body: JsonDict, hints: Hints) -> str:
    """The name of the body's format; empty for none."""
    messages = body.get("messages")
    if isinstance(messages, list):
        if "notification_center" in body and "sections" in body:
            return SAVED_WINDOW
        if _is_converse(body, messages):
            return Wire.BEDROCK_CONVERSE
        if "anthropic_version" in body and "model" not in body:
            return Wire.BEDROCK_INVOKE
        return Wire.ANTHROPIC if _is_anthropic(body, messages, hints) else Wire.OPENAI_CHAT
    if "modelId" in body and "body" in body:
        return Wire.BEDROCK_INVOKE
    if "contents" in body:
        return Wire.GEMINI
    if isinstance(body.get("input"), str | list) and ("model" in body or "instructions" in body or "prompt" in body):
        return Wire.OPENAI_RESPONSES
    return ""


def _contents(messages: list[Any]) -> list[JsonDict]:
    lists = [message["content"] for message in messages if isinstance(message, dict) and "content" in message]
    return [item for content in lists if isinstance(content, list) for item in content if isinstance(item, dict)]


def _is_converse(body: JsonDict, messages: list[Any]) -> bool:
    if any(key in body for key in ("inferenceConfig", "toolConfig", "modelId", "additionalModelRequestFields")):
        return True
    contents = _contents(messages)
    return bool(contents) and not any("type" in item for item in contents)


def _is_anthropic(body: JsonDict, messages: list[Any], hints: Hints) -> bool:
    roles = [str(message.get("role", "")) for message in messages if isinstance(message, dict)]
    if "tool" in roles or "developer" in roles or (roles and roles[0] == "system"):
        return False
    if any(isinstance(message, dict) and message.get("tool_calls") for message in messages):
        return False
    listed = body.get("tools")
    tools = [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
    if any("function" in tool for tool in tools):
        return False
    if "/chat/completions" in hints.uri:
        return False
    if "/v1/messages" in hints.uri or "system" in body or "anthropic_version" in body or "betas" in body:
        return True
    if any("input_schema" in tool for tool in tools):
        return True
    if any(str(item.get("type")) in _ANTHROPIC_BLOCKS for item in _contents(messages)):
        return True
    return str(body.get("model", "")).startswith("claude")


def _model(body: JsonDict, hints: Hints) -> str:
    named = body.get("model") or body.get("modelId") or hints.model
    if not named and "/model/" in hints.uri:
        named = unquote(hints.uri.partition("/model/")[2].partition("/")[0])
    if not named and "/models/" in hints.uri:
        named = hints.uri.partition("/models/")[2].partition(":")[0]
    return str(named or "")


def _invoke_body(body: Any) -> JsonDict:
    if isinstance(body, str):
        try:
            body = parse_json(body)
        except ValueError as error:
            raise UsageError(
                f"the body of the InvokeModel call is not JSON ({error}); pass it as it was sent"
            ) from error
    value = require_object(body, "the body of the InvokeModel call")
    if not isinstance(value.get("messages"), list):
        raise UsageError("the body of the InvokeModel call has no messages; only the Anthropic format can be read")
    return value


def _provider(wire: str, model: str, hints: Hints) -> str:
    for host, provider in _HOSTS:
        if host in hints.uri:
            return provider
    if wire in (Wire.BEDROCK_CONVERSE, Wire.BEDROCK_INVOKE):
        return "bedrock"
    if wire == Wire.ANTHROPIC:
        return "anthropic"
    if wire == Wire.GEMINI:
        return "gemini"
    if wire == Wire.OPENAI_RESPONSES:
        return "openai"
    if "/" in model and not model.endswith(".gguf"):
        return "openrouter"
    family = identify(model)[0]
    return {"gpt": "openai", "deepseek": "deepseek"}.get(family, "compatible")


def _is_guessed(wire: str, provider: str, hints: Hints) -> bool:
    """Whether the body alone tells the provider, in a format that many servers take."""
    if wire != Wire.OPENAI_CHAT or any(host in hints.uri for host, _ in _HOSTS):
        return False
    return not (provider == "compatible" and "://" in hints.uri)


def _read_window(body: JsonDict) -> Layout:
    blocks = Blocks()
    for index, item in enumerate(require_list(body.get("tools") or [], "tools")):
        tool = require_object(item, f"tools[{index}]")
        blocks.tool(f"tools[{index}]", tool, str(tool.get("name", "")))
    sections = [require_object(item, "sections") for item in require_list(body.get("sections"), "sections")]
    system = [section for section in sections if section.get("placement") == PLACEMENT_SYSTEM]
    for index, section in enumerate(sorted(system, key=lambda item: not item.get("cache_policy"))):
        name = str(section.get("name", ""))
        spot = Spot(Area.SYSTEM, f"system[{index}]", "system")
        blocks.other(spot, "text", {"type": "text", "text": str(section.get("content", ""))}, name=name)
    for index, item in enumerate(require_list(body.get("messages"), "messages")):
        message = require_object(item, f"messages[{index}]")
        spot = Spot(Area.MESSAGES, f"messages[{index}]", str(message.get("role", "")), index)
        blocks.text(spot, str(message.get("text", "")))
    model = str(body.get("model", ""))
    return Layout(SAVED_WINDOW, model.partition(":")[0], model.partition(":")[2], blocks.all())
