"""The cost of verification: of passages against their notes, and of pages against their checksums."""

from __future__ import annotations

from contextlib import closing, contextmanager
from math import inf
from typing import TYPE_CHECKING
from unittest.mock import patch

import apsw

from benchmarks._report import Row
from benchmarks._search_process import ANYWHERE, Question
from benchmarks._timing import paired
from memoriter.backends._verified import Verified, Verifier
from memoriter.environment import Stopwatch
from memoriter.index import _connection
from memoriter.search import rank
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace
    from memoriter.index import Index

PASSAGES = 0.6
"""Smallest share of its speed that a warm search keeps."""
PAGES = 0.95
"""The same with page checksums."""
READS = 7


def verification(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of searches with and without verified passages, and with and without page checksums."""
    with workspace.open_index() as index:
        index.choose_engine("auto")
        settings = workspace.settings(index)
        verifier = Verifier(Workspace(workspace.notes), lambda: inf)

        def ours(question: Question) -> None:
            rank(
                Verified(index, verifier, Stopwatch(lambda: 0.0)),
                question[0],
                question[1],
                settings,
                filters=ANYWHERE,
                now=0.0,
            )

        def theirs(question: Question) -> None:
            rank(index, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

        mine, other, ratio = paired(ours, theirs, workspace.questions[: 2 * effort.peer_questions])
    size = workspace.size
    yield Row("verify.search", "warm hybrid search, passages verified", size, mine.p50 * 1000, "ms", mine.p95 * 1000)
    yield Row("verify.plain", "- without verification", size, other.p50 * 1000, "ms", other.p95 * 1000)
    yield Row("verify.ratio", "- relative speed", size, ratio, "x", budget=PASSAGES, more=True, ratio=True)
    if (checking := _connection.vfs()) is not None:
        yield from _pages(workspace, effort, checking)


def _pages(workspace: BenchWorkspace, effort: Effort, checking: str) -> Iterator[Row]:
    """Yield the rows of searches with verified pages, and of the worst case: reading every row once."""
    with workspace.open_index() as verified, _unverified(workspace) as plain:
        indexes = verified, plain
        for index in indexes:
            index.choose_engine("auto")
        settings = workspace.settings(verified)

        def search(index: Index, question: Question) -> None:
            rank(index, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

        questions = workspace.questions[: 2 * effort.peer_questions]
        _, _, ratio = paired(lambda each: search(verified, each), lambda each: search(plain, each), questions)
    title = "warm hybrid search with page checksums, relative speed"
    yield Row("verify.pages", title, workspace.size, ratio, "x", budget=PAGES, more=True, ratio=True)

    file = str(workspace.index_path)

    def rows(layer: str | None) -> None:
        with closing(apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY, vfs=layer)) as connection:
            for _ in connection.execute("SELECT vector FROM embedding_cache"):
                pass
            for _ in connection.execute("SELECT text FROM chunks"):
                pass

    _, _, ratio = paired(lambda _: rows(checking), lambda _: rows(None), range(READS))
    yield Row("verify.read", "- reading every row once, relative speed", workspace.size, ratio, "x")


@contextmanager
def _unverified(workspace: BenchWorkspace) -> Generator[Index]:
    """Open the same index without the layer that verifies pages."""
    with patch.object(_connection, "vfs", lambda: None), workspace.open_index() as index:
        yield index
