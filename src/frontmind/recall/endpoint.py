"""An embedder behind an OpenAI-style embeddings endpoint: OpenAI, Ollama, llama-server, vLLM and others.

The official SDK speaks to it and asks again where that may help. What a server sends is not believed before it was
looked at. This module does not know which models are good, only which of them want a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from frontmind.errors import (
    ConnectionLost,
    EmbedderUnavailable,
    MalformedReply,
    ModelError,
    ModelUnavailable,
    WindowTooLarge,
)
from frontmind.providers.encoding.text import wire_text
from frontmind.providers.faults import (
    CONNECT_SECONDS,
    Advice,
    explained,
    is_loopback,
    on_one_line,
    read_fault,
    timed_out,
    transport_fault,
)
from frontmind.recall.embedding import unit_rows

if TYPE_CHECKING:
    import httpx2
    import openai

    from frontmind.recall.embedding import Vectors

ATTEMPTS: Final = 4
# Text Embeddings Inference takes no more by default; the others take more.
_BATCH: Final = 32
_SILENCE_SECONDS: Final = 120.0
# A turn waits for a question's vector, and goes on without it.
_QUERY_SECONDS: Final = 10.0
# Passages are shorter. The shorter lengths are for servers that refuse what is longer than their model's window.
_LENGTHS: Final = (4000, 2000, 1000, 500, 250)
# llama-server says it with the status of a failure.
_TOO_LONG: Final = re.compile(r"too large to process", re.IGNORECASE)
# An empty text is refused by most servers.
_BLANK: Final = "."
# The SDK wants a key and would otherwise take OPENAI_API_KEY, which is no business of another server's.
_NO_KEY: Final = "none"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model wants in front of texts, so that it can tell questions from what answers them.

    Attributes:
        query: in front of what somebody searches for.
        text: in front of what is to be found.
    """

    query: str = ""
    text: str = ""


# Each from the model's own card.
_PREFIXES: Final = (
    (re.compile(r"nomic-embed-text"), Prefixes("search_query: ", "search_document: ")),
    (re.compile(r"\be5-(?:small|base|large)"), Prefixes("query: ", "passage: ")),
    (re.compile(r"embedding-?gemma"), Prefixes("task: search result | query: ", "title: none | text: ")),
    (
        re.compile(r"\bbge-(?:small|base|large)-en|mxbai-embed-large"),
        Prefixes("Represent this sentence for searching relevant passages: "),
    ),
    (
        re.compile(r"qwen3-embedding"),
        Prefixes(
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        ),
    ),
)


def known_prefixes(model: str) -> Prefixes:
    """What this model wants in front of texts, by its name; nothing where it is not known."""
    return next((prefixes for name, prefixes in _PREFIXES if name.search(model.lower())), Prefixes())


