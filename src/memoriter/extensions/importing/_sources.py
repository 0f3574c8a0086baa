"""Tell the sources of a format apart, so that one never replaces what another one has written.

Many programs number their records, so two of their exports have the same ids. Such a record is another one unless it
comes from the same file or folder, or from a source that the owner named.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError, UsageError
from memoriter.extensions.importing._files import open_files
from memoriter.extensions.importing._notes import (
    Run,
    entry_key,
    entry_lines,
    file_name,
    page_key,
    page_note,
    parts_of,
    read_imported,
)
from memoriter.extensions.importing._records import Entry, Original, Page
from memoriter.extensions.importing.formats import FORMATS
from memoriter.ids import content_hash

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from memoriter.extensions.importing._files import Files
    from memoriter.extensions.importing._notes import KnownRecord
    from memoriter.extensions.importing._records import Format, Record

_BY_CONTENT = ("memoriter", "chatgpt", "claude", "gemini-takeout", "claude-mem", "mem0", "openclaw", "jsonl")
"""Formats that read nothing of another program, the most particular first; those of Markdown files read any."""
_FIRST_RECORDS = 20
_LIST = re.compile(r"(?:.*/)?notes\.jsonl")
_NOTION_PAGE = re.compile(r".* [0-9a-f]{32}\.(?:md|html)", re.IGNORECASE)


def run_id(form: Format, path: Path, name: str) -> str:
    """Return the id of an import.

    It is the same one if the same source is imported again: a source that has a name, a folder, or a file of a format
    whose ids are only those of one file. For other formats, a file that has changed is another import.
    """
    if name:
        return content_hash(f"{form.name}\nsource\n{name}")[:8]
    found = path.resolve()
    status = found.stat()
    is_same = found.is_dir() or form.local_ids
    parts = [form.name, str(found), *([] if is_same else [status.st_size, status.st_mtime_ns])]
    return content_hash("\n".join(map(str, parts)))[:8]


def source_name(name: str) -> str:
    """Return the name that the owner gave a source as the name of a folder. Raises UsageError."""
    found = file_name(name.replace("/", " "))
    if name and not found:
        raise UsageError(f"The name {name!r} cannot name a source.", remedy="Name it with letters and digits.")
    return found


def records_of(form: Format, files: Files, *, own: bool, name: str) -> Generator[Record]:
    """Yield the records of an export with ids that are unique in it, and in the folder of a source that has a name."""
    seen = dict[str, str]()
    for record in form.read_own(files) if own else form.read(files):
        if not isinstance(record, Page | Entry):
            yield record
            continue
        kind = type(record).__name__
        key = f"{kind} {record.id}"
        text = content_hash(record.text)[:16]
        if seen.setdefault(key, text) != text:
            record = replace(record, id=f"{record.id}#{text}")  # noqa: PLW2901 - the same record with its own id
        yield _in_source(record, name) if name else record


def _in_source(record: Page | Entry, name: str) -> Page | Entry:
    if isinstance(record, Entry):
        return replace(record, id=f"{name}/{record.id}", group="/".join(filter(None, (name, record.group))))
    return replace(record, id=f"{name}/{record.id}", path=f"{name}/{record.path}" if record.path else "")


class OtherSources:
    """Refuses an export with ids that belong to records of another source."""

    def __init__(self, form: Format, run: Run, known: Mapping[str, KnownRecord], path: Path, title: str) -> None:
        self._others = {key: each for key, each in known.items() if each.run != run.id}
        self._run = run
        self._path = path
        self._title = title
        self._is_folder = form.in_place and path.is_dir()
        if not form.local_ids:
            self._others.clear()

    def check(self, record: Record) -> None:
        """Raise UsageError if a record would replace one of another source."""
        if not self._others or not isinstance(record, Page | Entry):
            return
        if isinstance(record, Entry):
            known = self._others.get(f"entry {entry_key(record.id)}")
            if known and known.unchanged and known.hash != content_hash(entry_lines(record, self._run)):
                raise self._refused(known)
            return
        for part in parts_of(record):
            known = self._others.get(page_key(part.id))
            if known and (self._is_folder or (known.unchanged and known.hash != self._hash_of(part))):
                raise self._refused(known)

    def _hash_of(self, page: Page) -> str:
        front = read_imported(page_note(page, self._run))
        return front.hash if front else ""

    def _refused(self, known: KnownRecord) -> UsageError:
        undo = f"`memoriter import --undo {known.run}`"
        if self._is_folder:
            message = f"Another folder that is named {self._title!r} was imported before, as {known.run}."
            remedy = f"If it is the same one at another place, run {undo} first; or tell them apart with --source NAME."
        else:
            message = f"{str(self._path)!r} has the id of a record of another file, which was imported as {known.run}."
            remedy = (
                "If it is another source, add --source NAME. If it is the same one in a newer state, import it from "
                f"the place where it was before, or run {undo} first."
            )
        return UsageError(message, remedy=remedy)


def recognise(path: Path, given: str) -> str | None:
    """Return the format of an export, if it is certain and not the given one; else None."""
    if given == "memoriter" and _has_file(path, _LIST):  # it is damaged
        return None
    found = next((name for name in _BY_CONTENT if name != given and _reads(FORMATS[name], path)), None)
    if found is None and given != "obsidian" and (path / ".obsidian").is_dir():
        return "obsidian"
    if found is None and given != "notion" and _has_file(path, _NOTION_PAGE):
        return "notion"
    return found


def _reads(form: Format, path: Path) -> bool:
    """Return whether a format finds text at the beginning of an export."""
    try:
        with open_files(path, form.inner) as files, closing(records_of(form, files, own=False, name="")) as records:
            return any(isinstance(record, Page | Entry | Original) for record in islice(records, _FIRST_RECORDS))
    except (MemoriterError, OSError):
        return False


def _has_file(path: Path, pattern: re.Pattern[str]) -> bool:
    try:
        with open_files(path, FORMATS["notion"].inner) as files:
            return any(pattern.fullmatch(name) for name in files.names)
    except (MemoriterError, OSError):
        return False
