"""Searching many texts by their words with tantivy.

An index stands in a folder; tantivy itself writes so that after a kill it is as it was at its last commit. Words are
compared by their English stems, without case and accents. The stemmer is Snowball's English one, FTS5 has Porter's
first one: of the 5,616 words that LoCoMo has at least twice, 96 of 100 get the same stem; where they differ, "us" is
no longer "use", nor "evening" "even". Scores are BM25 of each field by itself, added up: for ranking, not to be
compared with FTS5's. Does not know what a query means, whose texts these are, or where its folder stands.
"""

from __future__ import annotations

import importlib.util
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from frontmind.recall.dense import Scored, settled
from frontmind.recall.index_files import IndexDamaged

if TYPE_CHECKING:
    import tantivy

FORMAT: Final = "tantivy/1"

Row: TypeAlias = tuple[int, str, str]
"""A passage's id, text and context."""

FTS5_ROWS: Final = 20_000
"""Up to how many passages the store's own index serves.

Measured on one busy core, median of the processor's time for any of eight words: FTS5 takes 1.8 ms at 5,000 passages,
3 at 10,000, 4.4 at 20,000, 10 at 50,000, 20 at 100,000 and 172 at a million; tantivy 0.3 to 0.5 up to 100,000 and 2.2
at a million. Below the limit it is not worth an index that takes 2 to 50 ms for each commit.
"""

_WORDS: Final = "words"
_SCORE_DECIMALS: Final = 4
"""A score is a sum of float32, whose order is not always the same."""

_SMALL_HEAP: Final = 15_000_000
LARGE_HEAP: Final = 100_000_000


def available() -> bool:
    """Whether tantivy is installed."""
    return importlib.util.find_spec("tantivy") is not None


class TantivyIndex:
    """An index in a folder. Opening it reads little more than the names of its files."""

    def __init__(self, folder: Path) -> None:
        """Open the index, or make an empty one where there is none.

        Raises:
            IndexDamaged: what stands there is no index that this tantivy can read.
        """
        import tantivy  # noqa: PLC0415 - optional dependency

        self._analyzer: Final = _analyzer()
        self._schema: Final = _schema()
        try:
            self._index: Final = tantivy.Index(self._schema, str(folder))
            self._index.register_tokenizer(_WORDS, self._analyzer)
            self._index.config_reader("manual")
            self._searcher = self._index.searcher()
        except (ValueError, OSError) as error:
            raise IndexDamaged(f"{folder} has no index that tantivy can read") from error

    @property
    def size(self) -> int:
        """How many passages it holds."""
        return self._searcher.num_docs

    @property
    def newest(self) -> int:
        """The largest id that it holds; 0 when there is none. Whoever adds by growing ids knows what is missing."""
        import tantivy  # noqa: PLC0415 - optional dependency

        found = self._searcher.search(tantivy.Query.all_query(), 1, count=False, order_by_field="id")
        return max((int(one) for one, _ in found.hits), default=0)

    def search(
        self,
        words: Sequence[str],
        limit: int,
        excluded: Collection[int] = frozenset(),
        *,
        context_weight: float = 0.5,
    ) -> Scored:
        """The passages that have any of the words, best first, ties by id.

        Args:
            words: plain words; one with punctuation in it counts as several.
            excluded: ids that are left out.
            context_weight: what a word in the context counts beside one in the text.

        Raises:
            IndexDamaged: its files are damaged or were taken away.
        """
        query = self._query(words, context_weight)
        if query is None or limit < 1:
            return []
        searcher = self._searcher

        def find(count: int) -> Scored:
            hits = searcher.search(query, min(count, max(1, searcher.num_docs)), count=False).hits
            ids = searcher.fast_field_values("id", [address for _, address in hits])
            return [(int(one or 0), float(score)) for one, (score, _) in zip(ids, hits, strict=True)]

        try:
            return settled(find, limit, frozenset(excluded), _SCORE_DECIMALS)
        except (ValueError, OSError) as error:
            raise IndexDamaged("an index of words can no longer be read") from error

    def refresh(self) -> None:
        """See what was committed since, by another process too.

        Raises:
            IndexDamaged: its files are damaged or were taken away.
        """
        try:
            self._index.reload()
        except (ValueError, OSError) as error:
            raise IndexDamaged("an index of words can no longer be read") from error
        self._searcher = self._index.searcher()

    def add(self, rows: Iterable[Row]) -> None:
        """Hold further passages, which it must not hold yet. On disk, and found, when this returns.

        Raises:
            OSError: it cannot be written, or another process writes here.
        """
        writer = self.writer(_SMALL_HEAP)
        writer.add(rows)
        writer.commit()
        self.refresh()

    def writer(self, heap: int = LARGE_HEAP) -> TantivyWriter:
        """Begin to add much.

        Args:
            heap: the memory for what is not on disk yet, in bytes.

        Raises:
            OSError: it cannot be written, or another process writes here.
        """
        with _as_os_error():
            return TantivyWriter(self._index.writer(heap, 1))

    def forget(self, ids: Collection[int]) -> None:
        """No longer hold these; ids that it does not hold say nothing.

        Raises:
            OSError: it cannot be written, or another process writes here.
        """
        if not ids:
            return
        with _as_os_error():
            writer = self._index.writer(_SMALL_HEAP, 1)
            for one in sorted(ids):
                writer.delete_documents_by_term("id", one)
            writer.commit()
            writer.wait_merging_threads()
        self.refresh()

    def _query(self, words: Sequence[str], context_weight: float) -> tantivy.Query | None:
        import tantivy  # noqa: PLC0415 - optional dependency

        stems = dict.fromkeys(stem for word in words for stem in self._analyzer.analyze(_composed(word)))
        if not stems:
            return None

        def term(field: str, stem: str) -> tantivy.Query:
            return tantivy.Query.term_query(self._schema, field, stem, index_option="freq")

        queries = [term("text", stem) for stem in stems]
        if context_weight > 0:
            queries += [tantivy.Query.boost_query(term("context", stem), context_weight) for stem in stems]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


class TantivyWriter:
    """Adds passages that are held, and found after a `TantivyIndex.refresh`, all at once, or not at all.

    Each method may be called on another thread than the one before.
    """

    def __init__(self, writer: tantivy.IndexWriter) -> None:
        self._writer = writer

    def add(self, rows: Iterable[Row]) -> None:
        """Take further passages.

        Raises:
            OSError: they cannot be written.
        """
        import tantivy  # noqa: PLC0415 - optional dependency

        for one, text, context in rows:
            document = tantivy.Document(id=one, text=_composed(text), context=_composed(context))
            with _as_os_error():
                self._writer.add_document(document)

    def commit(self) -> None:
        """Hold what was taken, on disk. Nothing can be added after that.

        Raises:
            OSError: it cannot be written; nothing is held.
        """
        with _as_os_error():
            self._writer.commit()
            self._writer.wait_merging_threads()


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise OSError(f"tantivy cannot write: {error}") from error


def _schema() -> tantivy.Schema:
    import tantivy  # noqa: PLC0415 - optional dependency

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    for field in ("text", "context"):
        builder.add_text_field(field, tokenizer_name=_WORDS, index_option="freq")
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    import tantivy  # noqa: PLC0415 - optional dependency

    steps = (tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold(), tantivy.Filter.stemmer("english"))
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in steps:
        builder = builder.filter(step)
    return builder.build()


def _composed(text: str) -> str:
    # A combining mark would end the word; a lone surrogate cannot be handed over.
    return unicodedata.normalize("NFC", text).encode(errors="replace").decode()
