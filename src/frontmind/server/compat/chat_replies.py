"""Replies of Chat Completions, whole and in a stream. Pure; knows no HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from frontmind.providers.protocol import StopReason
from frontmind.server.compat.errors import ApiShape, error_body
from frontmind.server.compat.talks import Outcome
from frontmind.server.compat.usage import chat_usage
from frontmind.server.errors import Problem
from frontmind.server.streams import PING, event_bytes
from frontmind.values.parts import ToolCall
from frontmind.window.canonical import Json, JsonObject

_FINISHES: Final[Mapping[StopReason, str]] = {
    StopReason.LENGTH: "length",
    StopReason.REFUSAL: "content_filter",
}
_DONE: Final = event_bytes("", "[DONE]")


class ChatReply:
    """One reply.

    Args:
        identifier: 24 hex digits.
        created: seconds since 1970.
        model: as the client named it.
        include_usage: whether a stream ends with the counts.
    """

    def __init__(self, identifier: str, created: int, model: str, *, include_usage: bool = False) -> None:
        self._id = f"chatcmpl-{identifier}"
        self._created = created
        self._model = model
        self._include_usage = include_usage

    def whole(self, outcome: Outcome) -> JsonObject:
        """The body of a reply that is not streamed."""
        message: JsonObject = {"role": "assistant", "content": outcome.text or None, "refusal": None}
        if outcome.calls:
            message["tool_calls"] = [_call(call) for call in outcome.calls]
        choice: JsonObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(outcome)}
        return self._body("chat.completion", [choice]) | _usage_of(outcome)

    def begin(self) -> Sequence[bytes]:
        """The frames in front of any text."""
        return (self._chunk({"role": "assistant", "content": ""}),)

    def text(self, piece: str) -> Sequence[bytes]:
        """The frames of a piece of text."""
        return (self._chunk({"content": piece}),)

    def end(self, outcome: Outcome) -> Sequence[bytes]:
        """The frames behind the text."""
        frames = [
            self._chunk({"tool_calls": [{"index": index, **_call(call)}]}) for index, call in enumerate(outcome.calls)
        ]
        frames.append(self._chunk({}, finish=_finish(outcome)))
        if self._include_usage:
            frames.append(event_bytes("", self._body("chat.completion.chunk", []) | _usage_of(outcome)))
        return (*frames, _DONE)

    def failed(self, problem: Problem) -> Sequence[bytes]:
        """The frames in place of an end."""
        return (event_bytes("", error_body(ApiShape.OPENAI, problem)),)

    def quiet(self) -> bytes:
        """Says that the connection stands."""
        return PING

    def _chunk(self, delta: JsonObject, *, finish: str | None = None) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage: JsonObject = {"usage": None} if self._include_usage else {}
        return event_bytes("", self._body("chat.completion.chunk", [choice]) | usage)

    def _body(self, kind: str, choices: Sequence[Json]) -> JsonObject:
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._model,
            "choices": choices,
            "system_fingerprint": None,
        }


def _finish(outcome: Outcome) -> str:
    if outcome.calls:
        return "tool_calls"
    return "stop" if outcome.report is None else _FINISHES.get(outcome.report.stop, "stop")


def _usage_of(outcome: Outcome) -> JsonObject:
    return {} if outcome.report is None else {"usage": chat_usage(outcome.report.usage)}


def _call(call: ToolCall) -> JsonObject:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
