"""Blocks: the window in the order in which the model reads it, with sizes and cache states."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult, part_text
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, RULE
from frontmind.window.blocks import (
    PLACEMENT_HISTORY,
    PLACEMENT_TURN,
    Block,
    CacheState,
    CountedBlock,
    count_blocks,
    message_text,
    window_blocks,
)
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.framing import Origin, frame
from frontmind.window.window import Window
from frontmind.working_memory.composer import HEADER, SystemPromptComposer

CALL = Message(Role.ASSISTANT, (Text("look"), ToolCall("c1", "search", '{"q":1}')))
RESULT = Message(Role.USER, (ToolResult("c1", "found"), Text("well?")))


def window(*, notification: bool = True, history: tuple[Message, ...] = ()) -> Window:
    composer = SystemPromptComposer()
    composer.set_base_prompt("P")
    composer.add_section("news", "N", placement=PLACEMENT_SYSTEM)
    if notification:
        composer.add_section("weather", "sun", placement=PLACEMENT_NOTIFICATION)
        composer.add_section("datetime_section", "noon", placement=PLACEMENT_NOTIFICATION)
    prompt = composer.compose()
    return Window(
        prompt.cached_content,
        prompt.non_cached_content,
        history,
        prompt.notification_center,
        (user("q"), CALL, RESULT),
        prompt.sections,
    )


@pytest.mark.requirement("SEED-2")
def test_the_blocks_stand_in_the_order_of_the_window() -> None:
    assert window_blocks(window(history=(user("a"), assistant("b")))) == (
        Block("base_prompt", PLACEMENT_SYSTEM, "P"),
        Block("news", PLACEMENT_SYSTEM, "N"),
        Block("2 messages", PLACEMENT_HISTORY, "a\n\nb"),
        Block("(rule)", PLACEMENT_NOTIFICATION, RULE),
        Block("(header)", PLACEMENT_NOTIFICATION, f"{HEADER}\n{RULE}"),
        Block("datetime_section", PLACEMENT_NOTIFICATION, "noon"),
        Block("weather", PLACEMENT_NOTIFICATION, "sun"),
        Block("(rule)", PLACEMENT_NOTIFICATION, RULE),
        Block("user message", PLACEMENT_TURN, 'q\n\nlook\n\nsearch({"q":1})\n\nfound\n\nwell?'),
    )


@pytest.mark.parametrize("framing", list(Framing))
def test_the_blocks_hold_all_that_stands_behind_the_history_in_the_order_of_the_framing(framing: Framing) -> None:
    made = replace(window(history=(user("a"), assistant("b"))), framing=FramingChoice(framing))
    blocks = window_blocks(made)
    names = [block.name for block in blocks if block.placement in (PLACEMENT_NOTIFICATION, PLACEMENT_TURN)]
    assert names == ["(rule)", "(header)", "datetime_section", "weather", "(rule)", "user message"]
    sent = "".join(part_text(part) for item in frame(made) for part in item.parts if item.origin is not Origin.HISTORY)
    shown = "".join(block.text for block in blocks if block.placement in (PLACEMENT_NOTIFICATION, PLACEMENT_TURN))
    assert shown.replace("\n", "") == sent.replace("\n", "")


@pytest.mark.requirement("SEED-10")
def test_an_empty_notification_center_and_history_have_no_blocks() -> None:
    assert [block.name for block in window_blocks(window(notification=False))] == [
        "base_prompt",
        "news",
        "user message",
    ]


def test_the_blocks_of_the_notification_center_are_all_of_its_text() -> None:
    shown = [block.text for block in window_blocks(window()) if block.placement == PLACEMENT_NOTIFICATION]
    opening, header, *sections, closing = shown
    assert opening == closing == RULE
    assert "\n".join((header, "\n\n".join(sections), closing)) == window().notification_center


def test_the_text_of_a_message_shows_its_calls_and_results() -> None:
    assert message_text(CALL) == 'look\n\nsearch({"q":1})'
    assert message_text(RESULT) == "found\n\nwell?"


BLOCKS = tuple(Block(name, PLACEMENT_SYSTEM, "") for name in "abc")


def states(cached: int | None, *, counts: tuple[int, ...] = (100, 100, 100), total: int = 300) -> list[CacheState]:
    counted = count_blocks(BLOCKS, counts, exact=True, total=total, cached=cached)
    return [block.state for block in counted[:-1]]


C, P, F, U = CacheState.CACHED, CacheState.PARTLY, CacheState.FRESH, CacheState.UNKNOWN


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        (None, [U, U, U]),
        (0, [F, F, F]),
        (10, [F, F, F]),
        (50, [P, F, F]),
        (90, [C, F, F]),
        (100, [C, F, F]),
        (110, [C, F, F]),
        (150, [C, P, F]),
        (200, [C, C, F]),
        (300, [C, C, C]),
    ],
)
def test_a_block_is_cached_as_far_as_the_cached_prefix_reaches(cached: int | None, expected: list[CacheState]) -> None:
    assert states(cached) == expected


def test_the_share_counts_when_the_whole_is_larger_than_its_blocks() -> None:
    assert states(220, total=330) == [C, C, F]


def test_sizes_add_up_to_the_whole_with_what_is_left_in_the_last_block() -> None:
    counted = count_blocks(BLOCKS, (5, 6, 7), exact=False, total=25, cached=None)
    assert counted[1] == CountedBlock("b", PLACEMENT_SYSTEM, 6, exact=False, state=CacheState.UNKNOWN)
    assert counted[-1] == CountedBlock("(template and joins)", "", 7, exact=False, state=CacheState.UNKNOWN)


def test_a_count_for_each_block_is_needed() -> None:
    with pytest.raises(ValueError, match="argument"):
        count_blocks(BLOCKS, (1, 2), exact=True, total=3, cached=None)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.integers(0, 5000), max_size=8),
    st.integers(0, 20_000),
    st.none() | st.floats(0, 1),
)
def test_sizes_always_add_up_and_fresh_never_comes_before_cached(
    counts: list[int], total: int, share: float | None
) -> None:
    blocks = [Block(str(number), PLACEMENT_SYSTEM, "") for number in range(len(counts))]
    cached = None if share is None else int(share * total)
    counted = count_blocks(blocks, counts, exact=True, total=total, cached=cached)
    assert sum(block.tokens for block in counted) == total
    assert [block.name for block in counted[:-1]] == [block.name for block in blocks]
    order = {CacheState.CACHED: 0, CacheState.PARTLY: 1, CacheState.FRESH: 2, CacheState.UNKNOWN: 3}
    ranks = [order[block.state] for block in counted[:-1] if block.tokens]
    assert ranks == sorted(ranks)
    assert ranks.count(1) <= 1
