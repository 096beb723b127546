"""Faults that people have reported on systems of this kind, each as a test of the right behaviour.

The ids are those of shared/data/cases/context_cases.jsonl; what went wrong there is said in the name of the test.
"""

from __future__ import annotations

import json
import re
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from frontmind.cachelab.outcome import Expectation
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.history import read_turns
from frontmind.errors import UsageError
from frontmind.providers.profiles.profile import MarkerKind, Wire
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image, Notice, Text, Thinking, ToolCall, ToolResult, Voice
from frontmind.values.section import PLACEMENT_NOTIFICATION, Author, Section, render_notification_center
from frontmind.values.tool import Tool
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import Framing
from frontmind.window.framing import closed
from frontmind.window.layout import Area, Layout
from frontmind.window.window import Window
from support import EVERY_WAY, SHARED_DATA, START, Bench, HandClock, bench, playing, remember, selected

CASES = SHARED_DATA / "cases" / "context_cases.jsonl"
CLASSES = ("cache", "wire-validity", "history", "determinism", "accounting", "replay")
ways = pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
MARKING = tuple((name, framing) for name, framing in EVERY_WAY if selected(name).profile.max_markers)


def case(number: str) -> pytest.MarkDecorator:
    return pytest.mark.case(number)


def kept(layout: Layout) -> list[tuple[str, str, bytes]]:
    """What the blocks are to a cache: turn-scoped messages never enter one."""
    return [block.key for block in layout.blocks if not block.cleared]


def head(request: Request) -> list[tuple[str, str, bytes]]:
    return [block.key for block in read_request(request).head]


async def sent(bench_: Bench) -> list[Layout]:
    return [read_request(request) for request in await bench_.sent()]


def durable(before: Layout, after: Layout) -> int:
    """How many blocks of a request the next one begins with."""
    one, two = kept(before), kept(after)
    return next((index for index, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), len(one))


def test_every_case_of_these_classes_has_a_test() -> None:
    if not CASES.exists():
        pytest.skip(f"{CASES.name} is not here")
    listed = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    ids = {
        item["id"] for item in listed if item["cls"].split("/")[0] in CLASSES or item["cls"].split("/")[-1] in CLASSES
    }
    assert ids
    assert ids <= set(re.findall(r'@case\("(\w+)"\)', Path(__file__).read_text(encoding="utf-8")))


@case("C1")
@case("C2")
@ways
async def test_two_clocks_give_the_same_bytes_in_front_of_the_current_turn(name: str, framing: Framing) -> None:
    requests = []
    for seconds in (0, 14, 3600 * 30):
        clock = HandClock()
        async with bench(playing(name, ["Hello."], framing), clock=clock) as bench_:
            await bench_.orchestrator.run_turn("hi")
            clock.advance(seconds=seconds)
            built = await bench_.mind.builder.preview("and now?", reader=bench_.model)
            requests.append(bench_.model.encode(built.window))
    assert requests[0] != requests[2]
    assert head(requests[0]) == head(requests[1]) == head(requests[2])
    moments = [re.findall(rb"09:15|15:15", block.data) for block in read_request(requests[2]).head]
    assert not any(moments)


@case("C3")
async def test_relative_ages_stand_in_no_part_that_is_cached() -> None:
    clock = HandClock()
    async with bench(playing("anthropic:claude-sonnet-4-5", ["a", "b"]), clock=clock) as bench_:
        await bench_.orchestrator.run_turn("campaign")
        clock.advance(hours=2)
        await bench_.orchestrator.run_turn("next")
        first, second = await sent(bench_)
        clock.advance(minutes=1)
        built = await bench_.mind.builder.preview("third", reader=bench_.model)
    marked = [index for index, block in enumerate(second.blocks) if block.marker is not None]
    cached = second.blocks[: max(marked) + 1]
    assert not [block for block in cached if re.search(r"\bago\b", block.text)]
    assert "ago" in built.window.notification_center
    assert durable(first, second) >= len(first.head)


