"""Markdown that anybody wrote is shown and does nothing; a reply that grows is rendered piece by piece."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frontmind.server.markdown import LONGEST, HtmlChange, StreamingMarkdown, render
from support import shared

ELEMENTS = frozenset(
    {"a", "blockquote", "br", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "strong"}
    | {"table", "tbody", "td", "th", "thead", "tr", "ul"}
)
VOID = frozenset({"br", "hr"})
REL = "noopener noreferrer nofollow"


class Page(HTMLParser):
    """Reads HTML as elements: what stands at the top, and every attribute."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.depth = 0
        self.deepest = 0
        self.top: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._begin = 0
        self._html = html
        self._lines = [0, *(match.end() for match in re.finditer("\n", html))]
        self.feed(html)
        self.close()
        assert self.depth == 0

    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if self.depth == 0:
            self._begin = self._place()
        if tag in VOID:
            if self.depth == 0:
                self.top.append(f"<{tag}>")
            return
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.top.append(self._html[self._begin : self._place()] + f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        assert self.depth or not data.strip("\n"), f"{data!r} stands beside the elements"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def elements(html: str) -> list[str]:
    return Page(html).top


def require_harmless(html: str) -> Page:
    page = Page(html)
    for tag, attributes in page.tags:
        assert tag in ELEMENTS
        for name, value in attributes.items():
            assert value is not None
            match tag, name:
                case "a", "href":
                    assert value.lower().startswith(("http://", "https://", "mailto:"))
                case "a", "rel":
                    assert value == REL
                case "a", "target":
                    assert value == "_blank"
                case "code", "class":
                    assert re.fullmatch(r"language-[A-Za-z0-9+#._-]{1,32}", value)
                case (("th" | "td"), "class"):
                    assert value in ("left", "center", "right")
                case "div", "class":
                    assert value == "table"
                case (("div" | "pre"), "tabindex"):
                    assert value == "0"
                case "ol", "start":
                    assert value.isdecimal()
                case _:
                    raise AssertionError(f"{tag} has {name}")
        if tag == "a" and "href" in attributes:
            assert (attributes["rel"], attributes["target"]) == (REL, "_blank")
    return page


def grown(pieces: list[str]) -> tuple[list[str], list[HtmlChange]]:
    """The elements that a page shows at the end, and the changes that made them."""
    stream, shown, changes = StreamingMarkdown(), list[str](), list[HtmlChange]()
    for change in (*map(stream.feed, pieces), stream.finish()):
        if change is not None:
            assert change.keep <= len(shown)
            shown[change.keep :] = elements(change.html)
            changes.append(change)
    return shown, changes


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


LINES = st.sampled_from(
    [
        "",
        "",
        "word",
        "two *words* `here`",
        "**bold",
        "***",
        "---",
        "===",
        "-",
        "- item",
        "  - nested",
        "    code",
        "\ttabbed",
        "1. one",
        "2) two",
        "* [ ] task",
        "> quoted",
        ">> twice [a]",
        "> - in it",
        "# Heading",
        "###### [b]: six",
        "```",
        "```python",
        "~~~ a<b",
        "|a|b|",
        "a | b",
        "|-|:-:|",
        "-|-",
        "|1|",
        "<div onclick=x>",
        "<script>alert(1)</script>",
        "<!-- c",
        "[a] and [b][a] and ![c][a]",
        "[a]: http://one.example/",
        "[a]:",
        "[A]: <http://two.example/> 'title",
        '[b]: mailto:b@x.example "t"',
        "[b]: /relative",
        "http://three.example/",
        "'and on'",
        "more'",
        "![p](http://p.example/i.png) [![q](http://q.example)](http://r.example)",
        "[x](javascript:alert(1)) [y](data:text/html,z) <https://auto.example>",
        "~~gone~~ \\* &lt; &#x202e; \u202eesrever \ud800 \x00",
        "a  ",
        "a\\",
        "\r",
        "[a",
        "b]: x",
        "[c\\[]",
        "[c\\[]: http://c.example",
    ]
)
TEXTS = st.one_of(
    st.lists(LINES, max_size=14).map("\n".join),
    st.text(alphabet="ab[]()*_`~<>#-+=|:!\\ \n\r\t'\"1.&;/", max_size=80),
    st.text(max_size=60),
)


@pytest.mark.requirement("WEB-7")
@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_whatever_is_written_does_nothing_in_a_page(text: str) -> None:
    require_harmless(render(text))


@given(TEXTS, st.lists(st.integers(0, 400), max_size=40))
@example("P [a]\n\nQ\nQ\n\n[a]: http://x.example\n\nR\nS\nT\n", list(range(60)))
@example("P [a]\n\n[a]: http://x.example\n'tit\nle' junk\n\nR\nS\n", list(range(60)))
@example("P\na|b\n-|-x\n\nR\nS\n", list(range(30)))
@settings(max_examples=1000, deadline=None)
def test_a_reply_that_grew_is_what_the_whole_of_it_is(text: str, places: list[int]) -> None:
    shown, _ = grown(cut(text, places))
    assert shown == elements(render(text))


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_a_reply_that_comes_by_the_character_is_what_the_whole_of_it_is(text: str) -> None:
    shown, _ = grown(list(text))
    assert shown == elements(render(text))


def test_what_is_finished_is_not_sent_again() -> None:
    shown, changes = grown(["One.\n\n", "Two.\n\n", "Three", " and more.\n\n", "Four."])
    assert [change.keep for change in changes] == [0, 1, 2, 2, 3]
    assert changes[-1].html == "<p>Four.</p>\n"
    assert len(shown) == 4


def test_a_definition_that_comes_late_changes_what_refers_to_it() -> None:
    shown, changes = grown(["See [it].\n\n", "More.\nStill.\n\n", "End.\n", "\n[it]: http://it.example/\n"])
    assert 'href="http://it.example/"' in shown[0]
    assert changes[-1].keep == 0


def test_a_piece_that_changes_nothing_gives_no_change() -> None:
    stream = StreamingMarkdown()
    assert stream.feed("word") == HtmlChange(0, "<p>word</p>\n")
    assert stream.feed("\n") is None
    assert stream.feed("") is None
    assert stream.finish() is None


def test_a_line_end_may_be_cut_in_the_middle() -> None:
    shown, _ = grown(["one\r", "\n\r", "\ntwo\r"])
    assert shown == ["<p>one</p>", "<p>two</p>"]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# One\n\n###### Six", "<h3>One</h3>\n<h6>Six</h6>\n"),
        ("~~a~~ **b**", "<p><s>a</s> <strong>b</strong></p>\n"),
        ("- [ ] open\n- [x] done", "<ul>\n<li>[ ] open</li>\n<li>[x] done</li>\n</ul>\n"),
        ("```c++ rest\na < b\n```", '<pre tabindex="0"><code class="language-c++">a &lt; b\n</code></pre>\n'),
        ('```"x\na\n```', '<pre tabindex="0"><code>a\n</code></pre>\n'),
        (
            "![a *cat*](https://cats.example/1.png)",
            f'<p><a href="https://cats.example/1.png" target="_blank" rel="{REL}">a cat</a></p>\n',
        ),
        ("![](https://c.example)", f'<p><a href="https://c.example" target="_blank" rel="{REL}">https://c.example</a></p>\n'),
        (
            "[![cat](https://c.example)](https://d.example 't')",
            f'<p><a href="https://d.example" target="_blank" rel="{REL}">cat</a></p>\n',
        ),
        ("[a](/api/logout)", "<p>[a](/api/logout)</p>\n"),
        ("[a](//x.example)", "<p>[a](//x.example)</p>\n"),
        ("[a](JavaScript:alert(1))", "<p>[a](JavaScript:alert(1))</p>\n"),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>\n"),
        ("&#x202E;a\u2066b", "<p>\ufffda\ufffdb</p>\n"),
        ("\u05d0\u200f!", "<p>\u05d0\u200f!</p>\n"),
        ("", ""),
        ("[a]: http://x.example", ""),
    ],
)  # fmt: skip
def test_each_form_has_its_html(text: str, html: str) -> None:
    assert render(text) == html


