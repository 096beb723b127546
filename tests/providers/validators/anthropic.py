"""The rules of the Anthropic Messages API, and of the same body behind Bedrock's InvokeModel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers.validators.blocks import (
    Body,
    blank,
    claude_version,
    pair_problems,
    refuses_prefill,
    ttl_problems,
    unknown_keys,
    words,
)

CLEAR_AT_BETA = "mid-conversation-system-clear-at-2026-08-21"
_KEYS = words(
    "model max_tokens messages system tools tool_choice thinking metadata stop_sequences stream temperature top_k "
    "top_p cache_control output_config context_management service_tier container mcp_servers speed diagnostics"
)
_USER_BLOCKS = frozenset({"text", "image", "document", "search_result", "tool_result"})
_ASSISTANT_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_RESULT_BLOCKS = frozenset({"text", "image", "document", "search_result"})
_UNMARKED = frozenset({"thinking", "redacted_thinking"})
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# Opus 4.8, Fable 5, Mythos 5, Sonnet 5.5 and Haiku 5.5 are the first that know system messages in a conversation.
_SYSTEM_MESSAGES_SINCE = {"opus": (4, 8), "fable": (5, 0), "mythos": (5, 0), "sonnet": (5, 5), "haiku": (5, 5)}


def validate(body: Body, *, betas: frozenset[str] = frozenset()) -> list[str]:
    """Everything that ``POST /v1/messages`` would refuse about this body, with these beta headers."""
    problems = unknown_keys(body, _KEYS, "")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        problems.append("model: field required")
        model = ""
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 0:
        problems.append("max_tokens: field required")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*problems, "messages: at least one message is required"]
    problems += _system(body.get("system"))
    problems += _tools(body.get("tools") or [])
    for index, message in enumerate(messages):
        problems += _message(message, f"messages.{index}")
    problems += _pairs(messages)
    problems += _operator(messages, model, betas)
    problems += _ends(messages, model)
    return problems + _markers(body)


def validate_invoke(body: Body, *, model: str) -> list[str]:
    """Everything that Bedrock's InvokeModel would refuse about this body for a Claude model."""
    problems = [f"{key}: extra inputs are not permitted" for key in ("model", "stream") if key in body]
    if body.get("anthropic_version") != "bedrock-2023-05-31":
        problems.append("anthropic_version: must be bedrock-2023-05-31")
    rest = {key: value for key, value in body.items() if key not in ("anthropic_version", "anthropic_beta", "stream")}
    problems += validate({**rest, "model": model})
    if any(message.get("role") == "system" for message in rest.get("messages") or ()):
        problems.append("messages: a system message is not available on Bedrock")
    return problems


def _system(system: Any) -> list[str]:
    if system is None:
        return []
    if isinstance(system, str):
        return [] if system.strip() else ["system: text must not be blank"]
    problems = [] if system else ["system: must not be empty"]
    for index, block in enumerate(system):
        if block.get("type") != "text" or blank(block.get("text")):
            problems.append(f"system.{index}: must be a text that is not blank")
        problems += unknown_keys(block, ("type", "text", "cache_control", "citations"), f"system.{index}.")
    return problems


def _tools(tools: list[Any]) -> list[str]:
    problems = []
    names = [str(tool.get("name")) for tool in tools]
    if len(set(names)) < len(names):
        problems.append("tools: names must be unique")
    for index, tool in enumerate(tools):
        if "input_schema" in tool and tool["input_schema"].get("type") != "object":
            problems.append(f"tools.{index}: input_schema.type must be 'object'")
        if not _TOOL_NAME.fullmatch(names[index]):
            problems.append(f"tools.{index}: the name {names[index]!r} does not match the pattern")
        if tool.get("defer_loading") and "cache_control" in tool:
            problems.append(f"tools.{index}: a deferred tool cannot have cache_control")
    return problems


def _message(message: Body, where: str) -> list[str]:
    role = message.get("role")
    content = message.get("content")
    problems = unknown_keys(message, ("role", "content", "clear_at", "output_config"), f"{where}.")
    if role not in ("user", "assistant", "system"):
        problems.append(f"{where}.role: {role!r} is not one of user, assistant, system")
    if "clear_at" in message and role != "system":
        problems.append(f"{where}.clear_at: only permitted on system messages")
    if isinstance(content, str):
        return problems if content.strip() else [*problems, f"{where}: text must not be blank"]
    if not isinstance(content, list) or not content:
        return [*problems, f"{where}: must have content"]
    allowed = {"user": _USER_BLOCKS, "assistant": _ASSISTANT_BLOCKS}.get(str(role), frozenset({"text"}))
    for number, block in enumerate(content):
        if block.get("type") not in allowed:
            problems.append(f"{where}.content.{number}: a {block.get('type')} cannot stand in a {role} message")
        else:
            problems += _block(block, f"{where}.content.{number}")
    if role == "assistant" and content[-1].get("type") in _UNMARKED:
        problems.append(f"{where}: the final block of an assistant message cannot be thinking")
    return problems


def _block(block: Body, where: str) -> list[str]:
    match block["type"]:
        case "text":
            return [f"{where}: text must not be blank"] if blank(block.get("text")) else []
        case "thinking":
            missing = [key for key in ("thinking", "signature") if not isinstance(block.get(key), str)]
            return [f"{where}.{key}: field required" for key in missing]
        case "redacted_thinking":
            return [] if isinstance(block.get("data"), str) else [f"{where}.data: field required"]
        case "tool_use":
            bad = [] if _ID.fullmatch(str(block.get("id"))) else [f"{where}.id: does not match the pattern"]
            if not _TOOL_NAME.fullmatch(str(block.get("name"))):
                bad.append(f"{where}.name: does not match the pattern")
            return bad if isinstance(block.get("input"), dict) else [*bad, f"{where}.input: must be an object"]
        case "tool_result":
            return _result(block, where)
        case _:
            return _file(block, where)


