"""The rules of Amazon Bedrock's Converse, on the body as it goes over the wire (the model stands in the path)."""

from __future__ import annotations

import re
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

_KEYS = words(
    "messages system inferenceConfig toolConfig additionalModelRequestFields additionalModelResponseFieldPaths "
    "requestMetadata performanceConfig serviceTier outputConfig promptVariables projectIdentifier guardrailConfig"
)
_KINDS = words(
    "text image document toolUse toolResult cachePoint reasoningContent searchResult guardContent citationsContent"
)
_ONLY_USER = frozenset({"image", "document", "toolResult", "searchResult", "guardContent"})
_ONLY_ASSISTANT = frozenset({"toolUse", "reasoningContent", "citationsContent"})
_RESULT_KINDS = frozenset({"text", "json", "image", "document", "searchResult"})
_TOOL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# Letters, digits, single spaces, hyphens, round and square brackets.
_DOCUMENT_NAME = re.compile(r"(?! )(?:[a-zA-Z0-9\-()\[\]]| (?! )){1,200}")
_PICTURES = frozenset({"png", "jpeg", "gif", "webp"})
_DOCUMENTS = words("pdf csv doc docx xls xlsx html txt md")


def validate(body: Body, *, model: str) -> list[str]:
    """Everything that ``POST /model/MODEL/converse`` would refuse about this body."""
    problems = unknown_keys(body, _KEYS, "")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*problems, "messages: at least one message is required"]
    limit = (body.get("inferenceConfig") or {}).get("maxTokens", 1)
    if not isinstance(limit, int) or limit < 1:
        problems.append("inferenceConfig.maxTokens: must be at least 1")
    expected = "user"
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        if message.get("role") != expected:
            problems.append(f"{where}: the role is {message.get('role')!r}; roles must alternate from the user on")
        expected = "assistant" if message.get("role") == "user" else "user"
        problems += _message(message, where)
    if messages[-1].get("role") != "user" and (refuses_prefill(model) or not claude_version(model)[0]):
        problems.append("messages: the conversation must end with a user message")
    problems += _pairs(messages)
    problems += _tool_config(body)
    problems += _system(body.get("system"))
    problems += _document_names(messages)
    return problems + _cache_points(body)


def _message(message: Body, where: str) -> list[str]:
    content = message.get("content")
    problems = unknown_keys(message, ("role", "content"), f"{where}.")
    if not isinstance(content, list) or not content:
        return [*problems, f"{where}: the content is empty"]
    wrong = _ONLY_ASSISTANT if message.get("role") == "user" else _ONLY_USER
    for number, block in enumerate(content):
        place = f"{where}.content.{number}"
        if len(block) != 1 or not _KINDS.issuperset(block):
            problems.append(f"{place}: must have exactly one of the known members, not {sorted(block)}")
            continue
        kind = next(iter(block))
        if kind in wrong:
            problems.append(f"{place}: a {kind} cannot stand in a {message.get('role')} message")
        problems += _block(kind, block[kind], place)
    has_document = any("document" in block for block in content)
    if has_document and not any("text" in block for block in content):
        problems.append(f"{where}: a message with a document needs a text too")
    return problems


def _block(kind: str, value: Any, where: str) -> list[str]:
    match kind:
        case "text":
            return [f"{where}: the text is blank"] if blank(value) else []
        case "toolUse":
            good = _TOOL_ID.fullmatch(str(value.get("toolUseId"))) and _TOOL_NAME.fullmatch(str(value.get("name")))
            bad = [] if good else [f"{where}: the id or the name does not match the pattern"]
            return bad if isinstance(value.get("input"), dict) else [*bad, f"{where}.input: must be an object"]
        case "toolResult":
            return _result(value, where)
        case "image":
            return _file(value, _PICTURES, where)
        case "document":
            bad = (
                []
                if _DOCUMENT_NAME.fullmatch(str(value.get("name")))
                else [f"{where}: the document's name is not valid"]
            )
            return bad + _file(value, _DOCUMENTS, where)
        case "reasoningContent":
            text = value.get("reasoningText")
            readable = isinstance(text, dict) and isinstance(text.get("text"), str)
            return (
                []
                if readable or value.get("redactedContent")
                else [f"{where}: neither reasoningText nor redactedContent"]
            )
        case _:
            return []


