"""What the index of words on disk promises, and that it means by a word what the store's own index does."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from frontmind.recall.index_files import IndexDamaged
from frontmind.recall.lexical_tantivy import Row, TantivyIndex

ROWS: Sequence[Row] = (
    (1, "User: I drink green tea in the morning", ""),
    (4, "User: Anna is running a marathon", "Assistant: what about tea?"),
    (9, "User: the cats ran over the tea table, tea everywhere", ""),
    (12, "User: nothing of this", "Assistant: the marathons of last year"),
)


def made(folder: Path, rows: Sequence[Row] = ROWS) -> TantivyIndex:
    folder.mkdir(exist_ok=True)
    index = TantivyIndex(folder)
    index.add(rows)
    return index


def found(index: TantivyIndex, *words: str, limit: int = 10, excluded: frozenset[int] = frozenset()) -> list[int]:
    return [one for one, _ in index.search(words, limit, excluded)]


def test_passages_with_any_of_the_words_are_found_best_first(tmp_path: Path) -> None:
    hits = made(tmp_path).search(["tea", "everywhere"], 10)
    assert [one for one, _ in hits] == [9, 1, 4]
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)


def test_a_word_is_found_in_its_other_forms_without_case_and_accents(tmp_path: Path) -> None:
    index = made(tmp_path, [*ROWS, (20, "User: the cafe\u0301 in Zürich", ""), (21, "User: naïve", "")])
    assert found(index, "RUN") == [4]
    assert found(index, "marathon") == [4, 12]
    assert found(index, "CAFÉ") == found(index, "cafe") == found(index, "cafe\u0301") == [20]
    assert found(index, "zurich") == [20]
    assert found(index, "naive") == [21]


def test_the_context_counts_as_much_as_asked(tmp_path: Path) -> None:
    index = made(tmp_path, [(1, "alpha beta", "gamma delta"), (2, "gamma delta", "alpha beta"), (3, "other words", "")])
    assert [one for one, _ in index.search(["alpha"], 5, context_weight=0.5)] == [1, 2]
    assert [one for one, _ in index.search(["alpha"], 5, context_weight=2)] == [2, 1]
    assert [one for one, _ in index.search(["alpha"], 5, context_weight=0)] == [1]


def test_words_with_punctuation_and_without_anything_are_taken(tmp_path: Path) -> None:
    index = made(tmp_path, [(1, "User: don't mention C++ or foo_bar", "")])
    assert found(index, "don't") == found(index, "foo_bar") == found(index, "bar!") == [1]
    assert found(index, "", "  ", "+++", "\ud800") == []
    assert found(index) == []
    assert found(index, "y" * 100_000) == []
    assert found(index, '") OR (*:*', "AND", "text:foo") == [1]


def test_long_words_are_found(tmp_path: Path) -> None:
    word = "https" + "x" * 300
    assert found(made(tmp_path, [(1, f"User: see {word}", "")]), word) == [1]


def test_equal_passages_come_by_id_even_where_the_limit_cuts_and_over_several_commits(tmp_path: Path) -> None:
    index = made(tmp_path, [(one, "User: ok", "") for one in range(300, 400)])
    index.add([(one, "User: ok", "") for one in range(500, 600)])
    index.add([(one, "User: ok", "") for one in range(1, 100)])
    assert found(index, "ok", limit=120) == [*range(1, 100), *range(300, 321)]


def test_excluded_passages_make_room_for_the_next_ones(tmp_path: Path) -> None:
    index = made(tmp_path, [(one, f"User: tea {'and more ' * one}", "") for one in range(1, 200)])
    everything = found(index, "tea", limit=500)
    assert len(everything) == 199
    excluded = frozenset(everything[:150]) | {10**9}
    assert found(index, "tea", limit=5, excluded=excluded) == everything[150:155]
    assert found(index, "tea", limit=5, excluded=frozenset(everything)) == []


def test_a_forgotten_passage_is_not_found_and_no_longer_counted(tmp_path: Path) -> None:
    index = made(tmp_path)
    index.forget([9, 77])
    index.forget([])
    assert found(index, "tea") == [1, 4]
    assert index.size == 3
    assert found(TantivyIndex(tmp_path), "tea") == [1, 4]


def test_no_more_than_the_limit_is_found(tmp_path: Path) -> None:
    index = made(tmp_path)
    assert [len(found(index, "tea", limit=limit)) for limit in (-1, 0, 1, 3, 1000)] == [0, 0, 1, 3, 3]


def test_an_empty_index_finds_nothing_and_holds_nothing(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path)
    assert (found(index, "tea"), index.size, index.newest) == ([], 0, 0)


def test_the_newest_id_is_known_after_opening_again(tmp_path: Path) -> None:
    made(tmp_path).forget([12])
    assert TantivyIndex(tmp_path).newest == 9


def test_what_another_opener_commits_is_found_after_a_refresh(tmp_path: Path) -> None:
    reader = made(tmp_path)
    TantivyIndex(tmp_path).add([(30, "User: more tea", "")])
    assert found(reader, "tea") == [9, 1, 4]
    reader.refresh()
    assert 30 in found(reader, "tea")


def test_a_writer_that_does_not_commit_leaves_nothing(tmp_path: Path) -> None:
    index = made(tmp_path)
    writer = index.writer()
    writer.add([(50, "User: tea", "")])
    with pytest.raises(OSError, match="cannot write"):
        index.add([(51, "User: tea", "")])
    del writer
    index.add([(52, "User: tea", "")])
    assert set(found(TantivyIndex(tmp_path), "tea")) == {1, 4, 9, 52}


def test_damaged_files_are_said_to_be_damaged(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(IndexDamaged):
        TantivyIndex(tmp_path)


def test_files_that_are_taken_away_are_noticed_at_the_next_refresh(tmp_path: Path) -> None:
    index = made(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(IndexDamaged):
        index.refresh()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_what_was_committed_outlives_a_kill_and_what_was_not_is_not_there(tmp_path: Path) -> None:
    made(tmp_path)
    child = os.fork()
    if not child:
        index = TantivyIndex(tmp_path)
        index.add([(30, "User: more tea", "")])
        index.writer().add([(31, "User: lost tea", "")] * 1000)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    index = TantivyIndex(tmp_path)
    assert (index.newest, index.size) == (30, 5)
    index.add([(31, "User: new tea", "")])
    assert set(found(index, "tea")) == {1, 4, 9, 30, 31}


COMMON_LINES = """
    walk walks walked walking run running runs cat cats city cities happy happily happiness connect connected connection
    connections connecting relate relates related relational hope hoping hoped hopes argue argued argues arguing
    marathon marathons paint painting paintings painted planned planning plan plans study studies studied studying
    child children book books booked travel travels travelling traveled nation national nations decide decided decides
    friend friends move moved moving move movies movie restaurant restaurants allergy allergies party parties
"""


def test_words_are_alike_here_as_they_are_in_the_store(tmp_path: Path) -> None:
    """For every word: which of the others are found by it, in both."""
    words = list(dict.fromkeys(COMMON_LINES.split()))
    index = made(tmp_path, [(number, word, "") for number, word in enumerate(words, 1)])
    agreeing: Counter[bool] = Counter()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
        connection.executemany("INSERT INTO texts (text) VALUES (?)", [(word,) for word in words])
        for word in words:
            rows = connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (f'"{word}"',))
            agreeing[{row[0] for row in rows} == set(found(index, word, limit=100))] += 1
    assert agreeing.total() > 60
    assert agreeing[True] / agreeing.total() > 0.9
