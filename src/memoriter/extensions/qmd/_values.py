"""What the driver of QMD returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.types import Diagnostic, SourceKind

CollectionKind = Literal["memory", "custom", "sessions"]
Ranking = Literal["words", "any_word", "meaning", "reranked", "fused"]
"""What QMD's score of a hit means: BM25 of a document with all words, the rank among documents with any word, a cosine,
a blend with a reranker's score, or the rank in several lists."""


@dataclass(frozen=True, slots=True)
class QmdProbe:
    """The program as it was found."""

    binary: Path
    """The absolute path of the program."""
    version: str
    """Such as `2.8.3`; empty if the program does not print one."""


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


@dataclass(frozen=True, slots=True)
class QmdUpdated:
    """The result of an update."""

    ran: bool
    """False if the last update is too recent, or another process is updating."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    notices: tuple[Diagnostic, ...] = ()