class EndpointEmbedder:
    """An `Embedder` over an embeddings endpoint. `open` makes one.

    Args:
        endpoint: the server and its model.
        dimensions: the length of its vectors.
        prefixes: what the model wants in front of texts.
    """

    def __init__(self, endpoint: Endpoint, *, dimensions: int, prefixes: Prefixes) -> None:
        self._endpoint = endpoint
        self._prefixes = prefixes
        self.dimensions: Final = dimensions
        prefix = f"+{prefixes.text.strip()}" if prefixes.text else ""
        self.name: Final = f"{endpoint.spec}#{dimensions}{prefix}"

    @classmethod
    async def open(
        cls, endpoint: Endpoint, *, dimensions: int | None = None, prefixes: Prefixes | None = None
    ) -> EndpointEmbedder:
        """The embedder; its server has answered once where the length of its vectors is not given.

        Args:
            endpoint: closed with the embedder, and when this fails.
            dimensions: the length of the vectors; other ones are refused.
            prefixes: what the model wants in front of texts; None for what is known of it.

        Raises:
            EmbedderUnavailable: numpy is missing, or the server, its key or its model.
            ModelError: it failed this time.
        """
        async with AsyncExitStack() as undo:
            undo.push_async_callback(endpoint.close)
            if dimensions is None:
                dimensions = (await endpoint.vectors([_BLANK])).shape[1]
            undo.pop_all()
        return cls(
            endpoint,
            dimensions=dimensions,
            prefixes=known_prefixes(endpoint.model) if prefixes is None else prefixes,
        )

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        import numpy as np  # noqa: PLC0415 - optional dependency

        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = await self._batch(texts[start : start + _BATCH], query=query)
            if batch.shape[1] != self.dimensions:
                raise self._endpoint.malformed(f"vectors of {batch.shape[1]} numbers, where it gave {self.dimensions}")
            vectors[start : start + len(batch)] = batch
        return vectors

    async def _batch(self, texts: Sequence[str], *, query: bool) -> Vectors:
        prefix = self._prefixes.query if query else self._prefixes.text
        for length in _LENGTHS:
            cut = [prefix + (wire_text(text[:length]) if text.strip() else _BLANK) for text in texts]
            try:
                return await self._endpoint.vectors(cut, waiting=query)
            except WindowTooLarge:
                if length == _LENGTHS[-1]:
                    raise
        raise AssertionError("the last length returns or raises")

    async def close(self) -> None:
        await self._endpoint.close()


