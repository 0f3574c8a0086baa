"""Understand what QMD prints: results, errors, and the counts of an update. Nothing here starts anything."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, AnyStr, cast

from memoriter.errors import QmdBusy, QmdCrashed, QmdFailure, QmdNoVectors, QmdUnreadable, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_RESULTS = re.compile(
    r"^(?:\[[\w-]+\]\s*)?(?:(?:info|warn(?:ing)?|error|qmd)\s*:\s*)*no\s+results\s+found\b",
    re.IGNORECASE | re.MULTILINE,
)
_LINES = re.compile(r"@@\s*-(\d+),(\d+)")
_HEADER = re.compile(r"\A@@[^\n]*\n?")
_NUMBER = re.compile(r"^\d+: ?", re.MULTILINE)
_BUSY = re.compile(r"SQLITE_BUSY|database is (?:locked|busy)", re.IGNORECASE)
_FLAG = re.compile(
    r"(?:unknown|unrecogni[sz]ed|unsupported|unexpected|invalid)\s+(?:flag|option|argument)|parseArgs", re.IGNORECASE
)
_COLLECTION = re.compile(r"collection\b.*\b(?:not found|does not exist)|(?:unknown|no such) collection", re.IGNORECASE)
_MODEL = re.compile(
    r"NoBinaryFoundError|No model file found|not valid GGUF|HTML page, not a GGUF|LLM operations are disabled",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"Indexed:\s*(\d+) new,\s*(\d+) updated,\s*(\d+) unchanged,\s*(\d+) removed")
_COLLECTION_TITLE = re.compile(r"^\[\d+/\d+\]\s+(\S+)")
_VERSION = re.compile(r"\bqmd\s+v?(\d+\.\d+\.\d+)|\A\s*v?(\d+\.\d+\.\d+)\b", re.IGNORECASE)
MOST_ERROR = 300
"""Characters of an error of QMD that a message quotes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One result as QMD printed it."""

    collection: str
    relative: str
    score: float
    title: str
    snippet: str
    start_line: int
    end_line: int
    context: str = ""


def readable(text: str) -> str:
    """Return text without escape sequences and control characters other than tabs and line breaks."""
    return _CONTROL.sub("", _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def append_capped(current: AnyStr, chunk: AnyStr, limit: int) -> tuple[AnyStr, bool]:
    """Return the last `limit` characters or bytes of both, and whether anything was cut off.

    >>> append_capped("abc", "def", 5)
    ('bcdef', True)
    """
    both = current + chunk
    return (both, False) if len(both) <= limit else (both[-limit:], True)


def parse_results(output: str, errors: str = "") -> list[Any]:
    """Return the JSON array of results that QMD printed.

    An older QMD prints a sentence if nothing was found, and a newer one may print messages before the array. Raises
    QmdUnreadable: there is no such array.
    """
    text = output.strip()
    for start in (0, *(match.start() for match in re.finditer(r"^\[(?=\s*[\]{\[\d\"])", text, re.MULTILINE))):
        if _NO_RESULTS.search(text[:start]):
            break
        if (rows := _array(text[start:])) is not None:
            return rows
    if _NO_RESULTS.search(text) or (not text and _NO_RESULTS.search(readable(errors))):
        return []
    if not text:
        detail = summary(errors)
        raise QmdUnreadable(f"QMD printed no answer{f': {sentence(detail)}' if detail else '.'}")
    raise QmdUnreadable(f"QMD printed something other than its results: {sentence(summary(text))}")


def _array(text: str) -> list[Any] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("results")
    return cast("list[Any]", value) if isinstance(value, list) else None


def rows_of(results: Iterable[Any]) -> list[Row]:
    """Return the results that name a file. Raises QmdUnreadable if none of them does."""
    items = list(results)
    rows = [row for item in items if isinstance(item, dict) and (row := _row(cast("dict[str, Any]", item)))]
    if items and not rows:
        raise QmdUnreadable("QMD printed results without a file.")
    return rows


def _row(item: Mapping[str, Any]) -> Row | None:
    file = item.get("file")
    if not isinstance(file, str):
        return None
    # Not a URL: the path is verbatim, with blanks, `#` and `&`.
    collection, _, relative = file.removeprefix("qmd://").partition("/")
    if not collection or not relative:
        return None
    printed = str(item.get("snippet") or item.get("body") or "")
    snippet = snippet_text(printed)
    first, last = line_range(printed, item.get("line"))
    if last > first:
        last -= _blank_lines(reversed(snippet.split("\n")))
        first = min(first + _blank_lines(snippet.split("\n")), last)
    title = item.get("title")
    context = item.get("context")
    return Row(
        collection,
        relative.removesuffix("?index=index"),
        _number(item.get("score")),
        readable(title) if isinstance(title, str) else "",
        snippet.strip("\n"),
        first,
        last,
        readable(context) if isinstance(context, str) else "",
    )


def _blank_lines(lines: Iterable[str]) -> int:
    """Return the number of blank lines at the beginning."""
    return next((count for count, line in enumerate(lines) if line.strip()), 0)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < float("inf") else 0.0


def line_range(snippet: str, line: object = None) -> tuple[int, int]:
    """Return the first and last line of a snippet, from its header `@@ -START,COUNT @@`; else those of the best line.

    >>> line_range("@@ -3,4 @@ text"), line_range("text"), line_range("text", 7)
    ((3, 6), (1, 1), (7, 7))
    """
    if match := _LINES.search(snippet):
        first = max(1, int(match[1]))
        return first, max(first, int(match[1]) + int(match[2]) - 1)
    best = line if isinstance(line, int) and line > 0 else 1
    return best, best


def snippet_text(snippet: str) -> str:
    """Return a snippet without its header, control characters, and the line numbers that the MCP server adds."""
    text = readable(snippet)
    if re.match(r"\d+: @@", text):
        text = _NUMBER.sub("", text)
    return _HEADER.sub("", text, count=1)


def is_busy(text: str) -> bool:
    """Return whether an error says that another process holds the database."""
    return bool(_BUSY.search(text))


def refuses_flag(text: str) -> bool:
    """Return whether an error says that the program does not know an option."""
    return bool(_FLAG.search(text))


def lacks_collection(text: str) -> bool:
    """Return whether an error says that a collection is unknown."""
    return bool(_COLLECTION.search(text))


def summary(text: str) -> str:
    """Return the line of an output that says what is wrong: that of a JavaScript error, else the last one."""
    lines = [line.strip() for line in readable(text).splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"\b\w*Error\b.*:", line) and not line.startswith("at ")]
    chosen = named[0] if named else (lines[-1] if lines else "")
    return chosen if len(chosen) <= MOST_ERROR else f"{chosen[:MOST_ERROR]}…"


def failure_of(name: str, code: int, output: str) -> QmdFailure:
    """Return the error for a run that ended with an exit code other than 0.

    The message begins with `name`, such as "The command `qmd update`".
    """
    detail = summary(output) or "it printed nothing"
    if is_busy(output):
        return QmdBusy(f"{name} failed, because another process holds QMD's database.")
    if _MODEL.search(output):
        return QmdNoVectors(f"{name} has no usable model: {sentence(detail)}")
    return QmdCrashed(f"{name} failed with the exit code {code}: {sentence(detail)}", output=output[-2_000:])


def parse_version(text: str) -> str:
    """Return the version that the program printed, or an empty text."""
    match = _VERSION.search(readable(text))
    return (match[1] or match[2]) if match else ""


@dataclass(frozen=True, slots=True)
class Counts:
    """The files of a collection after an update."""

    added: int
    changed: int
    unchanged: int
    removed: int

    @property
    def files(self) -> int:
        return self.added + self.changed + self.unchanged


def parse_update(text: str) -> dict[str, Counts]:
    """Return the counts of each collection from the output of `qmd update`."""
    counts: dict[str, Counts] = {}
    name = ""
    for line in readable(text).splitlines():
        if title := _COLLECTION_TITLE.match(line):
            name = title[1]
        elif (found := _COUNTS.search(line)) and name:
            counts[name] = Counts(*(int(number) for number in found.groups()))
    return counts


def parse_status(text: str) -> dict[str, int]:
    """Return `documents`, `vectors` and `pending`, as far as `qmd status` printed them; no line means 0 pending."""
    patterns = {"documents": r"Total:\s+(\d+)", "vectors": r"Vectors:\s+(\d+)", "pending": r"Pending:\s+(\d+)"}
    plain = readable(text)
    found = {name: int(match[1]) for name, pattern in patterns.items() if (match := re.search(pattern, plain))}
    return {"pending": 0, **found} if "vectors" in found else found
