"""A loopback server that plays the Anthropic Messages API with its prompt cache, by rules that a test can change.

Its cache is written anew here and shares nothing with Frontmind's own model of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any

from providers.loopback import Exchange, serving
from providers.validators import anthropic, replies
from providers.validators.replies import Said

RULE = "═" * 60
HEADER = "NOTIFICATION CENTER"


@dataclass
class Rules:
    """What the server does.

    Attributes:
        minimum: prefixes of fewer tokens are not cached.
        look_back: how many positions it looks at from a marker back, that of the marker included.
        reads: whether anything is ever read.
        takes_two_users: whether two user messages in a row are taken.
        takes_section: whether an assistant message that is no reply of its own is taken.
        merges_rule: whether a user message that is only the rule changes the key of what is in front of it.
        words: what it says where it refuses such a message.
        fails: the numbers of the requests, from 1 on, that are turned away.
    """

    minimum: int = 1024
    look_back: int = 20
    reads: bool = True
    takes_two_users: bool = True
    takes_section: bool = True
    merges_rule: bool = False
    words: str = "assistant messages must be replies of the model"
    fails: frozenset[int] = frozenset()


@dataclass
class CachingServer:
    """The server's address, its rules, and what it was sent.

    Attributes:
        entries: for each key the second at which it ends, and how many it lives.
        says: its reply to the request of a number, from 1 on.
        now: the second at which it is asked.
    """

    url: str
    rules: Rules
    bodies: list[dict[str, Any]] = field(default_factory=list)
    entries: dict[str, tuple[float, float]] = field(default_factory=dict)
    says: Callable[[int], Said] = lambda number: Said("OK.")
    now: Callable[[], float] = lambda: 0.0

    def answer(self, exchange: Exchange) -> None:
        body = json.loads(exchange.body)
        self.bodies.append(body)
        if len(self.bodies) in self.rules.fails:
            error = {"type": "error", "error": {"type": "permission_error", "message": "not today"}}
            exchange.reply(403, json.dumps(error).encode())
            return
        problem = self._problem(body, exchange)
        if problem:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": problem}}
            exchange.reply(400, json.dumps(error).encode())
            return
        exchange.start_stream()
        figures = self._count(body)
        for event in replies.anthropic_events(self.says(len(self.bodies))):
            holder = event.get("message", event)
            counted = {**event, "usage": figures} if "usage" in event else event
            if "usage" in holder and holder is not event:
                counted = {**event, "message": {**holder, "usage": figures}}
            exchange.wfile.write(f"event: {event['type']}\n".encode())
            exchange.event(counted)

    def _problem(self, body: dict[str, Any], exchange: Exchange) -> str:
        betas = frozenset(filter(None, exchange.headers.get("anthropic-beta", "").split(",")))
        problems = anthropic.validate(body, betas=betas)
        roles = [message["role"] for message in body["messages"]]
        if not self.rules.takes_two_users and ("user", "user") in pairwise(roles):
            problems.append("roles must alternate between user and assistant")
        said = [block for message in body["messages"] if message["role"] == "assistant" for block in _blocks(message)]
        if not self.rules.takes_section and any(HEADER in _text(block) for block in said):
            problems.append(self.rules.words)
        return "; ".join(problems)

    def _count(self, body: dict[str, Any]) -> dict[str, int]:
        spans = [("tools", tool) for tool in body.get("tools", ())]
        spans += [("system", block) for block in body.get("system", ())]
        kept = [message for message in body["messages"] if "clear_at" not in message]
        spans += [(message["role"], block) for message in kept for block in _blocks(message)]
        # What is said for one turn is seen in it, and is part of no prefix.
        last = body["messages"][-1]
        passing = sum(map(_size, _blocks(last))) if "clear_at" in last else 0
        sizes = [_size(block) for _, block in spans]
        keys = self._keys(body["model"], spans)
        marked = [index for index, (_, block) in enumerate(spans) if "cache_control" in block]
        large = [index for index in range(len(spans)) if sum(sizes[: index + 1]) >= self.rules.minimum]
        reach = {index for end in marked for index in range(max(0, end - self.rules.look_back + 1), end + 1)}
        now = self.now()
        self.entries = {key: (ends, lives) for key, (ends, lives) in self.entries.items() if now <= ends}
        found = [index for index in large if index in reach and keys[index] in self.entries]
        if found:
            # What is read lives on, and with it what it begins with.
            for key in {*keys[: found[-1] + 1]} & {*self.entries}:
                lives = self.entries[key][1]
                self.entries[key] = (now + lives, lives)
        read = sum(sizes[: found[-1] + 1]) if found and self.rules.reads else 0
        writes = [index for index in marked if index in large]
        for index in writes:
            lives = 3600.0 if spans[index][1]["cache_control"].get("ttl") == "1h" else 300.0
            self.entries.setdefault(keys[index], (now + lives, lives))
        written = max(0, sum(sizes[: writes[-1] + 1]) - read) if writes else 0
        return {
            "input_tokens": sum(sizes) - read - written + passing,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 2,
        }

    def _keys(self, model: str, spans: list[tuple[str, Any]]) -> list[str]:
        keys, state = [], sha256(model.encode())
        for index, (role, block) in enumerate(spans):
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            state.update(json.dumps([role, plain], sort_keys=True).encode())
            own = state.copy()
            following = spans[index + 1][1] if index + 1 < len(spans) else {}
            if self.rules.merges_rule and _text(following) == RULE:
                own.update(b"rule")
            keys.append(own.hexdigest())
        return keys


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(block: dict[str, Any]) -> str:
    return str(block.get("text", ""))


def _size(block: dict[str, Any]) -> int:
    return len(json.dumps(block["input_schema"]) if "input_schema" in block else _text(block)) // 3 + 2


@contextmanager
def caching(**changed: Any) -> Iterator[CachingServer]:
    """A server with these rules in place of the documented ones of Claude Sonnet 5."""
    with serving() as loopback:
        server = CachingServer(loopback.url, Rules(**changed))
        loopback.answer = server.answer
        yield server
