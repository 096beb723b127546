"""The rules of the simulator, one by one, on the smallest requests that show them.

The list of the rules (`cachelab.known_rules`) names the tests of this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from frontmind.cachelab.known_rules import CACHE_RULES, rules_as_markdown
from frontmind.cachelab.outcome import Expectation, Outcome
from frontmind.cachelab.prefixes import prompt_of
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import SizedRequest, size_request
from frontmind.providers.profiles.profile import Caching, MarkerKind, Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.reading import read_request
from frontmind.values.calls import Cause
from frontmind.window.layout import TOOL, TOOL_CALL, TOOL_RESULT, Area, Block, Layout, Marker, Setting
from support import REPOSITORY, START

ANTHROPIC = resolve_profile("anthropic", "claude-sonnet-4-5")
BEDROCK = resolve_profile("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
GPT56 = resolve_profile("openai", "gpt-5.6-sol")
GPT55 = resolve_profile("openai", "gpt-5.5")
DEEPSEEK = resolve_profile("deepseek", "deepseek-chat")
LOCAL = resolve_profile("local", "")
SHORT, LONG = Marker("cache_control", "5m"), Marker("cache_control", "1h")


def system(text: str, tokens: int = 2000, marker: Marker | None = None, **fields: Any) -> Block:
    """A block of the system prompt."""
    place = fields.pop("place", f"system[{text}]")
    return Block(Area.SYSTEM, place, "system", "text", text.encode(), text, tokens=tokens, marker=marker, **fields)


def said(number: int, role: str = "user", text: str = "", *, tokens: int = 100, **fields: Any) -> Block:
    """A message of one block."""
    spoken = text or f"{role} {number}"
    return Block(
        Area.MESSAGES,
        f"messages[{number}].content[0]",
        role,
        fields.pop("kind", "text"),
        spoken.encode(),
        spoken,
        message=number,
        tokens=tokens,
        **fields,
    )


def tool(name: str, **fields: Any) -> Block:
    return Block(Area.TOOLS, f"tools[{name}]", "tools", TOOL, name.encode(), name, name=name, tokens=300, **fields)


def request(*blocks: Block, tail: int = 0, **fields: Any) -> SizedRequest:
    """A request of these blocks, with their sizes."""
    provider = fields.pop("provider", "anthropic")
    layout = Layout("anthropic", provider, fields.pop("model", "a-model"), blocks, **fields)
    return size_request(layout, tail=tail)


def second(one: SizedRequest, two: SizedRequest, profile: Profile = ANTHROPIC, *, after: float = 10) -> Outcome:
    """What the cache does with a request that is sent so many seconds after another one."""
    cache = CacheSimulator(profile)
    cache.send(one, START)
    return cache.send(two, START + timedelta(seconds=after))


def marked(block: Block, marker: Marker = SHORT) -> Block:
    return replace(block, marker=marker)


SYSTEM = system("s", marker=SHORT)


# Entries at markers.


def test_nothing_is_cached_without_a_marker() -> None:
    plain = request(system("s"), said(0))
    made = second(plain, plain)
    assert (made.read, made.written, made.fresh) == (0, 0, 2100)
    assert "without a marker nothing is cached" in made.rule


def test_a_prefix_without_a_marker_is_never_an_entry() -> None:
    one = request(system("s"), marked(said(0)))
    made = second(one, request(SYSTEM, marked(said(0, text="another"))))
    # The system prompt is the same, and was written only as a part of something else.
    assert (made.read, made.written) == (0, 2100)


def test_an_entry_is_read_up_to_the_marker_that_wrote_it() -> None:
    made = second(request(SYSTEM, said(0)), request(SYSTEM, marked(said(0)), said(1), tail=3))
    assert (made.read, made.written, made.fresh) == (2000, 100, 103)
    assert made.blocks == (Expectation.READ, Expectation.WRITTEN, Expectation.FRESH)


def test_a_marker_that_moves_changes_no_key() -> None:
    one = request(SYSTEM, marked(said(0)), said(1))
    two = request(system("s"), said(0), marked(said(1)))
    assert prompt_of(one).keys == prompt_of(two).keys
    assert second(one, two).read == 2100


def test_an_entry_that_an_earlier_request_wrote_is_read_from_any_later_marker() -> None:
    cache = CacheSimulator(ANTHROPIC)
    cache.send(request(SYSTEM, marked(said(0))), START)
    cache.send(request(SYSTEM, marked(said(0, text="something else"))), START)
    made = cache.send(request(SYSTEM, said(0), marked(said(1, "assistant"))), START)
    assert (made.read, made.written) == (2100, 100)


def test_automatic_caching_marks_the_last_block() -> None:
    automatic = Marker("cache_control", "5m")
    one = request(system("s"), said(0), automatic=automatic, tail=3)
    made = second(one, request(system("s"), said(0), said(1), automatic=automatic, tail=3))
    assert (made.read, made.written, made.fresh) == (2100, 100, 3)
    slid = second(
        request(system("s"), said(0), said(1, text="noon"), automatic=automatic),
        request(system("s"), said(0), said(1, text="one"), automatic=automatic),
    )
    assert (slid.read, slid.written) == (0, 2200)


def test_sections_of_one_text_share_the_marker_at_its_end() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "system": [
            {
                "type": "text",
                "text": f"<base_prompt>\n{'x' * 6000}\n</base_prompt>\n\n<domaindoc>\nold\n</domaindoc>",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "messages": [{"role": "user", "content": "q"}],
    }
    layout = read_request(body)
    assert [block.marker is not None for block in layout.blocks] == [False, True, False]
    made = second(size_request(layout), size_request(layout))
    assert made.read == sum(block.tokens for block in layout.blocks[:2])
    edited = read_request(replace_text(body, "old", "new"))
    again = second(size_request(layout), size_request(edited))
    # The first section is the same, but no entry ends there.
    assert again.read == 0
    assert again.verdict.place == "system[0] (domaindoc)"


def replace_text(body: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    block = body["system"][0]
    return {**body, "system": [{**block, "text": block["text"].replace(old, new)}]}


# Look-back.


@pytest.mark.parametrize(
    ("profile", "added", "hits"),
    [(ANTHROPIC, 19, True), (ANTHROPIC, 20, False), (BEDROCK, 21, True), (BEDROCK, 22, False)],
)
def test_a_marker_finds_entries_within_its_look_back_only(profile: Profile, added: int, hits: bool) -> None:
    blocks = [said(number, tokens=200) for number in range(40)]
    one = request(*blocks[:9], marked(blocks[9]))
    two = request(*blocks[: 9 + added], marked(blocks[9 + added]))
    made = second(one, two, profile)
    # The marked block is the first position: with 19 more behind the entry, the entry is at the twentieth.
    assert made.read == (2000 if hits else 0)
    assert made.verdict.cause is (Cause.NOTHING if hits else Cause.LOOK_BACK)
    if not hits:
        assert made.verdict.tokens == 2000
        assert f"{profile.look_back} positions" in made.verdict.reason


def tools_loop(calls: int) -> tuple[SizedRequest, SizedRequest]:
    """A marked question, and the same with a round of parallel calls and their results, marked at the end."""
    asked = [system("s"), marked(said(0))]
    called = [said(1, "assistant", f"c{n}", kind=TOOL_CALL) for n in range(calls)]
    done = [said(2, "user", f"r{n}", kind=TOOL_RESULT) for n in range(calls)]
    loop = [replace(block, place=f"{block.place}.{index}") for index, block in enumerate([*called, *done])]
    return request(*asked), request(system("s"), said(0), *loop[:-1], marked(loop[-1]))


@pytest.mark.parametrize(("profile", "hits"), [(ANTHROPIC, True), (BEDROCK, False)])
def test_a_run_of_tool_blocks_is_one_position_on_the_direct_api_and_not_on_bedrock(
    profile: Profile, hits: bool
) -> None:
    one, two = tools_loop(25)
    assert second(one, two, profile).read == (2100 if hits else 0)
    one, two = tools_loop(9)
    assert second(one, two, profile).read == 2100


def test_the_sections_of_one_text_are_one_position() -> None:
    sections = [replace(said(10, text=f"part {number}"), place="messages[10].content[0]") for number in range(30)]
    one = request(system("s"), *[said(number) for number in range(9)], marked(said(9)))
    two = request(system("s"), *[said(number) for number in range(10)], *sections[:-1], marked(sections[-1]))
    assert second(one, two).read == 3000


def test_without_any_marker_near_by_the_reason_says_so() -> None:
    made = second(request(SYSTEM, marked(said(0))), request(system("s"), said(0)))
    assert made.verdict.cause is Cause.LOOK_BACK
    assert "no marker" in made.verdict.reason


# Minimum.


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-fable-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-mythos-5-1", 512),
        ("claude-opus-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-sonnet-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-sonnet-4-6", 1024),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-5", 4096),
        ("claude-haiku-4-5", 4096),
    ],
)
def test_below_the_minimum_of_its_model_a_prefix_is_no_entry(model: str, minimum: int) -> None:
    profile = resolve_profile("anthropic", model)
    for tokens, is_kept in ((minimum, True), (minimum - 1, False)):
        one = request(system("s", tokens, SHORT), said(0))
        made = second(one, one, profile)
        assert made.read == (minimum if is_kept else 0)
        assert made.verdict.cause is (Cause.NOTHING if is_kept else Cause.MINIMUM)
        assert made.written == 0


def test_what_is_below_the_minimum_is_written_with_the_next_marker_behind_it() -> None:
    one = request(system("s", 800, LONG), marked(said(0, tokens=400)))
    made = CacheSimulator(ANTHROPIC).send(one, START)
    assert made.written_by_ttl == (("5m", 1200),)


# Lifetime.


@pytest.mark.parametrize(("marker", "seconds"), [(SHORT, 300), (LONG, 3600)])
def test_an_entry_lives_to_the_second(marker: Marker, seconds: int) -> None:
    one = request(system("s", marker=marker), said(0))
    assert second(one, one, after=seconds).read == 2000
    late = second(one, one, after=seconds + 1)
    assert (late.read, late.written) == (0, 2000)
    assert (late.verdict.cause, late.verdict.tokens) == (Cause.EXPIRED, 2000)


def test_a_read_refreshes_an_entry_at_no_cost() -> None:
    one = request(SYSTEM, said(0))
    cache = CacheSimulator(ANTHROPIC)
    outcomes = [cache.send(one, START + timedelta(seconds=299 * number)) for number in range(6)]
    assert [made.read for made in outcomes] == [0, *[2000] * 5]
    assert sum(made.written for made in outcomes) == 2000


def test_a_look_refreshes_nothing() -> None:
    one = request(SYSTEM, said(0))
    cache = CacheSimulator(ANTHROPIC)
    cache.send(one, START)
    cache.expect(one, START + timedelta(seconds=299))
    assert cache.expect(one, START + timedelta(seconds=301)).read == 0


def test_what_stands_in_front_of_a_read_is_refreshed_with_it() -> None:
    cache = CacheSimulator(ANTHROPIC)
    full = request(SYSTEM, marked(said(0)))
    for number in range(3):
        cache.send(full, START + timedelta(seconds=200 * number))
    made = cache.send(request(SYSTEM, said(0, text="new")), START + timedelta(seconds=650))
    assert made.read == 2000


def test_each_token_is_billed_for_the_lifetime_of_the_next_marker_behind_it() -> None:
    one = request(system("s", marker=LONG), system("t", 500, LONG), said(0), marked(said(1, tokens=70)), said(2))
    made = CacheSimulator(ANTHROPIC).send(one, START)
    assert made.written_by_ttl == (("1h", 2500), ("5m", 170))
    assert made.fresh == 100


def test_after_the_shorter_lifetime_the_longer_entry_is_still_read() -> None:
    one = request(system("s", marker=LONG), marked(said(0)))
    made = second(one, one, after=301)
    assert (made.read, made.written_by_ttl) == (2000, (("5m", 100),))
    assert (made.verdict.cause, made.verdict.tokens) == (Cause.EXPIRED, 100)
    assert "5m" in made.verdict.reason


def test_what_stands_behind_a_short_entry_lives_no_longer_than_that() -> None:
    cache = CacheSimulator(ANTHROPIC)
    cache.send(request(SYSTEM, said(0)), START)
    longer = request(SYSTEM, marked(said(0), LONG))
    assert cache.send(longer, START).written_by_ttl == (("1h", 100),)
    assert cache.expect(longer, START + timedelta(seconds=301)).read == 0


def test_an_entry_is_readable_only_once_the_reply_has_begun() -> None:
    one = request(SYSTEM, said(0))
    cache = CacheSimulator(ANTHROPIC)
    cache.send(one, START, began=START + timedelta(seconds=4))
    early = cache.expect(one, START + timedelta(seconds=3))
    assert (early.read, early.verdict.cause) == (0, Cause.FIRST)
    assert "not answered yet" in early.rule
    assert cache.expect(one, START + timedelta(seconds=4)).read == 2000


# What enters a key.


def test_a_turn_scoped_message_enters_no_key() -> None:
    scoped = [said(1, "system", f"the time is {hour}", cleared=True) for hour in ("noon", "one")]
    one = request(SYSTEM, marked(said(0)), scoped[0])
    two = request(
        SYSTEM, marked(said(0)), scoped[0], said(2, "assistant"), marked(said(3)), replace(scoped[1], message=4)
    )
    made = second(one, two)
    assert (made.read, made.written, made.fresh) == (2100, 200, 100)
    assert made.blocks[2] is Expectation.CLEARED
    assert made.verdict.cause is Cause.NOTHING


def test_a_tool_that_is_loaded_later_enters_no_key() -> None:
    rare = tool("rare", deferred=True)
    one = request(tool("look"), SYSTEM, said(0))
    made = second(one, request(tool("look"), rare, SYSTEM, said(0)))
    assert (made.read, made.usage.input) == (2300, 2400)


def body(**changes: Any) -> dict[str, Any]:
    """A Messages request with a marker behind the tools, the system prompt and the question."""
    marker = {"cache_control": {"type": "ephemeral"}}
    made: dict[str, Any] = {
        "model": "claude-opus-5-5",
        "max_tokens": 9,
        "tools": [{"name": "look", "description": "d" * 8000, "input_schema": {"type": "object"}, **marker}],
        "system": [{"type": "text", "text": "s" * 8000, **marker}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "q" * 8000, **marker}]}],
    }
    return {**made, **changes}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
CITED = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "text"},
    "citations": {"enabled": True},
}


def with_part(part: dict[str, Any]) -> list[dict[str, Any]]:
    (message,) = body()["messages"]
    return [message, {"role": "assistant", "content": "a"}, {"role": "user", "content": [part]}]


@pytest.mark.parametrize(
    ("change", "areas", "cause", "place"),
    [
        ({"tools": [{"name": "other", "description": "d" * 8000}]}, 0, Cause.TOOLS, "tools[0] (other)"),
        (
            {"tools": [*body()["tools"], {"type": "web_search_20250305", "name": "web_search"}]},
            1,
            Cause.TOOLS,
            "tools[1]",
        ),
        ({"speed": "fast"}, 1, Cause.PARAMETERS, "speed"),
        ({"messages": with_part(CITED)}, 1, Cause.PARAMETERS, "citations"),
        ({"system": [{"type": "text", "text": "t" * 8000}]}, 1, Cause.MOVED, "system[0]"),
        ({"tool_choice": {"type": "any"}}, 2, Cause.PARAMETERS, "tool_choice"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, 2, Cause.PARAMETERS, "thinking"),
        ({"output_config": {"effort": "low"}}, 2, Cause.PARAMETERS, "output_config"),
        ({"messages": with_part(IMAGE)}, 2, Cause.IMAGES, "images"),
        ({"messages": [{"role": "user", "content": "r" * 8000}]}, 2, Cause.MOVED, "messages[0].content[0]"),
        ({"model": "claude-opus-4-8"}, 0, Cause.MODEL, ""),
        ({"max_tokens": 99, "temperature": 0.5, "metadata": {"user_id": "u"}}, 3, Cause.NOTHING, ""),
        ({"tool_choice": {"type": "auto"}}, 3, Cause.NOTHING, ""),
    ],
)
def test_what_changes_breaks_the_cache_from_its_area_on(change: Any, areas: int, cause: Cause, place: str) -> None:
    profile = resolve_profile("anthropic", "claude-opus-5-5")
    before = read_request(body())
    made = second(size_request(before), size_request(read_request(body(**change))), profile)
    sizes = [block.tokens for block in before.blocks]
    assert made.read == sum(sizes[:areas])
    assert made.verdict.cause is cause
    assert made.verdict.tokens == pytest.approx(sum(sizes[areas:]), abs=20)
    assert made.verdict.place.startswith(place)
    back = second(size_request(read_request(body(**change))), size_request(before), profile)
    assert back.read <= made.read


def test_the_schema_of_a_structured_reply_stands_in_front_of_an_openai_prompt() -> None:
    plain = {"model": "gpt-5.5", "input": [{"role": "user", "content": "q" * 8000}]}
    shaped = {**plain, "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}}
    one, two = (size_request(read_request(value)) for value in (plain, shaped))
    assert second(one, one, GPT55).read == 1920
    changed = second(one, two, GPT55)
    assert (changed.read, changed.verdict.cause) == (0, Cause.PARAMETERS)
    assert changed.verdict.place == "response_format"


# GPT-5.6 and later.


def chat(*blocks: Block, **fields: Any) -> SizedRequest:
    return request(*blocks, provider="openai", **fields)


POINT = Marker("prompt_cache_breakpoint")
INITIAL = system("developer", 2000, place="input[0]")


def test_the_provider_s_own_breakpoint_stands_at_the_last_user_message() -> None:
    one = chat(INITIAL, said(1))
    made = second(one, chat(INITIAL, said(1), said(2, "assistant"), said(3), said(4, "assistant")), GPT56)
    assert (made.read, made.written, made.fresh) == (2100, 200, 100)
    assert made.written_by_ttl == (("30m", 200),)


def test_the_provider_s_own_breakpoint_stands_at_the_last_result_of_a_group() -> None:
    called = [said(2, "assistant", "c", kind=TOOL_CALL)]
    done = [said(3 + number, "tool", f"r{number}", kind=TOOL_RESULT) for number in range(3)]
    made = second(chat(INITIAL, said(1)), chat(INITIAL, said(1), *called, *done), GPT56)
    assert (made.read, made.written, made.fresh) == (2100, 400, 0)


def test_without_a_question_the_provider_s_own_breakpoint_stands_at_the_last_initial_developer_message() -> None:
    instructions = system("instructions", 500, place="instructions")
    one = chat(instructions, INITIAL)
    made = CacheSimulator(GPT56).send(one, START)
    assert made.written == 2500
    assert second(one, chat(instructions, INITIAL, said(1)), GPT56).read == 2500
    alone = chat(system("instructions", 2500, place="instructions"))
    assert CacheSimulator(GPT56).send(alone, START).written == 0


def test_between_breakpoints_nothing_is_read() -> None:
    made = second(chat(INITIAL, said(1), said(2)), chat(INITIAL, said(1), said(2, text="another")), GPT56)
    assert made.read == 0
    assert made.written == 2200


def test_a_section_in_front_of_the_question_never_hits_in_implicit_mode() -> None:
    cache = CacheSimulator(GPT56)
    for number in range(5):
        history = [said(1 + n, ("user", "assistant")[n % 2], f"m{n}") for n in range(2 * number)]
        section = said(50, "assistant", f"the time is {number}", in_center=True)
        made = cache.send(chat(INITIAL, *history, section, said(51, text=f"m{2 * number}")), START)
        assert made.read == 0


def test_a_trailing_developer_message_leaves_the_breakpoint_at_the_end_of_the_question() -> None:
    one = chat(INITIAL, said(1), said(2, "developer", "noon", in_center=True))
    made = second(one, chat(INITIAL, said(1), said(2, "assistant"), said(3), said(4, "developer", "one")), GPT56)
    assert (made.read, made.written, made.fresh) == (2100, 200, 100)
    assert made.verdict.cause is Cause.NOTHING


def test_in_explicit_mode_only_marked_ends_are_written() -> None:
    one = chat(marked(INITIAL, POINT), said(1), implicit=False)
    made = second(one, one, GPT56)
    assert (made.read, made.written, made.fresh) == (2000, 0, 100)
    plain = chat(INITIAL, said(1), implicit=False)
    assert second(plain, plain, GPT56).read == 0


def test_the_newest_four_breakpoints_are_written_and_any_earlier_one_is_read() -> None:
    points = [marked(said(number, tokens=1000 if number == 1 else 100), POINT) for number in range(1, 7)]
    made = CacheSimulator(GPT56).send(chat(INITIAL, *points, implicit=False), START)
    assert made.written == 3500
    cut = chat(INITIAL, *points[:2], said(9, "assistant", "new"), implicit=False)
    assert second(chat(INITIAL, *points, implicit=False), cut, GPT56).read == 0
    cut = chat(INITIAL, *points[:3], said(9, "assistant", "new"), implicit=False)
    assert second(chat(INITIAL, *points, implicit=False), cut, GPT56).read == 3200
    far = [said(10 + number, "assistant", f"m{number}") for number in range(60)]
    long = chat(INITIAL, *points, *far, marked(said(99), POINT), implicit=False)
    assert second(chat(INITIAL, *points, implicit=False), long, GPT56).read == 3500


@pytest.mark.parametrize(("seconds", "read"), [(1800, 2100), (1801, 0)])
def test_a_breakpoint_lives_for_half_an_hour(seconds: int, read: int) -> None:
    one = chat(INITIAL, said(1))
    assert second(one, one, GPT56, after=seconds).read == read


# Caches without markers.


def test_up_to_gpt_5_5_the_longest_prefix_is_read_in_steps_of_128_from_1024_tokens_on() -> None:
    for tokens, read in ((900, 0), (924, 1024), (1100, 1152), (1179, 1152), (1180, 1280)):
        one = chat(system("s", tokens, place="input[0]"), said(1))
        made = second(one, chat(*one.layout.blocks, said(2, "assistant"), said(3)), GPT55)
        assert (made.read, made.written) == (read, 0)
    small = second(chat(said(0)), chat(said(0), said(1)), GPT55)
    assert small.verdict.cause is Cause.MINIMUM


@pytest.mark.parametrize(("seconds", "read", "cause"), [(300, 2048, Cause.NOTHING), (301, 0, Cause.EXPIRED)])
def test_what_nobody_uses_is_dropped_after_the_lifetime(seconds: int, read: int, cause: Cause) -> None:
    one = chat(INITIAL, said(1))
    made = second(one, chat(INITIAL, said(1), said(2)), GPT55, after=seconds)
    assert (made.read, made.verdict.cause) == (read, cause)


def test_a_changed_text_is_read_up_to_about_where_it_changes() -> None:
    one = chat(system("a" * 4000, 1000), said(1))
    two = chat(system("a" * 3000 + "b" * 1000, 1000), said(1))
    made = second(one, two, replace(GPT55, min_cached_tokens=0, cache_step=1))
    assert (made.read, made.verdict.cause) == (750, Cause.MOVED)


def units(*turns: Sequence[Block]) -> list[Outcome]:
    cache = CacheSimulator(DEEPSEEK)
    return [cache.send(request(*blocks), START) for blocks in turns]


def test_a_unit_ends_at_the_end_of_the_input_and_of_the_output() -> None:
    one = [system("s"), said(0)]
    whole = units(one, [*one, said(1, "assistant"), said(2)])
    assert whole[1].read == 2200
    changed = units(one, [*one, said(2)])
    assert changed[1].read == 2100


def test_a_unit_is_read_as_a_whole_or_not_at_all() -> None:
    outcomes = units([system("s"), said(0)], [system("s"), said(0, text="another")])
    assert outcomes[1].read == 0
    assert "no whole unit" in outcomes[1].rule


def test_what_two_requests_have_in_common_is_a_unit_for_the_third() -> None:
    outcomes = units(*[[system("s"), said(0, text=text)] for text in ("a", "b", "c")])
    assert [made.read for made in outcomes] == [0, 0, 2000]


def test_whole_blocks_are_read_where_an_engine_keeps_whole_blocks() -> None:
    blocks = resolve_profile("compatible", "a-model", {"cache_step": 16})
    made = second(request(said(0, tokens=1001)), request(said(0, tokens=1001), said(1)), blocks)
    assert made.read == 992


def test_the_last_token_of_a_prompt_is_always_processed() -> None:
    one = request(said(0, tokens=160))
    assert second(one, one, LOCAL).read == 159
    assert second(one, one, resolve_profile("compatible", "m", {"cache_step": 16})).read == 144
    assert second(one, one, LOCAL).verdict.cause is Cause.NOTHING


def test_where_the_tokens_are_known_the_prefix_is_exact() -> None:
    one = replace(request(said(0, tokens=7)), ids=tuple(range(10)))
    two = replace(request(said(0, text="another", tokens=7), said(1, tokens=7)), ids=(*range(6), *range(60, 80)))
    made = second(one, two, LOCAL)
    assert (made.read, made.usage.input) == (6, 26)
    assert second(one, replace(two, ids=tuple(range(1, 20))), LOCAL).read == 0


def test_the_reply_is_read_too_where_the_cache_holds_it() -> None:
    one = request(said(0), tail=3)
    two = request(said(0), said(1, "assistant"), said(2))
    assert second(one, two, LOCAL).read == 200
    assert second(one, two, replace(LOCAL, caches_output=False)).read == 100
    cache = CacheSimulator(LOCAL)
    cache.send(replace(one, ids=(1, 2, 3)), START, produced=(4, 5))
    assert cache.send(replace(two, ids=(1, 2, 3, 4, 5, 6, 7)), START).read == 5


def test_a_cache_with_one_slot_holds_the_last_prompt_only() -> None:
    one, other = request(said(0), said(1)), request(said(0, text="another conversation"))
    for profile, read in ((LOCAL, 0), (replace(LOCAL, slots=0), 199)):
        cache = CacheSimulator(profile)
        cache.send(one, START)
        cache.send(other, START)
        assert cache.send(one, START).read == read


def running() -> Profile:
    return replace(LOCAL, caching=Caching.CHECKPOINTS)


def test_a_running_state_goes_on_from_the_start_of_the_last_user_message_or_from_its_end() -> None:
    history = [system("s"), said(0), said(1, "assistant")]
    one = request(*history, said(2))
    assert second(one, request(*history, said(2), said(3, "assistant"), said(4)), running()).read == 2400
    edited = second(one, request(*history, said(2, text="another")), running())
    assert edited.read == 2200
    assert second(one, request(*history[:2], said(1, "assistant", "other")), running()).read == 0


def test_a_section_in_front_of_the_last_user_message_invalidates_its_checkpoint_and_one_behind_keeps_it() -> None:
    history, longer = [system("s"), said(0), said(1, "assistant")], [said(2), said(3, "assistant")]
    notes = [said(20, "assistant", text, in_center=True) for text in ("noon", "one")]
    before = second(request(*history, notes[0], said(2)), request(*history, *longer, notes[1], said(4)), running())
    assert (before.read, before.could) == (0, 0)
    within = [replace(note, role="user", message=2, place="messages[2].content[1]") for note in notes]
    after = second(request(*history, said(2), within[0]), request(*history, *longer, said(4), within[1]), running())
    assert after.read == 2200


def test_a_checkpoint_behind_the_place_to_which_a_state_was_cut_back_is_gone() -> None:
    history = [system("s"), said(0), said(1, "assistant"), said(2), said(3, "assistant")]
    cache = CacheSimulator(running())
    cache.send(request(*history[:4]), START)
    cache.send(request(*history, said(4)), START)
    cache.send(request(system("s"), said(0, text="another")), START)
    assert cache.send(request(*history, said(4)), START).read == 2000


def test_a_named_entry_is_read_as_a_whole() -> None:
    gemini = resolve_profile("gemini", "gemini-2.5-flash")
    asked = {"model": "gemini-2.5-flash", "contents": [{"parts": [{"text": "q"}]}], "cachedContent": "cachedContents/a"}
    sized = [
        replace(size_request(read_request({**asked, "cachedContent": name})), entry=3512)
        for name in ("cachedContents/a", "cachedContents/b")
    ]
    made = CacheSimulator(gemini).send(sized[0], START)
    assert (made.read, made.fresh, made.verdict.cause) == (3512, 1, Cause.NOTHING)
    keys = [prompt_of(one).keys for one in sized]
    assert not set(keys[0]) & set(keys[1])


def test_a_request_that_names_its_own_entry_is_not_read_beyond_it_by_itself() -> None:
    both = resolve_profile("openrouter", "google/gemini-2.5-flash")
    assert (both.caching, both.markers) == (Caching.PREFIX, MarkerKind.CACHE_CONTROL)
    made = second(request(SYSTEM, said(0, text="What is a?")), request(SYSTEM, said(0, text="What is b?")), both)
    assert made.read == 2000
    plain = second(
        request(system("s"), said(0, text="What is a?")), request(system("s"), said(0, text="What is b?")), both
    )
    assert plain.read == 2080


def test_a_model_that_caches_nothing_loses_nothing() -> None:
    fake = resolve_profile("scripted", "x")
    made = second(request(said(0)), request(said(0)), fake)
    assert (made.read, made.written, made.verdict.cause) == (0, 0, Cause.NOTHING)


# The list of the rules.


@pytest.mark.requirement("LAB-1")
def test_every_rule_of_the_list_has_a_test_here_and_stands_in_the_docs() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    docs = (REPOSITORY / "docs" / "cache-rules.md").read_text(encoding="utf-8")
    assert rules_as_markdown() in docs
    for rule in CACHE_RULES:
        assert f"def {rule.test}(" in here, rule.name
        assert "|" not in rule.statement + rule.source + rule.name
        assert rule.statement.endswith(".")
    assert len({rule.name for rule in CACHE_RULES}) == len(CACHE_RULES)


# Any series of requests.


def any_request(random: Random) -> SizedRequest:
    """A request out of few pieces, so that two of them often begin alike."""
    head = [tool("look")] * random.randint(0, 1) + [system(random.choice("st"), random.choice((300, 2000)))]
    roles, blocks = ("user", "assistant", "developer"), []
    for number in range(random.randint(0, 9)):
        blocks.append(
            said(
                number,
                random.choice(roles),
                random.choice(("x", "a longer text", "a longer word", "")),
                tokens=random.choice((0, 1, 90, 700)),
                kind=random.choice(("text", "text", TOOL_CALL, TOOL_RESULT)),
                in_center=random.random() < 0.2,
                cleared=random.random() < 0.1,
            )
        )
    made = [
        marked(block, random.choice((SHORT, LONG))) if random.random() < 0.3 else block for block in (*head, *blocks)
    ]
    thinking = (Setting("thinking", random.choice((b"1", b"2")), Area.MESSAGES),) * random.randint(0, 1)
    return request(
        *made,
        tail=random.choice((0, 3)),
        model=random.choice(("m", "m", "m", "n")),
        settings=thinking,
        implicit=random.random() < 0.8,
        automatic=SHORT if random.random() < 0.1 else None,
    )


@pytest.mark.parametrize(
    "profile",
    [ANTHROPIC, BEDROCK, GPT56, GPT55, DEEPSEEK, LOCAL, replace(LOCAL, caching=Caching.CHECKPOINTS)],
    ids=lambda profile: f"{profile.provider}-{profile.model}-{profile.caching.value}",
)
def test_whatever_is_sent_the_figures_add_up_and_a_loss_has_a_cause(profile: Profile) -> None:
    random = Random(6)
    read = 0
    for _ in range(60):
        cache, at = CacheSimulator(profile), START
        for _ in range(8):
            at += timedelta(seconds=random.choice((1, 100, 299, 301, 1900, 3601)))
            one = any_request(random)
            looked = cache.expect(one, at)
            made = cache.send(one, at)
            assert looked == made
            assert made.read + made.written + made.fresh == prompt_of(one).total == made.usage.input
            assert min(made.read, made.written, made.fresh) >= 0
            assert sum(tokens for _, tokens in made.written_by_ttl) == made.written
            assert made.could >= made.read
            assert made.verdict.tokens in (0, made.could - made.read)
            assert made.verdict.reason or made.verdict.cause is Cause.NOTHING
            assert len(made.blocks) == len(one.layout.blocks)
            read += made.read
    assert read
