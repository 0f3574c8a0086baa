"""What it costs to verify: passages against their notes, pages against their checksums."""

from __future__ import annotations

from contextlib import closing, contextmanager
from math import inf
from typing import TYPE_CHECKING
from unittest.mock import patch

import apsw

from benchmarks._report import Row
from benchmarks._searching import ANYWHERE, Question
from benchmarks._timing import paired
from memoriter.backends._verified import Verifier
from memoriter.index.store import _connection
from memoriter.search import rank
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from benchmarks._plan import Effort
    from benchmarks._stage import Stage
    from memoriter.index import Index

PASSAGES = 0.6
"""The least share of its speed that a warm search keeps."""
PAGES = 0.95
"""The same with page checksums."""
READS = 7


def verification(stage: Stage, effort: Effort) -> Iterator[Row]:
    """The same searches with and without comparing their passages, and the same rows with and without checksums."""
    with stage.open_index() as index:
        index.choose_engine("auto")
        settings, comparing = stage.settings(index), Verifier(Workspace(stage.notes), lambda: inf)

        def ours(question: Question) -> None:
            reader = comparing.reader(index).as_reader
            rank(reader, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

        def theirs(question: Question) -> None:
            rank(index, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

        mine, other, ratio = paired(ours, theirs, stage.questions[: 2 * effort.peer_questions])
    size = stage.size
    yield Row("verify.search", "warm hybrid search, passages compared", size, mine.p50 * 1000, "ms", mine.p95 * 1000)
    yield Row("verify.plain", "- without comparing", size, other.p50 * 1000, "ms", other.p95 * 1000)
    yield Row("verify.ratio", "- share of its speed", size, ratio, "x", budget=PASSAGES, more=True, ratio=True)
    if (checking := _connection.vfs()) is not None:
        yield from _pages(stage, effort, checking)


def _pages(stage: Stage, effort: Effort, checking: str) -> Iterator[Row]:
    """Searches that read through the layer that verifies pages, and the worst case: reading everything once."""
    with stage.open_index() as verified, _unverified(stage) as plain:
        indexes = verified, plain
        for index in indexes:
            index.choose_engine("auto")
        settings = stage.settings(verified)

        def search(index: Index, question: Question) -> None:
            rank(index, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

        questions = stage.questions[: 2 * effort.peer_questions]
        _, _, ratio = paired(lambda each: search(verified, each), lambda each: search(plain, each), questions)
    title = "warm hybrid search with page checksums, share of the speed without"
    yield Row("verify.pages", title, stage.size, ratio, "x", budget=PAGES, more=True, ratio=True)

    file = str(stage.index_path.resolve())

    def rows(layer: str | None) -> None:
        with closing(apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY, vfs=layer)) as connection:
            for _ in connection.execute("SELECT vector FROM embedding_cache"):
                pass
            for _ in connection.execute("SELECT text FROM chunks"):
                pass

    _, _, ratio = paired(lambda _: rows(checking), lambda _: rows(None), range(READS))
    yield Row("verify.read", "- reading all its rows once", stage.size, ratio, "x")


@contextmanager
def _unverified(stage: Stage) -> Generator[Index]:
    """The same index, read without the layer that verifies pages."""
    with patch.object(_connection, "vfs", lambda: None), stage.open_index() as index:
        yield index
