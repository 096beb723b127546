"""The local model with the real engine: its counts, its cache, its files, its end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from frontmind.errors import ModelUnavailable, RequestRefused, WindowTooLarge
from frontmind.providers.engine import Engine, EngineClient, try_loading
from frontmind.providers.local import Held, LocalModel
from frontmind.providers.protocol import Finished, Request, StopReason, TextDelta
from frontmind.values.message import assistant, user
from frontmind.window.window import Window

QUESTIONS = (
    "What is the capital of France?",
    "Name three fruits.",
    "What is two plus two?",
    "Say good night.",
)
LONG = {"role": "user", "content": " ".join(f"word{number}" for number in range(350))}
CHILD = """
import asyncio, sys
from pathlib import Path
from frontmind.providers.engine import Engine
from frontmind.providers.local import LocalModel

async def main():
    model = LocalModel(Engine(Path(sys.argv[1]), threads=1))
    request = {"model": "local", "max_tokens": 2000, "messages": [{"role": "user", "content": sys.argv[2]}]}
    async for event in model.stream(request):
        print("streaming", flush=True)
        if sys.argv[3] == "raise":
            raise LookupError("on purpose")

asyncio.run(main())
"""


def request(*contents: str | Mapping[str, str], max_tokens: int = 12) -> Request:
    """A request by hand: user and assistant take turns."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[index % 2], "content": content} if isinstance(content, str) else content
        for index, content in enumerate(contents)
    ]
    return {"model": "local", "max_tokens": max_tokens, "temperature": 0, "messages": messages}


async def ask(model: LocalModel, asked: Request, *, stop_after: int | None = None) -> tuple[str, Finished | None]:
    """The text and the end; the end is None when the stream was closed before."""
    pieces: list[str] = []
    async with aclosing(model.stream(asked)) as events:
        async for event in events:
            if isinstance(event, Finished):
                return "".join(pieces), event
            assert isinstance(event, TextDelta)
            pieces.append(event.text)
            if len(pieces) == stop_after:
                break
    return "".join(pieces), None


async def foreseen(model: LocalModel, asked: Request) -> str:
    """Ask, and hold what was foreseen against what the engine reports; gives back the reply."""
    expected, counted = await model.expected_cached(asked), await model.count_request(asked)
    text, finished = await ask(model, asked)
    assert finished is not None
    assert (expected, counted.tokens) == (finished.usage.cached, finished.usage.input)
    assert counted.exact
    return text


def window(number: int, history: Window | None, reply: str) -> Window:
    turn = (user(QUESTIONS[number]),)
    section = "═" * 60 + f"\nNOTIFICATION CENTER\n<datetime>{number} o'clock</datetime>\n" + "═" * 60
    if history is None:
        return Window("You are a helpful assistant. " * 15, "", (), section, turn)
    grown = (*history.history, *history.turn, assistant(reply))
    return replace(history, history=grown, notification_center=section, turn=turn)


async def test_each_turn_of_a_conversation_reuses_what_was_foreseen(local_model: LocalModel) -> None:
    current: Window | None = None
    reply = ""
    cached: list[int] = []
    for number in range(len(QUESTIONS)):
        current = window(number, current, reply)
        asked = local_model.encode(current)
        cached.append(await local_model.expected_cached(asked) or 0)
        reply = await foreseen(local_model, asked)
    assert cached[0] == 0
    # The system prompt is reused from the second turn on, then one more exchange each turn.
    assert cached[1] > 80
    assert cached[1] < cached[2] < cached[3]


async def test_what_is_reused_reaches_to_the_end_of_the_durable_history(local_model: LocalModel) -> None:
    first = window(0, None, "")
    second = window(1, first, await foreseen(local_model, local_model.encode(first)))
    third = window(2, second, await foreseen(local_model, local_model.encode(second)))
    sent: Any = local_model.encode(third)["messages"]
    stable = await local_model.prefix_tokens(sent[: 1 + len(second.history)])
    expected = await local_model.expected_cached(local_model.encode(third))
    # Both requests go on with the tokens that open a user message, and part ways behind them.
    assert expected == len(stable) + len(["<|im_start|>", "user", "\n"])


async def test_the_tokens_of_a_reply_count_when_the_next_prompt_goes_on_with_them(local_model: LocalModel) -> None:
    said = await foreseen(local_model, request("Name a colour."))
    before = await local_model.count_request(request("Name a colour."))
    follow = request("Name a colour.", said, "Another one.")
    expected = await local_model.expected_cached(follow)
    assert expected is not None
    assert expected > before.tokens
    await foreseen(local_model, follow)


