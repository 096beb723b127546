"""What every embedder promises, held against each of them: the model in this process, and one behind HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import platformdirs
import pytest
import pytest_asyncio

from frontmind.errors import EmbedderUnavailable
from frontmind.recall.embedding import Embedder
from frontmind.recall.endpoint import Endpoint, EndpointEmbedder
from frontmind.recall.minilm import MiniLM
from recall.embedding_server import serving_embeddings

HOSTILE = {
    "nothing": "",
    "blanks": " \n\t ",
    "a NUL": "a\0b",
    "only controls": "\0\x01\x7f",
    "a lone surrogate": "a \ud800 b",
    "two halves": "\ud83d\ude00",
    "emoji": "👩‍👩‍👧 🙂 🇩🇪",
    "Japanese": "明日の朝九時にアンナに電話する",
    "Arabic": "اتصل بآنا غدا",
    "combining marks": "e" + "\u0301" * 500,
    "one endless word": "a" * 300_000,
    "very many words": "word " * 200_000,
    "what the model uses itself": "[CLS] [SEP] [PAD] </s>",
    "not characters": "\ufffe\uffff\U0010ffff",
}


@pytest_asyncio.fixture(params=["minilm", "endpoint"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "minilm":
        opened: Embedder = await MiniLM.open(platformdirs.user_cache_path("frontmind"))
        yield opened
        await opened.close()
        return
    with serving_embeddings() as server:
        opened = await EndpointEmbedder.open(
            Endpoint("words", spec=f"endpoint:words@{server.url}", base_url=server.url)
        )
        yield opened
        await opened.close()


async def test_vectors_have_unit_length_and_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = ["the cat sleeps on the sofa", "revenue rose in the third quarter", "the cat sleeps on the sofa again " * 9]
    vectors = await embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1] + 0.3


async def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_a_text_has_the_same_vector_beside_any_others(embedder: Embedder) -> None:
    texts = [f"{'text of some length ' * (number % 17)} number {number}" for number in range(90)]
    together = await embedder.embed(texts)
    for place in (0, 16, 45, 89):
        (alone,) = await embedder.embed([texts[place]])
        assert alone @ together[place] > 0.99999
    # The server places by a hash of words, so two may meet.
    assert len({row.tobytes() for row in together}) > 85


async def test_any_text_has_a_vector_and_harms_none_beside_it(embedder: Embedder) -> None:
    (beside,) = await embedder.embed(["beside it"])
    for what, text in HOSTILE.items():
        vectors = await embedder.embed([text, "beside it"])
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6), what
        assert beside @ vectors[1] > 0.99999, what


async def test_a_question_finds_the_text_that_shares_its_words(embedder: Embedder) -> None:
    texts = await embedder.embed(["the dentist is on monday", "anna likes green tea", "the train leaves at noon"])
    (question,) = await embedder.embed(["when is the dentist"], query=True)
    assert int(np.argmax(texts @ question)) == 0


async def test_calls_at_the_same_time_do_not_mix(embedder: Embedder) -> None:
    texts = [[f"call {call} text {number}" for number in range(5)] for call in range(6)]
    apart = [await embedder.embed(each) for each in texts]
    together = await asyncio.gather(*(embedder.embed(each) for each in texts))
    for one, other in zip(apart, together, strict=True):
        assert np.allclose(one, other, atol=1e-5)


async def test_the_loop_goes_on_while_texts_are_embedded(embedder: Embedder) -> None:
    working = asyncio.create_task(embedder.embed(["a text of some words " * 20] * 40))
    rounds = 0
    while not working.done():
        rounds += 1
        await asyncio.wait([working], timeout=0.001)
    assert len(await working) == 40
    assert rounds > 2


async def test_a_call_that_is_cancelled_leaves_the_embedder_usable(embedder: Embedder) -> None:
    working = asyncio.create_task(embedder.embed(["a text of some words " * 20] * 400))
    await asyncio.wait([working], timeout=0.005)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (await embedder.embed(["again"])).shape == (1, embedder.dimensions)


async def test_a_closed_embedder_says_so_and_closes_again(embedder: Embedder) -> None:
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbedderUnavailable, match="was closed; open another"):
        await embedder.embed(["a text"])


async def test_the_name_stands_for_the_space_of_the_vectors(embedder: Embedder) -> None:
    assert embedder.name.isprintable()
    assert embedder.name.startswith(("minilm-l6-v2-int8@1", "endpoint:words@http://127.0.0.1:"))
