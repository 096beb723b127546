"""Every provider accepts what is encoded for it, in every framing that its profile allows, and its cache survives.

The rules of the providers stand in `providers.validators`; here each of them is asked, once by its rules alone and
once by its own SDK over the loopback address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import anthropic as anthropic_sdk
import pytest

from frontmind.errors import UsageError
from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.decoding.reply import Reply
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.profile import MarkerKind, Profile, Wire
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, user
from frontmind.values.parts import Image, Text, Thinking, ToolCall, Voice
from frontmind.values.usage import Usage
from frontmind.window.choice import ClosedThinking, Framing, FramingChoice
from frontmind.window.window import Window
from providers.scenarios import SCENARIOS, Step, play
from providers.validators import anthropic, bedrock, gemini, openai_chat, openai_responses, replies
from providers.validators.replies import Said
from providers.validators.sending import KEY, Senders, body_of
from providers.validators.server import ValidatingServer, validating

CONVERSE_MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MAX_OUTPUT_TOKENS = 512
_CHAT = {"wire": Wire.OPENAI_CHAT}
_INVOKE = {"wire": Wire.BEDROCK_INVOKE, "markers": MarkerKind.CACHE_CONTROL}


@dataclass(frozen=True)
class Case:
    """A model behind an API.

    Attributes:
        chat: which of the servers with Chat Completions it is, where it is one.
    """

    profile: Profile
    chat: openai_chat.Server = openai_chat.OPENAI

    @property
    def wire(self) -> Wire:
        return self.profile.wire


def _case(provider: str, model: str, facts: Mapping[str, object] | None = None, chat: str = "OPENAI") -> Case:
    return Case(resolve_profile(provider, model, facts), getattr(openai_chat, chat))


CASES: Mapping[str, Case] = {
    "claude-sonnet-4-5": _case("anthropic", "claude-sonnet-4-5"),
    "claude-opus-4-8": _case("anthropic", "claude-opus-4-8"),
    "claude-opus-5-5": _case("anthropic", "claude-opus-5-5"),
    "bedrock-converse": _case("bedrock", CONVERSE_MODEL),
    "bedrock-invoke": _case("bedrock", CONVERSE_MODEL, _INVOKE),
    "gpt-5.5-responses": _case("openai", "gpt-5.5"),
    "gpt-5.6-responses": _case("openai", "gpt-5.6-sol"),
    "gpt-5.5-chat": _case("openai", "gpt-5.5", _CHAT),
    "gpt-5.6-chat": _case("openai", "gpt-5.6-sol", _CHAT),
    "gemini": _case("gemini", "gemini-3-pro"),
    "deepseek": _case("deepseek", "deepseek-chat", chat="DEEPSEEK"),
    "openrouter": _case("openrouter", "anthropic/claude-sonnet-4.6", chat="OPENROUTER"),
    "ollama": _case("ollama", "qwen3", chat="TEMPLATED"),
    "compatible": _case("compatible", "some-model", chat="TEMPLATED"),
    "local": _case("local", "", chat="TEMPLATED"),
}
COMBINATIONS = [
    pytest.param(case, framing, id=f"{name}-{framing.value}")
    for name, case in CASES.items()
    for framing in Framing
    if framing in case.profile.framings
]
REFUSED = [
    pytest.param(case, framing, id=f"{name}-{framing.value}")
    for name, case in CASES.items()
    for framing in Framing
    if framing not in case.profile.framings
]
# The SDK itself announces the end of a model's life.
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude-:DeprecationWarning")
every_combination = pytest.mark.parametrize(("case", "framing"), COMBINATIONS)
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


@pytest.fixture(scope="module")
def server() -> Iterator[ValidatingServer]:
    with validating() as started:
        yield started


@pytest.fixture(scope="module")
def senders(server: ValidatingServer) -> Iterator[Senders]:
    made = Senders(server.url)
    yield made
    made.close()


def reply_body(case: Case, said: Said) -> Any:
    """The server's reply in one piece."""
    match case.wire:
        case Wire.ANTHROPIC | Wire.BEDROCK_INVOKE:
            return replies.anthropic_reply(said)
        case Wire.BEDROCK_CONVERSE:
            return replies.converse_reply(said)
        case Wire.OPENAI_RESPONSES:
            return replies.responses_reply(said)
        case Wire.GEMINI:
            return replies.gemini_reply(said)
        case Wire.OPENAI_CHAT:
            writes = case.chat is openai_chat.OPENAI
            return replies.chat_reply(said, reasoning_key=case.chat.reasoning_key, writes=writes)


def hear(case: Case, said: Said) -> Message:
    return DECODERS[case.wire].reply(reply_body(case, said)).message


