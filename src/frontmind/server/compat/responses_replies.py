"""Replies of OpenAI's Responses, whole and in a stream. Pure; knows no HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from frontmind.providers.protocol import StopReason
from frontmind.server.compat.talks import Outcome
from frontmind.server.compat.usage import responses_usage
from frontmind.server.errors import Problem
from frontmind.server.streams import PING, event_bytes
from frontmind.values.parts import ToolCall
from frontmind.window.canonical import Json, JsonObject

_INCOMPLETE: Final[Mapping[StopReason, str]] = {
    StopReason.LENGTH: "max_output_tokens",
    StopReason.REFUSAL: "content_filter",
}


class ResponsesReply:
    """One reply.

    Args:
        identifier: 24 hex digits.
        created: seconds since 1970.
        model: as the client named it.
        conversation: its name.
        echoed: what of the request is said again.
    """

    def __init__(
        self, identifier: str, created: int, model: str, *, conversation: str, echoed: Mapping[str, Any]
    ) -> None:
        self._identifier = identifier
        self._created = created
        self._model = model
        self._conversation = conversation
        self._echoed = echoed
        self._number = 0
        self._text: list[str] = []

    def whole(self, outcome: Outcome) -> JsonObject:
        """The body of a reply that is not streamed."""
        status, reason = _status(outcome)
        report = outcome.report
        return self._response(
            status,
            self._output(outcome),
            incomplete_details=None if reason is None else {"reason": reason},
            usage=None if report is None else responses_usage(report.usage),
        )

    def begin(self) -> Sequence[bytes]:
        """The frames in front of any text."""
        response = self._response("in_progress", [])
        return (
            self._frame("response.created", {"response": response}),
            self._frame("response.in_progress", {"response": response}),
        )

    def text(self, piece: str) -> Sequence[bytes]:
        """The frames of a piece of text."""
        frames = []
        if not self._text:
            item = self._message([], "in_progress")
            frames = [
                self._frame("response.output_item.added", {"output_index": 0, "item": item}),
                self._frame("response.content_part.added", {**self._place, "part": _part("")}),
            ]
        self._text.append(piece)
        delta = {**self._place, "delta": piece, "logprobs": []}
        return (*frames, self._frame("response.output_text.delta", delta))

    def end(self, outcome: Outcome) -> Sequence[bytes]:
        """The frames behind the text."""
        frames: list[bytes] = []
        if self._text:
            text = "".join(self._text)
            item = self._message([_part(text)], "completed")
            frames += [
                self._frame("response.output_text.done", {**self._place, "text": text, "logprobs": []}),
                self._frame("response.content_part.done", {**self._place, "part": _part(text)}),
                self._frame("response.output_item.done", {"output_index": 0, "item": item}),
            ]
        for index, call in enumerate(outcome.calls, len(frames) and 1):
            frames += self._call_frames(index, call)
        status, _ = _status(outcome)
        return (*frames, self._frame(f"response.{status}", {"response": self.whole(outcome)}))

    def failed(self, problem: Problem) -> Sequence[bytes]:
        """The frames in place of an end."""
        # Of the codes that clients know, the others speak of files and rates.
        code = "rate_limit_exceeded" if problem.status == 429 else "server_error"
        error: JsonObject = {"code": code, "message": f"{problem.message} ({problem.code})"}
        text = "".join(self._text)
        output: list[Json] = [self._message([_part(text)], "incomplete")] if text else []
        return (self._frame("response.failed", {"response": self._response("failed", output, error=error)}),)

    def quiet(self) -> bytes:
        """Says that the connection stands."""
        return PING

    def _call_frames(self, index: int, call: ToolCall) -> list[bytes]:
        place: JsonObject = {"output_index": index, "item_id": _call_item_id(call)}
        begun = _call(call, "in_progress") | {"arguments": ""}
        named = {**place, "name": call.name, "arguments": call.arguments}
        return [
            self._frame("response.output_item.added", {"output_index": index, "item": begun}),
            self._frame("response.function_call_arguments.delta", {**place, "delta": call.arguments}),
            self._frame("response.function_call_arguments.done", named),
            self._frame("response.output_item.done", {"output_index": index, "item": _call(call, "completed")}),
        ]

    @property
    def _message_id(self) -> str:
        return f"msg_{self._identifier}"

    @property
    def _place(self) -> JsonObject:
        return {"item_id": self._message_id, "output_index": 0, "content_index": 0}

    def _output(self, outcome: Outcome) -> list[Json]:
        status = "completed" if _status(outcome)[0] == "completed" else "incomplete"
        output: list[Json] = [self._message([_part(outcome.text)], status)] if outcome.text else []
        return [*output, *(_call(call, "completed") for call in outcome.calls)]

    def _message(self, content: Sequence[Json], status: str) -> JsonObject:
        return {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _frame(self, event: str, data: JsonObject) -> bytes:
        frame = event_bytes(event, {"type": event, "sequence_number": self._number, **data})
        self._number += 1
        return frame

    def _response(self, status: str, output: Sequence[Json], **rest: Json) -> JsonObject:
        return {
            "id": f"resp_{self._identifier}",
            "object": "response",
            "created_at": self._created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "model": self._model,
            "output": output,
            "conversation": {"id": self._conversation},
            "store": True,
            "text": {"format": {"type": "text"}},
            "truncation": "disabled",
            "usage": None,
            **self._echoed,
            **rest,
        }


def _status(outcome: Outcome) -> tuple[str, str | None]:
    """The status, and why a reply is incomplete."""
    if outcome.calls or outcome.report is None:
        return "completed", None
    reason = _INCOMPLETE.get(outcome.report.stop)
    return ("completed", None) if reason is None else ("incomplete", reason)


def _part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call_item_id(call: ToolCall) -> str:
    return f"fc_{call.id.partition('_')[2]}"


def _call(call: ToolCall, status: str) -> JsonObject:
    return {
        "id": _call_item_id(call),
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }
