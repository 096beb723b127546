"""How Markdown that anybody wrote is read, and the wall that its HTML goes through; `server.markdown` renders.

Whatever nests is bounded, in what is read and in what a browser has to build; so is what a few characters may ask for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.renderer import RendererHTML, RendererProtocol
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, image
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

_NESTING: Final = 20
"""Brackets in one another: a text of nothing but brackets is read once for each."""

_DEEPEST_BLOCK: Final = 16
"""Lists and quotations in one another; what is deeper is text, as beyond `_NESTING` it would be left out. A list counts
twice, for itself and its item."""

_DEEPEST_SPAN: Final = 20
_DEEPEST_PICTURE: Final = 3
"""Each picture in the words for a picture reads the text again, on a stack of its own."""

_MISSING: Final = 50
"""Cells that the rows of a table may lack beside twice those that are written: each is made up, and a row of one
character may ask for hundreds. The table ends there."""

_FIRST_HEADING: Final = 3
"""The page's own outline has the two levels above."""

_LINK: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#._-]{1,32}")
_LINE_END: Final = re.compile("\r\n?")
# Controls but tab and line feed, and lone surrogates.
_UNSPEAKABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# What reorders the text around it. Marks of one character, which Arabic and Hebrew need, move only themselves.
_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TAGS: Final = frozenset(
    {"a", "blockquote", "br", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "strong"}
    | {"table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ALIGNMENT: Final = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}


def cleaned(text: str) -> str:
    """The text with line feeds as its line ends, and without controls and what is no character."""
    return _UNSPEAKABLE.sub("\ufffd", _LINE_END.sub("\n", text))


def walled(html: str) -> str:
    """The HTML with nothing in it but what may stand in a page, and a line feed behind it."""
    # Behind the reading: a reference such as &#x202E; gives such a character too.
    return _REORDERING.sub("\ufffd", _wall().clean(html).strip("\n")) + "\n"


@cache
def _wall() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=_TAGS,
        attributes={"*": set(), "a": {"href"}, "ol": {"start"}, "code": {"class"}},
        allowed_classes={"div": {"table"}, "th": set(_ALIGNMENT.values()), "td": set(_ALIGNMENT.values())},
        tag_attribute_values={"div": {"tabindex": {"0"}}, "pre": {"tabindex": {"0"}}},
        attribute_filter=_allowed_attribute,
        set_tag_attribute_values={"a": {"target": "_blank"}},
        link_rel="noopener noreferrer nofollow",
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
    )


def _allowed_attribute(tag: str, attribute: str, value: str) -> str | None:
    if (tag, attribute) != ("code", "class"):
        return value
    prefix, _, language = value.partition("-")
    return value if prefix == "language" and _LANGUAGE.fullmatch(language) else None


@cache
def parser() -> MarkdownIt:
    """What reads and renders; made once. Its HTML still has to go through the wall."""
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
    reader.enable(["table", "strikethrough"])
    reader.validateLink = _may_lead  # type: ignore[method-assign]
    terminated = ["paragraph", "reference", "blockquote"]
    reader.block.ruler.at("blockquote", _shallow_quotation, {"alt": [*terminated, "list"]})
    reader.block.ruler.at("list", _shallow_list, {"alt": terminated})
    reader.block.ruler.at("table", _filled_table, {"alt": ["paragraph", "reference"]})
    reader.inline.ruler.at("image", _shallow_picture)
    reader.core.ruler.push("page", _fit_to_page)
    reader.add_render_rule("fence", _code)
    reader.add_render_rule("code_block", _code)
    reader.add_render_rule("table_open", _table_open)
    reader.add_render_rule("table_close", _table_close)
    return reader


def _may_lead(url: str) -> bool:
    return _LINK.match(url) is not None


def _shallow_quotation(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return state.level < _DEEPEST_BLOCK and blockquote(state, line, end, silent)


def _shallow_list(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    return state.level < _DEEPEST_BLOCK and list_block(state, line, end, silent)


def _shallow_picture(state: StateInline, silent: bool) -> bool:
    depth = state.env.get("picture", 0)
    if depth >= _DEEPEST_PICTURE:
        return False
    state.env["picture"] = depth + 1
    found = image(state, silent)
    state.env["picture"] = depth
    return found


def _filled_table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    if not table(state, line, end, True):
        return False
    if silent:
        return True
    columns = written = _pipes(state, line)
    missing, row = 0, line + 2
    while row < end and not state.isEmpty(row) and missing <= _MISSING + 2 * written:
        pipes = _pipes(state, row)
        written += pipes
        missing += max(0, columns - pipes)
        row += 1
    return table(state, line, row, False)


def _pipes(state: StateBlock, line: int) -> int:
    return state.src.count("|", state.bMarks[line], state.eMarks[line])


def _fit_to_page(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _FIRST_HEADING - 1, 6)}"
        elif token.type in ("th_open", "td_open") and "style" in token.attrs:
            token.attrs = {"class": _ALIGNMENT.get(str(token.attrs["style"]), "left")}
        elif token.children:
            token.children = _spans(token.children)


def _spans(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with links for pictures, and without emphasis in emphasis beyond a depth that a browser takes."""
    spans: list[Token] = []
    depth = links = 0
    for token in tokens:
        if token.type in ("link_open", "link_close"):
            links += token.nesting
        if token.type == "image":
            spans += _picture(token, in_link=links > 0)
            continue
        if token.nesting > 0:
            depth += 1
        token.hidden = token.hidden or (token.nesting != 0 and depth > _DEEPEST_SPAN and token.tag != "a")
        if token.nesting < 0:
            depth -= 1
        spans.append(token)
    return spans


def _picture(token: Token, *, in_link: bool) -> list[Token]:
    address = str(token.attrs["src"])
    words = RendererHTML().renderInlineAsText(token.children, parser().options, {}) if token.children else ""
    text = Token("text", "", 0, content=words.strip() or address)
    if in_link:
        return [text]
    return [Token("link_open", "a", 1, attrs={"href": address}), text, Token("link_close", "a", -1)]


def _code(_: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    words = unescapeAll(token.info).split(maxsplit=1)
    language = words[0] if words and _LANGUAGE.fullmatch(words[0]) else ""
    kind = f' class="language-{language}"' if language else ""
    return f'<pre tabindex="0"><code{kind}>{escape(token.content)}</code></pre>\n'


def _table_open(*_: object) -> str:
    return '<div class="table" tabindex="0"><table>\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"
