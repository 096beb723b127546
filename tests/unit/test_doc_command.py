"""What /doc does with its arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from frontmind.cli.doc_command import doc
from frontmind.domaindocs.editing import Edit, Operation
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.errors import UsageError
from frontmind.stores.sqlite import SqliteStore
from support import BERLIN, HandClock

HOUSE = "# House\n\n## Keys\n\nUnder the third pot.\n"


@pytest.fixture
async def library() -> AsyncIterator[DocumentLibrary]:
    store = SqliteStore.open(":memory:")
    yield DocumentLibrary(store, HandClock())
    await store.close()


@pytest.fixture
def house(tmp_path: Path) -> Path:
    path = tmp_path / "house.md"
    path.write_text(HOUSE, encoding="utf-8")
    return path


def renamed(path: Path, name: str) -> Path:
    return path.rename(path.with_name(name))


async def test_a_document_is_added_listed_shown_and_removed(library: DocumentLibrary, house: Path) -> None:
    assert await doc(library, "", BERLIN) == "No documents. Add one: /doc add FILE.md"
    said = await doc(library, f"add {house}", BERLIN)
    assert said == "house (39 characters) is before the assistant from your next message on."
    assert await doc(library, "list", BERLIN) == f"house  on  39 characters  v1  {house}"
    assert await doc(library, "show house", BERLIN) == HOUSE
    assert await doc(library, "show house Keys", BERLIN) == "## Keys\n\nUnder the third pot.\n"
    assert "no longer" in await doc(library, "off house", BERLIN)
    assert "house  off  39" in await doc(library, "", BERLIN)
    assert "is before the assistant" in await doc(library, "on house", BERLIN)
    assert await doc(library, "remove house", BERLIN) == (
        f"house and its versions are deleted. The file {house} stays."
    )
    assert "No documents" in await doc(library, "", BERLIN)


async def test_a_file_is_added_under_another_name_also_when_its_own_holds_as(
    library: DocumentLibrary, house: Path
) -> None:
    assert (await doc(library, f"add {house} as my house", BERLIN)).startswith("my house (39")
    built = renamed(house, "house as built.md")
    assert (await doc(library, f"add {built}", BERLIN)).startswith("house as built (39")
    assert await doc(library, "show my house", BERLIN) == HOUSE


async def test_the_longest_name_that_fits_is_meant(library: DocumentLibrary) -> None:
    await library.add("my", "# house\none\n")
    await library.add("my house", "# house\ntwo\n")
    assert await doc(library, "show my house", BERLIN) == "# house\ntwo\n"
    assert await doc(library, "show my house house", BERLIN) == "# house\ntwo\n"
    assert await doc(library, "show my", BERLIN) == "# house\none\n"


async def test_sections_are_collapsed_and_expanded(library: DocumentLibrary, house: Path) -> None:
    await doc(library, f"add {house}", BERLIN)
    assert await doc(library, "collapse house Keys", BERLIN) == (
        "Of House/Keys in house only the name is before the assistant from your next message on."
    )
    assert "1 collapsed" in await doc(library, "list", BERLIN)
    assert (await library.document("house")).collapsed == ("House/Keys",)
    await doc(library, "expand house Keys", BERLIN)
    assert (await library.document("house")).collapsed == ()


async def test_versions_are_told_with_who_wrote_them_and_undone(library: DocumentLibrary, house: Path) -> None:
    await doc(library, f"add {house}", BERLIN)
    await library.edit("house", Edit(Operation.REPLACE_TEXT, text="fourth", old="third"))
    assert await doc(library, "versions house", BERLIN) == (
        "v1  2026-11-30 09:15  by the person  39 characters\n"
        "v2  2026-11-30 09:15  by the assistant, made from v1  40 characters  (holds)"
    )
    assert await doc(library, "undo house", BERLIN) == "house: v1 holds again (39 characters)."
    assert await doc(library, "show house", BERLIN) == HOUSE


async def test_a_file_that_was_changed_a_moment_ago_is_listed_and_shown_as_it_is(
    library: DocumentLibrary, house: Path
) -> None:
    await doc(library, f"add {house}", BERLIN)
    write(house, "# House\n\nNew.\n")
    assert await doc(library, "show house", BERLIN) == "# House\n\nNew.\n"
    write(house, "# House\n\n## Heating\n\nOff.\n")
    assert await doc(library, "list", BERLIN) == f"house  on  26 characters  v3  {house}"
    write(house, "# House\n\n## Garden\n\nWet.\n")
    assert "House/Garden" in await doc(library, "collapse house Garden", BERLIN)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


async def test_why_a_document_does_not_follow_its_file_is_listed(library: DocumentLibrary, house: Path) -> None:
    await doc(library, f"add {house}", BERLIN)
    renamed(house, "elsewhere.md")
    assert "keeps its last text: cannot read" in await doc(library, "list", BERLIN)


@pytest.mark.parametrize(
    "arguments",
    ["what", "add", "show", "add none.md", "add none.md as x", "on none", "off none", "show none", "show house none",
     "collapse house", "collapse house none", "expand house", "versions none", "undo house", "remove none", "list x",
     "add \x00", "a\nb"],
)  # fmt: skip
async def test_arguments_that_cannot_be_used_are_explained_on_one_line(
    library: DocumentLibrary, house: Path, arguments: str
) -> None:
    await library.add_file(house)
    with pytest.raises(UsageError) as caught:
        await doc(library, arguments, BERLIN)
    assert "\n" not in str(caught.value)
    assert len(await library.documents()) == 1
