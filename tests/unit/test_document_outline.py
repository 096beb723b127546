"""A Markdown text as sections: nothing is lost, and the headings are those of CommonMark."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from frontmind.values.outline import BEGINNING, open_fence, outline

TRAVEL = "Before.\n\n# Travel\n\nTo Lisbon.\n\n## Hotels\n\nRua Nova 7.\n\n## Trains\n\n# Garden\n\nGreen.\n"

LINES = st.sampled_from(
    ["# A", "## A", "### A", "# B #", "## B ##", "###### F", "####### no", "#no", "#", "# ", "   # C", "    # code",
     "text", "", "```", "````", "~~~", "``` py", "``` `x`", "~~~ `x`", "   ```", "\\# D",
     "# A/B", "# A (2)", "# # x", "# x#"]
)  # fmt: skip
MARKDOWN = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\r"])), max_size=14).map(
    lambda lines: "".join(line + end for line, end in lines)
)
ANYTHING = st.text(st.characters(), max_size=200) | MARKDOWN | st.tuples(MARKDOWN, st.text(max_size=9)).map("".join)


def pieces(text: str) -> list[tuple[str, str]]:
    return [(section.name, text[section.start : section.own_end]) for section in outline(text)]


def test_sections_are_named_by_their_path_and_hold_their_subsections() -> None:
    assert pieces(TRAVEL) == [
        (BEGINNING, "Before.\n\n"),
        ("Travel", "# Travel\n\nTo Lisbon.\n\n"),
        ("Travel/Hotels", "## Hotels\n\nRua Nova 7.\n\n"),
        ("Travel/Trains", "## Trains\n\n"),
        ("Garden", "# Garden\n\nGreen.\n"),
    ]
    travel = outline(TRAVEL)[1]
    assert TRAVEL[travel.body : travel.own_end] == "\nTo Lisbon.\n\n"
    assert TRAVEL[travel.start : travel.end].endswith("## Trains\n\n")
    assert [section.level for section in outline(TRAVEL)] == [0, 1, 2, 2, 1]


@settings(deadline=None, max_examples=500)
@given(ANYTHING)
def test_the_pieces_give_back_the_text_and_no_name_comes_twice(text: str) -> None:
    sections = outline(text)
    assert "".join(text[section.start : section.own_end] for section in sections) == text
    assert len({section.name for section in sections}) == len(sections)
    for section in sections:
        assert section.start <= section.body <= section.own_end <= section.end
        assert section.name and section.name.isprintable()


@settings(deadline=None, max_examples=500)
@given(ANYTHING)
def test_a_section_ends_where_the_next_of_its_level_or_above_begins(text: str) -> None:
    sections = outline(text)
    for index, section in enumerate(sections):
        following = [other.start for other in sections[index + 1 :] if other.level <= section.level]
        expected = following[0] if following else len(text)
        assert section.end == (section.own_end if section.level == 0 else expected)


@settings(deadline=None, max_examples=1000)
@given(MARKDOWN)
def test_the_headings_are_those_that_commonmark_sees(text: str) -> None:
    tokens = MarkdownIt("commonmark").disable("lheading").parse(text)
    seen = [
        (token.tag, tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    sections = [section for section in outline(text) if section.level]
    assert [(f"h{section.level}", section.title) for section in sections] == [
        (tag, title or "(untitled)") for tag, title in seen
    ]


@settings(deadline=None, max_examples=300)
@given(ANYTHING)
def test_a_heading_behind_the_closed_fence_is_always_seen(text: str) -> None:
    closed = f"{text}\n{open_fence(text)}\n# The last\n"
    assert outline(closed)[-1].title == "The last"


def test_a_heading_inside_fenced_code_is_text() -> None:
    text = "# A\n```\n# not\n~~~\n# not\n```\n# B\n~~~~\n# not\n~~~\n# not\n~~~~~\n## C\n"
    assert [section.title for section in outline(text)] == ["A", "B", "C"]
    assert open_fence(text) == ""
    assert open_fence("````py\n# x\n```\n") == "````"


def test_sections_that_are_alike_get_numbers_that_nobody_else_has() -> None:
    text = "# Log (2)\n# Log\n## x\n# Log\n## x\n# Log\n"
    assert [section.name for section in outline(text)] == [
        "Log (2)", "Log", "Log/x", "Log (3)", "Log (3)/x", "Log (4)"
    ]  # fmt: skip


def test_a_section_added_elsewhere_renames_nothing() -> None:
    before = {section.name for section in outline(TRAVEL)}
    assert before < {section.name for section in outline(TRAVEL + "\n# Work\n\n## Hotels\n")}


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# **Bold** <b>&amp;", "**Bold** <b>&amp;"),
        ("# ════", "════"),
        ("# a\x1b[31m\x00b\u202ec", "a[31mbc"),
        ("# half \ud800", "half"),
        ("# \u200b", "(untitled)"),
        ("# " + "x" * 500, "x" * 119 + "…"),
        ("# a\u2028b", "a b"),
        ("# (beginning)", BEGINNING),
        ("# tag \U000e0041\U000e0042s", "tag s"),
        ("# " + "\U000e0041" * 100_000 + "x", "(untitled)"),
    ],
    ids=range(10),
)
def test_a_hostile_heading_gives_a_name_that_can_be_shown_and_typed(heading: str, title: str) -> None:
    (section,) = outline(heading)
    assert section.title == title
    assert section.name == (title if title != BEGINNING else "(beginning) (2)")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "#" * 1_000_000, "`" * 1_000_000, "# " + " " * 500_000 + "x" + " #" * 200_000, "# a\n" * 200_000,
     "~~~\n# a\n" * 100_000, "\r" * 1_000_000, " " * 1_000_000],
    ids=["no line end", "hashes", "backticks", "one heading", "alike", "fences", "line ends", "spaces"],
)  # fmt: skip
def test_a_megabyte_is_cut_in_time_proportional_to_its_length(text: str) -> None:
    sections = outline(text)
    assert sum(section.own_end - section.start for section in sections) == len(text)