async def test_the_same_request_again_leaves_one_token_to_process(local_model: LocalModel) -> None:
    asked = request("What is the capital of France?")
    await foreseen(local_model, asked)
    assert await local_model.expected_cached(asked) == (await local_model.count_request(asked)).tokens - 1
    await foreseen(local_model, asked)


async def test_after_a_closed_stream_the_next_turn_is_foreseen(local_model: LocalModel) -> None:
    first = window(0, None, "")
    reply, finished = await ask(local_model, local_model.encode(first), stop_after=3)
    assert finished is None
    await foreseen(local_model, local_model.encode(window(1, first, reply)))


async def test_after_a_call_cancelled_within_its_prompt_the_next_is_foreseen(local_model: LocalModel) -> None:
    asked = request(LONG)
    client = EngineClient(http := local_model._engine.client(), name="local")
    task = asyncio.create_task(ask(local_model, asked))
    while not (await client.slot()).busy:
        await client.slot()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    expected = await local_model.expected_cached(asked)
    assert expected is not None
    # The engine did not go on to the end of a prompt that nobody waits for.
    assert expected < (await local_model.count_request(asked)).tokens - 1
    await foreseen(local_model, request(LONG, max_tokens=2))
    await http.aclose()


async def test_while_it_answers_nothing_is_foreseen(local_model: LocalModel) -> None:
    async with aclosing(local_model.stream(request("Tell me a story."))) as events:
        assert isinstance(await anext(events), TextDelta)
        assert await local_model.expected_cached(request("Hello")) is None


async def test_two_calls_at_once_are_answered_one_after_the_other(local_model: LocalModel) -> None:
    one, two = request("What is two plus two?"), request("Name three fruits.")
    replies = await asyncio.gather(ask(local_model, one), ask(local_model, two))
    assert all(finished is not None for _, finished in replies)
    await foreseen(local_model, two)


async def test_a_prompt_that_does_not_fit_leaves_the_cache_as_it_was(local_model: LocalModel) -> None:
    asked = request("What is the capital of France?")
    await foreseen(local_model, asked)
    with pytest.raises(WindowTooLarge) as caught:
        await ask(local_model, request("word " * 9000))
    assert caught.value.limit == local_model.context_limit == 8192
    assert caught.value.tokens is not None
    assert caught.value.tokens > 9000
    await foreseen(local_model, asked)


def test_a_reply_whose_end_nobody_saw_is_not_guessed_at() -> None:
    prompt = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert Held((1, 2), ("c",), more=True).reused(prompt) is None
    assert Held((1, 2), ("c",), more=False).reused(prompt) == 3
    assert Held((1, 2), ("x",), more=True).reused(prompt) == 2
    assert Held((1, 9), ("b",), more=True).reused(prompt) == 1
    assert Held((1, 2), ("c", "d", "e")).reused(prompt) == 3
    assert Held().reused(prompt) == 0


async def test_texts_are_counted_by_the_models_own_tokenizer(local_model: LocalModel) -> None:
    assert (await local_model.count_text("hello world")).tokens == 2
    assert (await local_model.count_text("")).tokens == 0
    # Control tokens that somebody wrote are text.
    assert (await local_model.count_text("<|im_end|>")).tokens > 1


async def test_the_prefix_of_a_request_has_the_same_tokens_as_its_beginning(local_model: LocalModel) -> None:
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"}]
    closed = await local_model.prefix_tokens(messages)
    opened = await local_model.prefix_tokens(messages, generation_prompt=True)
    assert opened[: len(closed)] == closed
    assert len(opened) > len(closed)


async def test_a_reply_ends_at_its_limit(local_model: LocalModel) -> None:
    _, finished = await ask(local_model, request("Tell me a long story.", max_tokens=4))
    assert finished is not None
    assert (finished.stop, finished.usage.output) == (StopReason.LENGTH, 4)


async def test_messages_that_the_template_does_not_take_are_refused(local_model: LocalModel) -> None:
    broken: Request = {"model": "local", "max_tokens": 4, "messages": "hello"}
    with pytest.raises(RequestRefused):
        await local_model.count_request(broken)
    with pytest.raises(RequestRefused):
        await ask(local_model, broken)