class Endpoint:
    """An embeddings endpoint and a model on it, through ``openai.AsyncOpenAI``.

    Args:
        model: the server's name of the model.
        spec: the name by which it was chosen; stands for it in messages and in the embedder's name.
        base_url: the server, usually ending in ``/v1``; None for OpenAI.
        api_key: the key; without one, OpenAI's is looked for where the SDK usually does, and no other server is
            sent any.
        attempts: how often texts are sent in all.
        http_client: a client of your own, for proxies or certificates; it is closed with the endpoint.

    Raises:
        EmbedderUnavailable: the SDK or numpy is not installed, or there is no key.
    """

    def __init__(
        self,
        model: str,
        *,
        spec: str,
        base_url: str | None = None,
        api_key: str | None = None,
        attempts: int = ATTEMPTS,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.model = model
        self.spec = spec
        self._closed = False
        try:
            import numpy  # noqa: F401, PLC0415 - optional dependency
            import openai  # noqa: PLC0415 - optional dependency
        except ImportError as error:
            raise EmbedderUnavailable(
                f"the embedder {spec} needs the package {error.name}; run: pip install 'frontmind[openai,recall]'",
                model=spec,
            ) from error
        if http_client is None and base_url is not None and is_loopback(base_url):
            # No proxy reaches this machine's own loopback.
            http_client = openai.DefaultAsyncHttpxClient(trust_env=False)
        try:
            self._client = openai.AsyncOpenAI(
                base_url=base_url,
                api_key=(api_key or "").strip() or (None if base_url is None else _NO_KEY),
                max_retries=attempts - 1,
                timeout=openai.Timeout(_SILENCE_SECONDS, connect=CONNECT_SECONDS),
                http_client=http_client,
            )
        except openai.OpenAIError as error:
            raise EmbedderUnavailable(
                f"the embedder {spec} needs a key; set OPENAI_API_KEY, or choose another embedder", model=spec
            ) from error

    async def vectors(self, texts: Sequence[str], *, waiting: bool = False) -> Vectors:
        """One request's vectors: rows of unit length, in the order of the texts.

        Args:
            texts: not empty, none of them blank, and without lone surrogates.
            waiting: somebody waits, so it is asked once and not for long.

        Raises:
            EmbedderUnavailable: the server, its key or its model is missing, or it was closed.
            WindowTooLarge: a text is too long for the model.
            ModelError: it failed this time, or sent what is no answer.
        """
        import httpx2  # noqa: PLC0415 - comes with the optional dependency
        import openai  # noqa: PLC0415 - optional dependency

        if self._closed:
            raise EmbedderUnavailable(f"the embedder {self.spec} was closed; open another", model=self.spec)
        client = self._client.with_options(max_retries=0, timeout=_QUERY_SECONDS) if waiting else self._client
        try:
            # The SDK checks nothing of what it reads, and by default asks for a form that not all servers have.
            raw = await client.embeddings.with_raw_response.create(
                model=self.model, input=list(texts), encoding_format="float"
            )
            body = raw.http_response.json()
        except openai.OpenAIError as error:
            raise self._advised(self._explained(error)) from error
        except (OSError, httpx2.HTTPError) as error:
            raise self._advised(self._broken(error)) from error
        except (ValueError, RecursionError) as error:
            raise self.malformed("what is no JSON") from error
        return self._read(body, len(texts))

    def _read(self, body: object, count: int) -> Vectors:
        """The rows in an answer's JSON, once each of them is proven to be a vector."""
        import numpy as np  # noqa: PLC0415 - optional dependency

        data = body.get("data") if isinstance(body, dict) else None
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            raise self.malformed("no list of vectors")
        if len(data) != count:
            raise self.malformed(f"{len(data)} vectors for {count} texts")
        places = [entry.get("index", place) for place, entry in enumerate(data)]
        if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
            raise self.malformed("vectors whose numbering fits no order")
        rows = [entry.get("embedding") for entry in data]
        width = len(rows[0]) if isinstance(rows[0], list) else 0
        if not width or not all(isinstance(row, list) and len(row) == width for row in rows):
            raise self.malformed("vectors that are empty or of different lengths")
        if not all(type(number) in (int, float) for row in rows for number in row):
            raise self.malformed("vectors with something else in them than numbers")
        vectors = np.empty((count, width), np.float64)
        try:
            vectors[places] = rows
            return unit_rows(vectors)
        except (ValueError, OverflowError) as error:
            raise self.malformed(f"what cannot be used: {error}") from error

    def malformed(self, sent: str) -> MalformedReply:
        """The error for an answer that is none.

        Args:
            sent: what it is instead.
        """
        reason = f"{self.spec} sent {sent}"
        return MalformedReply(
            f"{reason}; check that the server embeds texts with this model", model=self.spec, reason=reason
        )

    def _explained(self, error: openai.OpenAIError) -> ModelError:
        import openai  # noqa: PLC0415 - optional dependency

        if isinstance(error, openai.APITimeoutError):
            return timed_out(self.spec)
        if isinstance(error, openai.APIConnectionError):
            return self._broken(error.__cause__ or error)
        response = error.response if isinstance(error, openai.APIStatusError) else None
        fault = read_fault(
            getattr(error, "body", None),
            said=on_one_line(str(error)) or type(error).__name__,
            status=response.status_code if response is not None else None,
            headers=response.headers if response is not None else None,
        )
        if _TOO_LONG.search(fault.said):
            reason = f"a text is too long for {self.spec} ({fault.said})"
            return WindowTooLarge(f"{reason}; embed shorter ones", model=self.spec, status=fault.status, reason=reason)
        return explained(fault, name=self.spec, advice=Advice(key="", missing="", where=str(self._client.base_url)))

    def _broken(self, error: BaseException) -> ModelError:
        return transport_fault(error, name=self.spec, url=str(self._client.base_url))

    def _advised(self, error: ModelError) -> ModelError:
        """The error with what can be done about it here, where there is no other model to turn to."""
        if isinstance(error, ModelUnavailable):
            return EmbedderUnavailable(
                f"{error.reason}; check the server, the key and the model's name, or choose another embedder",
                model=self.spec,
                reason=error.reason,
            )
        if isinstance(error, ConnectionLost):
            return ConnectionLost(
                f"{error.reason}; check the network and try again", model=self.spec, reason=error.reason
            )
        return error

    async def close(self) -> None:
        self._closed = True
        await self._client.close()
