"""The library of documents over a real store and real files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from frontmind.domaindocs import locks
from frontmind.domaindocs.editing import Edit, Operation
from frontmind.domaindocs.files import TEXT_LIMIT, write_file
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.errors import Conflict, UsageError
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.records import Document, DocumentVersion
from support import HandClock

HOUSE = "# House\n\n## Keys\n\nUnder the third pot.\n\n## Wifi\n\nNone.\n"


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(":memory:")
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def library(store: SqliteStore, clock: HandClock) -> DocumentLibrary:
    return DocumentLibrary(store, clock)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    path = tmp_path / "house.md"
    write(path, HOUSE)
    return path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def read_bytes(path: Path) -> bytes:
    return path.read_bytes()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def clear(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def make_linked(path: Path, link: Path) -> None:
    """A private file with a byte order mark and the line ends of Windows, and a link to it."""
    path.write_bytes(b"\xef\xbb\xbf# House\r\n\r\nOld.\r\n")
    path.chmod(0o640)
    link.symlink_to(path)


def is_link_to_private(link: Path) -> bool:
    return link.is_symlink() and link.stat().st_mode & 0o777 == 0o640


def append(section: str, text: str) -> Edit:
    return Edit(Operation.APPEND_TO_SECTION, section, text)


async def history(library: DocumentLibrary, name: str) -> list[tuple[int, int | None, str]]:
    return [(version.version, version.parent, version.by) for version in await library.versions(name)]


# --- names and texts ---------------------------------------------------------------------------------------------


async def test_a_file_becomes_a_document_that_is_named_like_it(library: DocumentLibrary, house: Path) -> None:
    added = await library.add_file(house)
    assert (added.name, added.text, added.source, added.enabled, added.version) == ("house", HOUSE, str(house), True, 1)
    assert await library.document("house") == added
    assert list(await library.documents()) == [added]


async def test_a_file_that_is_added_again_is_read_again_and_switched_on(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    await library.enable("house", False)
    write(house, "new")
    again = await library.add_file(house)
    assert (again.text, again.version, again.enabled) == ("new", 2, True)


async def test_a_name_that_another_document_has_is_refused_with_the_way_out(
    library: DocumentLibrary, house: Path, tmp_path: Path
) -> None:
    await library.add_file(house)
    other = tmp_path / "other" / "house.md"
    write(other, "another house")
    with pytest.raises(UsageError, match="as NAME"):
        await library.add_file(other)
    with pytest.raises(UsageError, match="as NAME"):
        await library.add("house", "text")
    assert (await library.add_file(other, "second house")).name == "second house"
    assert (await library.document("house")).text == HOUSE


@pytest.mark.parametrize(
    ("stem", "name"),
    [("two\nlines", "two lines"), ("\x1b[31mred", "[31mred"), ("a\u202eb", "ab"), ("x" * 200, "x" * 100),
     (" ", "(untitled)")],
    ids=["line end", "escape", "bidirectional", "long", "blank"],
)  # fmt: skip
async def test_a_hostile_file_name_gives_a_harmless_document_name(
    library: DocumentLibrary, tmp_path: Path, stem: str, name: str
) -> None:
    path = tmp_path / f"{stem}.md"
    write(path, "text")
    added = await library.add_file(path)
    assert added.name == name
    assert added.source == str(path)
    write(path, "changed")
    assert await library.refresh_files() == (name,)
    path.unlink()
    assert await library.refresh_files() == ()
    (problem,) = library.take_problems()
    assert problem.isprintable()


async def test_a_file_name_that_is_no_unicode_is_followed_all_the_same(
    library: DocumentLibrary, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))
    write(path, "text")
    assert (await library.add_file(path)).name == "caf"
    write(path, "more")
    assert await library.refresh_files() == ("caf",)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b", " a", "x" * 101])
async def test_a_name_that_cannot_be_shown_is_refused(library: DocumentLibrary, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        await library.add(name, "text")
    assert str(caught.value).isprintable()


async def test_an_unknown_document_is_answered_with_those_that_there_are(library: DocumentLibrary) -> None:
    with pytest.raises(UsageError, match="none yet"):
        await library.document("x")
    await library.add("house", "a")
    await library.add("travel", "b")
    with pytest.raises(UsageError, match="'house', 'travel'"):
        await library.edit("x", append("a", "b"))


async def test_a_document_keeps_half_a_surrogate_that_was_added(library: DocumentLibrary) -> None:
    await library.add("odd", "a\ud800\x00")
    assert (await library.document("odd")).text == "a\ud800\x00"


# --- edits -------------------------------------------------------------------------------------------------------


async def test_an_edit_is_a_version_by_the_assistant(library: DocumentLibrary, clock: HandClock) -> None:
    await library.add("house", HOUSE)
    clock.advance(hours=1)
    edited = await library.edit("house", append("Wifi", "Ask Anna."))
    assert edited.text == HOUSE.replace("None.\n", "None.\n\nAsk Anna.\n")
    assert edited.version == 2
    assert edited.updated_at == clock.now()
    assert await history(library, "house") == [(1, None, "person"), (2, 1, "assistant")]


async def test_an_edit_that_changes_nothing_is_no_version(library: DocumentLibrary) -> None:
    await library.add("house", HOUSE)
    same = await library.edit("house", Edit(Operation.REPLACE_SECTION, "Wifi", "None."))
    assert same.version == 1


async def test_two_edits_at_once_both_end_up_in_the_text(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    await asyncio.gather(*(library.edit("house", append("Wifi", f"- {number}")) for number in range(8)))
    text = (await library.document("house")).text
    assert all(text.count(f"- {number}\n") == 1 for number in range(8))
    assert read(house) == text


@pytest.mark.parametrize("follows", [True, False])
async def test_edits_of_two_libraries_at_once_both_end_up_in_the_text(
    store: SqliteStore, clock: HandClock, house: Path, follows: bool
) -> None:
    one, other, reading = (DocumentLibrary(store, clock, locks=house.parent / "locks") for _ in range(3))
    await (one.add_file(house) if follows else one.add("house", HOUSE))
    for round_ in range(6):
        await asyncio.gather(
            one.edit("house", append("Wifi", f"- one {round_}")),
            other.edit("house", append("Keys", f"- other {round_}")),
            reading.refresh_files(),
        )
    text = (await one.document("house")).text
    for round_ in range(6):
        assert text.count(f"- one {round_}\n") == text.count(f"- other {round_}\n") == 1
    if follows:
        assert read(house) == text


async def test_after_five_conflicts_the_edit_is_given_up(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.add("house", HOUSE)
    stored = store.put_document
    attempts = 0

    async def overtaken(name: str, text: str, *args: object, **options: object) -> Document:
        nonlocal attempts
        attempts += 1
        await stored(name, f"{HOUSE}{attempts}", clock.now(), by="person")
        return await stored(name, text, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "put_document", overtaken)
    with pytest.raises(Conflict, match="try again later"):
        await library.edit("house", append("Wifi", "x"))
    assert attempts == 5
    assert (await library.document("house")).text == f"{HOUSE}5"


async def test_an_edit_makes_a_document_neither_empty_nor_too_large(library: DocumentLibrary) -> None:
    await library.add("house", HOUSE)
    with pytest.raises(UsageError, match="nothing would be left"):
        await library.edit("house", Edit(Operation.DELETE_SECTION, "House"))
    with pytest.raises(UsageError, match="larger than 1,000,000"):
        await library.edit("house", append("Wifi", "x" * TEXT_LIMIT))
    with pytest.raises(UsageError, match="nothing would be left"):
        await library.add("empty", " \n")
    assert (await library.document("house")).version == 1


async def test_a_renamed_section_stays_collapsed_with_its_subsections(library: DocumentLibrary) -> None:
    await library.add("house", HOUSE)
    await library.collapse("house", "Keys")
    await library.edit("house", Edit(Operation.RENAME_SECTION, "House", "Home"))
    assert (await library.document("house")).collapsed == ("Home/Keys",)


# --- undo, versions, collapsing ----------------------------------------------------------------------------------


async def test_undoing_goes_back_along_what_each_version_was_made_from(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    await library.edit("house", append("Wifi", "first"))
    await library.edit("house", append("Wifi", "second"))
    undone = await library.undo("house")
    assert "first" in undone.text and "second" not in undone.text
    assert read(house) == undone.text
    third = await library.edit("house", append("Wifi", "third"))
    assert (third.version, (await history(library, "house"))[-1]) == (4, (4, 2, "assistant"))
    for _ in range(2):
        undone = await library.undo("house")
    assert (undone.text, undone.version) == (HOUSE, 1)
    assert read(house) == HOUSE
    with pytest.raises(UsageError, match="no earlier version"):
        await library.undo("house")
    assert len(await library.versions("house")) == 4


async def test_what_was_undone_is_not_read_back_from_the_file(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, house: Path
) -> None:
    await library.add_file(house)
    await library.edit("house", append("Wifi", "first"))
    await library.undo("house")
    assert await library.refresh_files() == ()
    assert await DocumentLibrary(store, clock).refresh_files() == ()


async def test_the_assistant_undoes_only_its_own(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    await library.edit("house", append("Wifi", "mine"))
    write(house, "by hand")
    with pytest.raises(UsageError, match="was written by the file, not by the assistant"):
        await library.undo("house", only_by="assistant")
    assert read(house) == "by hand"


@pytest.mark.parametrize("by", ["assistant", None])
async def test_what_was_written_between_reading_and_undoing_holds(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, monkeypatch: pytest.MonkeyPatch, by: str | None
) -> None:
    await library.add("house", HOUSE)
    await library.edit("house", append("Wifi", "Ask Anna."))
    versions = store.document_versions

    async def overtaken(name: str) -> Sequence[DocumentVersion]:
        seen = await versions(name)
        await DocumentLibrary(store, clock).add("house", "mine")
        return seen

    with monkeypatch.context() as meanwhile, pytest.raises(Conflict):
        meanwhile.setattr(store, "document_versions", overtaken)
        await library.undo("house", only_by=by)
    assert (await library.document("house")).text == "mine"


async def test_an_undone_text_that_others_read_from_the_file_before_it_was_stored_holds(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.add_file(house)
    await library.edit("house", append("Wifi", "Ask Anna."))
    undo = store.undo_document

    async def overtaken(name: str, *, expected: int | None = None) -> Document:
        assert await DocumentLibrary(store, clock).refresh_files() == ("house",)
        return await undo(name, expected=expected)

    monkeypatch.setattr(store, "undo_document", overtaken)
    undone = await library.undo("house")
    assert (undone.text, read(house)) == (HOUSE, HOUSE)
    assert (await history(library, "house"))[-1] == (3, 2, "file")


async def test_a_section_is_collapsed_and_expanded_by_any_of_its_names(library: DocumentLibrary) -> None:
    await library.add("house", HOUSE)
    assert (await library.collapse("house", "Keys")).collapsed == ("House/Keys",)
    assert (await library.collapse("house", "House")).collapsed == ("House", "House/Keys")
    assert (await library.expand("house", "Keys")).collapsed == ("House",)
    with pytest.raises(UsageError, match="hidden in 'House'"):
        await library.expand("house", "Keys")
    assert (await library.expand("house", "House")).collapsed == ()
    assert (await library.expand("house", "House")).collapsed == ()
    for change in (library.collapse, library.expand):
        with pytest.raises(UsageError, match="no section"):
            await change("house", "Cellar")


async def test_a_removed_document_leaves_its_file(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    assert (await library.remove("house")).source == str(house)
    assert read(house) == HOUSE
    assert await library.refresh_files() == ()
    for call in (library.remove("house"), library.enable("house", True), library.versions("house")):
        with pytest.raises(UsageError, match="no document"):
            await call


# --- files -------------------------------------------------------------------------------------------------------


async def test_a_changed_file_is_a_version_by_the_file_and_an_unchanged_one_is_none(
    library: DocumentLibrary, house: Path
) -> None:
    await library.add_file(house)
    assert await library.refresh_files() == ()
    for number in range(5):
        # As long as the one before, and often within the same tick of the file's clock.
        write(house, f"# House {number}\n")
        assert await library.refresh_files() == ("house",)
        assert (await library.document("house")).text == f"# House {number}\n"
    assert (await history(library, "house"))[1:] == [(number, number - 1, "file") for number in range(2, 7)]


async def test_a_new_process_finds_what_was_changed_meanwhile(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, house: Path
) -> None:
    await library.add_file(house)
    write(house, "later")
    assert await DocumentLibrary(store, clock).refresh_files() == ("house",)


async def test_a_document_that_is_off_stays_off_when_its_file_changes(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    await library.enable("house", False)
    write(house, "later")
    await library.refresh_files()
    assert not (await library.document("house")).enabled


async def test_a_document_that_is_off_is_at_no_moment_on_when_the_person_writes_it(
    library: DocumentLibrary, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await library.put("house", HOUSE, expected=0)
    assert first.enabled
    await library.enable("house", False)
    stored: list[Document] = []
    put_document = store.put_document

    async def noted(*given: Any, **named: Any) -> Document:
        stored.append(await put_document(*given, **named))
        return stored[-1]

    monkeypatch.setattr(store, "put_document", noted)
    written = await library.put("house", "later", expected=first.version)
    edited = await library.edit("house", Edit(Operation.REPLACE_TEXT, old="later", text="last"), by="person")
    assert stored == [written, edited]
    assert [(document.text != HOUSE, document.enabled) for document in stored] == [(True, False)] * 2


def gone(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b" \n")


def binary(path: Path) -> None:
    path.write_bytes(b"a\0b")


def latin(path: Path) -> None:
    path.write_bytes(b"caf\xe9")


def large(path: Path) -> None:
    path.write_bytes(b"x" * (TEXT_LIMIT + 1))


def larger(path: Path) -> None:
    path.write_bytes("ä".encode() * (2 * TEXT_LIMIT + 2))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(gone, "No such file"), (emptied, "empty"), (binary, "binary"), (latin, "UTF-8"), (large, "larger than 1,000,000"),
     (larger, "larger than 1,000,000"), (a_folder, "not a regular file"), (a_pipe, "not a regular file")],
)  # fmt: skip
async def test_a_file_that_can_no_longer_be_a_document_keeps_the_last_text_and_is_told_once(
    library: DocumentLibrary, house: Path, spoil: object, reason: str
) -> None:
    await library.add_file(house)
    assert callable(spoil)
    spoil(house)
    assert await library.refresh_files() == ()
    (told,) = library.take_problems()
    assert reason in told and told.startswith("the document 'house' keeps its last text: ")
    assert await library.refresh_files() == ()
    assert library.take_problems() == ()
    assert reason in library.problems["house"]
    edited = await library.edit("house", append("Wifi", "still works"))
    assert "still works" in edited.text
    clear(house)
    write(house, "back again")
    assert await library.refresh_files() == ("house",)
    assert library.problems == {}
    assert (await library.document("house")).text == "back again"


@pytest.mark.parametrize("spoil", [gone, emptied, binary, large, a_folder, a_pipe])
async def test_a_file_that_cannot_be_a_document_is_not_added(
    library: DocumentLibrary, house: Path, spoil: object
) -> None:
    assert callable(spoil)
    spoil(house)
    with pytest.raises(UsageError):
        await library.add_file(house)
    assert list(await library.documents()) == []


async def test_a_file_as_large_as_a_document_may_be_is_taken(library: DocumentLibrary, house: Path) -> None:
    write(house, "ä" * TEXT_LIMIT)
    assert len((await library.add_file(house)).text) == TEXT_LIMIT


async def test_a_text_that_others_read_from_the_file_before_it_was_stored_is_not_edited_twice(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.add_file(house)
    stored, refreshed = store.put_document, []

    async def overtaken(name: str, text: str, *args: object, by: str, expected: int) -> Document:
        if by == "assistant":
            refreshed.append(await DocumentLibrary(store, clock).refresh_files())
        return await stored(name, text, clock.now(), by=by, expected=expected)

    monkeypatch.setattr(store, "put_document", overtaken)
    edited = await library.edit("house", append("Wifi", "Ask Anna."))
    assert refreshed == [("house",)]
    assert edited.text.count("Ask Anna.") == 1
    assert await history(library, "house") == [(1, None, "person"), (2, 1, "file")]


async def test_while_another_process_writes_an_edit_of_a_file_waits_and_then_gives_up(
    store: SqliteStore, clock: HandClock, house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_POLLS", 2)
    folder = tmp_path / "state" / "locks"
    library = DocumentLibrary(store, clock, locks=folder)
    await library.add_file(house)
    await library.add("free", HOUSE)
    async with locks.writing(folder):
        with pytest.raises(Conflict, match="try again later"):
            await library.edit("house", append("Wifi", "x"))
        assert (await library.edit("free", append("Wifi", "x"))).version == 2
    assert (await library.edit("house", append("Wifi", "x"))).version == 2
    assert folder.stat().st_mode & 0o077 == 0


async def test_without_a_place_for_the_lock_an_edit_of_a_file_is_refused_with_the_way_out(
    store: SqliteStore, clock: HandClock, house: Path, tmp_path: Path
) -> None:
    write(tmp_path / "state", "a file")
    library = DocumentLibrary(store, clock, locks=tmp_path / "state")
    await library.add_file(house)
    with pytest.raises(Conflict, match=r"make the folder .* writable"):
        await library.edit("house", append("Wifi", "x"))
    assert read(house) == HOUSE


async def test_an_edit_is_written_to_the_file_with_its_permissions_through_its_link(
    library: DocumentLibrary, house: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.md"
    make_linked(house, link)
    await library.add_file(link)
    edited = await library.edit("link", Edit(Operation.REPLACE_SECTION, "House", "New\nlines."))
    assert read_bytes(house) == b"\xef\xbb\xbf# House\r\n\r\nNew\r\nlines.\r\n"
    assert edited.text == "# House\r\n\r\nNew\r\nlines.\r\n"
    assert is_link_to_private(link)
    assert names_in(tmp_path) == ["house.md", "link.md"]
    assert await library.refresh_files() == ()


async def test_what_was_changed_in_the_file_is_under_the_edit(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    write(house, HOUSE.replace("third", "fourth"))
    edited = await library.edit("house", append("Wifi", "Ask Anna."))
    assert "fourth pot" in edited.text and "Ask Anna." in edited.text
    assert read(house) == edited.text
    assert [by for _, _, by in await history(library, "house")] == ["person", "file", "assistant"]


async def test_a_file_that_cannot_be_written_refuses_the_edit(
    library: DocumentLibrary, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.add_file(house)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="read-only"):
        await library.edit("house", append("Wifi", "x"))
    assert (await library.document("house")).version == 1
    assert read(house) == HOUSE


async def test_a_write_that_fails_half_way_leaves_the_file_and_the_folder_as_they_were(
    library: DocumentLibrary, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.add_file(house)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        await library.edit("house", append("Wifi", "x"))
    assert names_in(house.parent) == ["house.md"]
    assert read(house) == HOUSE


def test_a_file_with_another_text_is_not_overwritten(house: Path) -> None:
    with pytest.raises(Conflict):
        write_file(house, "another text", "new")
    assert read(house) == HOUSE


async def test_an_edit_that_no_file_can_hold_is_made_one_that_it_can(library: DocumentLibrary, house: Path) -> None:
    await library.add_file(house)
    edited = await library.edit("house", append("Wifi", "a\ud800\x00b"))
    assert "a\ufffd\ufffdb" in edited.text
    assert read(house) == edited.text
    assert await library.refresh_files() == ()


async def test_an_edit_whose_file_was_written_before_a_crash_is_read_from_the_file(
    store: SqliteStore, clock: HandClock, library: DocumentLibrary, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.add_file(house)

    async def dies(*args: object, **options: object) -> Document:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "put_document", dies)
        with pytest.raises(KeyboardInterrupt):
            await library.edit("house", append("Wifi", "Ask Anna."))
    assert await DocumentLibrary(store, clock).refresh_files() == ("house",)
    assert "Ask Anna." in (await library.document("house")).text
