"""The rules of Gemini's generateContent, on the body as it goes over the wire (the model stands in the path)."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from typing import Any

from providers.validators.blocks import Body, blank, find_keys, unknown_keys, words

_KEYS = words(
    "contents systemInstruction generationConfig tools toolConfig safetySettings cachedContent labels serviceTier"
)
_DATA = words(
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse"
)
_BESIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})
_ONLY_USER = frozenset({"inlineData", "fileData", "functionResponse"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_FOREIGN = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})


def validate(body: Body, *, model: str) -> list[str]:
    """Everything that ``POST /v1beta/models/MODEL:generateContent`` would refuse about this body."""
    problems = unknown_keys(body, _KEYS, "")
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return [*problems, "contents: is not specified"]
    for index, content in enumerate(contents):
        problems += _content(content, f"contents[{index}]")
    problems += _calls(contents)
    problems += _signatures(contents, model)
    if contents[0].get("role") != "user":
        problems.append("contents[0]: the first turn must be of the user")
    if contents[-1].get("role") != "user":
        problems.append("contents: must end with a turn of the user")
    instruction = body.get("systemInstruction")
    if instruction is not None and any(blank(part.get("text")) for part in instruction.get("parts") or [{}]):
        problems.append("systemInstruction: must have text parts that are not blank")
    if (body.get("generationConfig") or {}).get("maxOutputTokens", 1) < 1:
        problems.append("generationConfig.maxOutputTokens: must be positive")
    problems += _tools(body.get("tools") or [])
    return problems + [f"{key}: unknown name" for key in find_keys(body["contents"], _FOREIGN)]


def _content(content: Body, where: str) -> list[str]:
    role = content.get("role")
    problems = unknown_keys(content, ("role", "parts"), f"{where}.")
    if role not in ("user", "model"):
        problems.append(f"{where}.role: please use a valid role: user, model")
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        return [*problems, f"{where}.parts: must not be empty"]
    for number, part in enumerate(parts):
        place = f"{where}.parts[{number}]"
        problems += unknown_keys(part, _DATA | _BESIDE, f"{place}.")
        data = _DATA & set(part)
        if len(data) != 1:
            problems.append(f"{place}: must have one initialized field of its data")
            continue
        kind = next(iter(data))
        if (kind == "functionCall" and role != "model") or (kind in _ONLY_USER and role != "user"):
            problems.append(f"{place}: a {kind} cannot stand in a turn of the {role}")
        problems += _part(kind, part, place)
    return problems


def _part(kind: str, part: Body, where: str) -> list[str]:
    problems = []
    value = part[kind]
    # A signature may come in a part whose text is empty; otherwise an empty part is refused. White space is not.
    if kind == "text" and not value and "thoughtSignature" not in part:
        problems.append(f"{where}: the text is empty")
    if kind == "inlineData" and not (value.get("mimeType") and _is_base64(value.get("data"))):
        problems.append(f"{where}.inlineData: needs a mimeType and data")
    if kind == "functionCall" and not (
        _NAME.fullmatch(str(value.get("name"))) and isinstance(value.get("args", {}), dict)
    ):
        problems.append(f"{where}.functionCall: the name or the args are not valid")
    if kind == "functionResponse" and not isinstance(value.get("response"), dict):
        problems.append(f"{where}.functionResponse.response: must be an object")
    if "thoughtSignature" in part and not _is_base64(part["thoughtSignature"]):
        problems.append(f"{where}.thoughtSignature: is not base64")
    return problems


def _is_base64(text: Any) -> bool:
    try:
        return bool(base64.b64decode(str(text).replace("-", "+").replace("_", "/"), validate=True))
    except binascii.Error:
        return False


def _parts(content: Body, kind: str) -> list[Any]:
    return [part[kind] for part in content.get("parts") or () if kind in part]


def _calls(contents: list[Any]) -> list[str]:
    problems = []
    waiting: list[Any] = []
    previous = ""
    for index, content in enumerate(contents):
        where = f"contents[{index}]"
        responses = _parts(content, "functionResponse")
        if responses and not waiting:
            problems.append(f"{where}: a function response turn must come right after a function call turn")
        elif len(responses) != len(waiting):
            problems.append(f"{where}: {len(responses)} function responses to {len(waiting)} function calls")
        elif Counter(str(item.get("name")) for item in responses) != Counter(str(item.get("name")) for item in waiting):
            problems.append(f"{where}: the names of the function responses are not those of the calls")
        elif {item["id"] for item in responses if "id" in item} - {item.get("id") for item in waiting}:
            problems.append(f"{where}: the id of a function response is that of no call")
        waiting = _parts(content, "functionCall")
        if waiting and previous != "user":
            problems.append(f"{where}: a function call turn must come right after a turn of the user")
        previous = str(content.get("role"))
    return [*problems, "contents: ends with function calls that have no response"] if waiting else problems


def _signatures(contents: list[Any], model: str) -> list[str]:
    """Gemini 3 and later want, in the current turn, the signature of each step's first call."""
    found = re.search(r"gemini-(\d+)", model)
    if found is None or int(found[1]) < 3:
        return []
    start = max(
        (
            index
            for index, content in enumerate(contents)
            if content.get("role") == "user" and not _parts(content, "functionResponse")
        ),
        default=0,
    )
    problems = []
    for index in range(start, len(contents)):
        calls = [part for part in contents[index].get("parts") or () if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            problems.append(f"contents[{index}]: the function call is missing its thoughtSignature")
    return problems


def _tools(tools: list[Any]) -> list[str]:
    problems = []
    for tool in tools:
        for index, declaration in enumerate(tool.get("functionDeclarations") or ()):
            where = f"functionDeclarations[{index}]"
            if not _NAME.fullmatch(str(declaration.get("name"))):
                problems.append(f"{where}.name: is not valid")
            if "parameters" in declaration and "parametersJsonSchema" in declaration:
                problems.append(f"{where}: parameters and parametersJsonSchema exclude each other")
    return problems
