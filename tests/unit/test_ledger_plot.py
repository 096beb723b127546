"""The pictures of the ledger: right lengths, valid XML, nothing of others' text taken for markup."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontmind.cachelab.plot import Bar, svg_plot, terminal_plot

SVG = "{http://www.w3.org/2000/svg}"
BARS = (Bar("turn 1", 0, 900, 100, 0), Bar("turn 2", 900, 50, 50, 950), Bar("turn 3", 0, 0, 0))
counts = st.integers(0, 10**7)
bars = st.lists(
    st.builds(Bar, st.text(max_size=30), counts, counts, counts, st.none() | counts), min_size=0, max_size=8
)


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def heights(root: ET.Element, kind: str) -> list[float]:
    return [float(rect.attrib["height"]) for rect in root.findall(f"{SVG}g/{SVG}rect") if rect.get("class") == kind]


def texts(root: ET.Element) -> list[str]:
    return [str(found.text) for found in root.iter(f"{SVG}text")]


class TestTerminal:
    def test_bars_are_as_long_as_their_tokens(self) -> None:
        plot = terminal_plot(BARS, width=40)
        first, second, third, legend = plot.split("\n")
        assert first == f"turn 1 {'▓' * 24}{'░' * 3} 1,000"
        assert (second.count("█"), second.count("▓"), second.count("░")) == (24, 2, 1)
        assert third == "turn 3", "what is not known has no bar and no figure"
        assert legend.split() == ["█", "read", "▓", "written", "░", "fresh"]

    @given(bars, st.integers(30, 120))
    def test_no_line_is_longer_than_there_is_room(self, found: list[Bar], width: int) -> None:
        lines = terminal_plot(found, width=width).splitlines()
        assert all(len(line) <= width for line in lines[:-1])
        assert len(lines) == (len(found) + 1 if any(bar.tokens for bar in found) else 0)

    @given(bars)
    def test_the_longest_bar_takes_all_the_room(self, found: list[Bar]) -> None:
        plot = terminal_plot([*found, Bar("x", 10**9, 0, 0)], width=60)
        longest = plot.splitlines()[-2] if plot else ""
        assert len(longest) == 60
        assert "█" in longest

    def test_long_labels_keep_the_end_in_which_they_differ(self) -> None:
        plot = terminal_plot([Bar("a conversation with a long name 12", 5, 0, 0)], width=40)
        assert plot.startswith("…a long name 12 ") or "name 12 █" in plot

    def test_nothing_makes_no_plot(self) -> None:
        assert terminal_plot([], width=40) == terminal_plot([Bar("x", 0, 0, 0)], width=40) == ""


class TestSvg:
    def test_the_pieces_of_a_bar_are_as_high_as_their_tokens(self) -> None:
        root = drawn(svg_plot(BARS, title="Tokens", unit="turn"))
        (read,) = heights(root, "read")
        written, second = heights(root, "written")
        assert written == read
        assert second == pytest.approx(read / 18, abs=0.01)
        assert sum(heights(root, "fresh")) == pytest.approx(read / 6, abs=0.02)
        pieces = [rect for rect in root.findall(f"{SVG}g")[0] if rect.tag == f"{SVG}rect"]
        bottom = float(pieces[0].attrib["y"]) + float(pieces[0].attrib["height"])
        baseline = max(float(line.attrib["y1"]) for line in root.iter(f"{SVG}line"))
        assert bottom == pytest.approx(baseline, abs=0.02), "bars stand on the axis"
        assert float(pieces[1].attrib["y"]) + float(pieces[1].attrib["height"]) == pytest.approx(
            float(pieces[0].attrib["y"]), abs=0.02
        ), "and their pieces on each other"

    def test_it_says_what_it_shows(self) -> None:
        root = drawn(svg_plot(BARS, title="Tokens of main", unit="turn"))
        title = root.find(f"{SVG}title")
        assert title is not None
        assert title.text == "Tokens of main"
        said = texts(root)
        assert {"prompt tokens", "turn", "read from the cache", "written to the cache", "expected to be read"} <= {
            *said
        }
        assert {"0", "200", "1,000"} <= {*said}, "the scale has round figures"
        assert {"1", "2", "3"} <= {*said}, "the axis says the unit, so the labels do not"
        assert [found.text for found in root.findall(f"{SVG}g/{SVG}title")] == [
            "turn 1: 0 read, 900 written, 100 fresh, 0 expected to be read",
            "turn 2: 900 read, 50 written, 50 fresh, 950 expected to be read",
            "turn 3: what it took is not known",
        ]

    @given(bars, st.text(max_size=30), st.text(max_size=10))
    def test_whatever_the_texts_it_is_xml_and_holds_only_drawing(self, found: list[Bar], title: str, unit: str) -> None:
        root = drawn(svg_plot(found, title=title, unit=unit))
        kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert kinds <= {"svg", "title", "desc", "style", "rect", "line", "text", "g"}
        assert len(root.findall(f"{SVG}g")) == len(found)

    def test_markup_in_a_label_is_text(self) -> None:
        evil = '</text><script>alert(1)</script>"&'
        svg = svg_plot([Bar(evil, 1, 0, 0)], title=evil, unit="turn")
        assert "<script" not in svg
        title = drawn(svg).find(f"{SVG}title")
        assert title is not None
        assert title.text == evil

    def test_it_has_colours_for_a_dark_background(self) -> None:
        style = drawn(svg_plot(BARS, title="x", unit="turn")).find(f"{SVG}style")
        assert style is not None
        assert "prefers-color-scheme: dark" in str(style.text)

    def test_no_bars_are_said_to_be_none(self) -> None:
        assert "no calls" in texts(drawn(svg_plot([], title="x", unit="turn")))

    def test_of_too_many_bars_the_newest_are_drawn_and_it_is_said(self) -> None:
        many = [Bar(f"turn {number}", number, 0, 0) for number in range(1, 1_001)]
        root = drawn(svg_plot(many, title="x", unit="turn"))
        assert len(root.findall(f"{SVG}g")) == 400
        assert "the newest 400 of 1,000" in texts(root)
        assert any(str(found.text).startswith("turn 1000:") for found in root.findall(f"{SVG}g/{SVG}title"))

    def test_labels_do_not_stand_on_each_other(self) -> None:
        root = drawn(svg_plot([Bar(str(number), 1, 0, 0) for number in range(200)], title="x", unit="turn"))
        labels = [found for found in root.iter(f"{SVG}text") if str(found.text).isdecimal() and found.get("transform")]
        places = [float(found.attrib["x"]) for found in labels]
        assert len(places) > 10
        assert min(after - before for before, after in pairwise(places)) >= 20

    def test_an_expectation_above_all_bars_is_inside_the_picture(self) -> None:
        root = drawn(svg_plot([Bar("x", 1, 0, 0, 5_000)], title="x", unit="turn"))
        assert min(float(line.attrib["y1"]) for line in root.iter(f"{SVG}line")) > 0
        assert "5,000" in texts(root)
