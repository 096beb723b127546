"""What docs/page.md says of the page is what stands in its files."""

from __future__ import annotations

import re

from frontmind.server.page_files import FOLDER
from support import REPOSITORY

DOCUMENT = (REPOSITORY / "docs" / "page.md").read_text(encoding="utf-8")


def file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def rows(head: str) -> list[tuple[str, str]]:
    """The first two cells of the table with this head."""
    table = DOCUMENT.partition(f"| {head} |")[2].partition("\n\n")[0]
    cells = [line.strip("|").split("|") for line in table.split("\n")[2:]]
    return [(first.strip(), second.strip()) for first, second, *_ in cells]


def test_the_keys_are_those_that_the_page_lists() -> None:
    listed = file("dialogs.js").partition("const SHORTCUTS")[2].partition("});")[0]
    shortcuts = re.findall(r'"([^"]+)": "([^"]+)"', listed)
    assert len(shortcuts) > 5
    assert rows("keys") == shortcuts


def test_the_parts_of_the_strip_are_named_in_their_order() -> None:
    listed = file("rows.js").partition("const TITLES = {")[2].partition("};")[0]
    titles = re.findall(r'"([^"]+)"', listed)
    assert len(titles) == 6
    assert [name for name, _ in rows("part")] == titles


def test_every_panel_is_described() -> None:
    labels = re.findall(r'id: "\w+", label: "(\w+)"', file("app.js"))
    assert labels[0] == "Inspector"
    assert [name for name, _ in rows("panel")] == labels[1:]


def test_the_words_of_buttons_and_switches_are_the_pages_own() -> None:
    everything = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js"))
    bold = re.findall(r"\*\*([^*]+)\*\*", " ".join(DOCUMENT.split()))
    said = [words.rstrip(".") for words in bold if not words.startswith(("The ", "Stop", "Sent"))]
    assert len(said) > 5
    assert [words for words in said if words.lower() not in everything.lower()] == []
    for words in ("Sent", "Would be sent next", "Stop the reply"):
        assert f'"{words}' in everything


def test_the_width_at_which_regions_lie_over_others_is_the_one_said() -> None:
    (width,) = re.findall(r"max-width: (\d+)px", file("shell.js"))
    assert f"Up to {width} pixels" in DOCUMENT