@case("C4")
@ways
async def test_a_memory_written_between_two_turns_costs_no_history(name: str, framing: Framing) -> None:
    model = playing(name, [f"reply {number}" for number in range(13)], framing)
    async with bench(model) as bench_:
        for number in range(12):
            await bench_.orchestrator.run_turn(f"message {number}")
        await remember(bench_.store, "The locker code is 4417.", bench_.clock.now())
        await bench_.orchestrator.run_turn("message 12: what is the locker code?")
        *_, before, after = await sent(bench_)
        *_, request = await bench_.sent()
    assert b"The locker code is 4417." in canonical_json(request)
    same = durable(before, after)
    stable = [block for block in before.blocks if not block.cleared][:same]
    assert [block.text for block in stable if block.role == "assistant"][-1] == "reply 10"
    cache = CacheSimulator(model.profile)
    cache.send(size_request(before), START)
    expected = cache.expect(size_request(after), START).blocks
    if model.profile.max_markers and not model.profile.min_cached_tokens:
        assert Expectation.READ in expected


@case("C6")
@pytest.mark.parametrize(("name", "framing"), MARKING)
def test_a_marker_stands_in_the_messages_whatever_follows_the_history(name: str, framing: Framing) -> None:
    section = Section("datetime_section", "<datetime_section>\nt\n</datetime_section>", PLACEMENT_NOTIFICATION, False)
    own = Section(section.name, section.content, section.placement, False, Author.APPLICATION)
    for sections in ((section,), (own,), ()):
        center = render_notification_center(sections)
        window = Window("P", "", (user("a"), assistant("b")), center, (user("q"),), sections)
        layout = read_request(selected(name, framing).encode(window))
        marked = [block for block in layout.conversation if block.marker is not None]
        assert marked or (layout.implicit and selected(name, framing).profile.markers is MarkerKind.BREAKPOINT)
        assert not [block for block in layout.blocks if block.cleared and block.marker is not None]


@case("C7")
@ways
async def test_a_restart_changes_no_byte_of_what_was_sent(name: str, framing: Framing, tmp_path: Path) -> None:
    clock = HandClock()
    replies = iter([f"reply {number}" for number in range(6)])
    for number in range(6):
        # A process of its own for every turn: nothing but the file is left of the one before.
        async with bench(playing(name, [next(replies)], framing), db=str(tmp_path / "db"), clock=clock) as bench_:
            await remember(bench_.store, f"note {number} about message", clock.now())
            await bench_.orchestrator.run_turn(f"message {number}")
            clock.advance(minutes=7)
    async with bench(playing(name, [], framing), db=str(tmp_path / "db"), clock=clock) as bench_:
        layouts = await sent(bench_)
    for before, after in pairwise(layouts):
        same = durable(before, after)
        replied = [block.text for block in before.conversation if block.role in ("assistant", "model")]
        held = "".join(block.text for block in [block for block in after.blocks if not block.cleared][:same])
        assert all(text in held for text in replied if text.startswith("reply"))
        if framing in (Framing.APPEND, Framing.SYSTEM_CLEAR_AT):
            assert same == len(kept(before))


@case("C8")
@ways
async def test_a_conversation_holds_one_live_notification_center_and_the_store_none(
    name: str, framing: Framing
) -> None:
    async with bench(playing(name, [f"reply {n}" for n in range(5)], framing)) as bench_:
        await bench_.store.add_reminder(
            "water the plants", date(2026, 11, 30), zone="Europe/Berlin", at=bench_.clock.now()
        )
        for number in range(3):
            await remember(bench_.store, f"preference {number}: message in plain words", bench_.clock.now())
        for number in range(5):
            await bench_.orchestrator.run_turn(f"message {number}")
        requests, turns = await bench_.sent(), await bench_.store.turns("main")
    for turn in turns:
        assert turn.reply is not None
        assert not any(isinstance(part, Notice) for part in (*turn.user.parts, *turn.reply.parts))
        assert "NOTIFICATION CENTER" not in turn.user.text + turn.reply.text
    last = canonical_json(requests[-1]).decode()
    # What does not change is said once, however many turns there are; what slides is there once, whatever changes.
    assert last.count("water the plants") == 1
    if not framing.keeps(Voice.USER):
        assert last.count("NOTIFICATION CENTER") == last.count("preference 0") == 1


@case("C10")
@pytest.mark.parametrize(("name", "framing"), MARKING)
def test_forty_tool_results_carry_at_most_the_provider_s_number_of_markers_and_the_newest_moves_on(
    name: str, framing: Framing
) -> None:
    selection = selected(name, framing)
    window = Window("P", "", (user("a"), assistant("b")), "", (user("q"),))
    last_marked = []
    for number in range(40):
        call = Message(Role.ASSISTANT, (ToolCall(f"c{number}", "look", "{}"),))
        window = window.extended(call, Message(Role.USER, (ToolResult(f"c{number}", f"cat {number}"),)))
        layout = read_request(selection.encode(window))
        marked = [index for index, block in enumerate(layout.blocks) if block.marker is not None]
        assert len(marked) <= selection.profile.max_markers
        last_marked.append(max(marked, default=-1))
        if selection.profile.markers is not MarkerKind.BREAKPOINT:
            assert marked[-1] == len(layout.blocks) - 1
    if selection.profile.markers is not MarkerKind.BREAKPOINT:
        assert last_marked == sorted(set(last_marked))


