"""The simulator on real requests: what a provider's cache does with the turns of a conversation, in every framing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from frontmind.cachelab.outcome import Expectation, Outcome, equivalents
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import SizedRequest, size_request
from frontmind.errors import UsageError
from frontmind.providers.profiles.profile import Caching, Profile, Wire
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.reading import read_request
from frontmind.providers.reading_blocks import ReadMessages
from frontmind.values.calls import Cause
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, Author, Section, render_notification_center
from frontmind.values.tool import Tool
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing
from frontmind.window.framing import closed
from frontmind.window.layout import Layout
from frontmind.window.window import Window
from support import EVERY_WAY, START, selected

LONG = "x" * 40_000
R, W, F, C = Expectation.READ, Expectation.WRITTEN, Expectation.FRESH, Expectation.CLEARED
SONNET = "anthropic:claude-sonnet-4-5"
BEDROCK = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"


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


def loop(name: str, framing: Framing | None = None, steps: int = 3) -> tuple[list[Layout], Profile]:
    """A turn that calls tools, and the first request of the turn behind it; a section changes in the middle."""
    selection = selected(name, framing)

    def at_first(number: int, text: str, history: Sequence[Message]) -> Window:
        sections = (clock(text),)
        center = render_notification_center(sections)
        return Window(LONG, "", history, center, (user(f"q{number}"),), sections, tools=(Tool("look"),))

    first = at_first(0, "one", ())
    window = at_first(1, "two", closed(first, assistant("a0"), selection.framing))
    layouts = [read_request(selection.encode(first))]
    for number in range(steps):
        layouts.append(read_request(selection.encode(window)))
        call = Message(Role.ASSISTANT, (ToolCall(f"c{number}", "look", "{}"),))
        changed = (clock(f"two, step {number}"),) if number == 1 else ()
        window = window.extended(call, Message(Role.USER, (ToolResult(f"c{number}", "a cat"),)), changed=changed)
    layouts.append(read_request(selection.encode(window)))
    history = closed(window, assistant("a1"), selection.framing)
    return [*layouts, read_request(selection.encode(at_first(2, "three", history)))], selection.profile


def played(layouts: Sequence[Layout], profile: Profile, *, seconds: float = 30) -> list[Outcome]:
    """What the cache does with these requests, sent so many seconds apart."""
    moments = [START + timedelta(seconds=seconds * number) for number in range(len(layouts))]
    simulator = CacheSimulator(profile)
    return [simulator.send(size_request(one), at) for one, at in zip(layouts, moments, strict=True)]


def read_texts(layout: Layout, made: Outcome) -> list[str]:
    """The texts of the blocks that come from the cache."""
    return [block.text for block, state in zip(layout.blocks, made.blocks, strict=True) if state is R]


def test_the_first_request_is_written_up_to_its_last_marker_and_nothing_is_read() -> None:
    layouts, profile = conversation(SONNET, None, 1)
    (made,) = played(layouts, profile)
    assert made.blocks[0] is W
    assert set(made.blocks[1:]) == {F}
    assert made.verdict.cause is Cause.FIRST
    assert "was sent to this model before" in made.verdict.reason


@pytest.mark.requirement("EXPLAIN-2")
@pytest.mark.parametrize(
    ("name", "framing", "read_until"),
    [
        (SONNET, Framing.ASSISTANT, "a2"),
        (SONNET, Framing.USER_TEXT, "a2"),
        (SONNET, Framing.APPEND, "q3"),
        ("anthropic:claude-opus-5-5", Framing.SYSTEM_CLEAR_AT, "q3"),
        (BEDROCK, Framing.USER_TEXT, "a2"),
        ("openrouter:anthropic/claude-sonnet-4.6", Framing.ASSISTANT, "a2"),
        ("openai:gpt-5.5", Framing.DEVELOPER, "q3"),
        ("openai:gpt-5.5", Framing.ASSISTANT, "a2"),
        ("openai:gpt-5.6-sol", Framing.DEVELOPER, "q3"),
        ("openai:gpt-5.6-sol", Framing.ASSISTANT, "q2"),
        ("gemini:gemini-3-pro", Framing.USER_TEXT, "a2"),
        ("deepseek:deepseek-chat", Framing.APPEND, "a3"),
        ("local", Framing.ASSISTANT, "a2"),
        ("local", Framing.APPEND, "a3"),
    ],
)
def test_each_turn_reads_what_the_turn_before_has_written(name: str, framing: Framing, read_until: str) -> None:
    layouts, profile = conversation(name, framing, 5)
    # In steps of one token, so that short messages can be told apart.
    made = played(layouts, replace(profile, cache_step=1))[4]
    texts = read_texts(layouts[4], made)
    # The rule that opens the section is the same in both requests and may be read as well.
    said = [text for text in texts if text.strip("═\n ")]
    if profile.caching is Caching.PREFIX:
        # A stretch of the first different block is read in part, and then counts as what becomes of its end.
        assert read_until in texts
    else:
        assert said[-1] == read_until
    assert all(later not in texts for later in ("q4", "a4"))
    # Where everything stays, the current turn is worth writing too.
    assert made.blocks[-1] is (W if framing is Framing.APPEND and profile.max_markers else F)


@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
@pytest.mark.requirement("LAB-4")
def test_what_slides_by_design_is_never_called_a_loss(name: str, framing: Framing) -> None:
    for layouts, profile in (conversation(name, framing, 6), loop(name, framing)):
        outcomes = played(layouts, profile)
        assert {one.verdict.cause for one in outcomes[1:]} <= {Cause.NOTHING, Cause.MINIMUM}
        assert all(one.could == one.read for one in outcomes)


@pytest.mark.parametrize("name", [SONNET, BEDROCK, "openai:gpt-5.5", "openai:gpt-5.6-sol", "deepseek:deepseek-chat"])
def test_a_section_that_is_rewritten_within_a_tool_loop_is_a_loss(name: str) -> None:
    layouts, stepped = loop(name)
    # To the token: a step of the count is larger than the section.
    profile = replace(stepped, cache_step=1)
    sections = [block for block in layouts[2].blocks if block.in_center and "two" in block.text]
    changed = tuple(
        replace(block, data=block.data.replace(b"two", b"TWO"), text=block.text.replace("two", "TWO"))
        if block in sections
        else block
        for block in layouts[3].blocks
    )
    assert sections
    edited = played([*layouts[:3], replace(layouts[3], blocks=changed)], profile)[-1]
    assert edited.read < played(layouts[:4], profile)[-1].read
    if profile.framing is not Framing.DEVELOPER:
        # In front of the question it is lost with all that stands behind it.
        assert edited.verdict.cause is Cause.MOVED
        assert "datetime_section" in edited.verdict.place


def test_in_a_cache_of_units_a_section_that_slides_is_read_one_turn_late() -> None:
    layouts, profile = conversation("deepseek:deepseek-chat", Framing.ASSISTANT, 5)
    first, second = (played(part, profile)[-1] for part in (layouts[3:], layouts[2:]))
    assert R not in first.blocks
    assert "no whole unit" in first.rule
    assert "a1" in read_texts(layouts[4], second)
    assert "a2" not in read_texts(layouts[4], second)


def test_another_model_s_cache_holds_nothing_for_this_one() -> None:
    (before, _), (after, profile) = (
        conversation(name, Framing.ASSISTANT, 2) for name in ("anthropic:claude-opus-4-8", SONNET)
    )
    made = played([before[0], after[1]], profile)[1]
    assert R not in made.blocks
    assert made.verdict.cause is Cause.MODEL
    assert (made.verdict.before, made.verdict.after) == ("claude-opus-4-8", "claude-sonnet-4-5")
    assert made.verdict.tokens == made.could > 9000


@pytest.mark.requirement("EXPLAIN-2")
@pytest.mark.parametrize("name", ["openai:gpt-5.6-sol", "anthropic:claude-opus-5-5", SONNET])
def test_after_a_tool_loop_the_next_turn_still_reads_up_to_the_last_question(name: str) -> None:
    layouts, profile = loop(name)
    framing = profile.framing
    outcomes = played(layouts, profile)
    for step, made in list(zip(layouts, outcomes, strict=True))[2 + (framing is Framing.ASSISTANT) : -1]:
        # The first step of a section that slides writes nothing behind the history.
        assert "q1" in read_texts(step, made)
    read = read_texts(layouts[-1], outcomes[-1])
    assert "a0" in read
    assert ("q1" in read) is (framing is not Framing.ASSISTANT)


@pytest.mark.parametrize(
    ("seconds", "read", "cause"),
    [(250, "a2", Cause.NOTHING), (400, LONG, Cause.EXPIRED), (4000, "", Cause.EXPIRED)],
)
def test_entries_end_with_their_lifetime_the_system_s_later_than_the_history_s(
    seconds: float, read: str, cause: Cause
) -> None:
    layouts, profile = conversation(SONNET, None, 5)
    made = played(layouts, profile, seconds=seconds)[4]
    assert (read_texts(layouts[4], made) or [""])[-1] == read
    assert made.verdict.cause is cause
    assert made.could == made.read + made.verdict.tokens


def test_below_the_minimum_nothing_is_cached_and_the_reason_says_so() -> None:
    layouts, profile = conversation(SONNET, None, 3, system="short")
    for made in played(layouts, profile):
        assert set(made.blocks) == {F}
        assert made.verdict.cause is Cause.MINIMUM
        assert "less than the 1,024" in made.rule


def test_a_turn_scoped_message_of_an_earlier_turn_is_no_longer_seen() -> None:
    layouts, profile = conversation("anthropic:claude-opus-5-5", None, 3)
    made = played(layouts, profile)[2]
    cleared = [state for block, state in zip(layouts[2].blocks, made.blocks, strict=True) if block.cleared]
    assert cleared[: len(cleared) // 3] == [C] * (len(cleared) // 3)
    assert cleared[-1] is F
    seen = [state is not C for state in made.blocks]
    assert made.usage.input == sum(
        block.tokens for block, is_seen in zip(layouts[2].blocks, seen, strict=True) if is_seen
    )


@pytest.mark.requirement("RULE-5")
@pytest.mark.parametrize("name", [SONNET, "openrouter:anthropic/claude-sonnet-4.6", BEDROCK])
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
    outcomes = played(layouts, selection.profile)
    for (before, after), made in zip(pairwise(layouts), outcomes[1:], strict=True):
        marked = max(index for index, block in enumerate(before.blocks) if block.marker is not None)
        assert made.blocks[: marked + 1] == (R,) * (marked + 1)
        assert set(made.blocks[marked + 1 :]) == {W}
        assert after.blocks[: marked + 1]


def test_looking_changes_nothing() -> None:
    layouts, profile = conversation(SONNET, None, 2)
    cache = CacheSimulator(profile)
    first, second = (size_request(layout) for layout in layouts)
    cache.send(first, START)
    looked = [cache.expect(second, START + timedelta(seconds=at)) for at in (10, 20, 280, 10)]
    assert len(set(looked)) == 1
    assert cache.expect(second, START + timedelta(seconds=3601)).verdict.cause is Cause.EXPIRED
    assert cache.send(second, START + timedelta(seconds=10)) == looked[0]


def test_the_figures_of_an_outcome_add_up_to_the_prompt() -> None:
    for name, framing in EVERY_WAY:
        layouts, profile = conversation(name, framing, 4)
        for layout, made in zip(layouts, played(layouts, profile), strict=True):
            sizes = [block.tokens for block, state in zip(layout.blocks, made.blocks, strict=True) if state is not C]
            assert made.read + made.written + made.fresh == made.usage.input == sum(sizes)
            assert sum(tokens for _, tokens in made.written_by_ttl) == made.written
            assert min(made.read, made.written, made.fresh) >= 0
            assert made.usage.estimated


def test_equivalents_price_each_token_by_what_became_of_it() -> None:
    profile = resolve_profile("anthropic", "claude-opus-5-5")
    usage = Usage(10_000, 6000, 3000, 500, written_by_ttl=(("1h", 2000), ("5m", 1000)))
    assert equivalents(usage, profile) == pytest.approx(1000 + 6000 * 0.05 + 2000 * 2.0 + 1000 * 1.25)
    untold = replace(usage, written_by_ttl=())
    assert equivalents(untold, profile) == pytest.approx(1000 + 300 + 3000 * 1.25)


@pytest.mark.parametrize(
    ("provider", "model", "read", "write", "long"),
    [
        ("anthropic", "claude-haiku-4-5", 0.1, 1.25, 2.0),
        ("anthropic", "claude-opus-5", 0.1, 1.25, 2.0),
        ("anthropic", "claude-opus-5-5", 0.05, 1.25, 2.0),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 0.1, 1.25, 2.0),
        ("openrouter", "anthropic/claude-fable-5.1", 0.025, 1.25, 2.0),
        ("anthropic", "claude-mythos-5-1", 0.025, 1.25, 2.0),
        ("openai", "gpt-5.5", 0.1, 1.0, 1.0),
        ("openai", "gpt-5.6-sol", 0.1, 1.25, 1.0),
        ("openai", "gpt-6.1-sol", 0.05, 1.25, 1.0),
        ("deepseek", "deepseek-chat", 0.033, 1.0, 1.0),
    ],
)
def test_what_cached_tokens_cost_is_a_fact_with_a_source(
    provider: str, model: str, read: float, write: float, long: float
) -> None:
    profile = resolve_profile(provider, model)
    assert (profile.read_price, profile.write_price, profile.long_write_price) == (read, write, long)
    assert profile.sources["read_price"].text
    assert [profile.write_price_of(ttl) for ttl in ("5m", "30m", "1h", "")] == [write, write, long, write]


def test_sizes_that_do_not_fit_the_blocks_are_refused() -> None:
    layouts, _ = conversation(SONNET, None, 1)
    with pytest.raises(UsageError, match="pass one for each"):
        SizedRequest(layouts[0], (1,))


@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
def test_messages_that_were_read_before_are_not_read_again_and_the_layout_is_the_same(
    name: str, framing: Framing
) -> None:
    selection = selected(name, framing)
    requests, history = [], ()
    for number in range(4):
        sections = (clock(f"turn {number}"),)
        center = render_notification_center(sections)
        window = Window("short", "", history, center, (user(f"q{number}"),), sections, tools=(Tool("look"),))
        requests.append(selection.encode(window))
        history = closed(window, assistant(f"a{number}"), selection.framing)  # type: ignore[assignment]
    known = ReadMessages()
    layouts = [read_request(request, read=known) for request in requests]
    assert layouts == [read_request(request) for request in requests]
    again = read_request(json.loads(json.dumps(requests[-1])), read=known)
    assert again == layouts[-1]
    if layouts[-1].wire != Wire.GEMINI:
        pairs = zip(again.conversation, layouts[-1].conversation, strict=True)
        # A text that stands for a rule alone is looked at anew in every request.
        assert all(one is two for one, two in pairs if not one.text.startswith("═"))


def test_a_cache_point_in_front_of_a_message_closes_the_one_before_however_often_it_is_read() -> None:
    point = {"cachePoint": {"type": "default"}}
    first = {"role": "user", "content": [{"text": "a"}]}
    body = {"modelId": "m", "messages": [first, {"role": "assistant", "content": [point, {"text": "b"}]}]}
    known = ReadMessages()
    for _ in range(2):
        layout = read_request(body, read=known)
        assert [block.marker is not None for block in layout.blocks] == [True, False]
    assert [block.marker for block in read_request({**body, "messages": [first]}, read=known).blocks] == [None]