def test_a_table_scrolls_in_an_element_of_its_own() -> None:
    (table,) = elements(render("|a|b|\n|-|-:|\n|1|2|"))
    assert table.startswith('<div class="table" tabindex="0"><table>')
    assert '<td class="right">2</td>' in table


HOSTILE = {
    "quotations": ">" * 10_000,
    "spaced quotations": "> " * 10_000,
    "brackets": "[" * 10_000,
    "pictures": "![" * 5_000 + "](http://a)" * 5_000,
    "links": "[" * 5_000 + "](http://a)" * 5_000,
    "backticks": "a " + "`" * 100_000,
    "runs of backticks": "a " + " ".join("`" * length for length in range(450)),
    "asterisks": "a " + "*" * 100_000,
    "emphasis": "*a **b " * 3_000,
    "nested emphasis": "*" * 20_000 + "a" + "*" * 20_000,
    "angles": "<" * 20_000,
    "references": "&#" * 10_000,
    "lists": "\n".join("  " * depth + "- a" for depth in range(200)),
    "list on a line": "- " * 10_000,
    "wide table": "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|\n" * 5_000,
    "many tables": ("|a" * 20 + "\n" + "|-" * 20 + "\n" + "|\n" * 100) * 30,
    "definitions": "".join(f"[a{number}]: http://b\n" for number in range(1_000)),
    "uses of one definition": "[a]" * 3_000 + "\n\n[a]: http://x",
    "bidi": "\u202e" * 20_000,
    "half characters": "\ud800" * 20_000,
}