def problems_of(case: Case, request: Mapping[str, Any]) -> list[str]:
    """What the provider would refuse about the request."""
    body = body_of(case.wire, request)
    model = case.profile.model
    match case.wire:
        case Wire.ANTHROPIC:
            return anthropic.validate(body, betas=frozenset(request.get("betas", ())))
        case Wire.BEDROCK_INVOKE:
            return anthropic.validate_invoke(body, model=model)
        case Wire.BEDROCK_CONVERSE:
            return bedrock.validate(body, model=model)
        case Wire.OPENAI_RESPONSES:
            return openai_responses.validate(body)
        case Wire.GEMINI:
            return gemini.validate(body, model=model)
        case Wire.OPENAI_CHAT:
            return openai_chat.validate(body, case.chat)


def encoded(case: Case, window: Window) -> dict[str, Any]:
    return dict(encode_window(window, case.profile, max_output_tokens=MAX_OUTPUT_TOKENS))


@cache
def steps_of(case: Case, framing: Framing, scenario: str) -> list[Step]:
    """The requests of a scenario that this model can be asked; without pictures for one that takes none."""
    steps = play(scenario, choose_framing(case.profile, framing), partial(hear, case))
    takes_pictures = "image/png" in case.profile.inputs
    return [step for step in steps if takes_pictures or not _has_picture(step.window)]


def _has_picture(window: Window) -> bool:
    return any(isinstance(part, Image) for message in (*window.history, *window.turn) for part in message.parts)


# What is asked


@pytest.mark.requirement("WIRE-1")
@every_combination
@every_scenario
def test_the_provider_takes_every_request(case: Case, framing: Framing, scenario: str) -> None:
    steps = steps_of(case, framing, scenario)
    assert steps
    # A long conversation repeats itself: its beginning and its end tell.
    for step in steps if len(steps) < 10 else [*steps[:2], *steps[-2:]]:
        assert problems_of(case, encoded(case, step.window)) == []


@every_combination
@every_scenario
def test_the_request_ends_with_the_person_or_a_result_and_roles_alternate(
    case: Case, framing: Framing, scenario: str
) -> None:
    last = steps_of(case, framing, scenario)[-1]
    messages = _messages(encoded(case, last.window))
    spoken = [who for who in map(_who_says, messages) if who]
    assert (spoken[0], spoken[-1]) == ("user", "user")
    if case.profile.alternate_roles:
        # A format that says each result in a message of its own has runs of them, and text behind them.
        neighbours = [
            (one, other)
            for one, other in pairwise(message for message in messages if _who_says(message))
            if _who_says(one) == _who_says(other) and not _is_tool_result(one)
        ]
        assert neighbours == []


def _messages(request: Mapping[str, Any]) -> list[Any]:
    holder = request.get("body", request)
    found = holder.get("messages") or holder.get("input") or holder.get("contents")
    assert isinstance(found, list)
    return found


def _is_tool_result(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool" or message.get("type") == "function_call_output"


def _who_says(message: Mapping[str, Any]) -> str:
    if _is_tool_result(message):
        return "user"
    if message.get("type") in ("function_call", "reasoning"):
        return "assistant"
    role = message["role"]
    return {"model": "assistant", "system": "", "developer": ""}.get(role, str(role))


@pytest.mark.parametrize(("case", "framing"), REFUSED)
def test_a_framing_that_the_model_cannot_take_is_refused(case: Case, framing: Framing) -> None:
    with pytest.raises(UsageError, match=f"cannot take the framing '{framing.value}'"):
        choose_framing(case.profile, framing)
    step = play("first_turn", choose_framing(case.profile), partial(hear, case))[0]
    with pytest.raises(UsageError, match=f"cannot take the framing '{framing.value}'"):
        encoded(case, replace(step.window, framing=FramingChoice(framing)))


@pytest.mark.requirement("WIRE-3")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "image/png" not in case.profile.inputs])
def test_a_picture_is_refused_by_its_message_and_part_where_the_model_takes_none(name: str) -> None:
    case = CASES[name]
    steps = play("image_in_the_history", choose_framing(case.profile), partial(hear, case))
    with pytest.raises(UsageError, match=r"message \d behind the history, part \d.*image/png"):
        encoded(case, steps[1].window)
    with pytest.raises(UsageError, match=r"message 2 of the history, part \d.*image/png"):
        encoded(case, steps[2].window)


# What is sent and what comes back


