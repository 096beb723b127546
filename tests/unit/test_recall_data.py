"""What is measured when recall is: the data, the units, the metrics, and the baseline."""

from __future__ import annotations

import json
import math
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from frontmind.bench.bm25 import PlainBm25, stems
from frontmind.bench.recall_data import Item, read_corpus, read_questions, units
from frontmind.bench.recall_metrics import OVERALL, by_category, outcome, scores
from frontmind.errors import UsageError

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
ROW = {"id": "a", "conversation": "c", "time": "2026-11-30T09:00:00Z", "speaker": "Ada", "text": "hello"}
ASKED = {"id": "q", "conversation": "c", "time": None, "text": "hello?", "relevant": ["a"]}


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def item(number: int, minutes: float) -> Item:
    return Item(str(number), "c", NINE + timedelta(minutes=minutes), "Ada", f"text {number}")


class TestReading:
    def test_items_and_questions_are_read_and_further_fields_are_passed_over(self, tmp_path: Path) -> None:
        items = read_corpus(written(tmp_path / "c", {**ROW, "more": 1}, "", {**ROW, "id": "b"}))
        assert items[0] == Item("a", "c", NINE, "Ada", "hello")
        (question,) = read_questions(written(tmp_path / "q", {**ASKED, "category": "easy"}), items)
        assert (question.relevant, question.category, question.time) == (frozenset("a"), "easy", None)

    def test_a_question_without_relevant_items_is_left_out(self, tmp_path: Path) -> None:
        items = read_corpus(written(tmp_path / "c", ROW))
        (question,) = read_questions(written(tmp_path / "q", {**ASKED, "relevant": []}, ASKED), items)
        assert question.id == "q"
        with pytest.raises(UsageError, match="nothing to measure"):
            read_questions(written(tmp_path / "q", {**ASKED, "relevant": []}), items)

    @pytest.mark.parametrize(
        ("row", "said"),
        [
            ("{", "line 2"),
            ("[]", "line 2"),
            ({**ROW, "time": "2026-11-30T09:00:00"}, "time"),
            ({**ROW, "time": "yesterday"}, "time"),
            ({key: value for key, value in ROW.items() if key != "speaker"}, "speaker"),
            ({**ROW, "text": None}, "text"),
            (ROW, "twice"),
        ],
    )
    def test_a_line_that_cannot_be_used_is_named(self, tmp_path: Path, row: object, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            read_corpus(written(tmp_path / "c", ROW, row))

    def test_a_question_about_what_its_conversation_does_not_have_is_refused(self, tmp_path: Path) -> None:
        items = read_corpus(written(tmp_path / "c", ROW, {**ROW, "id": "b", "conversation": "d"}))
        for wanted in ("b", "unknown"):
            with pytest.raises(UsageError, match="no such item"):
                read_questions(written(tmp_path / "q", {**ASKED, "relevant": [wanted]}), items)

    @pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe"])
    def test_a_file_without_items_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "c").write_bytes(content)
        with pytest.raises(UsageError):
            read_corpus(tmp_path / "c")
        with pytest.raises(UsageError, match="cannot read"):
            read_corpus(tmp_path / "missing")

    def test_what_might_never_end_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
            with pytest.raises(UsageError, match="not a regular file"):
                read_corpus(path)


class TestUnits:
    def test_units_hold_each_item_once_and_end_with_their_session(self) -> None:
        items = [item(number, minutes) for number, minutes in enumerate((0, 1, 2, 3, 70, 71))]
        made = units(items, 3)
        assert [[one.id for one in unit.items] for unit in made] == [["0", "1", "2"], ["3"], ["4", "5"]]
        assert [unit.before and unit.before.id for unit in made] == [None, "2", None]
        assert made[1].context == "Ada: text 2"
        assert made[2].text == "Ada: text 4\nAda: text 5"

    def test_single_items_have_the_one_in_front_as_context(self) -> None:
        made = units([item(0, 0), item(1, 1)], 1)
        assert [(unit.text, unit.context) for unit in made] == [
            ("Ada: text 0", ""),
            ("Ada: text 1", "Ada: text 0"),
        ]


class TestMetrics:
    def test_the_three_metrics_are_what_their_names_say(self) -> None:
        both = outcome([9, 1, 8, 7, 6, 5, 2], frozenset({1, 2}), "x")
        none = outcome([9, 8], frozenset({1}), "y")
        found = scores([both, none])
        assert (found.any_at_5, found.any_at_10) == (0.5, 0.5)
        assert (found.recall_at_5, found.recall_at_10) == (0.25, 0.5)
        assert found.mrr == 0.25

    def test_every_category_has_its_own_figures(self) -> None:
        found = by_category([outcome([1], frozenset({1}), "b"), outcome([], frozenset({1}), "a")])
        assert [*found] == ["a", "b", OVERALL]
        assert [one.any_at_5 for one in found.values()] == [0, 1, 0.5]


class TestPlainBm25:
    def test_words_are_stemmed(self) -> None:
        assert stems(["Running runs", "", "maps"]) == [["run", "run"], [], ["map"]]

    def test_a_rare_word_counts_more_than_a_common_one_and_a_short_text_more_than_a_long_one(self) -> None:
        index = PlainBm25(["map of trees", "map", "map sea"])
        assert index.search(["map"], 9) == [1, 2, 0]
        assert index.search(["map", "tree"], 9) == [0, 1, 2]

    def test_the_score_is_the_one_of_the_formula(self) -> None:
        index = PlainBm25(["map map map", "tree"])
        # idf ln(1 + 1.5/1.5), three occurrences in a text of three words where the mean is two.
        expected = math.log(2) * 3 * 2.5 / (3 + 1.5 * (0.25 + 0.75 * 1.5))
        assert index.scores(["map"]) == {0: pytest.approx(expected)}

    def test_ties_are_in_order_and_unknown_words_find_nothing(self) -> None:
        index = PlainBm25(["map", "map", "tree"])
        assert index.search(["map"], 9) == [0, 1]
        assert index.search(["sea"], 9) == []
