"""From a citation to the passages of the index with its lines, and what happened to lines that no passage has."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, UsageError, sentence
from memoriter.layout import OTHER_SUFFIXES
from memoriter.sync import note_of
from memoriter.types import StageReport
from memoriter.values import dataclass
from memoriter.workspace import ignoring_line, noisy_lines, read_front_matter, split_citation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.codes import SkipReason
    from memoriter.records import StoredChunk
    from memoriter.store import Snapshot
    from memoriter.sync import ChunkingSettings
    from memoriter.types import Chunk, Hit, Source, Stage
    from memoriter.workspace import Workspace

SHOWN = 60
"""Characters of a line that a message quotes."""
LAST_LINE = 1 << 30
_LINES = re.compile(r"#L\d{1,9}(?:-L?\d{1,9})?\Z")
INDEX = "Run `memoriter index`."


@dataclass(frozen=True, slots=True)
class CitedLines:
    """Lines of a memory file, as a citation names them."""

    path: str
    """As cited."""
    first: int
    """1-based."""
    last: int
    """Inclusive; `LAST_LINE` for the whole file."""

    @classmethod
    def of(cls, citation: str) -> CitedLines:
        """Return the lines of a citation. Raises UsageError if it is empty."""
        path, first, count = split_citation(citation)
        if not path.strip():
            raise UsageError("The path of the passage is empty.", remedy="Give one, such as MEMORY.md#L4.")
        if first is None:  # a file that cannot be memory
            path = _LINES.sub("", path)
        return cls(path, first or 1, LAST_LINE if first is None or count is None else first + count - 1)

    @property
    def whole(self) -> bool:
        return self.last == LAST_LINE

    def overlap(self, path: str, first: int, last: int) -> bool:
        """Return whether lines of a file are among these."""
        return path == self.path and first <= self.last and self.first <= last

    def has(self, hit: Hit) -> bool:
        """Return whether a hit has some of the lines."""
        return self.overlap(hit.path, hit.start_line, hit.end_line)

    def __str__(self) -> str:
        return self.path if self.whole else citation_of(self.path, self.first, self.last)


def citation_of(path: str, first: int, last: int) -> str:
    """Return `path#L3-L7`, or `path#L3` for a single line."""
    return f"{path}#L{first}" + (f"-L{last}" if last != first else "")


@dataclass(frozen=True, slots=True)
class Located:
    """The passages with the lines of a citation, or the stage before the ranking that lost them."""

    lines: CitedLines
    passages: tuple[StoredChunk, ...] = ()
    stages: tuple[StageReport, ...] = ()
    remedy: str = ""

    @property
    def lost(self) -> Stage | None:
        return next((report.stage for report in self.stages if report.status == "lost"), None)


def passed(stage: Stage, message: str) -> StageReport:
    return StageReport(stage, "passed", message)


def lost(stage: Stage, message: str) -> StageReport:
    return StageReport(stage, "lost", message)


def locate(citation: str, workspace: Workspace, index: Snapshot, cutting: ChunkingSettings) -> Located:
    """Return the passages of an index that have the lines of a citation.

    Raises:
        UsageError: the citation is empty.
    """
    lines = CitedLines.of(citation)
    entry = workspace.find(lines.path)
    path, source = entry or (lines.path, None)
    lines = CitedLines(path, lines.first, lines.last)
    if source is None:
        return _left_out(lines, workspace)
    text = _text_of(lines, source, workspace)
    if isinstance(text, Located):
        return text
    rows = text.split("\n") if text else []
    rows = rows[:-1] if rows and not rows[-1] else rows
    stages = [_written(lines, rows)]
    if stages[0].status == "lost":
        return Located(lines, stages=tuple(stages), remedy="Look for its text with `memoriter search WORDS`.")
    stages.append(passed("scanned", "The file is memory."))
    stored = index.rows(index.ids_at(path)).values()
    passages = tuple(row for row in stored if lines.overlap(path, row.chunk.start_line, row.chunk.end_line))
    if source.kind == "memory":
        note = note_of(path, text, cutting)
        chunks = [chunk for chunk in note.chunks if lines.overlap(path, chunk.start_line, chunk.end_line)]
        if not chunks:
            stages.append(lost("chunked", _why_no_passage(lines, rows)))
            return Located(lines, stages=tuple(stages), remedy="Ask about a line with text of its own.")
        stages.append(passed("chunked", _chunked(path, chunks)))
    if not passages:
        message = "The index does not have it yet." if source.kind == "memory" else "The index has no message of it."
        return Located(lines, stages=(*stages, lost("indexed", message)), remedy=INDEX)
    if source.kind == "sessions":
        stages.append(passed("chunked", _chunked(path, [passage.chunk for passage in passages])))
    return Located(lines, passages, (*stages, passed("indexed", "The index has it.")))


def _text_of(lines: CitedLines, source: Source, workspace: Workspace) -> str | Located:
    """Return the text of the file; of a transcript, only the messages in the cited lines, after as many empty lines."""
    try:
        if source.kind == "sessions":
            count = None if lines.whole else lines.last - lines.first + 1
            text = workspace.read(lines.path, start=lines.first, lines=count).text
            return "\n" * (lines.first - 1) + text if text else ""
        return workspace.peek(source).text
    except PathRefused as error:
        return Located(lines, stages=(lost("written", error.message),), remedy=error.remedy)


def _written(lines: CitedLines, rows: Sequence[str]) -> StageReport:
    count = f"{len(rows)} line{'' if len(rows) == 1 else 's'}"
    if not rows:
        return lost("written", "There is no text." if lines.whole else "There is no text in these lines.")
    if lines.whole:
        return passed("written", f"The file has {count}.")
    if lines.first > len(rows):
        return lost("written", f"The file has {count}, so there is no line {lines.first}.")
    line = rows[lines.first - 1].strip()
    shown = line if len(line) <= SHOWN else f"{line[:SHOWN].rstrip()} …"
    return passed("written", f"Line {lines.first} is {shown!r}." if shown else f"Line {lines.first} is blank.")


def _chunked(path: str, chunks: Sequence[Chunk]) -> str:
    first = chunks[0]
    if len(chunks) > 1:
        return f"{len(chunks)} passages have these lines."
    below = f", below {' › '.join(first.heading)!r}" if first.heading else ""
    return f"The passage is {citation_of(path, first.start_line, first.end_line)}{below}."


def _why_no_passage(lines: CitedLines, rows: Sequence[str]) -> str:
    """Return why no passage has any of the lines."""
    front = read_front_matter("\n".join(rows))
    cited = range(lines.first - 1, min(lines.last, len(rows)))
    if not any(rows[at].strip() for at in cited):
        return "The lines are blank." if len(cited) > 1 else "The line is blank."
    if front and cited[-1] in front.lines:
        return "The line is front matter, whose values find the beginning of the note."
    noise = noisy_lines(rows)
    if all(at in noise or not rows[at].strip() for at in cited):
        return (
            "The line means nothing to a search: it is encoded data, or nothing but links to other notes or into "
            "the same note."
        )
    return "No passage begins or ends there: the line holds only a mark or white space."


def _left_out(lines: CitedLines, workspace: Workspace) -> Located:
    """Return why a path is not memory now."""
    file = os.path.join(workspace.root, lines.path)  # noqa: PTH118 - an absolute path stays what it is
    if not os.path.lexists(file):
        names = [source.path for source in workspace.scan().sources]
        similar = get_close_matches(lines.path, names, n=1)
        remedy = f"Perhaps you mean {similar[0]}." if similar else "See the notes with `memoriter status -v`."
        return Located(lines, stages=(lost("written", f"There is no file {lines.path!r}."),), remedy=remedy)
    refusal = workspace.refusal(lines.path)
    skipped = {skip.path: skip for skip in workspace.scan().skipped}
    names = lines.path.split("/")
    above = ["/".join(names[:depth]) for depth in range(len(names), 0, -1)]
    refusal = refusal or next((skipped[path] for path in above if path in skipped), None)
    reason: SkipReason = refusal.reason if refusal else "special"
    message = _capitalized(sentence(refusal.message)) if refusal else "It is not a plain file."
    rule = ignoring_line(str(workspace.root), names) if reason == "ignored" else None
    if rule:
        message = f"Line {rule[1]} of {rule[0]} leaves it out: {rule[2]!r}."
    remedy = f"Change line {rule[1]} of {rule[0]}." if rule else _scan_remedy(reason, lines.path, workspace)
    return Located(lines, stages=(passed("written", "The file is there."), lost("scanned", message)), remedy=remedy)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _scan_remedy(reason: SkipReason, path: str, workspace: Workspace) -> str:
    suffix = next((each for each in OTHER_SUFFIXES if path.endswith(each)), None)
    match reason:
        case "not_markdown" if suffix:
            return f"Run `memoriter config set memory.extraSuffixes {suffix}`, or give it a name that ends in .md."
        case "not_markdown":
            return "Give it a name that ends in .md."
        case "ignored":
            return "Rename the file or its folder."
        case "symlink":
            return "Replace the link with the file, or name its target in extraPaths."
        case "too_large":
            return "Split the file."
        case "outside" if path.endswith(".jsonl"):
            return "To search transcripts, see memorySearch.sources and experimental.sessionMemory."
        case "outside" if workspace.layout == "openclaw" and not path.startswith(("../", "/")):
            root = quote(str(workspace.root))
            return f"Run `memoriter init -w {root} --layout=notes`, or name it in extraPaths."
        case "outside":
            return "Name it in extraPaths."
        case _:
            return "See docs/reference/errors.md, or put a plain file there that can be read."
