"""The server that plays the model for other libraries, spoken to by the official client."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError, NotFoundError

from benchmarks.peers.catalogue import NOT_INSTALLED, Entry
from benchmarks.peers.loopback import Reply, serving
from benchmarks.peers.script import (
    API_KEY,
    PeerFailed,
    Script,
    ScriptStep,
    ScriptTool,
    ScriptTurn,
    Stage,
    capture,
)

ASKED: dict[str, Any] = {
    "model": "claude-opus-4-8",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Is it raining?"}],
}
LOOK = ScriptStep("look", {"place": "Łódź", "days": 2}, "rain", said="I look.", changed={"weather": "wet"})
SCRIPT = Script(
    system="Be brief.",
    tools=(ScriptTool("look", "Looks.", {"type": "object", "properties": {"place": {"type": "string"}}}),),
    turns=(
        ScriptTurn("Is it raining?", {"time": "noon", "weather": "unknown"}, (LOOK,), "Yes."),
        ScriptTurn("Thanks.", {"time": "one"}, (), "Any time."),
    ),
)


def client(url: str) -> Anthropic:
    return Anthropic(base_url=url, api_key=API_KEY, max_retries=2)


def answer(model: Anthropic, *, streamed: bool) -> Any:
    if not streamed:
        return model.messages.create(**ASKED)
    with model.messages.stream(**ASKED) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("streamed", [False, True])
def test_a_text_arrives_as_it_was_scripted(streamed: bool) -> None:
    with serving([Reply(text="Yes, ═ and ü.")]) as loopback, client(loopback.url) as model:
        message = answer(model, streamed=streamed)
    assert [block.text for block in message.content] == ["Yes, ═ and ü."]
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_of_a_tool_arrives_with_its_arguments_behind_the_text(streamed: bool) -> None:
    reply = Reply(text="I look.", tool="look", arguments=LOOK.arguments)
    with serving([reply]) as loopback, client(loopback.url) as model:
        message = answer(model, streamed=streamed)
    text, call = message.content
    assert (text.text, call.name, call.input) == ("I look.", "look", {"place": "Łódź", "days": 2})
    assert message.stop_reason == "tool_use"


def test_every_body_is_kept_in_order_with_its_beta_header() -> None:
    with serving([Reply(text="one"), Reply(text="two")]) as loopback, client(loopback.url) as model:
        first = model.messages.create(**ASKED)
        second = model.beta.messages.create(**ASKED, system="Be brief.", betas=["some-beta-2026-01-01"])
        received = loopback.received
    assert [block.text for message in (first, second) for block in message.content if block.type == "text"] == [
        "one",
        "two",
    ]
    assert [request.body.get("system") for request in received] == [None, "Be brief."]
    assert [request.beta for request in received] == ["", "some-beta-2026-01-01"]
    assert received[0].body == ASKED


def test_a_request_beyond_the_script_is_refused_once_and_still_kept() -> None:
    with serving([Reply(text="one")]) as loopback, client(loopback.url) as model:
        model.messages.create(**ASKED)
        with pytest.raises(BadRequestError, match="request 2 has no reply"):
            model.messages.create(**ASKED)
        assert len(loopback.received) == 2


def test_another_path_takes_no_reply() -> None:
    with serving([Reply(text="one")]) as loopback, client(loopback.url) as model:
        with pytest.raises(NotFoundError):
            model.messages.count_tokens(model=ASKED["model"], messages=ASKED["messages"])
        assert loopback.received == ()
        assert answer(model, streamed=False).content[0].text == "one"


async def conversation(stage: Stage) -> None:
    """The smallest peer: the changing sections in front of the message, tools run until there is a reply."""
    messages: list[Any] = []
    async with AsyncAnthropic(base_url=stage.url, api_key=API_KEY, max_retries=0) as model:
        for turn in stage.script.turns:
            messages.append({"role": "user", "content": stage.begin(turn)})
            while True:
                reply = await model.messages.create(
                    model=stage.script.model, max_tokens=100, system=stage.context(), messages=messages
                )
                messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
                calls = [block for block in reply.content if block.type == "tool_use"]
                if not calls:
                    break
                results = [
                    {"type": "tool_result", "tool_use_id": call.id, "content": stage.result(call.name)}
                    for call in calls
                ]
                messages.append({"role": "user", "content": results})


def test_each_call_is_given_its_turn_and_step_and_the_sections_of_that_moment() -> None:
    calls = capture(SCRIPT, conversation)
    assert [(call.turn, call.step) for call in calls] == [(0, 0), (0, 1), (1, 0)]
    assert [call.body["system"] for call in calls] == [
        "<time>\nnoon\n</time>\n<weather>\nunknown\n</weather>",
        "<time>\nnoon\n</time>\n<weather>\nwet\n</weather>",
        "<time>\none\n</time>",
    ]
    assert calls[1].body["messages"][-1]["content"][0]["content"] == "rain"
    assert [len(call.body["messages"]) for call in calls] == [1, 3, 5]


def test_a_library_that_makes_fewer_calls_than_the_script_has_failed() -> None:
    async def silent(stage: Stage) -> None:
        stage.begin(stage.script.turns[0])

    with pytest.raises(PeerFailed, match="0 requests were sent where the script has 3"):
        capture(SCRIPT, silent)


def test_a_tool_that_the_script_does_not_call_is_a_failure_even_when_the_library_swallows_it() -> None:
    async def wrong(stage: Stage) -> None:
        stage.begin(stage.script.turns[0])
        with pytest.raises(PeerFailed):
            stage.result("delete")

    with pytest.raises(PeerFailed, match="the tool delete was called where the script does not call it"):
        capture(SCRIPT, wrong)


def test_a_library_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agno", None)
    monkeypatch.delitem(sys.modules, "benchmarks.peers.agno_peer", raising=False)
    assert Entry("Agno", "agno_peer", "with_a_block").load() == NOT_INSTALLED


def test_a_fault_of_the_benchmark_itself_is_not_taken_for_a_missing_library() -> None:
    with pytest.raises(ModuleNotFoundError):
        Entry("nobody", "nobody_peer", "nothing").load()
