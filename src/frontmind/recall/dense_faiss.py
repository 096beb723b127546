"""Searching many vectors with faiss: only the lists near the query are compared, in a file that is mapped into memory.

The file is made once from all rows that there are (`FaissBuilder`) and never changed. `FaissIndex` holds what came
later in an `ExactIndex` beside it and notes what was forgotten in a small file of its own. The results are nearly those
of an exact search; how nearly stands at `probes_for`. Does not know where its folder stands or when to build anew.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from frontmind.recall.dense import ExactIndex, Scored, directions, settled
from frontmind.recall.index_files import IndexDamaged

if TYPE_CHECKING:
    from frontmind.recall.dense import Ids
    from frontmind.recall.embedding import Vectors

FORMAT: Final = "faiss-ivf-sq8/1"
VECTORS_FILE: Final = "vectors.faiss"
IDS_FILE: Final = "ids.npy"

PROBED_LISTS: Final = 128
PROBED_OF_MANY: Final = 96
_MANY_LISTS: Final = 1024
SAMPLE_PER_LIST: Final = 20
"""On how many rows for each list the index is trained; with 40 it found no more."""

_FORGOTTEN_FILE: Final = "forgotten.json"
_RANGE_MARGIN: Final = 0.25
"""How far components may lie outside of the sample's range, as a share of it: then no cosine is off by more than .004,
of which without it .014 were seen.
"""

_SEED: Final = 1234
_ROUNDS: Final = 8


def available() -> bool:
    """Whether faiss is installed."""
    return importlib.util.find_spec("faiss") is not None


def lists_for(rows: int) -> int:
    """Into how many lists so many rows are sorted: a power of two, from the square root of their number upwards."""
    return 1 << max(4, int(rows**0.5).bit_length())


def probes_for(lists: int) -> int:
    """How many lists a search compares its query with.

    Measured with 384 dimensions, made-up vectors spread as those of real conversations: of the ten nearest, 97 of 100
    are found among a million with 96 of 1,024 lists, 97 among 100,000 with 96 of 512 and 98 with 128, 99 among 50,000
    with 96 of 256. With mixtures of real vectors it is 98 of a million and 99 of 100,000.
    """
    return PROBED_OF_MANY if lists >= _MANY_LISTS else PROBED_LISTS


class FaissBuilder:
    """Makes the file of an index: first trained on a sample, then given all rows, then written.

    The same sample and rows in the same order give the same file: one thread, a fixed seed.
    """

    def __init__(self, rows: int, sample: Vectors) -> None:
        """
        Args:
            rows: how many there will be, more or less.
            sample: of shape (n, dimensions), from all of them evenly; `sample_size` says how many are enough.
        """
        faiss = _faiss()
        self.dimensions: Final = int(sample.shape[1])
        self._ids: list[Ids] = []
        lists = min(lists_for(rows), len(sample))
        self._index = faiss.index_factory(self.dimensions, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
        # Components as they are: what stands far from every list's centre is then not cut off.
        self._index.by_residual = False
        self._index.sq.rangestat_arg = _RANGE_MARGIN
        self._index.cp.seed = _SEED
        self._index.cp.niter = _ROUNDS
        self._index.cp.min_points_per_centroid = 1
        self._index.train(directions(sample))

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Take further rows, of shapes (n,) and (n, dimensions), with growing ids."""
        if len(ids):
            _faiss()
            self._index.add_with_ids(directions(vectors), ids)
            self._ids.append(ids)

    def write(self, folder: Path) -> int:
        """Write `VECTORS_FILE` and `IDS_FILE` into this folder.

        Returns:
            The largest id.

        Raises:
            OSError: they cannot be written.
        """
        import numpy as np  # noqa: PLC0415 - optional dependency

        ids = np.concatenate([*self._ids, np.empty(0, np.int64)])
        np.save(folder / IDS_FILE, ids)
        try:
            _faiss().write_index(self._index, str(folder / VECTORS_FILE))
        except RuntimeError as error:
            raise OSError(f"faiss cannot write into {folder}: {error}") from error
        return int(ids.max(initial=0))


