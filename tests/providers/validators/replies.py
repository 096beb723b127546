"""What a provider's server answers: one reply in the JSON and in the stream of every format.

The events are spelled from the providers' API references; no decoder of ours is used here.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]

INPUT, CACHED, WRITTEN_5M, WRITTEN_1H, OUTPUT = 1000, 600, 100, 200, 20
"""Tokens of every reply: all of the prompt, those read from the cache, those written to it, those generated."""
WRITTEN = WRITTEN_5M + WRITTEN_1H
THOUGHTS = 8
"""How many of the generated tokens are reasoning, where a format counts them apart."""
SIGNATURE = base64.b64encode(b"signed \xfb\xef\xff by the provider").decode()


@dataclass(frozen=True)
class Call:
    """A call of a tool; the arguments are JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Said:
    """What the model says in one reply."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""


def pieces(text: str) -> list[str]:
    """The text in pieces as a stream brings it, none of them a whole word."""
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def anthropic_reply(said: Said) -> Event:
    content: list[Event] = []
    if said.thinking:
        content.append({"type": "thinking", "thinking": said.thinking, "signature": SIGNATURE})
    if said.text:
        content.append({"type": "text", "text": said.text})
    for call in said.calls:
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": content,
        "stop_reason": "tool_use" if said.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": INPUT - CACHED - WRITTEN,
            "cache_read_input_tokens": CACHED,
            "cache_creation_input_tokens": WRITTEN,
            "cache_creation": {
                "ephemeral_5m_input_tokens": WRITTEN_5M,
                "ephemeral_1h_input_tokens": WRITTEN_1H,
            },
            "output_tokens": OUTPUT,
        },
    }


def anthropic_events(said: Said) -> list[Event]:
    reply = anthropic_reply(said)
    events: list[Event] = [
        {
            "type": "message_start",
            "message": {
                **reply,
                "content": [],
                "stop_reason": None,
                "usage": {**reply["usage"], "output_tokens": 1},
            },
        },
        {"type": "ping"},
    ]
    for index, block in enumerate(reply["content"]):
        match block["type"]:
            case "text":
                start: Event = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            case "thinking":
                start = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case _:
                start = {**block, "input": {}}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(text)]]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT}})
    return [*events, {"type": "message_stop"}]


def converse_reply(said: Said) -> Event:
    content: list[Event] = []
    if said.thinking:
        thinking = {"text": said.thinking, "signature": SIGNATURE}
        content.append({"reasoningContent": {"reasoningText": thinking}})
    if said.text:
        content.append({"text": said.text})
    for call in said.calls:
        use = {"toolUseId": call.id, "name": call.name, "input": json.loads(call.arguments)}
        content.append({"toolUse": use})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if said.calls else "end_turn",
        "usage": {
            "inputTokens": INPUT - CACHED - WRITTEN,
            "outputTokens": OUTPUT,
            "totalTokens": INPUT + OUTPUT,
            "cacheReadInputTokens": CACHED,
            "cacheWriteInputTokens": WRITTEN,
            "cacheDetails": [{"ttl": "1h", "inputTokens": WRITTEN_1H}, {"ttl": "5m", "inputTokens": WRITTEN_5M}],
        },
        "metrics": {"latencyMs": 5},
    }


def converse_events(said: Said) -> list[tuple[str, Event]]:
    reply = converse_reply(said)
    events: list[tuple[str, Event]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(reply["output"]["message"]["content"]):
        deltas: list[Event]
        match block:
            case {"text": str(text)}:
                deltas = [{"text": piece} for piece in pieces(text)]
            case {"reasoningContent": {"reasoningText": thinking}}:
                deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(thinking["text"])]
                deltas.append({"reasoningContent": {"signature": thinking["signature"]}})
            case _:
                use = block["toolUse"]
                start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
                events.append(("contentBlockStart", {"start": start, "contentBlockIndex": index}))
                deltas = [{"toolUse": {"input": piece}} for piece in pieces(json.dumps(use["input"]))]
        events += [("contentBlockDelta", {"delta": delta, "contentBlockIndex": index}) for delta in deltas]
        events.append(("contentBlockStop", {"contentBlockIndex": index}))
    events.append(("messageStop", {"stopReason": reply["stopReason"]}))
    return [*events, ("metadata", {"usage": reply["usage"], "metrics": reply["metrics"]})]


def responses_reply(said: Said) -> Event:
    output: list[Event] = []
    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": SIGNATURE})
    if said.text:
        text = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]})
    for number, call in enumerate(said.calls):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }
        )
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "gpt",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": INPUT,
            "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": WRITTEN},
            "output_tokens": OUTPUT,
            "output_tokens_details": {"reasoning_tokens": THOUGHTS},
            "total_tokens": INPUT + OUTPUT,
        },
    }


def responses_events(said: Said) -> list[Event]:
    reply = responses_reply(said)
    events: list[Event] = [{"type": "response.created", "response": {**reply, "status": "in_progress", "output": []}}]
    for index, item in enumerate(reply["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        match item["type"]:
            case "message":
                [part] = item["content"]
                begun: Event = {"status": "in_progress", "content": []}
                where = {**at, "content_index": 0}
                inner = [
                    {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
                    *(
                        {"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []}
                        for piece in pieces(part["text"])
                    ),
                    {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
                    {"type": "response.content_part.done", **where, "part": part},
                ]
            case "function_call":
                begun = {"status": "in_progress", "arguments": ""}
                text = item["arguments"]
                inner = [
                    *(
                        {"type": "response.function_call_arguments.delta", **at, "delta": piece}
                        for piece in pieces(text)
                    ),
                    {"type": "response.function_call_arguments.done", **at, "name": item["name"], "arguments": text},
                ]
            case _:
                begun = {"summary": [], "encrypted_content": ""}
                [summary] = item["summary"]
                where = {**at, "summary_index": 0}
                inner = [
                    {"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
                    for piece in pieces(summary["text"])
                ]
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, **begun}})
        events += inner
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": reply})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def chat_reply(said: Said, *, reasoning_key: str, writes: bool) -> Event:
    message: Event = {"role": "assistant", "content": said.text or None}
    if said.thinking and reasoning_key:
        message[reasoning_key] = said.thinking
    if said.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.calls
        ]
    finish = "tool_calls" if said.calls else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "model",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": INPUT,
            "completion_tokens": OUTPUT,
            "total_tokens": INPUT + OUTPUT,
            "prompt_tokens_details": {"cached_tokens": CACHED, **({"cache_write_tokens": WRITTEN} if writes else {})},
        },
    }


def chat_events(said: Said, *, reasoning_key: str, writes: bool) -> list[Event]:
    reply = chat_reply(said, reasoning_key=reasoning_key, writes=writes)
    message = reply["choices"][0]["message"]
    deltas: list[Event] = [{"role": "assistant", "content": ""}]
    if reasoning_key in message:
        deltas += [{reasoning_key: piece} for piece in pieces(said.thinking)]
    deltas += [{"content": piece} for piece in pieces(said.text)]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        deltas.append({"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(function["arguments"])
        ]
    frame = {"id": reply["id"], "object": "chat.completion.chunk", "created": reply["created"], "model": "model"}
    events = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    finish = reply["choices"][0]["finish_reason"]
    events.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [*events, {**frame, "choices": [], "usage": reply["usage"]}]


def gemini_reply(said: Said) -> Event:
    parts: list[Event] = []
    if said.thinking:
        parts.append({"text": said.thinking, "thought": True})
    if said.text:
        parts.append({"text": said.text} if said.calls else {"text": said.text, "thoughtSignature": SIGNATURE})
    for number, call in enumerate(said.calls):
        # Of parallel calls only the first is signed.
        signed = {} if number else {"thoughtSignature": SIGNATURE}
        function = {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}
        parts.append({"functionCall": function, **signed})
    return _gemini_frame(parts, "STOP")


def gemini_events(said: Said) -> list[Event]:
    events = []
    for part in gemini_reply(said)["candidates"][0]["content"]["parts"]:
        if "text" not in part:
            events.append([part])
            continue
        plain = {key: value for key, value in part.items() if key != "thoughtSignature"}
        events += [[{**plain, "text": piece}] for piece in pieces(part["text"])]
        if "thoughtSignature" in part:
            events.append([{"text": "", "thoughtSignature": part["thoughtSignature"]}])
    frames = [_gemini_frame(parts, "") for parts in events]
    frames[-1]["candidates"][0]["finishReason"] = "STOP"
    return frames


def _gemini_frame(parts: list[Event], finish: str) -> Event:
    candidate: Event = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": INPUT,
            "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": OUTPUT - THOUGHTS,
            "thoughtsTokenCount": THOUGHTS,
            "totalTokenCount": INPUT + OUTPUT,
        },
        "modelVersion": "gemini",
        "responseId": "r1",
    }


def aws_message(kind: str, payload: Event) -> bytes:
    """One message of ``application/vnd.amazon.eventstream``: lengths, headers, payload, and a checksum of each."""
    head = b"".join(
        _aws_header(name, value)
        for name, value in (
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(head) + len(body), len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + body
    return message + struct.pack("!I", zlib.crc32(message))


def _aws_header(name: str, value: str) -> bytes:
    kind_of_text = 7
    return struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", kind_of_text, len(value)) + value.encode()


def aws_chunks(events: Iterable[Event]) -> list[tuple[str, Event]]:
    """The events of another format as InvokeModel wraps them."""
    return [("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode()}) for event in events]
