"""Edits of a Markdown text: what they do, and that the other sections keep their bytes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from frontmind.domaindocs.editing import (
    Edit,
    Operation,
    append_to_section,
    apply_edit,
    delete_section,
    find_section,
    insert_section,
    rename_section,
    replace_section,
    replace_text,
)
from frontmind.errors import UsageError
from frontmind.values.outline import BEGINNING, outline

TRAVEL = "Before.\n\n# Travel\n\nTo Lisbon.\n\n## Hotels\n\n- Rua Nova 7\n\n## Trains\n\nNone.\n"

LINES = st.sampled_from(
    [
        "# A",
        "## A",
        "### B",
        "# B",
        "###### F",
        "text",
        "- item",
        "",
        "",
        "```",
        "~~~~",
        "``` py",
        "    # code",
        "# A #",
    ]
)
MARKDOWN = st.lists(LINES, max_size=10).map("\n".join) | st.lists(LINES, max_size=10).map("\r\n".join)
NEW = MARKDOWN | st.text(max_size=30) | st.sampled_from(["", "\n\n", "```\nopen", "# A\n~~~~", "\r", "x\r"])
LEVELS = st.none() | st.integers(1, 6)


def pieces(text: str) -> list[str]:
    return [text[section.start : section.own_end] for section in outline(text)]


def names(text: str) -> list[str]:
    return [section.name for section in outline(text)]


@st.composite
def places(draw: st.DrawFn) -> tuple[str, int]:
    """A text with sections, and the index of one."""
    text = draw(MARKDOWN)
    count = len(outline(text))
    assume(count)
    return text, draw(st.integers(0, count - 1))


def assert_only_changed(text: str, after: str, first: int, last: int) -> None:
    """The pieces before ``first`` are the first of ``after``, those from ``last`` on its last, byte for byte."""
    old, new = pieces(text), pieces(after)
    assert new[:first] == old[:first]
    rest = old[last:]
    assert new[len(new) - len(rest) :] == rest
    assert len(new) >= first + len(rest)


@settings(deadline=None, max_examples=500)
@given(places(), NEW)
def test_replacing_a_section_leaves_the_others_byte_for_byte(place: tuple[str, int], new: str) -> None:
    text, index = place
    assert_only_changed(text, replace_section(text, names(text)[index], new), index, index + 1)


@settings(deadline=None, max_examples=500)
@given(places(), NEW)
def test_appending_to_a_section_leaves_the_others_byte_for_byte(place: tuple[str, int], new: str) -> None:
    text, index = place
    after = append_to_section(text, names(text)[index], new)
    assert_only_changed(text, after, index, index + 1)
    assert pieces(after)[index].startswith(pieces(text)[index].rstrip("\r\n")) or not new.strip()


@settings(deadline=None, max_examples=500)
@given(places(), NEW, LEVELS, st.booleans())
def test_inserting_a_section_leaves_the_others_byte_for_byte(
    place: tuple[str, int], body: str, level: int | None, before: bool
) -> None:
    text, index = place
    section = outline(text)[index]
    assume(section.level or not before)
    if before:
        after = insert_section(text, "New", body, before=section.name, level=level)
    else:
        after = insert_section(text, "New", body, after=section.name, level=level)
    at = section.start if before else section.end
    following = sum(1 for other in outline(text) if other.start >= at)
    old, new = pieces(text), pieces(after)
    count = len(old) - following
    # Behind what stood last before it, an empty line and the end of an open code block may be added.
    if count:
        assert new[: count - 1] == old[: count - 1]
        assert new[count - 1].startswith(old[count - 1])
        assert new[count - 1][len(old[count - 1]) :].strip("\r\n") in ("", "```", "~~~~")
    assert new[len(new) - following :] == old[count:]
    assert [other.title for other in outline(after)][count] == "New"


@settings(deadline=None, max_examples=300)
@given(MARKDOWN, NEW)
def test_a_section_at_the_end_comes_behind_everything(text: str, body: str) -> None:
    after = insert_section(text, "The end", body)
    assert after.startswith(text)
    assert "The end" in [section.title for section in outline(after)]
    assert len(outline(after)) > len(outline(text))


@settings(deadline=None, max_examples=300)
@given(places())
def test_deleting_a_section_takes_its_subsections_and_nothing_else(place: tuple[str, int]) -> None:
    text, index = place
    section = outline(text)[index]
    after = delete_section(text, section.name)
    assert after == text[: section.start] + text[section.end :]
    kept = [piece for piece, other in zip(pieces(text), outline(text), strict=True) if not (
        section.start <= other.start < section.end)]  # fmt: skip
    assert pieces(after) == kept


@settings(deadline=None, max_examples=300)
@given(places(), st.text(min_size=1, max_size=12))
def test_renaming_changes_one_line(place: tuple[str, int], heading: str) -> None:
    text, index = place
    section = outline(text)[index]
    assume(section.level and " ".join(heading.split()).lstrip("#").strip())
    after = rename_section(text, section.name, heading)
    assert_only_changed(text, after, index, index + 1)
    assert after[len(after) - len(text) + section.body :] == text[section.body :]
    assert [other.level for other in outline(after)] == [other.level for other in outline(text)]


def test_a_replaced_section_keeps_its_heading_and_its_subsections() -> None:
    assert replace_section(TRAVEL, "Travel", "To Porto.") == TRAVEL.replace("To Lisbon.", "To Porto.")
    assert replace_section(TRAVEL, "Trains", "At 9.\n\n\n") == TRAVEL.replace("None.", "At 9.")
    assert replace_section(TRAVEL, BEGINNING, "") == TRAVEL.removeprefix("Before.\n\n")
    assert replace_section("all of it", BEGINNING, "else") == "else"


def test_a_heading_that_is_said_again_does_not_come_twice() -> None:
    for repeated in ("## Hotels\n\n- new", "# Hotels\n- new", "\n## Hotels ##\n- new\n"):
        assert replace_section(TRAVEL, "Hotels", repeated) == TRAVEL.replace("Rua Nova 7", "new")
    renamed = replace_section(TRAVEL, "Hotels", "## Rooms\n\n- new")
    assert renamed == TRAVEL.replace("Hotels", "Rooms").replace("Rua Nova 7", "new")


def test_what_is_appended_continues_a_list_or_begins_a_paragraph() -> None:
    assert append_to_section(TRAVEL, "Hotels", "- Alfama 2") == TRAVEL.replace("7\n", "7\n- Alfama 2\n")
    assert append_to_section(TRAVEL, "Hotels", "Book soon.") == TRAVEL.replace("7\n", "7\n\nBook soon.\n")
    assert append_to_section("# A", "A", "b") == "# A\n\nb\n"
    assert append_to_section("# A\n", BEGINNING, "b") == "b\n\n# A\n"
    assert append_to_section("", BEGINNING, "b") == "b\n"


def test_a_new_section_stands_at_the_level_of_its_neighbour() -> None:
    assert "- Rua Nova 7\n\n## Food\n\nFish.\n\n## Trains" in insert_section(TRAVEL, "Food", "Fish.", after="Hotels")
    assert "Lisbon.\n\n## Food\n\nFish.\n\n## Hotels" in insert_section(TRAVEL, "Food", "Fish.", before="Hotels")
    assert insert_section(TRAVEL, "Food", "Fish.").endswith("None.\n\n## Food\n\nFish.\n")
    assert insert_section("", "Food", "") == "# Food\n"


def test_new_text_takes_the_line_ends_of_the_document() -> None:
    text = "# A\r\n\r\nold\r\nend\r\n"
    assert replace_text(text, "old\nend", "one\ntwo") == "# A\r\n\r\none\r\ntwo\r\n"
    assert replace_section(text, "A", "x\ny") == "# A\r\n\r\nx\r\ny\r\n"


def test_a_text_is_replaced_only_where_it_stands_once() -> None:
    assert replace_text("a b c", "b", "") == "a  c"
    for old, reason in (("x", "does not stand"), ("aa", "more than once"), ("", "is empty")):
        with pytest.raises(UsageError, match=reason):
            replace_text("aaa", old, "y")


def test_a_section_is_found_by_name_by_title_and_as_a_heading() -> None:
    for name in ("Travel/Hotels", "Hotels", "## Hotels", " Hotels "):
        assert find_section(TRAVEL, name).name == "Travel/Hotels"
    with pytest.raises(UsageError, match="'A/x', 'B/x'"):
        find_section("# A\n## x\n# B\n## x\n", "x")


def test_an_unknown_section_is_answered_with_at_most_twenty_that_are_there() -> None:
    text = "".join(f"# s{number}\n" for number in range(25))
    with pytest.raises(UsageError) as caught:
        replace_section(text, "no\nne\x1b", "x")
    assert str(caught.value).count("'s") == 20
    assert "and 5 more" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit(Operation.REPLACE_SECTION, text="x"), "'section'"),
        (Edit(Operation.REPLACE_SECTION, section="Travel"), "'text'"),
        (Edit(Operation.REPLACE_TEXT, text="x"), "'old'"),
        (Edit(Operation.INSERT_AFTER, text="# x"), "'section'"),
        (Edit(Operation.INSERT_AFTER, section="none", text="# x"), "no section"),
        (Edit(Operation.INSERT_BEFORE, section=BEGINNING, text="# x"), "nothing can stand before"),
        (Edit(Operation.INSERT_AT_END, text="#\nbody"), "the heading is empty"),
        (Edit(Operation.RENAME_SECTION, section=BEGINNING, text="x"), "has no heading"),
        (Edit(Operation.RENAME_SECTION, section="Travel", text="## "), "the heading is empty"),
        (Edit(Operation.DELETE_SECTION, section="none"), "no section"),
    ],
    ids=str,
)
def test_an_edit_that_cannot_be_made_says_what_it_needs(edit: Edit, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        apply_edit(TRAVEL, edit)


def test_every_operation_does_what_its_function_does() -> None:
    cases = {
        Operation.REPLACE_SECTION: (
            Edit(Operation.REPLACE_SECTION, "Hotels", "x"), replace_section(TRAVEL, "Hotels", "x")),
        Operation.APPEND_TO_SECTION: (
            Edit(Operation.APPEND_TO_SECTION, "Hotels", "x"), append_to_section(TRAVEL, "Hotels", "x")),
        Operation.INSERT_AFTER: (
            Edit(Operation.INSERT_AFTER, "Hotels", "### New\nx"),
            insert_section(TRAVEL, "New", "x", after="Hotels", level=3)),
        Operation.INSERT_BEFORE: (
            Edit(Operation.INSERT_BEFORE, "Hotels", "New\nx"), insert_section(TRAVEL, "New", "x", before="Hotels")),
        Operation.INSERT_AT_END: (Edit(Operation.INSERT_AT_END, text="New"), insert_section(TRAVEL, "New", "")),
        Operation.DELETE_SECTION: (Edit(Operation.DELETE_SECTION, "Hotels"), delete_section(TRAVEL, "Hotels")),
        Operation.RENAME_SECTION: (
            Edit(Operation.RENAME_SECTION, "Hotels", "x"), rename_section(TRAVEL, "Hotels", "x")),
        Operation.REPLACE_TEXT: (
            Edit(Operation.REPLACE_TEXT, text="x", old="None."), replace_text(TRAVEL, "None.", "x")),
    }  # fmt: skip
    assert set(cases) == set(Operation)
    for edit, expected in cases.values():
        assert apply_edit(TRAVEL, edit) == expected != TRAVEL


def test_a_document_without_headings_needs_no_section() -> None:
    assert apply_edit("tea", Edit(Operation.APPEND_TO_SECTION, text="milk")) == "tea\n\nmilk"
