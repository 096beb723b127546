"""What the files of the page may hold: nothing from elsewhere, nothing inline, and not much."""

from __future__ import annotations

import re

from frontmind.server.page_files import FOLDER, read_page

LARGEST = 150_000


def test_all_of_the_page_is_small() -> None:
    sizes = {name: len(file.data) for name, file in read_page().items()}
    assert "app.js" in sizes
    assert sum(sizes.values()) <= LARGEST, sizes


def test_markup_is_read_in_one_place_only() -> None:
    reading = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc")
    found = {path.name: reading.findall(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.js")}
    assert {name: uses for name, uses in found.items() if uses} == {"dom.js": ["innerHTML"]}


def test_nothing_comes_from_elsewhere_and_nothing_is_inline() -> None:
    document = (FOLDER / "index.html").read_text(encoding="utf-8")
    addresses = re.findall(r'(?:src|href)="([^"]*)"', document)
    assert len(addresses) > 4
    assert all(address.startswith(("/page/", "#")) for address in addresses)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", document)
    for path in [*FOLDER.glob("*.js"), *FOLDER.glob("*.css")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import url|setAttribute\(\"style\"", text), path.name
