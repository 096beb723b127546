"""The routes of the compatible APIs. What is asked is read and begun elsewhere; here it meets HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from frontmind.errors import FrontmindError
from frontmind.server.attempts import unless_gone
from frontmind.server.compat.body import Body, read_body
from frontmind.server.compat.chat_replies import ChatReply
from frontmind.server.compat.document import replies, takes
from frontmind.server.compat.errors import ApiShape, error_body, shape_of, status_of
from frontmind.server.compat.headers import (
    conversation_name,
    looks_like_task,
    read_headers,
    reply_headers,
)
from frontmind.server.compat.messages_replies import MessagesReply
from frontmind.server.compat.models import (
    anthropic_model,
    anthropic_models,
    model_names,
    openai_model,
    openai_models,
    require_known,
)
from frontmind.server.compat.requests import (
    Api,
    CompatRequest,
    read_chat,
    read_messages,
    read_responses,
)
from frontmind.server.compat.responses_replies import ResponsesReply
from frontmind.server.compat.streaming import ReplyForm, streamed_reply, whole_reply
from frontmind.server.compat.talks import Talk, Talks
from frontmind.server.dependencies import SLASH, Asking, TheHub
from frontmind.server.errors import Problem, problem_of
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.window.blocks import message_text
from frontmind.window.canonical import JsonObject, canonical_json, digest

router = APIRouter(tags=["compatible"])


async def the_talks(request: Request) -> Talks:
    """The turns of clients."""
    talks: Talks = request.app.state.talks
    return talks


TheTalks = Annotated[Talks, Depends(the_talks)]


@dataclass(frozen=True, slots=True)
class _Speaking:
    """A route by which something is said to the assistant that remembers, as to any model of this API.

    Attributes:
        name: that of the operation.
        what: its reply.
        required: what the body must have.
        optional: what it may have, as far as the document says it.
    """

    path: str
    name: str
    summary: str
    what: str
    shape: ApiShape
    read: Callable[[Body], CompatRequest]
    required: tuple[str, ...]
    optional: tuple[str, ...] = ("stream", "tools")


_SPEAKING: Final = (
    _Speaking(
        "/v1/chat/completions",
        "create_chat_completion",
        "OpenAI: Chat Completions",
        "A chat completion, or its chunks.",
        ApiShape.OPENAI,
        read_chat,
        ("model", "messages"),
    ),
    _Speaking(
        "/v1/responses",
        "create_response",
        "OpenAI: Responses",
        "A response, or its events.",
        ApiShape.OPENAI,
        read_responses,
        ("model", "input"),
        ("stream", "tools", "previous_response_id"),
    ),
    _Speaking(
        "/v1/messages",
        "create_message",
        "Anthropic: Messages",
        "A message, or its events.",
        ApiShape.ANTHROPIC,
        read_messages,
        ("model", "max_tokens", "messages"),
    ),
)


def _speak(route: _Speaking) -> None:
    async def say(request: Request, hub: TheHub, person: Asking, talks: TheTalks) -> Response:
        """Say something to the assistant that remembers, as to any model of this API."""
        try:
            return await _answer(request, hub, person, talks, route.read)
        except (Problem, FrontmindError) as error:
            return _error(route.shape, error)

    router.add_api_route(
        route.path,
        say,
        methods=["POST"],
        name=route.name,
        summary=route.summary,
        responses=replies(route.what, route.shape, is_streamed=True),
        openapi_extra=takes(*route.required, optional=route.optional),
        response_class=Response,
    )


for _route in _SPEAKING:
    _speak(_route)


@router.post(
    "/v1/messages/count_tokens",
    summary="Anthropic: count the tokens of a request",
    responses=replies("The count.", ApiShape.ANTHROPIC),
    openapi_extra=takes("model", "messages", is_named=False),
    response_class=Response,
)
async def count_tokens(request: Request, hub: TheHub, _: Asking) -> Response:
    """The tokens of what the client sends. What the assistant adds of its own is not counted."""
    try:
        body = read_body(await request.body())
        require_known(body.text("model"), hub.model.name)
        asked = read_messages(body, counting=True)
        texts = [asked.caller.instructions, *(f"{tool.name}{tool.parameters}" for tool in asked.caller.tools)]
        for exchange in asked.asked.exchanges:
            texts += [message_text(exchange.user), message_text(exchange.reply)]
        texts.append(message_text(asked.asked.message))
        counted = await hub.model.count_text("\n\n".join(filter(None, texts)))
        return _json({"input_tokens": counted.tokens})
    except (Problem, FrontmindError) as error:
        return _error(ApiShape.ANTHROPIC, error)


@router.get(
    "/v1/models", summary="The names to ask for", responses=replies("A list.", *ApiShape), response_class=Response
)
async def list_models(request: Request, hub: TheHub, _: Asking) -> Response:
    """The names of the assistant, in the shape of the API whose client asks."""
    names = model_names(hub.model.name)
    is_anthropic = shape_of(request.url.path, request.headers) is ApiShape.ANTHROPIC
    return _json(anthropic_models(names) if is_anthropic else openai_models(names))


@router.get(
    "/v1/models/{model:path}", summary="One name", responses=replies("A model.", *ApiShape), response_class=Response
)
async def get_model(request: Request, model: str, hub: TheHub, _: Asking) -> Response:
    """One of the names of the assistant."""
    is_anthropic = shape_of(request.url.path, request.headers) is ApiShape.ANTHROPIC
    # Names of models hold addresses.
    name = model.replace(SLASH, "/")
    try:
        require_known(name, hub.model.name)
    except Problem as problem:
        return _error(ApiShape.ANTHROPIC if is_anthropic else ApiShape.OPENAI, problem)
    return _json(anthropic_model(name) if is_anthropic else openai_model(name))


async def _answer(
    request: Request, hub: Hub, person: Person, talks: Talks, read: Callable[[Body], CompatRequest]
) -> Response:
    data = await request.body()
    body = read_body(data)
    require_known(body.text("model"), hub.model.name)
    asked = read(body)
    wishes = read_headers(request.headers)
    named = conversation_name(asked.conversation, where="conversation") or wishes.named
    mark = digest(canonical_json([request.url.path, named, wishes.idempotency, digest(data)]))
    begun = talks.begin(
        person,
        asked,
        named=named,
        is_task=wishes.is_task or looks_like_task(asked.asked),
        mark=mark,
        again=wishes.again,
    )
    talk = await unless_gone(request, begun)
    form, headers = _form(talk, asked), reply_headers(talk.reply.conversation)

    def heard() -> None:
        # What the client itself has marked is the same for as long as that is kept.
        if not wishes.idempotency:
            talks.is_heard(person, mark, talk)

    if asked.stream:
        return await streamed_reply(talk, form, headers, heard=heard, stops=wishes.stops)
    reply = await whole_reply(talk, form, headers)
    if not await request.is_disconnected():
        heard()
    return reply


def _form(talk: Talk, request: CompatRequest) -> ReplyForm:
    created = int(talk.began.timestamp())
    match request.api:
        case Api.CHAT:
            return ChatReply(talk.id, created, request.model, include_usage=request.include_usage)
        case Api.RESPONSES:
            name = talk.reply.conversation
            return ResponsesReply(talk.id, created, request.model, conversation=name, echoed=request.echoed)
        case Api.MESSAGES:
            return MessagesReply(talk.id, request.model)


def _json(value: JsonObject, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(canonical_json(value), status, media_type="application/json", headers=headers)


def _error(shape: ApiShape, error: Problem | FrontmindError) -> Response:
    problem = problem_of(error) if isinstance(error, FrontmindError) else error
    # The SDKs send again what was answered with this status, unless they are told otherwise.
    stopped = {"X-Should-Retry": "false"} if problem.code == "stopped" else {}
    return _json(error_body(shape, problem), status_of(problem), {**problem.headers, **stopped})
