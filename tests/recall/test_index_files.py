"""What stands on disk beside the store is whole, or is not seen."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from frontmind.recall.index_files import Generation, IndexFiles


def files_in(root: Path, *, form: str = "test/1") -> IndexFiles:
    return IndexFiles(root, ("anna", "exchange"), form)


def built(files: IndexFiles, content: str, through: int) -> Generation:
    with files.building() as alone:
        assert alone
        folder = files.begin()
        (folder / "data").write_text(content)
        return files.publish(folder, through=through, unchanging=["data"])


def test_a_published_generation_is_found_again_with_how_far_it_goes(tmp_path: Path) -> None:
    assert files_in(tmp_path).newest() is None
    generation = built(files_in(tmp_path), "one", 17)
    assert files_in(tmp_path).newest() == generation
    assert generation.through == 17
    assert (generation.folder / "data").read_text() == "one"


def test_a_newer_generation_takes_the_place_of_the_older_one(tmp_path: Path) -> None:
    older = built(files_in(tmp_path), "one", 1)
    newer = built(files_in(tmp_path), "two", 2)
    assert files_in(tmp_path).newest() == newer
    assert not older.folder.exists()


def test_a_generation_that_was_never_published_is_not_seen_and_is_removed_by_the_next_builder(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    whole = built(files, "one", 1)
    with files.building():
        unfinished = files.begin()
        (unfinished / "data").write_text("half")
    assert files.newest() == whole
    newer = built(files, "two", 2)
    assert files.newest() == newer
    assert not unfinished.exists()


@pytest.mark.parametrize("damage", ["shorter", "gone", "no manifest", "torn manifest", "foreign manifest"])
def test_a_damaged_generation_is_not_seen(tmp_path: Path, damage: str) -> None:
    files = files_in(tmp_path)
    generation = built(files, "content", 1)
    manifest = generation.folder / "manifest.json"
    match damage:
        case "shorter":
            (generation.folder / "data").write_text("cont")
        case "gone":
            (generation.folder / "data").unlink()
        case "no manifest":
            manifest.unlink()
        case "torn manifest":
            manifest.write_text(manifest.read_text()[:-3])
        case _:
            manifest.write_text("[1, 2]")
    assert files.newest() is None
    assert files_in(tmp_path).newest() is None


def test_a_discarded_generation_is_not_seen_and_the_next_one_is(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    files.discard(built(files, "one", 1))
    assert files.newest() is None
    assert built(files, "two", 2) == files.newest()


def test_indexes_of_other_scopes_and_forms_are_not_seen(tmp_path: Path) -> None:
    built(files_in(tmp_path), "one", 1)
    assert files_in(tmp_path, form="test/2").newest() is None
    assert IndexFiles(tmp_path, ("anna", "memory"), "test/1").newest() is None
    assert IndexFiles(tmp_path, ("bert", "exchange"), "test/1").newest() is None
    assert IndexFiles(tmp_path, ("annaexchange", ""), "test/1").newest() is None


def test_an_owner_whose_name_is_a_path_stays_in_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "indexes"
    built(IndexFiles(root, ("../../etc/\0\ud800", "exchange"), "test/1"), "one", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["indexes"]


def test_only_one_builds_at_a_time(tmp_path: Path) -> None:
    with files_in(tmp_path).building() as first, files_in(tmp_path).building() as second:
        assert (first, second) == (True, False)
    with files_in(tmp_path).building() as third:
        assert third


def test_removing_leaves_nothing_and_an_index_can_be_built_again(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    built(files, "one", 1)
    files.remove()
    assert files.newest() is None
    assert not files.folder.exists()
    assert built(files, "two", 2) == files.newest()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_wherever_the_builder_is_killed_the_old_generation_or_the_new_one_is_found_whole(tmp_path: Path) -> None:
    """The builder is killed before each of its calls to the system in turn, until it gets through."""
    found: set[str] = set()
    for step in range(100):
        files = files_in(tmp_path / str(step))
        built(files, "old", 1)
        status = _publish_and_die_at(files, step)
        generation = files.newest()
        assert generation is not None
        content = (generation.folder / "data").read_text()
        assert (content, generation.through) in (("old", 1), ("new", 2))
        found.add(content)
        assert built(files, "newest", 3) == files.newest()
        if status == 0:
            break
    else:
        pytest.fail("the builder never got through")
    assert step > 8
    assert found == {"old", "new"}


def _publish_and_die_at(files: IndexFiles, step: int) -> int:
    child = os.fork()
    if not child:
        seen = 0

        def before(event: str, _: object) -> None:
            nonlocal seen
            if event in ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"):
                seen += 1
                if seen > step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(before)
        with files.building():
            folder = files.begin()
            (folder / "data").write_text("new")
            files.publish(folder, through=2, unchanging=["data"])
        os._exit(0)
    return os.waitpid(child, 0)[1]
