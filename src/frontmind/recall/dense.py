"""Searching vectors: what every index of vectors can do, and the one that compares with all of them.

An index knows passages by their ids only. It does not know texts, owners or where vectors are kept; whoever fills it
gives it the vectors of one scope, so that nothing of another owner can be ranked. Loads numpy only when an index is
made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from frontmind.recall.embedding import Vectors

    Ids: TypeAlias = npt.NDArray[np.int64]

Scored: TypeAlias = list[tuple[int, float]]
"""Ids and scores, best first, ties by id."""

EXACT_ROWS: Final = 20_000
"""Up to how many rows all vectors are compared, and how many may come to an index on disk before it is built anew.

Measured with 384 dimensions on one core, median of a scan: 0.6 ms at 10,000 rows, 1.1 ms at 20,000, 3 to 5 ms at
50,000, 11 ms at 100,000. With faiss it is 3, 4 and 4 to 6 ms from 20,000 to 100,000, the comparison with the stored
vectors included, so that the scan is as fast up to 50,000. The limit is lower because its rows are all read at the
start and stand in memory, 31 MB at 20,000. They are kept as float32: a scan of float16 rows, which numpy must widen
first, takes six times as long.
"""

_SCORE_DECIMALS: Final = 6
"""Equal vectors must tie, and a matrix product gives them sums that differ in the last bit from place to place."""

_SMALLEST_CAPACITY: Final = 256


class DenseIndex(Protocol):
    """Finds the vectors that point in nearly the same direction as another one."""

    @property
    def size(self) -> int:
        """How many passages it holds."""
        ...

    def search(self, vector: Vectors, limit: int, excluded: Collection[int] = frozenset()) -> Scored:
        """The passages with the largest cosines, best first, ties by id.

        Args:
            vector: the query, of shape (dimensions,) and of any length but zero.
            excluded: ids that are left out before anything is counted.
        """
        ...

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Hold further passages; what it holds already stays as it is.

        Args:
            ids: of shape (n,), each once.
            vectors: of shape (n, dimensions).
        """
        ...

    def forget(self, ids: Collection[int]) -> None:
        """No longer find these; ids that it does not hold say nothing."""
        ...


class ExactIndex:
    """Compares the query with every vector, in memory.

    One thread may add while others search: a search sees the rows that were there when it began.
    """

    def __init__(self, dimensions: int) -> None:
        import numpy as np  # noqa: PLC0415 - optional dependency

        self.dimensions: Final = dimensions
        self._rows: Vectors = np.empty((0, dimensions), np.float32)
        self._ids: Ids = np.empty(0, np.int64)
        self._filled = 0
        self._places: dict[int, int] = {}
        self._gone: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        return len(self._places)

    def search(self, vector: Vectors, limit: int, excluded: Collection[int] = frozenset()) -> Scored:
        import numpy as np  # noqa: PLC0415 - optional dependency

        filled, rows, ids = self._filled, self._rows, self._ids
        if limit < 1 or not filled:
            return []
        scores = np.round(rows[:filled] @ directions(vector.reshape(1, -1))[0], _SCORE_DECIMALS)
        hidden = self._gone.union(place for one in excluded if (place := self._places.get(one)) is not None)
        scores[[place for place in hidden if place < filled]] = -np.inf
        return best(ids[:filled], scores, limit)

    def add(self, ids: Ids, vectors: Vectors) -> None:
        fresh = [place for place, one in enumerate(ids.tolist()) if one not in self._places]
        if not fresh:
            return
        end = self._filled + len(fresh)
        if end > len(self._ids):
            self._grow(max(end, 2 * len(self._ids), _SMALLEST_CAPACITY))
        self._rows[self._filled : end] = directions(vectors[fresh])
        self._ids[self._filled : end] = ids[fresh]
        self._places.update(zip(ids[fresh].tolist(), range(self._filled, end), strict=True))
        self._filled = end

    def forget(self, ids: Collection[int]) -> None:
        self._gone |= {place for one in ids if (place := self._places.pop(one, None)) is not None}

    def _grow(self, capacity: int) -> None:
        import numpy as np  # noqa: PLC0415 - optional dependency

        rows = np.empty((capacity, self.dimensions), np.float32)
        held = np.empty(capacity, np.int64)
        rows[: self._filled], held[: self._filled] = self._rows[: self._filled], self._ids[: self._filled]
        self._rows, self._ids = rows, held


def directions(vectors: Vectors) -> Vectors:
    """The rows with length 1. A row without a direction (zeros, or not finite) becomes zeros: it is like nothing."""
    import numpy as np  # noqa: PLC0415 - optional dependency

    wide = vectors.astype(np.float32)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 0)
    rows: Vectors = np.divide(wide, lengths, out=np.zeros_like(wide), where=usable)
    return rows


def from_float16(blobs: Sequence[bytes], dimensions: int) -> Vectors:
    """Stored vectors (little-endian float16) as an array of shape (n, dimensions)."""
    import numpy as np  # noqa: PLC0415 - optional dependency

    return np.frombuffer(b"".join(blobs), "<f2").reshape(-1, dimensions).astype(np.float32)


def best(ids: Ids, scores: npt.NDArray[np.float32], limit: int) -> Scored:
    """The ``limit`` ids with the largest scores, ties by id; an id with a score of minus infinity is none of them."""
    import numpy as np  # noqa: PLC0415 - optional dependency

    kept = np.flatnonzero(scores > -np.inf)
    if len(kept) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = np.flatnonzero(scores >= least)
    order = kept[np.lexsort((ids[kept], -scores[kept]))][:limit]
    return [
        (one, round(score, _SCORE_DECIMALS))
        for one, score in zip(ids[order].tolist(), scores[order].tolist(), strict=True)
    ]


def settled(
    find: Callable[[int], Scored], limit: int, excluded: Collection[int], decimals: int = _SCORE_DECIMALS
) -> Scored:
    """The best ``limit`` of an engine that orders ties as it likes and knows nothing of the excluded.

    Args:
        find: gives that many results, best first; fewer only when there are no more.
        decimals: what an equal score is.
    """
    wanted = limit + min(len(excluded), limit) + 16
    while True:
        found = [(one, round(score, decimals)) for one, score in find(wanted)]
        kept = [hit for hit in found if hit[0] not in excluded]
        # As long as the last one ties with the last that is wanted, one with a smaller id may not have been seen.
        if len(found) < wanted or (len(kept) >= limit and found[-1][1] < kept[limit - 1][1]):
            return sorted(kept, key=lambda hit: (-hit[1], hit[0]))[:limit]
        wanted *= 4
