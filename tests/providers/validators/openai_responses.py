"""The rules of OpenAI's Responses API for a stateless ``input``."""

from __future__ import annotations

import re
from typing import Any

from providers.validators.blocks import MOST_MARKERS, Body, blank, find_keys, gpt_version, unknown_keys, words

_KEYS = words(
    "model input instructions tools tool_choice max_output_tokens temperature top_p stream store include "
    "reasoning text metadata parallel_tool_calls prompt_cache_key prompt_cache_options prompt_cache_retention "
    "previous_response_id service_tier truncation background safety_identifier stream_options"
)
_INPUT_PARTS = frozenset({"input_text", "input_image", "input_file"})
_OUTPUT_PARTS = frozenset({"output_text", "refusal"})
_ITEMS = {
    "message": ("type", "role", "content", "id", "status", "phase"),
    "function_call": ("type", "call_id", "name", "arguments", "id", "status", "caller", "namespace"),
    "function_call_output": ("type", "call_id", "output", "id", "status"),
    "reasoning": ("type", "id", "summary", "content", "encrypted_content", "status"),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BREAKPOINTS_SINCE = (5, 6)
_LEAST_OUTPUT_TOKENS = 16
_LONGEST_CACHE_KEY = 64
_LONGEST_CALL_ID = 64


def validate(body: Body) -> list[str]:
    """Everything that ``POST /v1/responses`` would refuse about this body."""
    problems = unknown_keys(body, _KEYS, "")
    if blank(body.get("model")):
        problems.append("model: missing required parameter")
    if body.get("max_output_tokens", _LEAST_OUTPUT_TOKENS) < _LEAST_OUTPUT_TOKENS:
        problems.append(f"max_output_tokens: at least {_LEAST_OUTPUT_TOKENS}")
    if len(str(body.get("prompt_cache_key", ""))) > _LONGEST_CACHE_KEY:
        problems.append(f"prompt_cache_key: at most {_LONGEST_CACHE_KEY} characters")
    if "instructions" in body and blank(body["instructions"]):
        problems.append("instructions: is blank")
    items = body.get("input")
    if not isinstance(items, list) or not items:
        return [*problems, "input: at least one item is required"]
    for index, item in enumerate(items):
        problems += _item(item, f"input[{index}]")
    problems += _pairs(items)
    problems += _reasoning(items, body)
    problems += _tools(body.get("tools") or [])
    return problems + _breakpoints(body)


def _item(item: Body, where: str) -> list[str]:
    kind = item.get("type", "message" if "role" in item else None)
    if kind not in _ITEMS:
        return [f"{where}: the item type {kind!r} is unknown"]
    problems = unknown_keys(item, _ITEMS[kind], f"{where}.")
    match kind:
        case "message":
            problems += _message(item, where)
        case "function_call":
            if not _NAME.fullmatch(str(item.get("name"))) or not isinstance(item.get("arguments"), str):
                problems.append(f"{where}: the name or the arguments are not valid")
            if "id" in item and not str(item["id"]).startswith("fc_"):
                problems.append(f"{where}.id: expected an id that begins with 'fc'")
        case "function_call_output":
            output = item.get("output")
            if isinstance(output, list):
                problems += _parts(output, _INPUT_PARTS, f"{where}.output")
            elif not isinstance(output, str):
                problems.append(f"{where}.output: must be a text or a list of parts")
        case "reasoning":
            if not str(item.get("id", "")).startswith("rs_") or not isinstance(item.get("summary"), list):
                problems.append(f"{where}: a reasoning item needs its id and its summary")
    if kind.startswith("function_call") and not 0 < len(str(item.get("call_id", ""))) <= _LONGEST_CALL_ID:
        problems.append(f"{where}.call_id: 1 to {_LONGEST_CALL_ID} characters")
    return problems


def _message(item: Body, where: str) -> list[str]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        return [f"{where}.role: {role!r} is unknown"]
    content = item.get("content")
    if isinstance(content, str):
        return [f"{where}: the text is blank"] if blank(content) else []
    if "id" in item and not str(item["id"]).startswith("msg_"):
        return [f"{where}.id: expected an id that begins with 'msg'"]
    allowed = _OUTPUT_PARTS if role == "assistant" else _INPUT_PARTS
    return _parts(content, allowed, f"{where}.content")


def _parts(parts: Any, allowed: frozenset[str], where: str) -> list[str]:
    if not isinstance(parts, list) or not parts:
        return [f"{where}: must not be empty"]
    problems = []
    for number, part in enumerate(parts):
        kind = part.get("type")
        place = f"{where}[{number}]"
        if kind not in allowed:
            problems.append(f"{place}: {kind!r} is not one of {', '.join(sorted(allowed))}")
        elif kind in ("input_text", "output_text") and blank(part.get("text")):
            problems.append(f"{place}: the text is blank")
        elif kind == "input_image" and not str(part.get("image_url")).startswith(("https://", "data:image/")):
            problems.append(f"{place}: the image has no valid image_url")
        elif kind == "input_file" and not ({"file_data", "file_url", "file_id"} & set(part)):
            problems.append(f"{place}: the file has neither data nor address")
        elif kind == "input_file" and "file_data" in part and blank(part.get("filename")):
            problems.append(f"{place}: file_data needs a filename")
    return problems


def _pairs(items: list[Any]) -> list[str]:
    problems = []
    open_calls: set[str] = set()
    called: set[str] = set()
    for index, item in enumerate(items):
        call = str(item.get("call_id"))
        if item.get("type") == "function_call":
            if call in called:
                problems.append(f"input[{index}]: the call_id {call!r} stands twice")
            called.add(call)
            open_calls.add(call)
        elif item.get("type") == "function_call_output":
            if call not in open_calls:
                problems.append(f"input[{index}]: no tool call found for the output {call!r}")
            open_calls.discard(call)
        elif item.get("role") in ("user", "assistant") and open_calls:
            problems.append(f"input[{index}]: a message between a call and its output")
    return problems + [f"input: no tool output found for the call {call!r}" for call in sorted(open_calls)]


def _reasoning(items: list[Any], body: Body) -> list[str]:
    problems = []
    for index, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        following = items[index + 1] if index + 1 < len(items) else {}
        belongs = following.get("type") in ("function_call", "reasoning") or following.get("role") == "assistant"
        if not belongs:
            problems.append(f"input[{index}]: a reasoning item without its required following item")
        if body.get("store") is False and blank(item.get("encrypted_content")):
            problems.append(f"input[{index}]: without storage a reasoning item needs its encrypted_content")
    return problems


def _tools(tools: list[Any]) -> list[str]:
    problems = []
    for index, tool in enumerate(tools):
        if tool.get("type") != "function":
            continue
        missing = [key for key in ("name", "parameters", "strict") if key not in tool]
        problems += [f"tools[{index}].{key}: missing required parameter" for key in missing]
        if not missing and not _NAME.fullmatch(tool["name"]):
            problems.append(f"tools[{index}].name: does not match the pattern")
        if tool.get("strict"):
            problems += _strict(tool.get("parameters") or {}, f"tools[{index}].parameters")
    return problems


def _strict(schema: Body, where: str) -> list[str]:
    closed = schema.get("additionalProperties") is False
    complete = set(schema.get("required") or ()) == set(schema.get("properties") or ())
    return [] if closed and complete else [f"{where}: a strict schema is closed and requires every property"]


def _breakpoints(body: Body) -> list[str]:
    problems = []
    known = gpt_version(str(body.get("model"))) >= _BREAKPOINTS_SINCE
    options = body.get("prompt_cache_options")
    if options is not None:
        if not known:
            problems.append("prompt_cache_options: not supported by this model")
        if options.get("mode", "implicit") not in ("implicit", "explicit"):
            problems.append("prompt_cache_options.mode: unknown")
    where = find_keys([body.get("tools"), body.get("instructions")], frozenset({"prompt_cache_breakpoint"}))
    problems += ["prompt_cache_breakpoint: not on tools or instructions"] * len(where)
    allowed = 0
    for index, item in enumerate(body["input"]):
        parts = item.get("content") if isinstance(item.get("content"), list) else item.get("output")
        for part in parts if isinstance(parts, list) else ():
            if "prompt_cache_breakpoint" not in part:
                continue
            allowed += 1
            if part.get("type") not in _INPUT_PARTS:
                problems.append(f"input[{index}]: prompt_cache_breakpoint cannot stand on {part.get('type')}")
            if part["prompt_cache_breakpoint"].get("mode") != "explicit":
                problems.append(f"input[{index}]: a breakpoint's mode is explicit")
    if len(find_keys(body["input"], frozenset({"prompt_cache_breakpoint"}))) > allowed:
        problems.append("input: a prompt_cache_breakpoint that is on no part")
    if allowed and not known:
        problems.append("prompt_cache_breakpoint: not supported by this model")
    implicit = (options or {}).get("mode", "implicit") == "implicit"
    if allowed + (1 if implicit and allowed else 0) > MOST_MARKERS:
        problems.append(f"{allowed} breakpoints; at most {MOST_MARKERS} are written")
    return problems