@pytest.mark.requirement("WIRE-1")
@every_combination
@every_scenario
def test_the_sdk_sends_it_unchanged_and_the_reply_is_what_the_server_said(
    case: Case, framing: Framing, scenario: str, server: ValidatingServer, senders: Senders
) -> None:
    steps = steps_of(case, framing, scenario)
    for step in steps if len(steps) < 7 else steps[-1:]:
        request = encoded(case, step.window)
        server.said, server.chat = step.said, case.chat
        whole = DECODERS[case.wire].reply(senders.send(case.wire, request))
        assert server.problems == []
        assert server.bodies[-1] == body_of(case.wire, request)
        assert_heard(case, whole, step.said)
        assembler = DECODERS[case.wire].assembler()
        shown = "".join(assembler.add(event) for event in senders.stream(case.wire, request))
        assert server.problems == []
        without_streaming = {
            key: value for key, value in server.bodies[-1].items() if key not in ("stream", "stream_options")
        }
        assert without_streaming == body_of(case.wire, request)
        assert shown == step.said.text
        streamed = DECODERS[case.wire].reply(assembler.body())
        assert_heard(case, streamed, step.said)
        # In a stream Gemini sends the signature of a text in a part of its own.
        assert streamed == whole or case.wire is Wire.GEMINI


def assert_heard(case: Case, reply: Reply, said: Said) -> None:
    """The reply's parts, figures and end are those that the server gave."""
    parts = reply.message.parts
    assert [part.text for part in parts if isinstance(part, Text)] == ([said.text] if said.text else [])
    calls = [(part.id, part.name, json.loads(part.arguments)) for part in parts if isinstance(part, ToolCall)]
    assert calls == [(call.id, call.name, json.loads(call.arguments)) for call in said.calls]
    thoughts = "".join(part.text for part in parts if isinstance(part, Thinking))
    reasons = case.wire is not Wire.OPENAI_CHAT or case.chat.reasoning_key
    assert thoughts == (said.thinking if reasons else "")
    assert reply.stop is (StopReason.TOOL_CALLS if said.calls else StopReason.END)
    assert reply.usage == expected_usage(case)


def expected_usage(case: Case) -> Usage:
    by_ttl = (("5m", replies.WRITTEN_5M), ("1h", replies.WRITTEN_1H))
    figures = Usage(replies.INPUT, replies.CACHED, replies.WRITTEN, replies.OUTPUT)
    match case.wire:
        case Wire.ANTHROPIC | Wire.BEDROCK_INVOKE | Wire.BEDROCK_CONVERSE:
            return replace(figures, written_by_ttl=by_ttl)
        case Wire.GEMINI:
            return replace(figures, written=0)
        case Wire.OPENAI_CHAT if case.chat is not openai_chat.OPENAI:
            return replace(figures, written=0)
        case _:
            return figures


def test_the_server_refuses_what_the_rules_refuse(server: ValidatingServer) -> None:
    client = anthropic_sdk.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    with client, pytest.raises(anthropic_sdk.BadRequestError, match="must have content"):
        client.messages.create(model="claude-sonnet-4-5", max_tokens=5, messages=[{"role": "user", "content": []}])


# What stays as it was


@pytest.mark.requirement("RULE-1")
@every_combination
@every_scenario
def test_the_durable_part_of_the_last_request_begins_the_next(case: Case, framing: Framing, scenario: str) -> None:
    steps = steps_of(case, framing, scenario)
    compared = 0
    for earlier, later in list(pairwise(steps))[-6:]:
        one, other = encoded(case, earlier.window), encoded(case, later.window)
        durable = durable_messages(case, framing, earlier.window, one)
        assert unmarked(_head(one)) == unmarked(_head(other))
        assert unmarked(_messages(other)[: len(durable)]) == unmarked(durable)
        compared += len(durable)
    assert compared or len(steps) == 1 or all(not step.window.history for step in steps[:-1])


def durable_messages(case: Case, framing: Framing, window: Window, request: Mapping[str, Any]) -> list[Any]:
    """The messages of the request that the next request must begin with, found without the encoder's own plan."""
    messages = _messages(request)
    if framing.keeps(Voice.USER):
        if framing.keeps(Voice.OPERATOR) or framing is Framing.APPEND:
            return messages
        # A developer message of this turn is gone from the next request, and what stands behind it moves up.
        first = _operator_messages_start(messages)
        return messages[:first]
    # What a window of another turn has in common with this one is the history.
    probe = replace(window, notification_center="", sections=(), updates=(), turn=(user("Something else entirely."),))
    other = _messages(encoded(case, probe))
    return messages[: len(other) - 1]


def _operator_messages_start(messages: list[Any]) -> int:
    start = next(index for index, message in enumerate(messages) if message.get("role") not in ("system", "developer"))
    behind = (index for index in range(start, len(messages)) if messages[index].get("role") in ("system", "developer"))
    return next(behind, len(messages))


def _head(request: Mapping[str, Any]) -> dict[str, Any]:
    holder = request.get("body", request)
    keys = ("tools", "system", "toolConfig", "systemInstruction", "instructions")
    return {key: holder[key] for key in keys if key in holder}


def unmarked(value: Any) -> str:
    """The JSON text without cache markers; the order of keys counts."""
    return json.dumps(_without_markers(value))


