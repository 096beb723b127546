"""The requests of the three APIs as one value. Knows no store and no route.

What tunes a model (temperature, seed, a limit of tokens and the like) is accepted and has no effect: the model's
settings are the assistant's. What would change the form of the answer is refused, because a client relies on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from frontmind.assistant.caller import Caller
from frontmind.errors import UsageError
from frontmind.server.compat.asked import Asked
from frontmind.server.compat.body import Body
from frontmind.server.compat.errors import RequestProblem, unsupported
from frontmind.server.compat.reading import chosen_tools, read_input, read_items, read_tools
from frontmind.values.tool import Tool

_REFUSED_IN_CHAT: Final = ("logprobs", "top_logprobs", "audio", "functions", "function_call", "web_search_options")
_REFUSED_IN_RESPONSES: Final = ("background", "prompt", "top_logprobs")
_REFUSED_IN_MESSAGES: Final = ("mcp_servers", "container", "output_format")


class Api(StrEnum):
    """Which of the three APIs."""

    CHAT = "chat"
    RESPONSES = "responses"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class CompatRequest:
    """What a client of any of the APIs wants.

    Attributes:
        model: as it was named; checked by nobody yet.
        caller: its instructions and tools.
        include_usage: whether a stream of Chat Completions ends with the counts.
        previous: the id of the response behind which the client goes on; empty for none.
        conversation: the conversation that the body names; empty for none.
        echoed: what the reply of the Responses API repeats.
    """

    api: Api
    model: str
    asked: Asked
    caller: Caller
    stream: bool
    include_usage: bool = False
    previous: str = ""
    conversation: str = ""
    echoed: Mapping[str, Any] = field(default_factory=dict)


def read_chat(body: Body) -> CompatRequest:
    """A request of Chat Completions.

    Raises:
        RequestProblem: it cannot be read, or wants what this server does not have.
    """
    _refuse(body, _REFUSED_IN_CHAT)
    if body.data.get("n") not in (None, 1):
        raise unsupported("n can only be 1: an assistant that remembers has one reply", param="n")
    if any(modality != "text" for modality in body.sequence("modalities")):
        raise unsupported("modalities can only be text", param="modalities")
    _refuse_form(body.object("response_format"), "response_format")
    asked, operator = read_items(body.sequence("messages"), key="messages")
    return CompatRequest(
        api=Api.CHAT,
        model=body.text("model"),
        asked=asked,
        caller=_caller(operator, chosen_tools(body, read_tools(body, nested=True))),
        stream=body.flag("stream"),
        include_usage=body.object("stream_options").flag("include_usage"),
    )


def read_responses(body: Body) -> CompatRequest:
    """A request of Responses.

    Raises:
        RequestProblem: as for `read_chat`.
    """
    _refuse(body, _REFUSED_IN_RESPONSES)
    _refuse_form(body.object("text").object("format"), "text.format")
    said = body.data.get("input")
    items = [{"role": "user", "content": said}] if isinstance(said, str) else body.sequence("input")
    asked, operator = read_input(items)
    previous, conversation = body.text("previous_response_id"), _conversation(body)
    if previous and conversation:
        raise RequestProblem(
            "previous_response_id and conversation cannot be used together; leave one out", param="conversation"
        )
    tools = read_tools(body, nested=False)
    instructions = body.text("instructions")
    return CompatRequest(
        api=Api.RESPONSES,
        model=body.text("model"),
        asked=asked,
        caller=_caller([*filter(str.strip, [instructions]), *operator], chosen_tools(body, tools)),
        stream=body.flag("stream"),
        previous=previous,
        conversation=conversation,
        echoed={
            "instructions": instructions or None,
            "metadata": dict(body.object("metadata").data),
            "parallel_tool_calls": body.flag("parallel_tool_calls") or not body.has("parallel_tool_calls"),
            "previous_response_id": previous or None,
            "tool_choice": body.data.get("tool_choice") or "auto",
            "tools": list(body.sequence("tools")),
        },
    )


def read_messages(body: Body, *, counting: bool = False) -> CompatRequest:
    """A request of Messages.

    Args:
        counting: whether only its tokens are to be counted, for which it needs no ``max_tokens``.

    Raises:
        RequestProblem: as for `read_chat`.
    """
    _refuse(body, _REFUSED_IN_MESSAGES)
    _refuse_form(body.object("output_config").object("format"), "output_config.format")
    limit = body.data.get("max_tokens")
    if not counting and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise RequestProblem("max_tokens is not a whole number from 1 on", param="max_tokens")
    system = body.data.get("system")
    items: list[Any] = [] if system is None else [{"role": "system", "content": system}]
    asked, operator = read_items([*items, *body.sequence("messages")], key="messages")
    return CompatRequest(
        api=Api.MESSAGES,
        model=body.text("model"),
        asked=asked,
        caller=_caller(operator, chosen_tools(body, read_tools(body, nested=False))),
        stream=body.flag("stream"),
    )


def _refuse(body: Body, keys: tuple[str, ...]) -> None:
    for key in keys:
        if body.data.get(key):
            raise unsupported(f"{key} is not to be had here", param=key)


def _refuse_form(form: Body, param: str) -> None:
    if form.text("type") not in ("", "text"):
        raise unsupported(f"{param} can only be text: no form of the reply can be promised", param=param)


def _caller(instructions: Sequence[str], tools: tuple[Tool, ...]) -> Caller:
    try:
        return Caller("\n\n".join(instructions), tools)
    except UsageError as error:
        raise RequestProblem(str(error), param="tools") from error


def _conversation(body: Body) -> str:
    named = body.data.get("conversation")
    return body.object("conversation").text("id") if isinstance(named, Mapping) else body.text("conversation")