@pytest.mark.requirement("WEB-7")
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_text_made_to_take_long_takes_well_under_a_second(text: str) -> None:
    begun = time.process_time()
    html = render(text)
    assert time.process_time() - begun < 0.9
    page = require_harmless(html)
    assert page.deepest < 60
    assert len(html) < 30 * len(text) + 10_000


def test_what_nests_too_deep_is_shown_as_text() -> None:
    assert "the end" in render("> " * 200 + "the end")
    assert "the end" in render("- " * 200 + "the end")


def test_a_text_that_is_too_long_for_markdown_is_shown_as_it_is() -> None:
    text = "*a* <b>\n\n" * (LONGEST // 9 + 1)
    (element,) = elements(render(text))
    assert "*a* &lt;b&gt;" in element
    shown, _ = grown(cut(text, list(range(0, len(text), 20_000))))
    assert shown == [element]


def reply(length: int) -> str:
    block = (
        "## A heading\n\nSome *words* about [links](https://x.example/), `code` and **more**, over a line\nor two.\n\n"
        "- one\n- two\n  - nested\n\n1. first\n2. second\n\n> quoted\n\n```python\nprint(1)\nprint(2)\n```\n\n"
        "|a|b|\n|-|-|\n|1|2|\n\n"
    )
    return (block * (length // len(block) + 1))[:length]


def test_the_cost_of_a_reply_that_grows_is_in_proportion_to_its_length() -> None:
    def seconds(length: int) -> float:
        text = reply(length)
        begun = time.process_time()
        shown, _ = grown([text[place : place + 50] for place in range(0, length, 50)])
        assert len(shown) > length / 100
        return time.process_time() - begun

    seconds(5_000)
    short = seconds(LONGEST // 5)
    assert seconds(LONGEST) < 5 * short * 1.8


def test_one_element_that_grows_long_is_not_rendered_for_every_piece() -> None:
    text = "```\n" + "line of code\n" * 4_000
    pieces = [text[place : place + 25] for place in range(0, len(text), 25)]
    shown, changes = grown(pieces)
    assert shown == elements(render(text))
    assert len(changes) < len(pieces) / 8


@pytest.mark.requirement("WEB-7")
def test_texts_that_attack_prompts_do_nothing_in_a_page() -> None:
    for name in ("delimiter_cases.jsonl", "bastioncorpus_injections.jsonl"):
        for line in shared("injection", name).read_text("utf-8").splitlines():
            text = json.loads(line)["text"]
            require_harmless(render(text))


@pytest.mark.requirement("WEB-7")
def test_texts_that_attack_pages_do_nothing_in_one() -> None:
    for text in ATTACKS:
        require_harmless(render(text))
        shown, _ = grown(list(text))
        assert shown == elements(render(text))


ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[a](javascript&colon;alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "<javascript:alert(1)>",
    "[a](http://x.example/\"onmouseover=alert(1))",
    "![a\"onerror=alert(1)](http://x.example)",
    "```\"><script>alert(1)</script>\nx\n```",
    "```x\" onclick=\"alert(1)\nx\n```",
    "<style>*{display:none}</style>",
    "<iframe src=//x.example></iframe>",
    "<!--><script>alert(1)</script-->",
    "</div></main><h1>another page</h1>",
    "[a]: javascript:alert(1)\n\n[a]",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "|<script>|\n|-|\n|<img src=x onerror=alert(1)>|",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
)  # fmt: skip
