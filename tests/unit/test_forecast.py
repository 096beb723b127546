"""The forecast: what a provider's cache should do with a request, by the rules of its profile."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from frontmind.providers.forecast import Earlier, Expectation, Forecast, forecast
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.reading import read_request
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, Author, Section, render_notification_center
from frontmind.values.tool import Tool
from frontmind.window.choice import Framing
from frontmind.window.framing import closed
from frontmind.window.layout import Area, Block, Layout, Marker
from frontmind.window.window import Window
from support import selected

LONG = "x" * 40_000
R, W, F, C = Expectation.READ, Expectation.WRITTEN, Expectation.FRESH, Expectation.CLEARED


def clock(text: str) -> Section:
    content = f"<datetime_section>\n{text}\n</datetime_section>"
    return Section("datetime_section", content, PLACEMENT_NOTIFICATION, False, Author.APPLICATION)


def conversation(name: str, framing: Framing | None, turns: int, *, system: str = LONG) -> tuple[list[Layout], Profile]:
    """The requests of a conversation with a clock, one a turn."""
    selection = selected(name, framing)
    layouts, history = [], ()
    for number in range(turns):
        sections = (clock(f"turn {number}"),)
        center = render_notification_center(sections)
        window = Window(system, "", history, center, (user(f"q{number}"),), sections)
        layouts.append(read_request(selection.encode(window)))
        history = closed(window, assistant(f"a{number}"), selection.framing)  # type: ignore[assignment]
    return layouts, selection.profile


def last_read(layout: Layout, made: Forecast) -> str:
    """The text of the last block that should come from the cache."""
    read = [block.text for block, state in zip(layout.blocks, made.expected, strict=True) if state is R]
    return read[-1] if read else ""


def test_the_first_request_is_written_up_to_its_last_marker_and_nothing_is_read() -> None:
    layouts, profile = conversation("anthropic:claude-sonnet-4-5", None, 1)
    made = forecast(layouts[0], [], profile)
    assert made.expected[0] is W
    assert set(made.expected[1:]) == {F}
    assert "was sent to this model before" in made.reason


@pytest.mark.requirement("EXPLAIN-2")
@pytest.mark.parametrize(
    ("name", "framing", "read_until"),
    [
        ("anthropic:claude-sonnet-4-5", Framing.ASSISTANT, "a2"),
        ("anthropic:claude-sonnet-4-5", Framing.USER_TEXT, "a2"),
        ("anthropic:claude-sonnet-4-5", Framing.APPEND, "q3"),
        ("anthropic:claude-opus-5-5", Framing.SYSTEM_CLEAR_AT, "q3"),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", Framing.USER_TEXT, "a2"),
        ("openrouter:anthropic/claude-sonnet-4.6", Framing.ASSISTANT, "a2"),
        ("openai:gpt-5.5", Framing.DEVELOPER, "q3"),
        ("openai:gpt-5.5", Framing.ASSISTANT, "a2"),
        ("openai:gpt-5.6-sol", Framing.DEVELOPER, "q3"),
        ("openai:gpt-5.6-sol", Framing.ASSISTANT, "q2"),
        ("gemini:gemini-3-pro", Framing.USER_TEXT, "a2"),
        ("deepseek:deepseek-chat", Framing.APPEND, "q3"),
        ("local", Framing.ASSISTANT, "a2"),
    ],
)
def test_each_turn_reads_what_the_turn_before_has_written(name: str, framing: Framing, read_until: str) -> None:
    layouts, profile = conversation(name, framing, 5)
    made = forecast(layouts[4], [Earlier(layouts[3], 30)], profile)
    # The rule that opens the section is the same in both requests and may be read as well.
    read = last_read(layouts[4], made).strip("═\n ")
    if profile.caching.value == "prefix" and framing is not Framing.DEVELOPER:
        texts = [block.text for block, state in zip(layouts[4].blocks, made.expected, strict=True) if state is R]
        assert read_until in texts
        assert "q3" not in texts
    else:
        assert read == read_until
    # Where everything stays, the current turn is worth writing too.
    assert made.expected[-1] is (W if framing is Framing.APPEND and profile.max_markers else F)


def test_in_a_cache_of_units_a_section_that_slides_is_read_one_turn_late() -> None:
    layouts, profile = conversation("deepseek:deepseek-chat", Framing.ASSISTANT, 5)
    alone = forecast(layouts[4], [Earlier(layouts[3], 1)], profile)
    assert R not in alone.expected
    assert "no whole unit" in alone.reason
    both = forecast(layouts[4], [Earlier(layouts[3], 1), Earlier(layouts[2], 2)], profile)
    assert "a1" in [block.text for block, state in zip(layouts[4].blocks, both.expected, strict=True) if state is R]
    assert "a2" not in [block.text for block, state in zip(layouts[4].blocks, both.expected, strict=True) if state is R]


def test_another_model_s_cache_holds_nothing_for_this_one() -> None:
    (before, _), (after, profile) = (
        conversation(name, Framing.ASSISTANT, 2)
        for name in ("anthropic:claude-opus-4-8", "anthropic:claude-sonnet-4-5")
    )
    made = forecast(after[1], [Earlier(before[0], 1)], profile)
    assert R not in made.expected
    assert "to this model" in made.reason


@pytest.mark.requirement("EXPLAIN-2")
@pytest.mark.parametrize("name", ["openai:gpt-5.6-sol", "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-4-5"])
def test_after_a_tool_loop_the_next_turn_still_reads_up_to_the_last_question(name: str) -> None:
    selection = selected(name)
    sections = (clock("one"),)
    first = Window(LONG, "", (), render_notification_center(sections), (user("q0"),), sections, tools=(Tool("look"),))
    window = replace(
        first, history=closed(first, assistant("a0"), selection.framing), turn=(user("q1"),), sections=(clock("two"),)
    )
    layouts = []
    for number in range(3):
        layouts.append(read_request(selection.encode(window)))
        call = Message(Role.ASSISTANT, (ToolCall(f"c{number}", "look", "{}"),))
        window = window.extended(call, Message(Role.USER, (ToolResult(f"c{number}", "a cat"),)))
    layouts.append(read_request(selection.encode(window)))
    history = closed(window, assistant("a1"), selection.framing)
    following = replace(first, history=history, turn=(user("q2"),), sections=(clock("three"),))
    after = read_request(selection.encode(following))
    # The first step of a section that slides writes nothing behind the history.
    for before, step in pairwise(layouts[selection.framing.framing is Framing.ASSISTANT :]):
        states = forecast(step, [Earlier(before, 1)], selection.profile).expected
        assert "q1" in [block.text for block, state in zip(step.blocks, states, strict=True) if state is R]
    states = forecast(after, [Earlier(layouts[-1], 1)], selection.profile).expected
    read = [block.text for block, state in zip(after.blocks, states, strict=True) if state is R]
    assert "a0" in read
    assert ("q1" in read) is (selection.framing.framing is not Framing.ASSISTANT)


@pytest.mark.parametrize(("seconds", "read"), [(250, "a2"), (400, LONG), (4000, "")])
def test_entries_end_with_their_lifetime_the_system_s_later_than_the_history_s(seconds: float, read: str) -> None:
    layouts, profile = conversation("anthropic:claude-sonnet-4-5", None, 5)
    made = forecast(layouts[4], [Earlier(layouts[3], seconds)], profile)
    assert last_read(layouts[4], made) == read


def test_below_the_minimum_nothing_is_cached_and_the_reason_says_so() -> None:
    layouts, profile = conversation("anthropic:claude-sonnet-4-5", None, 3, system="short")
    made = forecast(layouts[2], [Earlier(layouts[1], 1)], profile)
    assert set(made.expected) == {F}
    assert "less than the 1024" in made.reason


def test_a_turn_scoped_message_of_an_earlier_turn_is_no_longer_seen() -> None:
    layouts, profile = conversation("anthropic:claude-opus-5-5", None, 3)
    states = forecast(layouts[2], [Earlier(layouts[1], 1)], profile).expected
    cleared = [state for block, state in zip(layouts[2].blocks, states, strict=True) if block.cleared]
    assert cleared[: len(cleared) // 3] == [C] * (len(cleared) // 3)
    assert cleared[-1] is F


@pytest.mark.requirement("RULE-5")
@pytest.mark.parametrize(
    "name",
    [
        "anthropic:claude-sonnet-4-5",
        "openrouter:anthropic/claude-sonnet-4.6",
        "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_after_25_parallel_tool_results_everything_before_is_still_read(name: str) -> None:
    selection = selected(name)
    ids = [f"c{number}" for number in range(25)]
    first = Window(LONG, "", (user("a"), assistant("b")), "", (user("q"),), tools=(Tool("look"),))
    call = Message(Role.ASSISTANT, tuple(ToolCall(one, "look", "{}") for one in ids))
    second = first.extended(call, Message(Role.USER, tuple(ToolResult(one, "a cat") for one in ids)))
    third = second.extended(
        Message(Role.ASSISTANT, (ToolCall("d", "look", "{}"),)), Message(Role.USER, (ToolResult("d", "a dog"),))
    )
    layouts = [read_request(selection.encode(window)) for window in (first, second, third)]
    for before, after in pairwise(layouts):
        made = forecast(after, [Earlier(before, 1)], selection.profile)
        marked = max(index for index, block in enumerate(before.blocks) if block.marker is not None)
        assert made.expected[: marked + 1] == (R,) * (marked + 1)
        assert set(made.expected[marked + 1 :]) == {W}


def test_without_marking_the_end_before_again_a_short_look_back_would_miss_it() -> None:
    profile = selected("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0").profile
    blocks = tuple(
        Block(
            Area.MESSAGES,
            f"messages[{number}].content[0]",
            "user",
            "text",
            f"{number}{LONG}".encode(),
            message=number,
            tokens=9000,
        )
        for number in range(30)
    )
    before = Layout("bedrock_converse", "bedrock", "", (*blocks[:5], replace(blocks[5], marker=Marker("cachePoint"))))
    for added, reads in ((21, True), (22, False)):
        end = replace(blocks[5 + added], marker=Marker("cachePoint"))
        after = Layout("bedrock_converse", "bedrock", "", (*blocks[: 5 + added], end))
        assert (R in forecast(after, [Earlier(before, 1)], profile).expected) is reads
