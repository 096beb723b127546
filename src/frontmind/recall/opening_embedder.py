"""From an embedder's name to the embedder. What computes vectors is loaded only when it is chosen."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from frontmind.errors import EmbedderUnavailable, UsageError
from frontmind.providers.names import parse_model_name
from frontmind.recall.embedding import Embedder
from frontmind.recall.endpoint import Endpoint, EndpointEmbedder
from frontmind.recall.minilm import MiniLM

EMBEDDER_FORMS: Final = "minilm, none, openai:MODEL, endpoint:MODEL@URL"
_KEY_OF_OPENAI: Final = "OPENAI_API_KEY"
_KEY_OF_ENDPOINT: Final = "FRONTMIND_ENDPOINT_API_KEY"
_ENDPOINT: Final = "write endpoint:MODEL@URL, for example endpoint:nomic-embed-text@http://localhost:11434/v1"


class EmbedderKind(StrEnum):
    MINILM = "minilm"
    NONE = "none"
    OPENAI = "openai"
    ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class EmbedderName:
    """An embedder's name taken apart.

    Attributes:
        kind: what computes.
        model: the server's name of the model, where there is a server.
        url: the server, for ENDPOINT.
    """

    kind: EmbedderKind = EmbedderKind.MINILM
    model: str = ""
    url: str | None = None

    def __str__(self) -> str:
        name = f"{self.kind.value}:{self.model}" if self.model else self.kind.value
        return f"{name}@{self.url}" if self.url is not None else name


def parse_embedder_name(text: str) -> EmbedderName:
    """Take an embedder's name apart; an empty one is the default.

    Raises:
        UsageError: it has none of the forms in `EMBEDDER_FORMS`.
    """
    head, colon, model = text.strip().partition(":")
    try:
        kind = EmbedderKind(head or "minilm")
    except ValueError:
        raise UsageError(f"unknown embedder {text!r}; use one of: {EMBEDDER_FORMS}") from None
    if kind is EmbedderKind.ENDPOINT:
        try:
            server = parse_model_name(f"compatible:{model}")
        except UsageError:
            # The text is not repeated: people put keys into addresses.
            raise UsageError(
                f"cannot read the name of the endpoint; {_ENDPOINT}; a key belongs into {_KEY_OF_ENDPOINT}"
            ) from None
        return EmbedderName(kind, server.model, server.url)
    if kind is EmbedderKind.OPENAI:
        if not model or not model.isprintable():
            raise UsageError(f"cannot read {text!r}; write openai:MODEL, for example openai:text-embedding-3-small")
        return EmbedderName(kind, model)
    if colon:
        raise UsageError(f"unknown embedder {text!r}; {kind.value} takes no name behind a colon")
    return EmbedderName(kind)


async def open_embedder(
    name: EmbedderName, *, cache_dir: Path, announce: Callable[[str], None] = lambda _: None
) -> Embedder | None:
    """The embedder of this name; close it when done. None where none was chosen.

    Args:
        cache_dir: the folder where fetched files are kept.
        announce: told when something takes long, such as fetching a model; may be called in another thread.

    Raises:
        EmbedderUnavailable: a package, a file, a key or a server is missing; the message says which. Searching by
            words goes on without.
        ModelError: a server failed this time.
    """
    if name.kind is EmbedderKind.NONE:
        return None
    if name.kind is EmbedderKind.MINILM:
        return await MiniLM.open(cache_dir, announce=announce)
    variable = _KEY_OF_OPENAI if name.kind is EmbedderKind.OPENAI else _KEY_OF_ENDPOINT
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        # Before a transport refuses it with the key in its words.
        raise EmbedderUnavailable(
            f"the embedder {name} cannot use {variable}: it has a character that no key has; set it again",
            model=str(name),
        )
    return await EndpointEmbedder.open(Endpoint(name.model, spec=str(name), base_url=name.url, api_key=key))
