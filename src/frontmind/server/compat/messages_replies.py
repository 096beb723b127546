"""Replies of Anthropic's Messages, whole and in a stream. Pure; knows no HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from frontmind.providers.protocol import StopReason
from frontmind.server.compat.errors import ApiShape, error_body
from frontmind.server.compat.talks import Outcome
from frontmind.server.compat.usage import messages_usage
from frontmind.server.errors import Problem
from frontmind.server.streams import event_bytes
from frontmind.values.parts import ToolCall
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json, JsonObject, parse_json

_STOPS: Final[Mapping[StopReason, str]] = {
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSAL: "refusal",
}
_NOTHING: Final = Usage(0, 0, 0, 0)


class MessagesReply:
    """One reply.

    Args:
        identifier: 24 hex digits.
        model: as the client named it.
    """

    def __init__(self, identifier: str, model: str) -> None:
        self._id = f"msg_{identifier}"
        self._model = model
        self._has_text = False

    def whole(self, outcome: Outcome) -> JsonObject:
        """The body of a reply that is not streamed."""
        content: list[Json] = [_text(outcome.text)] if outcome.text else []
        content += [_call(call, _arguments(call)) for call in outcome.calls]
        return self._message(content, _stop(outcome), _usage(outcome))

    def begin(self) -> Sequence[bytes]:
        """The frames in front of any text."""
        message = self._message([], None, _NOTHING)
        return (_frame("message_start", {"message": message}), self.quiet())

    def text(self, piece: str) -> Sequence[bytes]:
        """The frames of a piece of text."""
        delta = _frame("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}})
        if self._has_text:
            return (delta,)
        self._has_text = True
        return (_frame("content_block_start", {"index": 0, "content_block": _text("")}), delta)

    def end(self, outcome: Outcome) -> Sequence[bytes]:
        """The frames behind the text."""
        frames = [_frame("content_block_stop", {"index": 0})] if self._has_text else []
        for index, call in enumerate(outcome.calls, int(self._has_text)):
            delta = {"type": "input_json_delta", "partial_json": call.arguments}
            frames += [
                _frame("content_block_start", {"index": index, "content_block": _call(call, {})}),
                _frame("content_block_delta", {"index": index, "delta": delta}),
                _frame("content_block_stop", {"index": index}),
            ]
        stop = {"stop_reason": _stop(outcome), "stop_sequence": None}
        frames.append(_frame("message_delta", {"delta": stop, "usage": messages_usage(_usage(outcome))}))
        return (*frames, _frame("message_stop", {}))

    def failed(self, problem: Problem) -> Sequence[bytes]:
        """The frames in place of an end."""
        return (event_bytes("error", error_body(ApiShape.ANTHROPIC, problem)),)

    def quiet(self) -> bytes:
        """Says that the connection stands."""
        return _frame("ping", {})

    def _message(self, content: Sequence[Json], stop: str | None, usage: Usage) -> JsonObject:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": messages_usage(usage),
        }


def _frame(event: str, data: JsonObject) -> bytes:
    return event_bytes(event, {"type": event, **data})


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _call(call: ToolCall, arguments: Json) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _arguments(call: ToolCall) -> Json:
    # The orchestrator stores only arguments that are a JSON object.
    arguments: Json = parse_json(call.arguments or "{}")
    return arguments


def _stop(outcome: Outcome) -> str:
    if outcome.calls:
        return "tool_use"
    return "end_turn" if outcome.report is None else _STOPS.get(outcome.report.stop, "end_turn")


def _usage(outcome: Outcome) -> Usage:
    return _NOTHING if outcome.report is None else outcome.report.usage