PIXEL = Image("image/png", "iVBORw0KGgo=")


@case("C12")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
def test_no_empty_text_is_sent_or_marked_and_no_thinking_is_marked(name: str, framing: Framing) -> None:
    selection = selected(name, framing)
    thinking = Thinking("hm", "anthropic", '{"signature":"s","thinking":"hm","type":"thinking"}')
    picture = (PIXEL,) if PIXEL.media_type in selection.profile.inputs else (Text("a picture"),)
    history = (
        Message(Role.USER, (*picture, Text(""))),
        Message(Role.ASSISTANT, (thinking, Text(""), ToolCall("c1", "look", "{}"))),
        Message(Role.USER, (ToolResult("c1", "a cat"), Text(" "))),
        Message(Role.ASSISTANT, (Text("done"), thinking, Text("\n"))),
    )
    window = Window("P", "", history, "", (Message(Role.USER, (*picture, Text(""))),), tools=(Tool("look"),))
    layout = read_request(selection.encode(window))
    # Converse and Gemini take white space, and recorded requests have it; nobody takes an empty text.
    blank = str.strip if selection.profile.wire in (Wire.ANTHROPIC, Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES) else str
    assert not [block for block in layout.blocks if block.kind == "text" and not blank(block.text)]
    assert not [block for block in layout.blocks if block.kind == "thinking" and block.marker is not None]


@case("C13")
def test_what_leaves_a_window_leaves_it_as_whole_exchanges() -> None:
    call = Message(Role.ASSISTANT, (ToolCall("c1", "look", "x" * 4000),))
    result = Message(Role.USER, (ToolResult("c1", "a cat"),))
    exchange = (user("q"), call, result, assistant("done"))
    for cut in (2, 3):
        with pytest.raises(UsageError, match="message 0 of the history"):
            Window("", "", exchange[cut:], "", (user("next"),))
    with pytest.raises(UsageError, match="message 1 of the history, part 0: the tool call 'c1' has no result"):
        Window("", "", (user("q"), call), "", (user("next"),))
    assert Window("", "", exchange, "", (user("next"),)).history == exchange


@case("C13")
async def test_a_window_that_no_longer_fits_begins_with_a_user_message() -> None:
    async with bench(playing("anthropic:claude-sonnet-4-5", ["x" * 4000, "done"])) as bench_:
        await bench_.orchestrator.run_turn("q")
        await bench_.orchestrator.run_turn("again")
        turns = await bench_.store.turns("main")
    start = window_start_to_fit(turns, start=1, tokens=1200, room=600)
    assert start is not None
    history = read_turns(turns, window_start=start).history
    assert not history or history[0].role is Role.USER


@case("C14")
@ways
def test_tools_in_any_order_with_keys_in_any_order_are_the_same_bytes(name: str, framing: Framing) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}}
    turned: dict[str, Any] = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "type": "object"}
    encoded = [
        selected(name, framing).encode(Window("P", "", (), "", (user("q"),), tools=tools))
        for tools in (
            (Tool("look", json.dumps(schema), "looks"), Tool("now", json.dumps(schema))),
            (Tool("now", json.dumps(turned)), Tool("look", json.dumps(turned), "looks")),
        )
    ]
    assert [block.area for block in read_request(encoded[0]).head].count(Area.TOOLS) == 2
    assert canonical_json(encoded[0]) == canonical_json(encoded[1])


async def test_a_history_made_by_closing_windows_is_the_history_that_the_store_gives() -> None:
    name, framing = "anthropic:claude-opus-5-5", Framing.SYSTEM_CLEAR_AT
    model = playing(name, ["one", "two", "three"], framing)
    async with bench(model) as bench_:
        histories = []
        for text in ("a", "b"):
            report = await bench_.orchestrator.run_turn(text)
            histories.append(closed(report.window, assistant(report.reply), report.framing))
            bench_.clock.advance(minutes=3)
        report = await bench_.orchestrator.run_turn("c")
    assert report.window.history == histories[-1]
    assert isinstance(bench_.store, SqliteStore)
