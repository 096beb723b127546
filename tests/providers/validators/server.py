"""A loopback server that speaks every provider's API: it refuses what the provider would, and answers the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from providers.loopback import Exchange, Loopback, serving
from providers.validators import anthropic, bedrock, gemini, openai_chat, openai_responses, replies
from providers.validators.replies import Event, Said

_BEDROCK_PATH = re.compile(r"/model/(?P<model>[^/]+)/(?P<action>converse|converse-stream|invoke[a-z-]*)")
_GEMINI_PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<action>generateContent|streamGenerateContent)")
_EVENT_STREAM = "application/vnd.amazon.eventstream"


@dataclass
class ValidatingServer:
    """What the next request is answered with, and what was asked so far.

    Attributes:
        url: where it listens.
        said: the next reply.
        chat: which of the servers with Chat Completions it plays.
        bodies: the bodies that were asked, refused ones too.
        problems: what was wrong with the last of them.
    """

    url: str
    said: Said = field(default_factory=lambda: Said("Hello."))
    chat: openai_chat.Server = openai_chat.OPENAI
    bodies: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def answer(self, exchange: Exchange) -> None:
        path = unquote(exchange.path.partition("?")[0])
        body = json.loads(exchange.body)
        self.bodies.append(body)
        if found := _BEDROCK_PATH.fullmatch(path):
            self._bedrock(exchange, body, found["model"], found["action"])
        elif found := _GEMINI_PATH.fullmatch(path):
            self._gemini(exchange, body, found["model"], found["action"])
        elif path == "/v1/messages":
            self._anthropic(exchange, body)
        elif path == "/v1/responses":
            self._responses(exchange, body)
        elif path == "/v1/chat/completions":
            self._chat(exchange, body)
        else:
            exchange.reply(404, json.dumps({"error": {"message": f"no such path: {path}"}}).encode())

    def _refused(self, exchange: Exchange, problems: list[str]) -> bool:
        self.problems = problems
        if problems:
            text = "; ".join(problems)
            # One body that each of the SDKs finds its own words in.
            error = {"type": "invalid_request_error", "code": 400, "message": text, "status": "INVALID_ARGUMENT"}
            body = {"type": "error", "error": error, "__type": "ValidationException", "message": text}
            exchange.reply(400, json.dumps(body).encode())
        return bool(problems)

    def _anthropic(self, exchange: Exchange, body: Event) -> None:
        betas = frozenset(filter(None, exchange.headers.get("anthropic-beta", "").split(",")))
        if self._refused(exchange, anthropic.validate(body, betas=betas)):
            return
        if body.get("stream"):
            _named_events(exchange, replies.anthropic_events(self.said))
        else:
            _json(exchange, replies.anthropic_reply(self.said))

    def _responses(self, exchange: Exchange, body: Event) -> None:
        if self._refused(exchange, openai_responses.validate(body)):
            return
        if body.get("stream"):
            _named_events(exchange, replies.responses_events(self.said))
        else:
            _json(exchange, replies.responses_reply(self.said))

    def _chat(self, exchange: Exchange, body: Event) -> None:
        if self._refused(exchange, openai_chat.validate(body, self.chat)):
            return
        key, writes = self.chat.reasoning_key, self.chat is openai_chat.OPENAI
        if not body.get("stream"):
            _json(exchange, replies.chat_reply(self.said, reasoning_key=key, writes=writes))
            return
        exchange.start_stream()
        for event in replies.chat_events(self.said, reasoning_key=key, writes=writes):
            exchange.event(event)
        exchange.event("[DONE]")

    def _gemini(self, exchange: Exchange, body: Event, model: str, action: str) -> None:
        if self._refused(exchange, gemini.validate(body, model=model)):
            return
        if action == "generateContent":
            _json(exchange, replies.gemini_reply(self.said))
            return
        exchange.start_stream()
        for event in replies.gemini_events(self.said):
            exchange.event(event)

    def _bedrock(self, exchange: Exchange, body: Event, model: str, action: str) -> None:
        converse = action.startswith("converse")
        found = bedrock.validate(body, model=model) if converse else anthropic.validate_invoke(body, model=model)
        if self._refused(exchange, found):
            return
        match action:
            case "converse":
                _json(exchange, replies.converse_reply(self.said))
            case "converse-stream":
                _aws_stream(exchange, replies.converse_events(self.said))
            case "invoke":
                _json(exchange, replies.anthropic_reply(self.said))
            case _:
                _aws_stream(exchange, replies.aws_chunks(replies.anthropic_events(self.said)))


def _json(exchange: Exchange, reply: Event) -> None:
    exchange.reply(200, json.dumps(reply).encode())


def _named_events(exchange: Exchange, events: Iterable[Event]) -> None:
    exchange.start_stream()
    for event in events:
        exchange.wfile.write(f"event: {event['type']}\n".encode())
        exchange.event(event)


def _aws_stream(exchange: Exchange, events: Iterable[tuple[str, Event]]) -> None:
    body = b"".join(replies.aws_message(kind, payload) for kind, payload in events)
    exchange.reply(200, body, _EVENT_STREAM)


@contextmanager
def validating() -> Iterator[ValidatingServer]:
    """A server on a free port of the loopback address."""
    with serving() as loopback:
        yield _answering(loopback)


def _answering(loopback: Loopback) -> ValidatingServer:
    server = ValidatingServer(loopback.url)
    loopback.answer = server.answer
    return server
