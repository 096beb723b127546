"""The rules of Chat Completions, as OpenAI has them and as the servers that imitate it do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from providers.validators.blocks import (
    MOST_MARKERS,
    Body,
    blank,
    find_keys,
    gpt_version,
    ttl_problems,
    unknown_keys,
    words,
)

_KEYS = words(
    "model messages tools tool_choice temperature top_p stream stream_options stop seed n response_format "
    "max_tokens parallel_tool_calls frequency_penalty presence_penalty"
)
_OPENAI_KEYS = words(
    "max_completion_tokens prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort metadata "
    "store service_tier safety_identifier verbosity"
)
_USER_PARTS = frozenset({"text", "image_url", "file", "input_audio"})
_TEXT_PARTS = frozenset({"text"})
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BREAKPOINTS_SINCE = (5, 6)


@dataclass(frozen=True)
class Server:
    """A server that speaks the format.

    Attributes:
        keys: what it knows beside the common keys of the body.
        roles: the roles that it knows.
        plain: whether its templates take nothing but plain strings.
        alternates: whether user and assistant must alternate, with a system message only in front.
        cache_control: whether it passes Anthropic's markers on.
        session: whether it routes by ``session_id``.
        reasoning_key: where its replies have the model's reasoning; empty for nowhere.
    """

    keys: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset({"system", "user", "assistant", "tool"})
    plain: bool = False
    alternates: bool = False
    cache_control: bool = False
    session: bool = False
    reasoning_key: str = ""


OPENAI = Server(_OPENAI_KEYS, frozenset({"system", "developer", "user", "assistant", "tool"}))
DEEPSEEK = Server(frozenset({"thinking", "reasoning_effort"}), reasoning_key="reasoning_content")
OPENROUTER = Server(
    frozenset({"session_id", "provider", "reasoning", "models", "usage", "transforms"}),
    cache_control=True,
    session=True,
    reasoning_key="reasoning",
)
# llama.cpp, Ollama and vLLM add sampling of their own; what they share is the chat template behind them.
TEMPLATED = Server(
    words("cache_prompt id_slot repeat_penalty min_p top_k")
    | words("dry_multiplier dry_allowed_length dry_penalty_last_n"),
    plain=True,
    alternates=True,
    reasoning_key="reasoning_content",
)


def validate(body: Body, server: Server = OPENAI) -> list[str]:
    """Everything that ``POST /v1/chat/completions`` of this server would refuse about this body."""
    problems = unknown_keys(body, _KEYS | server.keys, "")
    if blank(body.get("model")):
        problems.append("model: missing required parameter")
    if server is OPENAI and "max_tokens" in body and gpt_version(str(body.get("model"))) >= (5, 0):
        problems.append("max_tokens: not supported with this model; use max_completion_tokens")
    if server.session and blank(body.get("session_id")):
        problems.append("session_id: without it the first message routes, and a later turn may miss the cache")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*problems, "messages: at least one is required"]
    for index, message in enumerate(messages):
        problems += _message(message, f"messages[{index}]", server)
    problems += _pairs(messages)
    problems += _order(messages, server)
    problems += _tools(body.get("tools") or [])
    return problems + _markers(body, server)


def _message(message: Body, where: str, server: Server) -> list[str]:
    role = message.get("role")
    content = message.get("content")
    if role not in server.roles:
        return [f"{where}.role: {role!r} is unknown to this server"]
    problems = []
    calls = message.get("tool_calls")
    if calls is not None and (role != "assistant" or not calls):
        problems.append(f"{where}.tool_calls: only an assistant message has them, and at least one")
    for call in calls or ():
        function = call.get("function") or {}
        if call.get("type") != "function" or not _NAME.fullmatch(str(function.get("name"))) or not call.get("id"):
            problems.append(f"{where}.tool_calls: not a valid function call")
        if not isinstance(function.get("arguments"), str):
            problems.append(f"{where}.tool_calls: arguments must be a string")
    if role == "tool" and not message.get("tool_call_id"):
        problems.append(f"{where}.tool_call_id: missing required parameter")
    if content is None:
        return problems if calls else [*problems, f"{where}.content: null is allowed beside tool_calls only"]
    if isinstance(content, str):
        # A tool may have nothing to say; a speaker may not.
        good = role == "tool" or calls or not blank(content)
        return problems if good else [*problems, f"{where}.content: is blank"]
    if server.plain:
        problems.append(f"{where}.content: the template takes a plain string")
    return problems + _parts(content, _USER_PARTS if role == "user" else _TEXT_PARTS, f"{where}.content")


def _parts(parts: Any, allowed: frozenset[str], where: str) -> list[str]:
    if not isinstance(parts, list) or not parts:
        return [f"{where}: must not be empty"]
    problems = []
    for number, part in enumerate(parts):
        kind = part.get("type")
        place = f"{where}[{number}]"
        if kind not in allowed:
            problems.append(f"{place}: {kind!r} is not one of {', '.join(sorted(allowed))}")
        elif kind == "text" and blank(part.get("text")):
            problems.append(f"{place}: the text is blank")
        elif kind == "image_url":
            url = part["image_url"].get("url") if isinstance(part.get("image_url"), Mapping) else ""
            if not str(url).startswith(("https://", "data:image/")):
                problems.append(f"{place}: the image has no valid address")
        elif kind == "file" and not ({"file_data", "file_id"} & set(part.get("file") or ())):
            problems.append(f"{place}: the file has no data")
    return problems


def _pairs(messages: list[Any]) -> list[str]:
    problems = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if message.get("role") == "tool":
            call = str(message.get("tool_call_id"))
            if call in waiting:
                waiting.remove(call)
            else:
                problems.append(f"{where}: a tool message must follow the tool_calls that it answers")
            continue
        problems += [f"{where}: the tool call {call!r} was not answered before it" for call in waiting]
        waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        if len(set(waiting)) < len(waiting):
            problems.append(f"{where}: two calls have one id")
    return problems + [f"messages: the tool call {call!r} has no tool message" for call in waiting]


def _order(messages: list[Any], server: Server) -> list[str]:
    problems = []
    if messages[-1].get("role") == "assistant":
        problems.append("messages: ends with an assistant message, which would be continued instead of answered")
    if all(message.get("role") in ("system", "developer") for message in messages):
        problems.append("messages: no message of the user")
    if not server.alternates:
        return problems
    spoken = list(messages)
    while spoken and spoken[0].get("role") == "system":
        spoken.pop(0)
    if any(message.get("role") == "system" for message in spoken):
        problems.append("messages: the template has no system message in a conversation")
    turns = [message.get("role") for message in spoken if message.get("role") in ("user", "assistant", "tool")]
    if turns and turns[0] != "user":
        problems.append("messages: the template begins with the user")
    # A template that checks counts user and assistant alone; after tool results the user may speak again.
    for earlier, later in pairwise(turns):
        if earlier == later and later != "tool":
            problems.append(f"messages: the template refuses two {later} messages in a row")
    return problems


def _tools(tools: list[Any]) -> list[str]:
    problems = []
    for index, tool in enumerate(tools):
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not _NAME.fullmatch(str(function.get("name"))):
            problems.append(f"tools[{index}]: not a valid function")
        elif function.get("parameters", {"type": "object"}).get("type") != "object":
            problems.append(f"tools[{index}].function.parameters: must be an object's schema")
    return problems


def _markers(body: Body, server: Server) -> list[str]:
    problems: list[str] = []
    keys = frozenset({"cache_control", "prompt_cache_breakpoint"})
    ttls: list[str] = []
    points = 0
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if "cache_control" in part:
                ttls.append(str(part["cache_control"].get("ttl", "5m")))
            if "prompt_cache_breakpoint" in part:
                points += 1
                if message.get("role") == "assistant":
                    problems.append(f"messages[{index}]: prompt_cache_breakpoint cannot stand on generated text")
    in_tools = [
        str(tool["cache_control"].get("ttl", "5m")) for tool in body.get("tools") or () if "cache_control" in tool
    ]
    if len(find_keys([body["messages"], body.get("tools")], keys)) > len(ttls) + len(in_tools) + points:
        problems.append("messages: a marker that is on no part of a list")
    if (ttls or in_tools) and not server.cache_control:
        problems.append("cache_control: unknown to this server")
    problems += ttl_problems([*in_tools, *ttls])
    known = server is OPENAI and gpt_version(str(body.get("model"))) >= _BREAKPOINTS_SINCE
    options = body.get("prompt_cache_options")
    if (points or options is not None) and not known:
        problems.append("prompt_cache_breakpoint: not supported by this model")
    implicit = (options or {}).get("mode", "implicit") == "implicit"
    if points and points + implicit > MOST_MARKERS:
        problems.append(f"{points} breakpoints; at most {MOST_MARKERS} are written")
    return problems
