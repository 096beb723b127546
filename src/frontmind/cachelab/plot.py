"""Pictures of the ledger: stacked bars as an SVG file, and as characters for a terminal.

Pure. A bar is read, written and fresh tokens from the bottom up, or from left to right; what a bar is of, this module
does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from frontmind.values.harmless import one_line

_KINDS: Final = (("read", "read from the cache"), ("written", "written to the cache"), ("fresh", "neither"))
_CHARACTERS: Final = "█▓░"

_WIDTH, _HEIGHT = 960, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 92, 96
_PLOT_WIDTH, _PLOT_HEIGHT = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_WIDEST_BAR: Final = 64
SVG_OPENING: Final = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
"""What every picture begins with."""

_MOST_BARS: Final = 400
"""More of them would be narrower than two pixels."""
_TICKS: Final = 5
_LABEL_ROOM: Final = 22
_LABEL_LENGTH: Final = 12

# Colours that those who see fewer of them tell apart, each light enough or dark enough for its background.
_STYLE: Final = """
svg { font-family: system-ui, sans-serif; font-size: 13px; }
.ground { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; } .grid { stroke: #d1d9e0; }
.read { fill: #00805a; } .written { fill: #e69f00; } .fresh { fill: #4a9fd8; } .expected { stroke: #1f2328; }
.name { font-size: 16px; font-weight: 600; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; } text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }
.read { fill: #2bb58a; } .written { fill: #f0b83a; } .fresh { fill: #2f74b5; } .expected { stroke: #f0f6fc; }
}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """What one turn, day or the like had of the cache, in tokens.

    Attributes:
        label: what it is; others may have written it.
        expected: how many tokens were expected to be read; None where that is not known.
    """

    label: str
    read: int
    written: int
    fresh: int
    expected: int | None = None

    @property
    def tokens(self) -> int:
        """The height of the bar."""
        return self.read + self.written + self.fresh


def terminal_plot(bars: Sequence[Bar], *, width: int) -> str:
    """Bars as lines of text, the longest as wide as there is room, and a legend; empty where there are none.

    Args:
        width: of the lines, in characters.
    """
    if not any(bar.tokens for bar in bars):
        return ""
    labels = [_end_of(bar.label, max(width // 3, 2)) for bar in bars]
    figures = [f"{bar.tokens:,}" if bar.tokens else "" for bar in bars]
    margin, right = max(map(len, labels)), max(map(len, figures))
    room = max(width - margin - right - 2, 1)
    most = max(bar.tokens for bar in bars)
    lines = [
        f"{label:>{margin}} {_line(bar, room, most):<{room}} {figure:>{right}}".rstrip()
        for bar, label, figure in zip(bars, labels, figures, strict=True)
    ]
    legend = "  ".join(f"{character} {kind}" for character, (kind, _) in zip(_CHARACTERS, _KINDS, strict=True))
    return "\n".join((*lines, f"{'':>{margin}} {legend}"))


def svg_plot(bars: Sequence[Bar], *, title: str, unit: str) -> str:
    """The text of an SVG file: a bar for each, with axes and a legend. It follows the reader's light or dark colours.

    Args:
        bars: from left to right; of more than fit, the last ones are drawn, and it is said.
        title: what the picture shows, on one line.
        unit: what a bar stands for, such as "turn".
    """
    shown = bars[-_MOST_BARS:]
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH} {_HEIGHT}",
            "width": str(_WIDTH),
            "height": str(_HEIGHT),
            "role": "img",
            "aria-labelledby": "title description",
        },
    )
    title, unit = one_line(title), one_line(unit)
    SubElement(svg, "title", id="title").text = title
    SubElement(svg, "desc", id="description").text = _described(bars, unit)
    SubElement(svg, "style").text = _STYLE
    SubElement(svg, "rect", {"class": "ground", "width": "100%", "height": "100%"})
    _text(svg, _LEFT, 30, title, {"class": "name"})
    if len(shown) < len(bars):
        _text(svg, _WIDTH - _RIGHT, 30, f"the newest {len(shown):,} of {len(bars):,}", {"class": "quiet", **_END})
    _draw_legend(svg)
    top = _draw_scale(svg, max((max(bar.tokens, bar.expected or 0) for bar in shown), default=0))
    _draw_bars(svg, shown, top, unit)
    _text(svg, _LEFT + _PLOT_WIDTH / 2, _HEIGHT - 12, unit, {"class": "quiet", **_MIDDLE})
    middle = _TOP + _PLOT_HEIGHT / 2
    turned = {"class": "quiet", "transform": f"rotate(-90 18 {middle:g})", **_MIDDLE}
    _text(svg, 18, middle, "prompt tokens", turned)
    indent(svg)
    return f"{tostring(svg, encoding='unicode')}\n"


_END: Final = {"text-anchor": "end"}
_MIDDLE: Final = {"text-anchor": "middle"}


def _end_of(label: str, length: int) -> str:
    # Labels of the same picture differ at their ends: turns of a conversation, models of a provider.
    line = one_line(label)
    return line if len(line) <= length else f"…{line[1 - length :]}"


def _line(bar: Bar, room: int, most: int) -> str:
    # Rounded at the ends of the pieces and not piece by piece, so that the whole has the right length.
    line, tokens = "", 0
    for character, kind in zip(_CHARACTERS, (bar.read, bar.written, bar.fresh), strict=True):
        tokens += kind
        line += character * (round(tokens * room / most) - len(line))
    return line


def _described(bars: Sequence[Bar], unit: str) -> str:
    read, total = sum(bar.read for bar in bars), sum(bar.tokens for bar in bars)
    share = f", {100 * read / total:.0f} % of them read from the cache" if total else ""
    return f"Stacked bars, one for each {unit}: {total:,} prompt tokens in all{share}."


def _draw_legend(svg: Element) -> None:
    x = _LEFT
    for kind, meaning in _KINDS:
        _rect(svg, kind, x, 48, 12, 12)
        shown = f"{kind} ({meaning})" if kind == "fresh" else meaning
        _text(svg, x + 18, 59, shown, {})
        x += 40 + 7 * len(shown)
    _rule(svg, "expected", x, x + 12, 54, 2)
    _text(svg, x + 18, 59, "expected to be read", {})


def _draw_scale(svg: Element, most: int) -> float:
    """Draws the lines of the scale; the value of the uppermost."""
    step = _step(most)
    steps = max(ceil(most / step), 1)
    for number in range(steps + 1):
        y = _TOP + _PLOT_HEIGHT * (1 - number / steps)
        _rule(svg, "grid", _LEFT, _LEFT + _PLOT_WIDTH, y, 1)
        _text(svg, _LEFT - 8, y + 4, f"{number * step:,}", {"class": "quiet", **_END})
    return steps * step


def _step(most: int) -> int:
    """The distance of two lines: 1, 2 or 5 times a power of ten, so that about `_TICKS` fit."""
    rough = max(most / _TICKS, 1)
    power: int = 10 ** (len(str(int(rough))) - 1)
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def _draw_bars(svg: Element, bars: Sequence[Bar], top: float, unit: str) -> None:
    if not bars:
        _text(svg, _LEFT + _PLOT_WIDTH / 2, _TOP + _PLOT_HEIGHT / 2, "no calls", {"class": "quiet", **_MIDDLE})
        return
    slot = _PLOT_WIDTH / len(bars)
    width = min(slot * 0.8, _WIDEST_BAR)
    every = ceil(len(bars) * _LABEL_ROOM / _PLOT_WIDTH)
    for number, bar in enumerate(bars):
        middle = _LEFT + slot * (number + 0.5)
        group = SubElement(svg, "g")
        label = one_line(bar.label)
        SubElement(group, "title").text = _figures(bar, label)
        tokens = 0
        for kind, count in (("read", bar.read), ("written", bar.written), ("fresh", bar.fresh)):
            tokens += count
            height = _PLOT_HEIGHT * count / top
            y = _TOP + _PLOT_HEIGHT * (1 - tokens / top)
            if count:
                _rect(group, kind, middle - width / 2, y, width, height)
        if bar.expected is not None:
            y = _TOP + _PLOT_HEIGHT * (1 - bar.expected / top)
            _rule(group, "expected", middle - width / 2 - 1, middle + width / 2 + 1, y, 2)
        if number % every == 0:
            place = f"rotate(-40 {middle:.1f} {_TOP + _PLOT_HEIGHT + 16})"
            # The axis says the unit.
            shown = _end_of(label.removeprefix(f"{unit} "), _LABEL_LENGTH)
            _text(svg, middle, _TOP + _PLOT_HEIGHT + 16, shown, {"class": "quiet", "transform": place, **_END})


def _figures(bar: Bar, label: str) -> str:
    if not bar.tokens:
        return f"{label}: what it took is not known"
    expected = "" if bar.expected is None else f", {bar.expected:,} expected to be read"
    return f"{label}: {bar.read:,} read, {bar.written:,} written, {bar.fresh:,} fresh{expected}"


def _rect(parent: Element, kind: str, x: float, y: float, width: float, height: float) -> None:
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    SubElement(parent, "rect", {"class": kind, **place})


def _rule(parent: Element, kind: str, x1: float, x2: float, y: float, thickness: int) -> None:
    place = {"x1": f"{x1:.2f}", "x2": f"{x2:.2f}", "y1": f"{y:.2f}", "y2": f"{y:.2f}"}
    SubElement(parent, "line", {"class": kind, "stroke-width": str(thickness), **place})


def _text(parent: Element, x: float, y: float, text: str, attributes: dict[str, str]) -> None:
    SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", **attributes}).text = text
