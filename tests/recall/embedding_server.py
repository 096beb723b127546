"""A loopback server with an embeddings endpoint that places texts by their words, without any model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from providers.loopback import Exchange, Loopback, serving

DIMENSIONS = 1024


def vector_of(text: str) -> list[float]:
    """A count of the words by their hash: equal words, equal direction. Not of unit length."""
    counts = [0.001] * DIMENSIONS
    for word in text.lower().split():
        counts[int.from_bytes(hashlib.sha256(word.encode()).digest()[:2]) % DIMENSIONS] += 1.0
    return counts


def answer_for(texts: list[str]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)]
    return {"object": "list", "data": data, "model": "words", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@dataclass
class EmbeddingServer:
    """The server, and the texts of each request so far."""

    loopback: Loopback
    asked: list[list[str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.loopback.url}/v1"

    def answer(self, exchange: Exchange) -> None:
        request = json.loads(exchange.body)
        assert exchange.path == "/v1/embeddings"
        self.asked.append(request["input"])
        if any(not text.strip() for text in request["input"]):
            exchange.reply(400, b'{"error": {"message": "input cannot be empty"}}')
            return
        exchange.reply(200, json.dumps(answer_for(request["input"])).encode())


@contextmanager
def serving_embeddings() -> Iterator[EmbeddingServer]:
    with serving() as loopback:
        server = EmbeddingServer(loopback)
        loopback.answer = server.answer
        yield server
