"""``frontmind bench recall`` on a data set of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from support import Run

TALK = [
    ("Ada", "I have planted three apple trees behind the house."),
    ("Bob", "My boat needs a new sail before the summer."),
    ("Ada", "The old piano has been tuned at last."),
    ("Bob", "We are going to paint the kitchen yellow."),
    ("Ada", "My cousin Tim has moved to Oslo for his work."),
    ("Bob", "The dentist found nothing, luckily."),
]
ASKED = [
    ("Which trees did Ada plant?", 0, "garden"),
    ("Who tuned the piano?", 2, "house"),
    ("Where is Tim?", 4, "house"),
]


def lines(path: Path, rows: Sequence[object]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def data_set(folder: Path) -> tuple[str, ...]:
    corpus = [
        {
            "id": f"i{number}",
            "conversation": "c",
            "time": f"2026-11-{number + 1:02}T09:00:00Z",
            "speaker": who,
            "text": text,
        }
        for number, (who, text) in enumerate(TALK)
    ]
    queries = [
        {"id": text, "conversation": "c", "time": None, "text": text, "relevant": [f"i{number}"], "category": category}
        for text, number, category in ASKED
    ]
    return "--corpus", lines(folder / "corpus.jsonl", corpus), "--queries", lines(folder / "queries.jsonl", queries)


def test_a_data_set_of_ones_own_is_measured_for_each_category(frontmind: Run, tmp_path: Path) -> None:
    done = frontmind("bench", "recall", *data_set(tmp_path), "--sizes", "1,2", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    # Without an embedder there is no half by meaning.
    assert [(one["unit"], one["retriever"]) for one in results] == [
        (unit, retriever) for unit in (1, 2) for retriever in ("plain stemmed BM25", "lexical alone", "product")
    ]
    for one in results:
        assert {name: scores["questions"] for name, scores in one["categories"].items()} == {
            "garden": 1,
            "house": 2,
            "overall": 3,
        }
    product = results[2]["categories"]["overall"]
    assert (product["any@5"], product["recall@10"], product["MRR"]) == (1, 1, 1)


def test_the_table_names_every_metric(frontmind: Run, tmp_path: Path) -> None:
    done = frontmind("bench", "recall", *data_set(tmp_path))
    assert "| questions | | retriever | any@5 | any@10 | recall@5 | recall@10 | MRR | ms |" in done.stdout
    assert "chunks of 3 items" in done.stdout


def test_a_file_that_cannot_be_used_is_named_with_its_line(frontmind: Run, tmp_path: Path) -> None:
    arguments = data_set(tmp_path)
    Path(arguments[1]).write_text("{}\n", encoding="utf-8")
    done = frontmind("bench", "recall", *arguments)
    assert done.returncode == 2
    assert "line 1 of" in done.stderr
    assert "Traceback" not in done.stderr


def test_sizes_that_are_none_are_refused(frontmind: Run, tmp_path: Path) -> None:
    for sizes in ("", "0", "a", "1,,2", "99"):
        done = frontmind("bench", "recall", *data_set(tmp_path), "--sizes", sizes)
        assert (done.returncode, "sizes" in done.stderr) == (2, True)
