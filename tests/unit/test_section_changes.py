"""What has changed in a section of the system prompt: enough to know the new text, and no more than that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from frontmind.trinkets.changes import GONE, UNCHANGED, WHOLE, changed_elements
from frontmind.trinkets.markup import Element, parse, render

FILLER = "what does not change " * 40


def section(name: str, text: str) -> Element:
    return Element("section", text, {"name": name})


def document(name: str, *sections: Element, version: int = 1) -> Element:
    return Element("document", sections, {"name": name, "version": str(version)})


def domaindoc(*documents: Element) -> Element:
    return Element("domaindoc", documents)


TRAVEL = document("travel", section("Hotels", "Rua Nova 7"), section("Trains", FILLER))
WORK = document("work", section("Plans", FILLER))
BEFORE = domaindoc(TRAVEL, WORK)


def changes(before: Element, after: Element) -> Element | None:
    return changed_elements(render(before), render(after))


def test_equal_sections_have_no_changes() -> None:
    assert changes(BEFORE, BEFORE) is None
    assert changed_elements("", "") is None
    assert changed_elements("no markup", "no markup") is None


def test_a_changed_section_is_said_inside_its_document_and_alone() -> None:
    after = domaindoc(
        document("travel", section("Hotels", "Alfama 2"), section("Trains", FILLER), version=2),
        WORK,
    )
    assert changes(BEFORE, after) == domaindoc(document("travel", section("Hotels", "Alfama 2"), version=2))


def test_a_section_that_was_edited_three_times_shows_its_present_text_once() -> None:
    edited = [
        domaindoc(document("travel", section("Hotels", text), section("Trains", FILLER), version=version))
        for version, text in enumerate(("Rua Nova 7", "first", "second", "third"), start=1)
    ]
    said = changes(edited[0], edited[-1])
    assert said == domaindoc(document("travel", section("Hotels", "third"), version=4))


def test_what_is_new_is_said_and_what_is_gone_is_marked() -> None:
    after = domaindoc(
        document("travel", section("Trains", FILLER), section("Food", "Fish"), version=2),
        document("zoo", section("Lions", "two")),
        document("work", section("Plans", FILLER)),
    )
    assert changes(BEFORE, after) == domaindoc(
        document("travel", Element("section", "", {"name": "Hotels", **GONE}), section("Food", "Fish"), version=2),
        document("zoo", section("Lions", "two")),
    )
    assert changes(BEFORE, domaindoc(WORK)) == domaindoc(Element("document", "", {"name": "travel", **GONE}))


def test_a_document_whose_version_alone_changed_says_that_its_text_did_not() -> None:
    after = domaindoc(replace(TRAVEL, attributes={"name": "travel", "version": "9"}), WORK)
    assert changes(BEFORE, after) == domaindoc(Element("document", "", {"name": "travel", "version": "9", **UNCHANGED}))


def test_a_section_that_is_collapsed_now_loses_its_text() -> None:
    collapsed = Element("section", "", {"name": "Trains", "collapsed": "true", "characters": "900"})
    after = domaindoc(document("travel", section("Hotels", "Rua Nova 7"), collapsed), WORK)
    assert changes(BEFORE, after) == domaindoc(document("travel", collapsed))


def test_sections_in_another_order_are_said_with_their_whole_document() -> None:
    hotels, trains = section("Hotels", "Rua Nova 7"), section("Trains", "at 9")
    before = domaindoc(document("travel", hotels, trains), document("work", section("Plans", FILLER)))
    after = domaindoc(document("travel", trains, hotels), document("work", section("Plans", FILLER)))
    whole = Element("document", (trains, hotels), {"name": "travel", "version": "1", **WHOLE})
    assert changes(before, after) == domaindoc(whole)


def test_where_more_than_half_is_new_the_whole_is_said() -> None:
    after = domaindoc(document("travel", section("Hotels", FILLER * 3), section("Trains", FILLER)))
    said = changes(BEFORE, after)
    assert said == replace(after, attributes=WHOLE)


def test_elements_that_nothing_identifies_are_said_whole() -> None:
    before = Element("hints", (Element("hint", "a"), Element("hint", FILLER)))
    after = Element("hints", (Element("hint", "b"), Element("hint", FILLER)))
    assert changes(before, after) == replace(after, attributes=WHOLE)


def test_a_section_that_is_only_text_is_said_with_its_text() -> None:
    assert changes(Element("tool_hints", "a"), Element("tool_hints", "b")) == Element("tool_hints", "b", WHOLE)


def test_a_section_that_came_or_went_is_said_to_have() -> None:
    assert changed_elements("", render(BEFORE)) == replace(BEFORE, attributes=WHOLE)
    assert changed_elements(render(BEFORE), "") == Element("domaindoc", "", GONE)


@pytest.mark.parametrize("text", ["<base_prompt>\na < b\n</base_prompt>", "plain", "<a>", "\ud800\x00</x>", "═" * 60])
def test_what_cannot_be_parsed_is_said_whole_and_is_harmless(text: str) -> None:
    said = changed_elements(render(BEFORE), text)
    assert said is not None
    assert (said.attributes, said.body) == (WHOLE, text)
    assert parse(render(said)) == said
    assert "═" not in render(said)
    assert changed_elements(text, render(BEFORE)) == replace(BEFORE, attributes=WHOLE)


TEXTS = st.text(st.characters(), max_size=12)
NAMES = st.sampled_from("abcde")


@st.composite
def trees(draw: st.DrawFn) -> Element:
    documents = []
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        attributes = {"name": name, "version": draw(st.sampled_from("12"))}
        if draw(st.booleans()):
            documents.append(Element("document", draw(TEXTS), attributes))
            continue
        names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=4))
        documents.append(Element("document", tuple(section(part, draw(TEXTS)) for part in names), attributes))
    # Long enough that a change is said as a change; alike in both.
    return Element("domaindoc", (*documents, document("zz", section("zz", "z" * 2000))))


def learn(known: Element, said: Element) -> Element:
    """What a reader of ``known`` who is then told ``said`` knows, the order of what is new aside."""
    attributes = {name: value for name, value in said.attributes.items() if name not in {*WHOLE, *UNCHANGED}}
    if said.attributes.get("whole") or (isinstance(said.body, str) and not said.attributes.get("content")):
        return Element(said.name, said.body, attributes)
    if said.attributes.get("content"):
        return Element(said.name, known.body, attributes)
    assert isinstance(known.body, tuple) and isinstance(said.body, tuple)
    children = {child.attributes["name"]: child for child in known.body}
    for child in said.body:
        name = child.attributes["name"]
        if child.attributes.get("gone"):
            del children[name]
        else:
            children[name] = learn(children[name], child) if name in children else child
    return Element(said.name, tuple(children.values()), attributes)


def in_order(element: Element) -> Element:
    if isinstance(element.body, str):
        return element
    return replace(
        element, body=tuple(sorted(map(in_order, element.body), key=lambda child: child.attributes.get("name", "")))
    )


@settings(deadline=None, max_examples=500)
@given(trees(), trees())
def test_who_is_told_the_changes_knows_the_new_text(before: Element, after: Element) -> None:
    assume(render(before) != render(after))
    said = changes(before, after)
    assert said is not None
    assert parse(render(said)) == said
    assert in_order(learn(before, said)) == in_order(after)