def _without_markers(value: Any) -> Any:
    if isinstance(value, Mapping):
        markers = ("cache_control", "prompt_cache_breakpoint")
        return {key: _without_markers(item) for key, item in value.items() if key not in markers}
    if isinstance(value, list):
        return [_without_markers(item) for item in value if not (isinstance(item, Mapping) and "cachePoint" in item)]
    return value


@every_combination
@every_scenario
def test_the_newest_marker_stands_on_the_last_durable_message(case: Case, framing: Framing, scenario: str) -> None:
    if case.profile.markers is MarkerKind.NONE:
        request = encoded(case, steps_of(case, framing, scenario)[-1].window)
        assert unmarked(request) == json.dumps(request)
        return
    for step in steps_of(case, framing, scenario)[-6:]:
        request = encoded(case, step.window)
        messages = _messages(request)
        assert _marked(messages)[-1:] == newest_end(case, framing, step.window, messages)
        if case.profile.markers is MarkerKind.BREAKPOINT and step.window.history:
            # The automatic breakpoint stands behind the last user message: on bytes that will be gone, or that stay.
            mode = request.get("prompt_cache_options", {}).get("mode", "implicit")
            assert mode == ("implicit" if framing.keeps(Voice.USER) else "explicit")


def _marked(messages: list[Any]) -> list[int]:
    """The indices of the messages behind the system text that carry a marker."""
    marked = [index for index, message in enumerate(messages) if unmarked(message) != json.dumps(message)]
    return [index for index in marked if index > 0 or _who_says(messages[index])]


def newest_end(case: Case, framing: Framing, window: Window, messages: list[Any]) -> list[int]:
    """Where the newest marker must stand; nowhere in a first turn of which nothing stays."""
    of_users = [index for index, message in enumerate(messages) if _who_says(message) == "user"]
    automatic = case.profile.markers is MarkerKind.BREAKPOINT
    if framing is Framing.DEVELOPER and automatic:
        # The newest end has the automatic one. Beside it: the end of the step before or, between turns, the last
        # question, behind which a developer message is gone.
        ends = [one for one, two in zip(of_users, [*of_users[1:], -1], strict=True) if two != one + 1]
        asked = [index for index in ends[:-1] if messages[index].get("role") == "user"]
        questions = [index for index in asked if index - 1 not in of_users]
        return ends[-2:-1] if len(window.turn) > 1 else questions[-1:]
    if framing.keeps(Voice.USER):
        return [] if automatic else of_users[-1:]
    if len(window.turn) > 1:
        return of_users[-1:]
    durable = len(durable_messages(case, framing, window, {"messages": messages}))
    # A breakpoint cannot stand on what the model said.
    ends = of_users if automatic else [index for index, message in enumerate(messages) if _who_says(message)]
    return [index for index in ends if index < durable][-1:]


# Reasoning that its provider checks


CHECKED = CASES["claude-opus-5-5"]


def _thinks(message: Mapping[str, Any]) -> bool:
    return any(block.get("type") == "thinking" for block in message["content"])


@pytest.mark.parametrize("framing", [item for item in Framing if item in CHECKED.profile.framings])
def test_nothing_in_front_of_reasoning_changes_on_a_model_that_checks_it(framing: Framing) -> None:
    assert CHECKED.profile.checks_thinking
    steps = steps_of(CHECKED, framing, "thinking_in_the_history")
    requests = [encoded(CHECKED, step.window) for step in steps]
    seen = 0
    for number, request in enumerate(requests):
        messages = _messages(request)
        for index in (index for index, message in enumerate(messages) if _thinks(message)):
            # The model thought this when it answered an earlier request: all of that stands in front of it, unchanged.
            assert unmarked(messages[:index]) in [unmarked(_messages(earlier)) for earlier in requests[:number]]
            seen += 1
    assert seen >= 3


@pytest.mark.parametrize("framing", [Framing.ASSISTANT, Framing.USER_TEXT])
def test_reasoning_of_closed_turns_is_left_out_where_it_would_be_refused(framing: Framing) -> None:
    assert choose_framing(CHECKED.profile, framing).closed_thinking is ClosedThinking.LEFT_OUT
    steps = steps_of(CHECKED, framing, "thinking_in_the_history")
    assert sum(map(_thinks, _messages(encoded(CHECKED, steps[-2].window)))) == 2
    assert not any(map(_thinks, _messages(encoded(CHECKED, steps[-1].window))))


@pytest.mark.parametrize("framing", [Framing.APPEND, Framing.SYSTEM_CLEAR_AT])
def test_reasoning_of_closed_turns_is_sent_where_nothing_in_front_of_it_changes(framing: Framing) -> None:
    steps = steps_of(CHECKED, framing, "thinking_in_the_history")
    assert sum(map(_thinks, _messages(encoded(CHECKED, steps[-1].window)))) == 4