async def test_the_engine_answers_only_who_has_its_key(local_model: LocalModel) -> None:
    engine = local_model._engine
    assert engine.address.startswith("http://127.0.0.1:")
    async with httpx2.AsyncClient(base_url=engine.address, trust_env=False) as stranger:
        for path in ("/v1/models", "/slots", "/props", "/"):
            assert (await stranger.get(path)).status_code in (401, 404)
        answer = await stranger.options("/tokenize", headers={"Origin": "http://elsewhere.example"})
        assert answer.headers["Access-Control-Allow-Origin"] == "null"


async def test_a_proxy_in_the_environment_changes_nothing(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    model = LocalModel(Engine(model_path, threads=1))
    await foreseen(model, request("Hello"))
    await model.close()


async def test_the_engine_prints_nothing(model_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = LocalModel(Engine(model_path, threads=1))
    await foreseen(model, request("Hello"))
    with pytest.raises(WindowTooLarge):
        await ask(model, request("word " * 9000))
    await model.close()
    assert capfd.readouterr() == ("", "")


async def test_the_context_is_the_models_own_when_that_is_smaller(model_path: Path) -> None:
    for asked, got in ((512, 512), (10_000, 8192)):
        engine = Engine(model_path, context=asked, threads=1)
        assert engine.context_limit == got
        engine.close()


async def test_a_model_by_path_is_tried_once_and_opened(tmp_path: Path, model_path: Path) -> None:
    for _ in range(2):
        model = await LocalModel.open(str(model_path), cache_dir=tmp_path, announce=print, context=512)
        assert model.name == f"local:{model_path}"
        assert model.context_limit == 512
        await model.close()
    assert len(list((tmp_path / "loaded").iterdir())) == 1


def damaged_files(folder: Path, good: Path) -> dict[str, bytes]:
    whole = good.read_bytes()
    layers = whole.index(b"llama.block_count") + len(b"llama.block_count") + 4
    return {
        "unknown model architecture": b"GGUF\x03\0\0\0" + bytes(16),
        "failed to read header": b"GGUF",
        "this GGUF file is version": b"GGUF" + bytes(range(1, 200)) * 50,
        "not within the file bounds": whole[:50_000_000],
        "failed to read key-value pairs": whole[:500_000],
        # Over this one llama.cpp ends its process.
        "GGML_ASSERT": whole[:layers] + bytes(4) + whole[layers + 4 :],
    }


async def test_a_file_that_cannot_be_loaded_says_why_and_ends_nothing(tmp_path: Path, model_path: Path) -> None:
    file = tmp_path / "damaged.gguf"
    for why, content in damaged_files(tmp_path, model_path).items():
        file.write_bytes(content)
        with pytest.raises(ModelUnavailable, match=f"cannot load .*damaged.gguf .*{why}") as caught:
            await LocalModel.open(str(file), cache_dir=tmp_path, announce=print)
        assert "\n" not in str(caught.value)
        assert "local:/path/to/model.gguf" in str(caught.value)
    assert not (tmp_path / "loaded").exists()


def test_an_engine_that_cannot_load_its_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "damaged.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(ModelUnavailable, match=r"llama\.cpp cannot load"):
        Engine(file)


def test_a_file_that_has_changed_is_tried_again(tmp_path: Path, model_path: Path) -> None:
    file, stamps = tmp_path / "model.gguf", tmp_path / "loaded"
    file.symlink_to(model_path)
    try_loading(file, name="local:x", context=512, stamps=stamps)
    file.unlink()
    file.write_bytes(b"GGUF")
    with pytest.raises(ModelUnavailable):
        try_loading(file, name="local:x", context=512, stamps=stamps)


def test_without_the_engine_the_error_names_the_install_command(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelUnavailable) as caught:
        Engine(model_path)
    assert "pip install 'frontmind[local]'" in str(caught.value)


def test_an_exception_within_a_stream_ends_the_process_at_once(model_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(model_path), "Tell me a story.", "raise"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "LookupError: on purpose"


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_within_a_stream_ends_the_process_at_once(model_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(model_path), "Tell me a story.", "go on"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "streaming\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_the_trial_of_a_good_file_ends_every_time(model_path: Path, tmp_path: Path) -> None:
    for number in range(8):
        try_loading(model_path, name="local", context=512, stamps=tmp_path / str(number))
        assert any((tmp_path / str(number)).iterdir())
