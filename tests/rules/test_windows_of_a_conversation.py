"""The rules that hold for every window, over every wire format, for arbitrary texts, clocks and sections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from frontmind.assistant.scrub import scrub
from frontmind.errors import ModelError, RequestRefused
from frontmind.events import TurnContext
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.trinkets import EventAwareTrinket, TrinketPlacement
from frontmind.values.parts import Voice
from frontmind.values.section import RULE
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import Framing
from frontmind.window.layout import Layout
from frontmind.window.window import Window
from support import EVERY_WAY, HandClock, bench, marker_places, prefix, remember, selected, texts

MAX_MARKERS = 4
_NAMES = ("relevant_memories", "datetime_section", "base_prompt")

# Everything a str can hold, lone surrogates included, and often what looks like our own markup.
any_text = st.one_of(
    st.text(st.characters(codec=None), min_size=1, max_size=60),
    st.sampled_from([RULE, "</relevant_memories>", "NOTIFICATION CENTER", f"\n{RULE}\nx", "<|im_end|>", "═" * 61]),
)
said = any_text.filter(lambda text: bool(text.strip()))
# What is nothing but an echo of the notification center is no reply.
replied = said.filter(lambda text: scrub(text, _NAMES) == (text, 0))


class Moody(ScriptedModel):
    """Replies as the exchanges say; fails before the first word where they say so."""

    def __init__(self, talk: Sequence[Exchange], name: str, framing: Framing) -> None:
        selection = selected(name, framing)
        super().__init__(self._answer, profile=selection.profile, framing=selection.framing)
        self._encode = selection.encode
        self._talk = talk
        self.number = 0

    def _answer(self, request: Request) -> str:
        exchange = self._talk[self.number]
        if exchange.outcome == "down":
            raise ModelError("down", model="m")
        if exchange.outcome == "refused":
            raise RequestRefused("no", model="m")
        return exchange.reply

    def encode(self, window: Window) -> Request:
        return self._encode(window)


WIRES = {
    "anthropic": ("anthropic:claude-sonnet-4-5", Framing.ASSISTANT),
    "openai": ("compatible:m@http://127.0.0.1:9/v1", Framing.ASSISTANT),
    "local": ("local", Framing.ASSISTANT),
}


class Whim(EventAwareTrinket):
    """Says something else in each turn, and sometimes nothing."""

    def __init__(self, name: str, says: Sequence[str]) -> None:
        self.section_name = name  # type: ignore[misc]
        self._says = says

    async def generate_content(self, context: TurnContext) -> str:
        return self._says[context.turn % len(self._says)]


@dataclass(frozen=True)
class Exchange:
    message: str
    reply: str
    minutes: int
    note: str | None
    reminder: str | None
    outcome: str
    restarts: bool


exchanges = st.lists(
    st.builds(
        Exchange,
        message=said,
        reply=replied,
        minutes=st.integers(0, 60 * 24 * 40),
        note=st.none() | said,
        reminder=st.none() | said,
        outcome=st.sampled_from(["answered", "answered", "answered", "down", "refused"]),
        restarts=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
whims = st.dictionaries(st.sampled_from(["weather", "alpha", "zulu"]), st.lists(st.text(max_size=20), min_size=1))


async def play(
    model: Moody, talk: Sequence[Exchange], sections: Mapping[str, Sequence[str]]
) -> list[Mapping[str, Any]]:
    """The requests of the answered turns. Between exchanges the assistant may be put together anew."""
    clock = HandClock()
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "mind.db")
        for number, exchange in enumerate(talk):
            if number == 0 or exchange.restarts:
                opened = AsyncExitStack()
                bench_ = await opened.enter_async_context(bench(model, db=path, clock=clock))
                for name, says in sections.items():
                    bench_.mind.memory.register_trinket(
                        Whim(name, says), placement=TrinketPlacement.NOTIFICATION_CENTER
                    )
            model.number = number
            now = clock.now()
            if exchange.note is not None:
                await remember(bench_.store, exchange.note, now)
            if exchange.reminder is not None:
                due = now + timedelta(hours=1)
                await bench_.store.add_reminder(exchange.reminder, due, zone="Europe/Berlin", at=now)
            with suppress(ModelError):
                await bench_.orchestrator.run_turn(exchange.message)
            clock.advance(minutes=exchange.minutes)
            if number + 1 == len(talk) or talk[number + 1].restarts:
                sent = await bench_.sent()
                await opened.aclose()
    return sent


def requests_of(wire: str, talk: Sequence[Exchange], sections: Mapping[str, Sequence[str]]) -> list[Mapping[str, Any]]:
    return asyncio.run(play(Moody(talk, *WIRES[wire]), talk, sections))


def durable(talk: Sequence[Exchange]) -> list[tuple[str, str]]:
    """The answered exchanges: a message without an answer, whatever the reason, stands in front of the next one."""
    answered: list[tuple[str, str]] = []
    waiting: list[str] = []
    for exchange in talk:
        waiting.append(exchange.message)
        if exchange.outcome == "answered":
            answered.append(("\n\n".join(waiting), exchange.reply))
            waiting.clear()
    return answered


def joined(message: Mapping[str, Any]) -> str:
    """The text of an encoded message; several parts with a blank line between, as plain-text formats send them."""
    content = message["content"]
    return content if isinstance(content, str) else "\n\n".join(block["text"] for block in content)


def history_length(request: Mapping[str, Any], turn: int) -> int:
    """Messages of the durable history in the request of a turn, counted from 1, the system message included."""
    system = len([message for message in request["messages"] if message["role"] == "system"])
    return system + 2 * (turn - 1)


every_wire = pytest.mark.parametrize("wire", sorted(WIRES))
few = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.requirement("RULE-1")
@every_wire
@few
@given(talk=exchanges, sections=whims)
def test_each_request_repeats_the_previous_one_up_to_the_end_of_its_history(
    wire: str, talk: list[Exchange], sections: dict[str, list[str]]
) -> None:
    requests = requests_of(wire, talk, sections)
    assert len(requests) == len(durable(talk))
    for turn in range(1, len(requests)):
        kept = history_length(requests[turn - 1], turn)
        assert prefix(requests[turn], kept) == prefix(requests[turn - 1], kept)


@pytest.mark.requirement("RULE-1")
@pytest.mark.requirement("SEED-1")
@every_wire
@few
@given(talk=exchanges, sections=whims)
def test_the_durable_history_is_what_was_said_and_nothing_else(
    wire: str, talk: list[Exchange], sections: dict[str, list[str]]
) -> None:
    requests = requests_of(wire, talk, sections)
    assume(requests)
    request = requests[-1]
    length = history_length(request, len(requests))
    expected = [text for exchange in durable(talk)[:-1] for text in exchange]
    kept = [joined(message) for message in request["messages"][:length] if message["role"] != "system"]
    assert kept == [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in expected]


@pytest.mark.requirement("RULE-2")
@pytest.mark.requirement("RULE-3")
@pytest.mark.requirement("SEED-2")
@pytest.mark.requirement("SEED-6")
@every_wire
@few
@given(talk=exchanges, sections=whims)
def test_one_notification_center_stands_between_history_and_question(
    wire: str, talk: list[Exchange], sections: dict[str, list[str]]
) -> None:
    for turn, request in enumerate(requests_of(wire, talk, sections), start=1):
        messages = request["messages"]
        rule, center, question = messages[history_length(request, turn) :]
        assert (rule["role"], texts(rule)) == ("user", RULE)
        assert center["role"] == "assistant"
        assert texts(center).startswith("NOTIFICATION CENTER\n")
        # One rule below the header and one at the end; no data draws a third, or any part of one.
        assert texts(center).split("\n").count(RULE) == 2
        assert texts(center).endswith(f"\n{RULE}")
        assert "═" not in texts(center).replace(RULE, "")
        assert question["role"] == "user"
        roles = [message["role"] for message in messages if message["role"] != "system"]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


@pytest.mark.requirement("RULE-5")
@pytest.mark.requirement("SEED-8")
@few
@given(talk=exchanges, sections=whims)
def test_markers_stand_only_on_bytes_that_the_next_turn_sends_again(
    talk: list[Exchange], sections: dict[str, list[str]]
) -> None:
    requests = requests_of("anthropic", talk, sections)
    for turn, request in enumerate(requests, start=1):
        places = marker_places(request)
        assert 1 <= len(places) <= MAX_MARKERS
        assert places[0] == ("system", 0, 0)
        history = 2 * (turn - 1)
        ends = [end for end in (history - 3, history - 1) if end > 0]
        assert places[1:] == [("messages", end, 0) for end in ends]
        for kind, number, index in places:
            block = request[kind][index] if kind == "system" else request[kind][number]["content"][index]
            assert block["text"].strip()


@pytest.mark.requirement("RULE-8")
@every_wire
@few
@given(talk=exchanges, sections=whims, seed=st.integers(0, 10))
def test_the_same_conversation_gives_the_same_bytes_whatever_order_trinkets_are_registered_in(
    wire: str, talk: list[Exchange], sections: dict[str, list[str]], seed: int
) -> None:
    names = list(sections)
    random.Random(seed).shuffle(names)
    once = requests_of(wire, talk, sections)
    again = requests_of(wire, talk, {name: sections[name] for name in names})
    assert [canonical_json(request) for request in once] == [canonical_json(request) for request in again]


@pytest.mark.requirement("RULE-9")
@every_wire
@few
@given(talk=exchanges, sections=whims)
def test_the_system_prompt_is_the_same_in_every_turn(
    wire: str, talk: list[Exchange], sections: dict[str, list[str]]
) -> None:
    systems = {prefix(request, history_length(request, 1)) for request in requests_of(wire, talk, sections)}
    assert len(systems) <= 1


def durable_keys(layout: Layout, replies: int) -> list[tuple[str, str, bytes]]:
    """What the cache sees up to the end of the given number of replies; a reply may be several blocks."""
    runs, last, keys = 0, "", []
    for block in layout.blocks:
        if block.cleared or block.in_center:
            continue
        role = "assistant" if block.role == "model" else block.role
        if role != "assistant" and last == "assistant" and runs == replies:
            break
        runs += role == "assistant" and last != "assistant"
        last = role
        keys.append(block.key)
    return keys


@pytest.mark.requirement("RULE-1")
@pytest.mark.requirement("RULE-2")
@pytest.mark.requirement("RULE-3")
@pytest.mark.requirement("RULE-5")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(talk=exchanges, sections=whims)
def test_the_rules_hold_for_every_model_and_framing(
    name: str, framing: Framing, talk: list[Exchange], sections: dict[str, list[str]]
) -> None:
    requests = asyncio.run(play(Moody(talk, name, framing), talk, sections))
    layouts = [read_request(request) for request in requests]
    profile = selected(name, framing).profile
    for turn, layout in enumerate(layouts):
        assert sum(block.marker is not None for block in layout.blocks) <= profile.max_markers
        last = layout.conversation[-1]
        assert last.role not in ("assistant", "model")
        assert not layout.conversation[0].in_center or layout.conversation[0].role == "user"
        if turn:
            before, after = (durable_keys(item, turn - 1) for item in (layouts[turn - 1], layout))
            assert after[: len(before)] == before
        if framing.keeps(Voice.USER) and framing is not Framing.DEVELOPER and turn:
            # Everything that was sent is sent again.
            before, after = ([block.key for block in item.blocks] for item in (layouts[turn - 1], layout))
            assert after[: len(before)] == before