def sample_size(rows: int) -> int:
    """On how many vectors an index of so many rows is trained."""
    return min(rows, lists_for(rows) * SAMPLE_PER_LIST)


class FaissIndex:
    """An index that stands in a folder, with the rows that were added since it was made in memory.

    Opening it reads the centres of its lists; the rows are read where a search touches them.
    """

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            IndexDamaged: no index stands there.
        """
        import numpy as np  # noqa: PLC0415 - optional dependency

        faiss = _faiss()
        try:
            self._index: Any = faiss.read_index(
                str(folder / VECTORS_FILE), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY
            )
            self._ids: Ids = np.load(folder / IDS_FILE, mmap_mode="r")
        except (RuntimeError, OSError, ValueError) as error:
            raise IndexDamaged(f"{folder} has no vectors that faiss can read") from error
        if len(self._ids) != self._index.ntotal:
            raise IndexDamaged(f"{folder} has not as many ids as vectors")
        self._notes: Final = folder / _FORGOTTEN_FILE
        self._forgotten = _read_ids(self._notes)
        self.tail: Final = ExactIndex(int(self._index.d))

    @property
    def size(self) -> int:
        return int(self._index.ntotal) - len(self._forgotten) + self.tail.size

    @property
    def forgotten(self) -> int:
        """How many rows of the file are no longer found."""
        return len(self._forgotten)

    def search(self, vector: Vectors, limit: int, excluded: Collection[int] = frozenset()) -> Scored:
        import numpy as np  # noqa: PLC0415 - optional dependency

        if limit < 1:
            return []
        faiss = _faiss()
        query = directions(vector.reshape(1, -1))
        hidden = self._forgotten.union(excluded)
        # The selector refers to the one inside of it, and the parameters to the selector, without keeping them.
        inner = faiss.IDSelectorBatch(np.fromiter(hidden, np.int64, len(hidden))) if hidden else None
        selector = faiss.IDSelectorNot(inner) if hidden else None
        settings = faiss.SearchParametersIVF(nprobe=probes_for(int(self._index.nlist)), sel=selector)

        def nearest(count: int) -> Scored:
            scores, ids = self._index.search(query, min(count, max(1, int(self._index.ntotal))), params=settings)
            return [hit for hit in zip(ids[0].tolist(), scores[0].tolist(), strict=True) if hit[0] >= 0]

        found = settled(nearest, limit, frozenset()) + self.tail.search(vector, limit, excluded)
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def add(self, ids: Ids, vectors: Vectors) -> None:
        self.tail.add(ids, vectors)

    def forget(self, ids: Collection[int]) -> None:
        """As every index; what its file holds is noted beside it.

        Raises:
            OSError: the note cannot be written; until the next start they are not found all the same.
        """
        self.tail.forget(ids)
        fresh = {one for one in set(ids) - self._forgotten if self._holds(one)}
        if fresh:
            self._forgotten |= fresh
            draft = self._notes.with_suffix(".draft")
            draft.write_text(json.dumps(sorted(self._forgotten)), encoding="ascii")
            draft.replace(self._notes)

    def _holds(self, one: int) -> bool:
        place = int(self._ids.searchsorted(one))
        return place < len(self._ids) and int(self._ids[place]) == one


def _read_ids(path: Path) -> frozenset[int]:
    # It says only what need not be found: without it, those who look up what was found see that it is gone.
    try:
        return frozenset(map(int, json.loads(path.read_text(encoding="ascii"))))
    except (OSError, ValueError, TypeError):
        return frozenset()


def _faiss() -> ModuleType:
    """faiss, set to one thread: the setting belongs to the thread that asks for it."""
    import faiss  # noqa: PLC0415 - optional dependency

    faiss.omp_set_num_threads(1)
    return faiss
