"""What is indexed: files, their passages, and the vectors of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from memoriter.values import Record, dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.codes import SkipReason

_LEADING_HEADINGS = re.compile(r"\A(?:[ \t]*(?:#{1,6}[ \t][^\n]*)?(?:\n|\Z))+")
ORIGIN = re.compile(r"[ \t]?<!-- (from|end): (?P<origin>[^<>\n]{1,200}?) -->(?=[ \t\r]*(?:\n|\Z))")
"""A mark of who wrote an entry, as `workspace` puts it at the end of a line. Its first group is `from` or `end`, and
`origin` is what it says."""

_MARKER = re.compile(r"\A[ \t]*(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\])?(?:[ \t]+|\Z)")
"""The bullet or number of a list item, with its check box."""

Role = Literal["query", "document"]
SourceKind = Literal["memory", "sessions"]
Mode = Literal["hybrid", "keyword", "vector"]
Outcome = Literal["match", "weak", "none"]
Leg = Literal["keyword", "vector"]
Category = Literal["preference", "fact", "decision", "entity", "other"]
"""What a statement is about, as in OpenClaw."""


@dataclass(frozen=True, slots=True)
class Source(Record):
    """A file that is memory, with its size in bytes, as the last look at the disk saw it."""

    path: str
    """As cited: POSIX separators, relative to the workspace (an extra path outside it starts with `../`)."""
    kind: SourceKind
    file: Path
    """Where the bytes are: absolute."""
    size: int
    mtime_ns: int
    stamp: int = 0
    """Differs whenever the inode or its time of change (`st_ctime_ns`) does; see `workspace.stamp_of`. 0: not known."""


@dataclass(frozen=True, slots=True)
class Entry(Record):
    """Lines of a note that are an entry of their own: a list item with what is in it, a paragraph, a table, a fence."""

    path: str
    """As cited."""
    start_line: int
    """1-based."""
    end_line: int
    """Inclusive."""
    text: str
    """As written, without the mark of its author."""
    author: str = ""
    """Who wrote it, such as `agent, 2026-11-22`; empty: the owner."""

    @property
    def citation(self) -> str:
        """`path#L3`, or `path#L3-L5`."""
        lines = f"L{self.start_line}" if self.start_line == self.end_line else f"L{self.start_line}-L{self.end_line}"
        return f"{self.path}#{lines}"


@dataclass(frozen=True, slots=True)
class Skipped(Record):
    """A path that looked like memory and is left out, with the reason."""

    path: str
    reason: SkipReason
    """A stable word; docs/reference/errors.md says what to do. `outside` occurs only for a path that was requested."""
    message: str


@dataclass(frozen=True, slots=True)
class Item:
    """Lines of a chunk that get a vector of their own: a list item, a paragraph, a table row or a quoted line."""

    first: int
    """0-based, within the chunk."""
    last: int
    """0-based, inclusive."""

    def text(self, lines: Sequence[str]) -> str:
        """Return the item in one line, without its marker; `lines` are those of the chunk."""
        first, *others = lines[self.first : self.last + 1]
        opening = first.strip()
        if opening[:1] in {"|", ">"}:
            return " ".join(opening.strip("|> ").split())
        return " ".join(" ".join([_MARKER.sub("", first, count=1), *others]).split())


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one source: the unit that is embedded, indexed and cited."""

    start_line: int
    """1-based, inclusive."""
    end_line: int
    """1-based, inclusive."""
    text: str
    """The lines, verbatim."""
    heading: tuple[str, ...] = ()
    """Titles of the sections around the passage, outermost first; never part of `text`."""

    @property
    def contextual(self) -> str:
        """The text that is embedded: the heading path, then the chunk without its first headings and origin marks."""
        text = ORIGIN.sub("", self.text) if "<!-- " in self.text else self.text
        return f"{' > '.join(self.heading)}\n{_LEADING_HEADINGS.sub('', text)}" if self.heading else text

    def contextual_item(self, item: Item) -> str:
        """The text that is embedded for an item of this chunk: the heading path, then the item without its marker."""
        text = ORIGIN.sub("", self.text) if "<!-- " in self.text else self.text
        own = item.text(text.split("\n"))
        return f"{' > '.join(self.heading)}\n{own}" if self.heading else own


ScriptBaselines = Mapping[str, tuple[float, float]]
"""The mean cosine of unrelated chunks in each script, and its standard deviation (above 0); "" stands for the others.
Models put texts of one script close together, so only (cosine - mean) / deviation can be compared across scripts.
"""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """An embedding model as it is used: two equal specs give comparable vectors."""

    provider: str
    model: str
    dimensions: int
    revision: str = ""
    endpoint: str = ""
    query_template: str = "{text}"
    document_template: str = "{text}"
    pooling: str = "mean"
    normaliser: str = ""
    max_tokens: int = 512
    """Longest input the model reads; not part of the identity."""
    background: tuple[float, float] = (0.0, 0.1)
    """Mean and deviation of the cosine of unrelated texts, for small corpora; not part of the identity."""
