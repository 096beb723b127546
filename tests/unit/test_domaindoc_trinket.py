"""The documents in the system prompt: their sections, what is collapsed, and what fits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.events import EventBus, TrinketContentEvent, TurnContext, UpdateTrinketEvent
from frontmind.trinkets import DomaindocTrinket
from frontmind.trinkets.budget import fits
from frontmind.trinkets.changes import changed_elements
from frontmind.trinkets.domaindoc import document_element, shorten_documents
from frontmind.trinkets.markup import Element, parse, render
from frontmind.values.records import Document
from frontmind.values.section import RULE_CHARACTER
from support import shared

AT = datetime(2026, 11, 30, 10, 57, tzinfo=UTC)
TRAVEL = "Before.\n# Travel\nTo Lisbon.\n## Hotels\nRua Nova 7 & <more>\n# Garden\nGreen.\n"


class Documents:
    def __init__(self, *documents: Document) -> None:
        self._documents = documents

    async def documents(self) -> Sequence[Document]:
        return self._documents


def document(text: str, *, name: str = "a", collapsed: tuple[str, ...] = (), version: int = 1) -> Document:
    return Document(name, text, enabled=True, updated_at=AT, version=version, collapsed=collapsed)


async def said(*documents: Document, zone: str = "UTC", budget: int | None = None) -> str:
    bus = EventBus()
    heard: list[TrinketContentEvent] = []
    bus.subscribe(TrinketContentEvent, heard.append)
    trinket = DomaindocTrinket(Documents(*documents))
    if budget is not None:
        trinket.token_budget = budget
    trinket.attach(bus)
    context = TurnContext("main", 1, datetime(2026, 12, 1, 8, 0, tzinfo=ZoneInfo(zone)), "hello")
    assert await bus.publish(UpdateTrinketEvent("domaindoc", context)) == ()
    assert heard[0].failure is None
    assert heard[0].observed_at is None
    return heard[0].content


def leaves(element: Element) -> Iterator[Element]:
    if isinstance(element.body, str):
        yield element
    else:
        for child in element.body:
            yield from leaves(child)


async def test_a_document_stands_as_the_own_texts_of_its_sections() -> None:
    assert await said(document(TRAVEL)) == (
        '<domaindoc>\n<document name="a" version="1" updated="2026-11-30 10:57 UTC">\n'
        '<section name="(beginning)">Before.\n</section>\n'
        '<section name="Travel"># Travel\nTo Lisbon.\n</section>\n'
        '<section name="Travel/Hotels">## Hotels\nRua Nova 7 &amp; &lt;more&gt;\n</section>\n'
        '<section name="Garden"># Garden\nGreen.\n</section>\n'
        "</document>\n</domaindoc>"
    )


async def test_a_document_without_headings_is_its_text() -> None:
    assert await said(document("Tea & <honey>", version=3)) == (
        '<domaindoc>\n<document name="a" version="3" updated="2026-11-30 10:57 UTC">'
        "Tea &amp; &lt;honey&gt;</document>\n</domaindoc>"
    )


async def test_a_document_that_is_off_is_not_there() -> None:
    off = Document("b", "off", enabled=False, updated_at=AT)
    assert await said(off) == ""
    assert "off" not in await said(document("on"), off)


async def test_of_a_collapsed_section_the_name_and_the_size_are_left() -> None:
    content = await said(document(TRAVEL, collapsed=("Travel",)))
    size = len("# Travel\nTo Lisbon.\n## Hotels\nRua Nova 7 & <more>\n")
    assert f'<section name="Travel" collapsed="true" characters="{size}"></section>' in content
    assert "Hotels" not in content
    assert "Green." in content
    whole = await said(document("no headings", collapsed=("(beginning)",)))
    assert '<section name="(beginning)" collapsed="true" characters="11"></section>' in whole
    assert await said(document(TRAVEL, collapsed=("not there",))) == await said(document(TRAVEL))


async def test_a_journey_changes_no_byte() -> None:
    assert await said(document(TRAVEL), zone="Asia/Kolkata") == await said(document(TRAVEL), zone="America/New_York")


async def test_a_change_of_one_section_is_one_small_element() -> None:
    long = TRAVEL + "# More\n" + "text " * 200
    before = await said(document(long))
    after = await said(document(long.replace("Green.", "Greener."), version=2))
    changed = changed_elements(before, after)
    assert changed is not None
    assert [leaf.attributes["name"] for leaf in leaves(changed)] == ["Garden"]
    assert len(render(changed)) < 200


@pytest.mark.parametrize("file", ["delimiter_cases.jsonl", "bastioncorpus_injections.jsonl"])
async def test_no_recorded_attack_leaves_its_place_in_a_document_a_heading_or_a_name(file: str) -> None:
    attacks = [json.loads(line)["text"] for line in shared("injection", file).read_text("utf-8").splitlines()]
    assert len(attacks) > 30
    for attack in attacks:
        title = f"# {attack}\n"
        content = await said(document(attack, name=attack), document(f"{title}\n{attack}\n# Behind\nkept\n", name="b"))
        body = parse(content).body
        assert isinstance(body, tuple)
        first, second = body
        assert first.attributes["name"] == attack
        assert "".join(str(leaf.body) for leaf in leaves(first)) == attack
        names = [leaf.attributes["name"] for leaf in leaves(second)]
        assert names[-1].endswith("Behind")
        assert all(name.isprintable() and "\n" not in name for name in names)
        assert RULE_CHARACTER not in content


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(), max_size=300))
def test_no_text_of_a_document_is_lost_or_ends_it(text: str) -> None:
    element = Element("domaindoc", (document_element(document(text)),))
    read = parse(render(element))
    assert "".join(str(leaf.body) for leaf in leaves(read)) == text


SECTIONS = "".join(f"# s{number}\n{'word ' * 40 * number}\n" for number in range(1, 6))


async def test_over_its_budget_the_largest_sections_are_collapsed_first() -> None:
    content = await said(document(SECTIONS), budget=450)
    shown = {leaf.attributes["name"]: "collapsed" not in leaf.attributes for leaf in leaves(parse(content))}
    assert shown == {"s1": True, "s2": True, "s3": True, "s4": False, "s5": False}
    assert fits(parse(content).body, 450)
    characters = [leaf.attributes.get("characters") for leaf in leaves(parse(content))]
    assert characters[3:] == [str(len(f"# s{number}\n{'word ' * 40 * number}\n")) for number in (4, 5)]


async def test_the_last_text_is_cut_at_a_line_end_and_says_so() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    content = await said(document(text), budget=300)
    (leaf,) = leaves(parse(content))
    assert leaf.attributes["cut"] == "true"
    assert leaf.attributes["characters"] == str(len(text))
    assert text.startswith(str(leaf.body)) and str(leaf.body).endswith("\n")
    assert 100 < len(str(leaf.body)) < 1200


async def test_where_even_the_names_are_too_many_each_document_is_one_line() -> None:
    many = document("".join(f"# section {number}\n" for number in range(500)))
    content = await said(many, document("small", name="b"), budget=200)
    assert [leaf.attributes["name"] for leaf in leaves(parse(content))] == ["a", "b"]
    assert 'collapsed="true" characters=' in content
    few = await said(*(document("text " * 50, name=f"document {number}") for number in range(100)), budget=200)
    assert few.endswith(" more</omitted>\n</domaindoc>")
    assert fits(parse(few).body, 200)


DOCUMENTS = st.lists(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 120)), max_size=6).map(
        lambda parts: "".join(f"{'#' * level} h\n{'wörd ' * size}\n" for level, size in parts) or "word " * 50
    ),
    max_size=4,
)


@settings(deadline=None, max_examples=300)
@given(DOCUMENTS, st.integers(20, 600))
def test_what_is_shortened_fits_and_is_always_shortened_alike(texts: list[str], budget: int) -> None:
    documents = [document_element(document(text, name=f"d{number}")) for number, text in enumerate(texts)]
    shorter = shorten_documents(documents, budget)
    assert fits(shorter, budget)
    assert shorter == shorten_documents(documents, budget)
    if sum(len(render(element)) for element in documents) < budget:
        assert list(shorter) == documents


@pytest.mark.timeout(20)
async def test_a_megabyte_in_one_line_or_in_sections_stays_within_the_budget() -> None:
    for text in ("x" * 1_000_000, "\x00" * 1_000_000, "═" * 500_000, "# a\ntext\n" * 20_000):
        content = await said(document(text))
        assert fits(parse(content).body, DomaindocTrinket.token_budget)
        assert "═" not in content
