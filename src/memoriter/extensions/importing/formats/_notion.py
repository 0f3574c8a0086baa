"""Notion: the export as "Markdown & CSV", as a folder or as the ZIP archive, which holds further archives.

Notion ends every name in an id of 32 digits. The names lose it, and the links between pages follow. A database is a
CSV file, which becomes a note with a table; its rows are pages of their own.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memoriter.errors import UsageError
from memoriter.extensions.importing._notes import clean_path
from memoriter.extensions.importing._records import Format, LeftOut, Page, Record
from memoriter.extensions.importing.formats._markdown import SUFFIXES, markdown_pages
from memoriter.workspace import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

_ID = re.compile(r" ([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=_all\.|\.|/|$)")
_LINK = re.compile(r"(?<!!)\]\((?!https?:)([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\.(?:md|csv))(#[^()\s]*)?\)")
_HEADING = re.compile(r"\s*# ([^\n]+)")
_PARTS = r"[^/]*Part-\d+\.zip|Export[^/]*\.zip"
"""Names of the archives inside an export."""
_CREATED = re.compile(r"^(?:Created(?: time| at| on)?|Date created): ([^\n]+)$", re.MULTILINE | re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOST_ROWS = 5_000


class Notion(Format):
    """The pages and databases of a workspace of Notion."""

    name = "notion"
    read_as = "Notion's export as Markdown & CSV as of 2026-09"
    owned = True
    inner = _PARTS

    def read(self, files: Files) -> Iterator[Record]:
        pages = [name for name in files.names if name.lower().endswith(SUFFIXES)]
        tables = [name for name in files.names if name.lower().endswith(".csv")]
        if not pages and not tables:
            message = f"The export {files.title!r} has no pages in Markdown."
            raise UsageError(message, remedy="In Notion, choose the export format Markdown & CSV.")
        whole = {name.removesuffix("_all.csv") for name in tables if name.endswith("_all.csv")}
        names = _Names(files.names)
        yield from markdown_pages(files, pages, change=names.page, written=_created)
        for name in tables:
            if name.removesuffix(".csv") not in whole:
                yield _table(files, name, names.path(name))
        yield from (LeftOut(name, "it is not Markdown") for name in files.names if name not in {*pages, *tables})


class _Names:
    """The names of notes for those of Notion, which differ only in their ids."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._paths = dict[str, str]()
        taken = set[str]()
        for name in names:
            short = clean_path(_ID.sub("", name).replace("_all.csv", ".csv").rpartition(".")[0])
            if short.casefold() in taken and not name.endswith("_all.csv"):
                found = _ID.findall(name)
                short = f"{short} {found[-1][:8]}" if found else name.rpartition(".")[0]
            taken.add(short.casefold())
            self._paths[name] = short

    def path(self, name: str) -> str:
        """Return the path of a note without suffix."""
        return self._paths[name]

    def page(self, name: str, text: str) -> tuple[str, str, str]:
        """Return the path, the title and the text of a page."""
        heading = _HEADING.match(text)
        title = heading[1].strip() if heading else self._paths[name].rpartition("/")[2]
        folder = name.rpartition("/")[0]
        return self._paths[name], title, _LINK.sub(lambda match: self._link(match, folder), text)

    def _link(self, match: re.Match[str], folder: str) -> str:
        """Return a link to the note of a page; a link that leads to none stays."""
        parts = [*filter(None, folder.split("/"))]
        for part in unquote(match[1]).split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in {"", ".", ".."}:
                parts.append(part)
        target = self._paths.get("/".join(parts))
        if target is None:
            return match[0]
        here = [*filter(None, clean_path(_ID.sub("", folder)).split("/"))]
        there = target.split("/")
        while here and there[:-1] and here[0] == there[0]:
            here = here[1:]
            there = there[1:]
        return f"]({quote('/'.join([*['..'] * len(here), *there]))}.md{match[2] or ''})"


def _created(text: str) -> datetime | None:
    """Return the day that a page names as that of its creation; the times of an export are those of the export."""
    properties = re.split(r"\n\s*\n", _HEADING.sub("", text, count=1).strip(), maxsplit=1)[0]
    found = _CREATED.search(properties)
    day = _day(found[1].strip()) if found else None
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC) if day else None


def _day(value: str) -> date | None:
    """Return the day of a property of Notion, or None if its order of day and month is unknown.

    >>> _day("March 14, 2025 9:26 AM"), _day("2025/03/14 09:26"), _day("14/03/2025"), _day("soon")
    (datetime.date(2025, 3, 14), datetime.date(2025, 3, 14), datetime.date(2025, 3, 14), None)
    """
    try:
        if found := re.match(r"@?([A-Za-z]{3})[a-z]*\.? (\d{1,2}), (\d{4})\b", value):
            return date(int(found[3]), _MONTHS.index(found[1].lower()) + 1, int(found[2]))
        if found := re.match(r"(\d{1,2}) ([A-Za-z]{3})[a-z]*\.? (\d{4})\b", value):
            return date(int(found[3]), _MONTHS.index(found[2].lower()) + 1, int(found[1]))
        if found := re.match(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)", value):
            return date(int(found[1]), int(found[2]), int(found[3]))
        if found := re.match(r"(\d{1,2})/(\d{1,2})/(\d{4})\b", value):
            first = int(found[1])
            second = int(found[2])
            known = first == second or max(first, second) > len(_MONTHS)
            return date(int(found[3]), min(first, second), max(first, second)) if known else None
    except ValueError:
        pass
    return None


def _table(files: Files, name: str, path: str) -> Record:
    """Return a database as a page with a table of Markdown."""
    with files.open(name) as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        return LeftOut(name, f"it has more than {MAX_BYTES >> 20} MiB")
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"))))
    except csv.Error as error:
        return LeftOut(name, f"it is no CSV: {error}")
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return LeftOut(name, "it is empty")
    width = max(map(len, rows[: _MOST_ROWS + 1]))
    lines = [_line(row, width) for row in rows[: _MOST_ROWS + 1]]
    lines.insert(1, _line(["---"] * width, width))
    if len(rows) > _MOST_ROWS + 1:
        lines += ["", f"{len(rows) - 1 - _MOST_ROWS} more rows are only in the export."]
    title = path.rpartition("/")[2]
    return Page(name, title, f"# {title}\n\n" + "\n".join(lines), path=path)


def _line(cells: list[str], width: int) -> str:
    plain = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(plain + [''] * (width - len(plain)))} |"