def _result(value: Body, where: str) -> list[str]:
    problems = unknown_keys(value, ("toolUseId", "content", "status", "type"), f"{where}.")
    content = value.get("content")
    if not isinstance(content, list):
        return [*problems, f"{where}.content: must be a list"]
    for number, item in enumerate(content):
        if len(item) != 1 or not _RESULT_KINDS.issuperset(item):
            problems.append(f"{where}.content.{number}: {sorted(item)} cannot stand in a tool result")
        elif "text" in item and blank(item["text"]):
            problems.append(f"{where}.content.{number}: the text is blank")
        elif "image" in item or "document" in item:
            problems += _block(next(iter(item)), next(iter(item.values())), f"{where}.content.{number}")
    if value.get("status", "success") not in ("success", "error"):
        problems.append(f"{where}.status: {value['status']!r} is unknown")
    return problems


def _file(value: Body, formats: frozenset[str], where: str) -> list[str]:
    source = value.get("source") or {}
    good = value.get("format") in formats and len(source) == 1 and bool(next(iter(source.values())))
    return [] if good else [f"{where}: not a valid format and source"]


def _pairs(messages: list[Any]) -> list[str]:
    problems = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        content = message.get("content") or []
        results = [str(block["toolResult"].get("toolUseId")) for block in content if "toolResult" in block]
        problems += pair_problems(waiting, results, f"messages.{index}")
        if any("toolResult" not in block for block in content[: len(results)]):
            problems.append(f"messages.{index}: tool results must stand first")
        waiting = [str(block["toolUse"].get("toolUseId")) for block in content if "toolUse" in block]
    return problems + pair_problems(waiting, [], "the end")


def _tool_config(body: Body) -> list[str]:
    blocks = [block for message in body["messages"] for block in message.get("content") or ()]
    config = body.get("toolConfig")
    if config is None:
        used = any("toolUse" in block or "toolResult" in block for block in blocks)
        return ["toolConfig: must be there when a message has toolUse or toolResult blocks"] if used else []
    tools = config.get("tools")
    if not tools:
        return ["toolConfig.tools: at least one is required"]
    problems = []
    for index, tool in enumerate(tools):
        spec = tool.get("toolSpec")
        if spec is None:
            problems += [] if "cachePoint" in tool and index > 0 else [f"toolConfig.tools.{index}: no toolSpec"]
            continue
        if not _TOOL_NAME.fullmatch(str(spec.get("name"))) or spec.get("description") == "":
            problems.append(f"toolConfig.tools.{index}: the name or the description is not valid")
        if (spec.get("inputSchema") or {}).get("json", {}).get("type") != "object":
            problems.append(f"toolConfig.tools.{index}: inputSchema.json.type must be 'object'")
    return problems


def _system(system: Any) -> list[str]:
    problems = []
    for index, block in enumerate(system or ()):
        if "cachePoint" not in block and blank(block.get("text")):
            problems.append(f"system.{index}: the text is blank")
    return problems


def _document_names(messages: list[Any]) -> list[str]:
    names = [
        block["document"].get("name")
        for message in messages
        for block in message.get("content") or ()
        if "document" in block
    ]
    return ["messages: two documents have one name"] if len(set(names)) < len(names) else []


def _cache_points(body: Body) -> list[str]:
    problems: list[str] = []
    ttls: list[str] = []
    lists = [
        ("toolConfig.tools", (body.get("toolConfig") or {}).get("tools") or ()),
        ("system", body.get("system") or ()),
    ]
    lists += [(f"messages.{index}", message.get("content") or ()) for index, message in enumerate(body["messages"])]
    for where, blocks in lists:
        for number, block in enumerate(blocks):
            if "cachePoint" not in block:
                continue
            point = block["cachePoint"]
            if point.get("type") != "default" or set(point) - {"type", "ttl"}:
                problems.append(f"{where}.{number}: a cachePoint of an unknown type")
            if number == 0:
                problems.append(f"{where}.{number}: a cachePoint with nothing in front of it")
            elif "cachePoint" in blocks[number - 1] or "reasoningContent" in blocks[number - 1]:
                problems.append(f"{where}.{number}: a cachePoint cannot stand behind {next(iter(blocks[number - 1]))}")
            ttls.append(str(point.get("ttl", "5m")))
    return problems + ttl_problems(ttls)
