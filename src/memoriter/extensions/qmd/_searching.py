"""Search with QMD: which searches to try, and which files its results are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from memoriter.errors import QmdCrashed, QmdFailure, QmdNoVectors, QmdTimeout
from memoriter.extensions.qmd._answers import lacks_collection, refuses_flag
from memoriter.extensions.qmd._collections import cited_path, locate
from memoriter.extensions.qmd._queries import (
    Ranking,
    Search,
    any_word_search,
    clean,
    first_search,
    is_several_words,
    typed_lines,
)
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from memoriter.environment import Deadline
    from memoriter.extensions.qmd._answers import Row
    from memoriter.extensions.qmd._collections import Folder
    from memoriter.extensions.qmd._home import QmdHome
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.extensions.qmd._program import Transport
    from memoriter.types import SourceKind
    from memoriter.workspace import Workspace

OVER_FETCH = 3
"""Results to request per hit: some are the same file in two collections, or gone."""
MOST_RESULTS = 200
LEAST_SECONDS = 0.1
"""With less time left, no second search is started."""
NO_VECTORS = "QMD has no vectors yet, so this answer is by words only."

ALL_WORDS = (0.5, 1.0)
"""Lowest and highest score of a document with all words of the query."""
SEVERAL_LISTS = (0.4, 0.9)
ANY_WORD = (0.35, 0.6)


@dataclass(frozen=True, slots=True)
class QmdHit:
    """A passage of a file that QMD found."""

    path: str
    """As cited: relative to the workspace, or `qmd/<collection>/<relative path>` for a file outside of it."""
    file: Path
    """Absolute."""
    collection: str
    relative: str
    """The path of the file below the folder of its collection, with `/`."""
    start_line: int
    """1-based."""
    end_line: int
    """1-based, inclusive."""
    snippet: str
    title: str
    score: float
    """0..1, comparable across rankings as far as that is possible; see docs/openclaw.md."""
    ranking: Ranking
    source: SourceKind
    context: str = ""
    """The text that the owner configured in QMD for the folder of the file."""


@dataclass(frozen=True, slots=True)
class QmdAnswer:
    """The hits of one search, best first, each file once."""

    hits: tuple[QmdHit, ...] = ()
    mode: str = "search"
    """What was asked of QMD: `search`, `vsearch`, `query`, or `typed` for lines of `lex:`, `vec:` and `hyde:`."""
    notices: tuple[Diagnostic, ...] = ()
    """What the answer lacks, such as folders that are missing or changes that are not indexed yet."""
    left_out: int = 0
    """The number of results whose file is gone, outside its folder, or not memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Searches the collections of one agent."""

    plan: QmdPlan
    home: QmdHome
    transport: Transport
    workspace: Workspace
    environ: Mapping[str, str]
    configure: Callable[[], object]
    """Makes QMD know all collections, after it forgot one."""
    count_vectors: Callable[[float], int]
    """Asks QMD for its number of vectors, within so many seconds; raises QmdFailure."""

    def search(self, text: str, folders: Sequence[Folder], limit: int, deadline: Deadline) -> QmdAnswer:
        """Return the hits of a query in collections that exist. Raises QmdFailure: there are none in time."""
        vectors = self._vectors(text, deadline)
        planned = first_search(self.plan.search_mode, text, generates=self._generates, embeds=vectors > 0)
        if planned is None or limit < 1 or not folders:
            return QmdAnswer(mode=self.plan.search_mode)
        names = tuple(folder.name for folder in folders)
        planned = replace(planned, collections=names, limit=min(limit * OVER_FETCH, MOST_RESULTS))
        notices = self._vectors_notice(planned, vectors)
        rows, asked = self._with_retries(planned, deadline)
        if not rows and asked.ranking == "words" and is_several_words(text) and deadline.left > LEAST_SECONDS:
            second = replace(any_word_search(text), collections=names, limit=planned.limit)
            try:
                rows = self.transport.rows(second, timeout=deadline.left)
                asked = second
            except QmdTimeout as error:
                notices = (*notices, Diagnostic.of(error))
            except QmdCrashed:
                pass  # a QMD without typed queries; that no file has all words stays true
        hits, left_out = self._hits(rows, asked, folders)
        return QmdAnswer(hits[:limit], asked.command, notices, left_out)

    def _vectors(self, text: str, deadline: Deadline) -> int:
        """Return the number of vectors. QMD counts them only if a search needs some and none are known."""
        known = self.home.state().vectors or 0
        typed = typed_lines(text)
        words_only = all(line.type == "lex" for line in typed[0]) if typed else self.plan.search_mode == "search"
        if known or words_only or not clean(text):
            return known
        try:
            return self.count_vectors(deadline.left)
        except QmdFailure:
            return 0

    @property
    def _generates(self) -> bool:
        """Whether the language model that the commands `vsearch` and `query` load is on this machine."""
        needed = {"search": (), "vsearch": ("generate",), "query": ("generate", "rerank")}[self.plan.search_mode]
        return all(self.home.has_model(name, self.environ) for name in needed)

    def _vectors_notice(self, search: Search, vectors: int) -> tuple[Diagnostic, ...]:
        """Return a notice if a search by meaning lacks vectors. Raises QmdNoVectors if it can find nothing.

        QMD itself would report success and no results.
        """
        typed_by_user = search.command == "typed" and self.plan.search_mode == "search"
        if vectors or (self.plan.search_mode == "search" and not (typed_by_user and search.needs_vectors)):
            return ()
        remedy = "Run `qmd embed` with a model, or set memory.qmd.searchMode to `search`."
        if search.only_vectors:
            raise QmdNoVectors("QMD has no vectors, so it cannot search by meaning.", remedy=remedy)
        return (Diagnostic("qmd_no_vectors", NO_VECTORS, remedy),)

    def _with_retries(self, search: Search, deadline: Deadline) -> tuple[list[Row], Search]:
        """Return the results, and the search that found them: another one if QMD refused the first."""
        try:
            return self.transport.rows(search, timeout=deadline.left), search
        except QmdCrashed as error:
            if lacks_collection(error.output):
                self.configure()
                return self.transport.rows(search, timeout=max(deadline.left, LEAST_SECONDS)), search
            if search.command == "query" or not refuses_flag(error.output):
                raise
            text = search.text or " ".join(line.text for line in search.lines)
            plain = replace(search, command="query", text=clean(text), lines=(), ranking="reranked")
            return self.transport.rows(plain, timeout=deadline.left), plain

    def _hits(self, rows: Iterable[Row], search: Search, folders: Sequence[Folder]) -> tuple[tuple[QmdHit, ...], int]:
        """Return the hits, each file once, and the number of results that are no files of the memory."""
        ordered = sorted(rows, key=lambda row: -row.score)
        by_name = {folder.name: folder for folder in folders}
        scores = mapped_scores([row.score for row in ordered], search.ranking)
        hits: dict[tuple[int, int], QmdHit] = {}
        left_out = 0
        for row, score in zip(ordered, scores, strict=True):
            folder = by_name.get(row.collection)
            hit = self._hit(row, folder, score, search) if folder else None
            if hit is None:
                left_out += 1
                continue
            try:
                status = hit.file.stat()
            except OSError:
                left_out += 1
                continue
            hits.setdefault((status.st_dev, status.st_ino), hit)
        return tuple(hits.values()), left_out

    def _hit(self, row: Row, folder: Folder, score: float, search: Search) -> QmdHit | None:
        file = locate(folder, row.relative)
        if file is None:
            return None
        path = cited_path(folder, file, self.workspace.root)
        if folder.kind == "memory" and self.workspace.find(path) is None:
            return None  # an ignore file leaves it out
        limit = self.plan.limits.max_snippet_chars
        return QmdHit(
            path=path,
            file=file,
            collection=folder.name,
            relative=row.relative,
            start_line=row.start_line,
            end_line=row.end_line,
            snippet=row.snippet[:limit],
            title=row.title,
            score=round(score, 6),
            ranking=search.ranking,
            source="sessions" if folder.kind == "sessions" else "memory",
            context=row.context,
        )


def mapped_scores(raw: Sequence[float], ranking: Ranking) -> list[float]:
    """Return scores in 0..1 in the same order.

    BM25 as QMD prints it depends on the number of files, and is 0 for the only file. So a document with all words
    scores at least 0.5, and the best one 1. Where QMD prints 1 / rank, the scale ends lower, because the first document
    is first even if it fits badly.

    Args:
        raw: the scores of one answer as QMD printed them, best first.
        ranking: what they mean.
    """
    best = max(raw, default=0.0)
    relative = [score / best if best > 0 else 1 / rank for rank, score in enumerate(raw, 1)]
    match ranking:
        case "words":
            return [_between(ALL_WORDS, share) for share in relative]
        case "any_word":
            return [_between(ANY_WORD, share) for share in relative]
        case "fused":
            return [_between(SEVERAL_LISTS, share) for share in relative]
        case "meaning" | "reranked":
            return [min(1.0, max(0.0, score)) for score in raw]
        case _:
            assert_never(ranking)


def _between(ends: tuple[float, float], share: float) -> float:
    low, high = ends
    return low + (high - low) * min(1.0, max(0.0, share))
