"""Texts as vectors: what every embedder gives, whatever computes it.

Vectors of one embedder can be compared with each other and with no other's: its name stands for their space. This
module knows no model, and loads numpy only when a vector is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    Vectors: TypeAlias = npt.NDArray[np.float32]
    """One text a row: shape (texts, dimensions). For type checking only, as numpy is."""


class Embedder(Protocol):
    """Makes vectors of texts, such that texts of like meaning get vectors with a small angle between them."""

    @property
    def name(self) -> str:
        """What its vectors are comparable with: the same in every process, and another when they would be others."""

    @property
    def dimensions(self) -> int:
        """The length of each vector."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """The vectors of these texts, in their order.

        Takes any string, an empty one too, and of a text that is too long its beginning. A text's vector does not
        depend on the texts beside it, apart from the last digits. May be called again before it has returned.

        Args:
            query: the texts are what somebody searches for, not what is to be found; some models tell them apart,
                and somebody waits for the answer.

        Returns:
            float32, shape (len(texts), dimensions), rows of unit length.

        Raises:
            EmbedderUnavailable: nothing can be embedded until something is changed, or it was closed.
            ModelError: it failed this time; ``retryable`` says whether asking again may help.
        """

    async def close(self) -> None:
        """Let go of threads and connections; once is enough, twice does no harm."""


def unit_rows(rows: npt.NDArray[np.floating]) -> Vectors:
    """The rows, each divided by its length.

    Raises:
        ValueError: a row has no direction: it is all zeros, or holds what is not a finite number.
    """
    import numpy as np  # noqa: PLC0415 - optional dependency

    # In double precision: squares of large single ones overflow, those of small ones vanish.
    exact = rows.astype(np.float64)
    with np.errstate(over="ignore"):
        # A length beyond all numbers is refused below; numpy would print a warning with a path as well.
        lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ValueError("a vector holds what is not a finite number")
    if not lengths.all():
        raise ValueError("a vector is all zeros")
    vectors: Vectors = (exact / lengths).astype(np.float32)
    return vectors
