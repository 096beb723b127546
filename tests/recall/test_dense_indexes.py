"""What every index of vectors promises, and what the one on disk does beyond that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from frontmind.recall.dense import DenseIndex, ExactIndex, from_float16
from frontmind.recall.dense_faiss import VECTORS_FILE, FaissBuilder, FaissIndex, lists_for, sample_size
from frontmind.recall.index_files import IndexDamaged

Vectors: TypeAlias = npt.NDArray[np.float32]
Make: TypeAlias = Callable[[npt.NDArray[np.int64], Vectors], DenseIndex]
DIMENSIONS = 24


def vectors_of(count: int, *, seed: int = 0, dimensions: int = DIMENSIONS) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def ids_of(count: int, *, first: int = 1, step: int = 3) -> npt.NDArray[np.int64]:
    return np.arange(count, dtype=np.int64) * step + first


def exact(ids: npt.NDArray[np.int64], vectors: Vectors) -> ExactIndex:
    index = ExactIndex(vectors.shape[1])
    index.add(ids, vectors)
    return index


def built(folder: Path, ids: npt.NDArray[np.int64], vectors: Vectors) -> FaissIndex:
    folder.mkdir(parents=True, exist_ok=True)
    builder = FaissBuilder(len(vectors), vectors[: sample_size(len(vectors))])
    half = len(ids) // 2
    builder.add(ids[:half], vectors[:half])
    builder.add(ids[half:], vectors[half:])
    assert builder.write(folder) == int(ids.max())
    return FaissIndex(folder)


@pytest.fixture(params=["exact", "file", "file and tail"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    def half_and_half(ids: npt.NDArray[np.int64], vectors: Vectors) -> DenseIndex:
        half = max(1, len(ids) // 2)
        index = built(tmp_path, ids[:half], vectors[:half])
        index.add(ids[half:], vectors[half:])
        return index

    makers: dict[str, Make] = {
        "exact": exact,
        "file": lambda ids, vectors: built(tmp_path, ids, vectors),
        "file and tail": half_and_half,
    }
    return makers[request.param]


def test_the_nearest_come_first_with_their_cosines(make: Make) -> None:
    ids, vectors = ids_of(300), vectors_of(300)
    query = vectors_of(1, seed=9)[0]
    found = make(ids, vectors).search(query, 10)
    cosines = vectors @ query
    expected = sorted(zip(ids.tolist(), cosines.tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))[:10]
    assert [one for one, _ in found][:3] == [one for one, _ in expected][:3]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=0.02)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_the_length_of_a_query_or_a_row_changes_nothing(make: Make) -> None:
    ids, vectors = ids_of(100), vectors_of(100)
    query = vectors_of(1, seed=9)[0]
    index = make(ids, vectors * np.linspace(0.5, 90, 100, dtype=np.float32)[:, None])
    assert index.search(query, 5) == index.search(query * np.float32(40), 5)
    assert index.search(query, 5)[0][1] == pytest.approx(float((vectors @ query).max()), abs=0.02)


def test_equal_vectors_come_by_id_even_where_the_limit_cuts(make: Make) -> None:
    same = np.repeat(vectors_of(1), 200, axis=0)
    ids = ids_of(200)
    found = make(ids, same).search(same[0], 50)
    assert [one for one, _ in found] == sorted(one for one, _ in found)
    # Rows in the file are rounded, so those of the tail may come in front of them.
    assert len({score for _, score in found}) == 1 or found[0][1] - found[-1][1] < 0.01


def test_excluded_passages_make_room_for_the_next_ones(make: Make) -> None:
    ids, vectors = ids_of(300), vectors_of(300)
    query = vectors_of(1, seed=9)[0]
    index = make(ids, vectors)
    everything = [one for one, _ in index.search(query, 300)]
    assert len(everything) == 300
    excluded = frozenset(everything[:250:2]) | {10**9}
    found = [one for one, _ in index.search(query, 20, excluded)]
    assert found == [one for one in everything if one not in excluded][:20]


def test_a_forgotten_passage_is_not_found_and_no_longer_counted(make: Make) -> None:
    ids, vectors = ids_of(300), vectors_of(300)
    index = make(ids, vectors)
    gone = [int(ids[0]), int(ids[299])]
    index.forget([*gone, 10**9, 2])
    assert index.size == 298
    assert {one for one, _ in index.search(vectors[0], 300)} == set(ids.tolist()) - set(gone)


def test_what_is_added_is_found_and_what_is_there_stays(make: Make) -> None:
    ids, vectors = ids_of(300), vectors_of(301)
    index = make(ids, vectors[:300])
    index.add(np.array([5000], np.int64), vectors[300:])
    index.add(np.array([5000], np.int64), -vectors[300:])
    assert index.size == 301
    ((found, cosine),) = index.search(vectors[300], 1)
    assert (found, round(cosine, 3)) == (5000, 1)


def test_rows_without_a_direction_are_like_nothing(make: Make) -> None:
    ids, vectors = ids_of(50), vectors_of(50)
    vectors[3], vectors[45, 2], vectors[46] = 0, np.nan, np.inf
    scores = dict(make(ids, vectors).search(vectors[0], 50))
    assert [scores[int(ids[place])] for place in (3, 45, 46)] == pytest.approx([0, 0, 0], abs=0.01)
    assert scores[int(ids[0])] == pytest.approx(1, abs=0.01)


def test_no_more_than_the_limit_is_found_and_nothing_for_none(make: Make) -> None:
    index = make(ids_of(40), vectors_of(40))
    query = vectors_of(1, seed=9)[0]
    assert [len(index.search(query, limit)) for limit in (0, -1, 1, 7, 1000)] == [0, 0, 1, 7, 40]


def test_a_query_without_a_direction_finds_nothing_that_is_alike(make: Make) -> None:
    found = make(ids_of(40), vectors_of(40)).search(np.zeros(DIMENSIONS, np.float32), 5)
    assert {score for _, score in found} == {0}


def test_an_empty_index_finds_nothing() -> None:
    assert ExactIndex(DIMENSIONS).search(vectors_of(1)[0], 5) == []


def test_stored_half_precision_keeps_the_cosines() -> None:
    vectors = vectors_of(20)
    read = from_float16([row.astype("<f2").tobytes() for row in vectors], DIMENSIONS)
    assert read.shape == (20, DIMENSIONS)
    assert np.abs((read * vectors).sum(axis=1) - 1).max() < 0.001
    assert from_float16([], DIMENSIONS).shape == (0, DIMENSIONS)


def clustered(count: int, seed: int, dimensions: int = 64) -> Vectors:
    """Vectors about some subjects, of which some are spoken of more often, with few strong directions."""
    strength = np.arange(1, dimensions + 1, dtype=np.float32) ** -0.5
    subjects = np.random.default_rng(1).standard_normal((200, dimensions)).astype(np.float32)
    source = np.random.default_rng(seed)
    own = source.standard_normal((count, dimensions)).astype(np.float32)
    chosen = subjects[np.minimum(source.geometric(0.02, count), 200) - 1]
    rows: Vectors = (0.7 * chosen + own) * strength
    return rows


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FaissIndex, ExactIndex]:
    folder = tmp_path_factory.mktemp("large")
    ids, vectors = ids_of(30_000, step=1), clustered(30_000, 2)
    return folder, built(folder, ids, vectors), exact(ids, vectors)


def test_nearly_all_of_the_ten_nearest_are_among_the_first_that_the_file_gives(
    large: tuple[Path, FaissIndex, ExactIndex],
) -> None:
    _, index, truth = large
    same = sum(
        len({one for one, _ in index.search(query, 26)} & {one for one, _ in truth.search(query, 10)})
        for query in clustered(100, 3)
    )
    assert same / 1000 > 0.98


def test_the_same_rows_make_the_same_file(large: tuple[Path, FaissIndex, ExactIndex], tmp_path: Path) -> None:
    folder, *_ = large
    built(tmp_path, ids_of(30_000, step=1), clustered(30_000, 2))
    assert (tmp_path / VECTORS_FILE).read_bytes() == (folder / VECTORS_FILE).read_bytes()


def test_an_opened_file_finds_the_same_again(large: tuple[Path, FaissIndex, ExactIndex]) -> None:
    folder, index, _ = large
    query = clustered(1, 4)[0]
    assert FaissIndex(folder).search(query, 50) == index.search(query, 50)


def test_what_is_forgotten_stays_so_after_opening_again(tmp_path: Path) -> None:
    ids, vectors = ids_of(300), vectors_of(300)
    index = built(tmp_path, ids, vectors)
    index.forget([1])
    index.forget([4, 5])
    again = FaissIndex(tmp_path)
    assert (again.size, again.forgotten) == (298, 2)
    assert not {1, 4} & {one for one, _ in again.search(vectors[0], 300)}


def test_a_torn_note_of_what_is_forgotten_does_not_keep_the_index_from_opening(tmp_path: Path) -> None:
    index = built(tmp_path, ids_of(300), vectors_of(300))
    index.forget([1])
    (tmp_path / "forgotten.json").write_text("[1, 4")
    assert FaissIndex(tmp_path).size == 300


@pytest.mark.parametrize("damage", ["gone", "torn", "foreign", "without ids", "fewer ids"])
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, damage: str) -> None:
    built(tmp_path, ids_of(300), vectors_of(300))
    vectors, ids = tmp_path / VECTORS_FILE, tmp_path / "ids.npy"
    match damage:
        case "gone":
            vectors.unlink()
        case "torn":
            vectors.write_bytes(vectors.read_bytes()[:100])
        case "foreign":
            vectors.write_text("something else")
        case "without ids":
            ids.unlink()
        case _:
            np.save(ids, ids_of(3))
    with pytest.raises(IndexDamaged):
        FaissIndex(tmp_path)


def test_there_are_more_lists_for_more_rows_and_a_sample_is_never_larger_than_all() -> None:
    assert [lists_for(rows) for rows in (1, 20_000, 100_000, 1_000_000)] == [16, 256, 512, 1024]
    assert sample_size(100) == 100
    assert sample_size(1_000_000) == 20_480