def _result(block: Body, where: str) -> list[str]:
    problems = unknown_keys(block, ("type", "tool_use_id", "content", "is_error", "cache_control"), f"{where}.")
    content = block.get("content", "")
    if isinstance(content, str):
        return problems
    for number, item in enumerate(content):
        if item.get("type") not in _RESULT_BLOCKS:
            problems.append(f"{where}.content.{number}: a {item.get('type')} cannot stand in a tool result")
        else:
            problems += _block(item, f"{where}.content.{number}")
    if block.get("is_error") and any(item.get("type") != "text" for item in content):
        problems.append(f"{where}: all content must be text if is_error is true")
    return problems


def _file(block: Body, where: str) -> list[str]:
    source = block.get("source")
    if not isinstance(source, Mapping):
        return [] if block["type"] == "search_result" else [f"{where}.source: field required"]
    match source.get("type"), block["type"]:
        case "base64", kind:
            allowed = _PICTURES if kind == "image" else {"application/pdf"}
            good = source.get("media_type") in allowed and bool(source.get("data"))
        case "url", _:
            good = str(source.get("url")).startswith("https://")
        case "text", "document":
            good = source.get("media_type") == "text/plain" and not blank(source.get("data"))
        case kind, _:
            good = kind == "content"
    return [] if good else [f"{where}.source: not a valid source of a {block['type']}"]


def _content(message: Body) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _pairs(messages: list[Any]) -> list[str]:
    problems = []
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        blocks = _content(message)
        results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        problems += pair_problems(waiting, results, f"messages.{index}")
        if any(block.get("type") != "tool_result" for block in blocks[: len(results)]):
            problems.append(f"messages.{index}: tool results must stand first")
        waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if seen.intersection(waiting) or len(set(waiting)) < len(waiting):
            problems.append(f"messages.{index}: tool_use ids must be unique")
        seen.update(waiting)
    return problems + pair_problems(waiting, [], "the end")


def _operator(messages: list[Any], model: str, betas: frozenset[str]) -> list[str]:
    tier, version = claude_version(model)
    problems = []
    for index, message in enumerate(messages):
        if message.get("role") != "system":
            continue
        where = f"messages.{index}"
        if version < _SYSTEM_MESSAGES_SINCE.get(tier, (99, 0)):
            problems.append(f"{where}: role 'system' is not supported on this model")
        if index == 0 or messages[index - 1].get("role") != "user":
            problems.append(f"{where}: a system message must follow a user message")
        if index + 1 < len(messages) and messages[index + 1].get("role") != "assistant":
            problems.append(
                f"{where}: a system message cannot stand before a {messages[index + 1].get('role')} message"
            )
        if message.get("clear_at") not in (None, "never", "next_user_message"):
            problems.append(f"{where}.clear_at: {message['clear_at']!r} is unknown")
        if "clear_at" in message and CLEAR_AT_BETA not in betas:
            problems.append(f"{where}.clear_at: needs the beta header {CLEAR_AT_BETA}")
        if any("cache_control" in block for block in _content(message)):
            problems.append(f"{where}: a system message cannot have cache_control")
    return problems


def _ends(messages: list[Any], model: str) -> list[str]:
    problems = [] if messages[0].get("role") == "user" else ["messages.0: the first message must be of the user"]
    last = messages[-1]
    if last.get("role") == "assistant":
        if refuses_prefill(model):
            problems.append("messages: this model does not support a trailing assistant message")
        blocks = _content(last)
        text = (
            last["content"] if isinstance(last.get("content"), str) else str(blocks[-1].get("text")) if blocks else ""
        )
        if text != text.rstrip():
            problems.append("messages: the final assistant text cannot end with trailing whitespace")
    return problems


def _markers(body: Body) -> list[str]:
    problems: list[str] = []
    ttls: list[str] = []
    blocks = [(f"tools.{index}", tool) for index, tool in enumerate(body.get("tools") or ())]
    system = body.get("system")
    blocks += [(f"system.{index}", block) for index, block in enumerate(system if isinstance(system, list) else ())]
    for index, message in enumerate(body["messages"]):
        for number, block in enumerate(_content(message)):
            where = f"messages.{index}.content.{number}"
            inner = block.get("content")
            nested = inner if isinstance(inner, list) else []
            blocks += [(f"{where}.content.{place}", item) for place, item in enumerate(nested)]
            blocks.append((where, block))
    blocks.append(("the body", {"type": "top", "cache_control": body.get("cache_control")}))
    for where, block in blocks:
        marker = block.get("cache_control")
        if marker is None:
            continue
        if not isinstance(marker, Mapping) or marker.get("type") != "ephemeral" or set(marker) - {"type", "ttl"}:
            problems.append(f"{where}.cache_control: must be an ephemeral marker")
        if block.get("type") in _UNMARKED:
            problems.append(f"{where}: cache_control cannot be set for thinking")
        if block.get("type") == "text" and blank(block.get("text")):
            problems.append(f"{where}: cache_control cannot be set for empty text")
        ttls.append(str(marker.get("ttl", "5m")))
    return problems + ttl_problems(ttls)
