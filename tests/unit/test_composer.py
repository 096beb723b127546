"""The composer: one dict of sections in, the same bytes out whatever the order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.trinkets.markup import Element, render
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, RULE, Author, Section
from frontmind.window.framing import section_digest
from frontmind.working_memory.composer import (
    HEADER,
    NOTIFICATION_ORDER,
    SYSTEM_ORDER,
    ComposedPrompt,
    SectionData,
    SystemPromptComposer,
)

Given = tuple[str, str, bool, str]

SYSTEM: tuple[Given, ...] = (
    ("domaindoc", "D", True, PLACEMENT_SYSTEM),
    ("tool_guidance", "G", True, PLACEMENT_SYSTEM),
    ("tool_hints", "H", True, PLACEMENT_SYSTEM),
    ("zebra", "Z", True, PLACEMENT_SYSTEM),
    ("apple", "A", True, PLACEMENT_SYSTEM),
    ("news", "N", False, PLACEMENT_SYSTEM),
    ("about", "B", False, PLACEMENT_SYSTEM),
)
NOTIFICATIONS: tuple[Given, ...] = (
    ("weather", "<weather>sun</weather>", False, PLACEMENT_NOTIFICATION),
    ("relevant_memories", "<relevant_memories>m</relevant_memories>", False, PLACEMENT_NOTIFICATION),
    ("calendar", "<calendar>c</calendar>", True, PLACEMENT_NOTIFICATION),
    ("datetime_section", "<datetime_section>t</datetime_section>", False, PLACEMENT_NOTIFICATION),
    ("conversation_manifest", "<conversation_manifest>s</conversation_manifest>", False, PLACEMENT_NOTIFICATION),
    ("context_search_results", "<context_search_results>f</context_search_results>", False, PLACEMENT_NOTIFICATION),
    ("active_reminders", "<active_reminders>r</active_reminders>", False, PLACEMENT_NOTIFICATION),
)
LINE = "════════════════════════════════════════════════════════════"


def composed(*sections: Given, base_prompt: str = "") -> ComposedPrompt:
    composer = SystemPromptComposer()
    composer.set_base_prompt(base_prompt)
    for name, content, cache_policy, placement in sections:
        composer.add_section(name, content, cache_policy=cache_policy, placement=placement)
    return composer.compose()


@pytest.mark.requirement("SEED-6")
def test_the_rule_is_sixty_times_the_double_line() -> None:
    assert RULE == "\u2550" * 60 == LINE


@pytest.mark.requirement("SEED-6")
@pytest.mark.requirement("SEED-9")
def test_the_notification_center_is_header_sections_by_order_and_closing_rule() -> None:
    assert composed(*NOTIFICATIONS).notification_center == (
        "NOTIFICATION CENTER\n"
        "This section moves to the front of your context each turn\n"
        "to keep important information front-of-mind.\n"
        f"{LINE}\n"
        "<datetime_section>t</datetime_section>\n"
        "\n"
        "<conversation_manifest>s</conversation_manifest>\n"
        "\n"
        "<active_reminders>r</active_reminders>\n"
        "\n"
        "<context_search_results>f</context_search_results>\n"
        "\n"
        "<relevant_memories>m</relevant_memories>\n"
        "\n"
        "<calendar>c</calendar>\n"
        "\n"
        "<weather>sun</weather>\n"
        f"{LINE}"
    )
    assert HEADER.count("\n") == 2


@pytest.mark.requirement("SEED-10")
def test_an_empty_notification_center_is_no_text_at_all() -> None:
    assert composed().notification_center == ""
    assert composed(*SYSTEM, base_prompt="P").notification_center == ""
    blank = ("datetime_section", " \n\t", False, PLACEMENT_NOTIFICATION)
    assert composed(blank) == ComposedPrompt("", "", "", ())


@pytest.mark.requirement("SEED-9")
def test_the_system_prompt_is_cached_sections_and_then_the_others_each_by_order_and_name() -> None:
    prompt = composed(*SYSTEM, base_prompt="P")
    assert prompt.cached_content == "P\n\nD\n\nG\n\nH\n\nA\n\nZ"
    assert prompt.non_cached_content == "B\n\nN"


@pytest.mark.requirement("SEED-9")
def test_an_unlisted_section_never_falls_into_the_other_placement() -> None:
    prompt = composed(("weather", "sun", False, PLACEMENT_NOTIFICATION), ("house", "rules", True, PLACEMENT_SYSTEM))
    assert (prompt.cached_content, prompt.non_cached_content) == ("rules", "")
    assert "sun" in prompt.notification_center
    assert "rules" not in prompt.notification_center


def test_a_name_that_is_listed_for_the_other_placement_goes_to_the_end_of_its_own() -> None:
    prompt = composed(
        ("tool_hints", "hints", False, PLACEMENT_NOTIFICATION),
        ("relevant_memories", "memories", False, PLACEMENT_NOTIFICATION),
    )
    assert [section.name for section in prompt.sections] == ["relevant_memories", "tool_hints"]


def test_the_sections_are_reported_in_the_order_in_which_they_stand() -> None:
    prompt = composed(*NOTIFICATIONS, *SYSTEM, base_prompt="P")
    assert [section.name for section in prompt.sections] == [
        *SYSTEM_ORDER,
        "apple",
        "zebra",
        "about",
        "news",
        *NOTIFICATION_ORDER,
        "calendar",
        "weather",
    ]
    assert prompt.sections[0] == Section(
        "base_prompt", "P", PLACEMENT_SYSTEM, cache_policy=True, author=Author.APPLICATION
    )


@pytest.mark.requirement("RULE-8")
@settings(deadline=None, max_examples=100)
@given(st.permutations([*SYSTEM, *NOTIFICATIONS]), st.integers(0, 14))
def test_any_order_of_insertion_gives_the_same_bytes(order: list[Given], twice: int) -> None:
    # Some are added a second time, as every turn does.
    assert composed(*order, *order[:twice], base_prompt="P") == composed(*SYSTEM, *NOTIFICATIONS, base_prompt="P")


@pytest.mark.requirement("RULE-7")
@settings(deadline=None, max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from([*NOTIFICATION_ORDER, "weather"]),
        st.one_of(st.text(st.sampled_from("═\n<>&a"), min_size=1), st.just(f"\n{RULE}\n{HEADER}\n{RULE}")),
        min_size=1,
    )
)
def test_only_the_composer_draws_rules_in_the_notification_center(texts: dict[str, str]) -> None:
    rendered = [(name, render(Element(name, text)), False, PLACEMENT_NOTIFICATION) for name, text in texts.items()]
    raw = [(name, f"raw {text}", False, PLACEMENT_NOTIFICATION) for name, text in texts.items()]
    for sections in (rendered, raw):
        center = composed(*sections).notification_center
        assert center.startswith(f"{HEADER}\n{RULE}\n")
        assert center.endswith(f"\n{RULE}")
        assert center.count("═") == 2 * len(RULE)


def test_a_rule_in_a_raw_section_is_written_as_references() -> None:
    prompt = composed(("weather", f"a{RULE}b", False, PLACEMENT_NOTIFICATION))
    (section,) = prompt.sections
    assert section.content == "a" + "&#x2550;" * 60 + "b"
    assert section.content in prompt.notification_center


@pytest.mark.requirement("SEED-4")
def test_one_dict_keeps_content_cache_policy_and_placement_of_each_section() -> None:
    composer = SystemPromptComposer()
    composer.set_base_prompt("P")
    composer.add_section("weather", "sun", placement=PLACEMENT_NOTIFICATION)
    composer.add_section("news", "old", cache_policy=True, placement=PLACEMENT_SYSTEM)
    composer.add_section("news", "new", placement=PLACEMENT_NOTIFICATION)
    assert SectionData._fields == ("content", "cache_policy", "placement", "author", "observed_at")
    assert SectionData("c", True, "system").author is Author.OTHERS
    assert [value for value in vars(composer).values() if isinstance(value, dict)] == [
        {
            "base_prompt": SectionData("P", True, "system", Author.APPLICATION),
            "weather": SectionData("sun", False, "notification"),
            "news": SectionData("new", False, "notification"),
        }
    ]
    assert composer.section("news") == SectionData("new", cache_policy=False, placement="notification")
    assert composer.section("olds") is None


def test_a_section_that_moves_stands_only_in_its_new_placement() -> None:
    prompt = composed(("news", "old", True, PLACEMENT_SYSTEM), ("news", "new", False, PLACEMENT_NOTIFICATION))
    assert prompt.cached_content == ""
    assert [section.content for section in prompt.sections] == ["new"]


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_blank_content_removes_the_section(blank: str) -> None:
    composer = SystemPromptComposer()
    composer.add_section("news", "old", placement=PLACEMENT_NOTIFICATION)
    composer.add_section("news", blank, placement=PLACEMENT_NOTIFICATION)
    assert composer.section("news") is None
    assert composer.compose().notification_center == ""


def test_removing_a_section_that_is_not_there_does_nothing() -> None:
    composer = SystemPromptComposer()
    composer.remove_section("news")
    assert composer.compose().sections == ()


@pytest.mark.requirement("SEED-5")
@pytest.mark.parametrize("placement", ["", "System", "notification_center", "user", None])
def test_an_unknown_placement_is_refused_and_the_two_constants_are_named(placement: str | None) -> None:
    composer = SystemPromptComposer()
    with pytest.raises(UsageError, match="use 'system' or 'notification'") as caught:
        composer.add_section("news", "text", placement=cast(Any, placement))
    assert "'news'" in str(caught.value)
    assert composer.section("news") is None


@pytest.mark.requirement("TIME-1")
def test_a_section_of_the_notification_center_says_when_it_was_observed_and_does_not_change_with_it() -> None:
    sections = []
    for minute in (15, 16):
        composer = SystemPromptComposer()
        at = datetime(2026, 11, 30, 9, minute, tzinfo=UTC)
        composer.add_section("a", "<a>\nx\n</a>", placement=PLACEMENT_NOTIFICATION, observed_at=at)
        composer.add_section("b", "<b>\nx\n</b>", placement=PLACEMENT_SYSTEM, observed_at=at)
        sections.append({section.name: section for section in composer.compose().sections})
    first, second = sections
    assert first["a"].content == '<a observed="2026-11-30 09:15">\nx\n</a>'
    assert second["a"].content == '<a observed="2026-11-30 09:16">\nx\n</a>'
    assert section_digest(first["a"]) == section_digest(second["a"])
    assert first["b"].content == second["b"].content == "<b>\nx\n</b>"
