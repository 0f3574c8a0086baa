"""Import an export: read it to its end, then write what is not there yet.

The first pass writes nothing, so a broken export changes nothing. In the second pass, each note is written as a whole,
with the ids of its records. If it is interrupted, the next run continues with what is missing.

Many programs number their records, so two of their exports have the same ids. Such a record is another one unless it
comes from the same file or folder, or from a source that the owner named; one source never replaces what another wrote.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, assert_never

from memoriter.errors import MemoriterError, PathRefused, UsageError, WriteConflict, WriteError, sentence
from memoriter.extensions.importing._export import restore_ignore_file
from memoriter.extensions.importing._files import open_files
from memoriter.extensions.importing._notes import (
    Run,
    beginning,
    entries_note,
    entries_path,
    entry_key,
    entry_lines,
    entry_places,
    file_name,
    known_records,
    numbered,
    page_key,
    page_note,
    page_path,
    parts_of,
    portions,
    read_imported,
    replace_lines,
    with_new_hash,
)
from memoriter.extensions.importing._records import Entry, IgnoreFile, LeftOut, NotesLayout, Original, Page
from memoriter.extensions.importing.formats import FORMATS
from memoriter.ids import bytes_hash, content_hash
from memoriter.import_history import History
from memoriter.journal import acting
from memoriter.permissions import folder_lock
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from memoriter.extensions.importing._files import Files
    from memoriter.extensions.importing._notes import KnownRecord
    from memoriter.extensions.importing._records import Format, Record
    from memoriter.import_history import RunRecord
    from memoriter.workspace import Workspace

    Changed = list[tuple[Entry, KnownRecord]]
    """Entries that differ from what was imported before."""

_BY_CONTENT = ("memoriter", "chatgpt", "claude", "gemini-takeout", "claude-mem", "mem0", "openclaw", "jsonl")
"""Formats that read nothing of another program, the most particular first; those of Markdown files read any."""
_FIRST_RECORDS = 20
_LIST = re.compile(r"(?:.*/)?notes\.jsonl")
_NOTION_PAGE = re.compile(r".* [0-9a-f]{32}\.(?:md|html)", re.IGNORECASE)
PENDING_CHARS = 8 << 20
"""Characters of entries that are held until their notes are written."""
MOST_OF_A_NAME = 10_000
"""Notes that differ only in a number in their name."""
SAMPLES = 5
SHOWN_LEFT_OUT = 20
_STEP = 100
"""Records between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A note that is written, and how it begins."""

    path: str
    text: str


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do."""

    source: str
    id: str
    """Names the import, to undo it; empty if it neither added nor changed a note, or restored notes as they were."""
    dry_run: bool
    notes: int = 0
    """Notes that were added."""
    records: int = 0
    """Records that were added: pages, and entries of the notes of a day."""
    updated: int = 0
    """Records that say something else than at the last import; their notes were changed. Undo restores them."""
    updated_of: list[str] = field(default_factory=list[str])
    """The earlier imports whose notes were changed."""
    present: int = 0
    """Records that were there already."""
    kept: list[str] = field(default_factory=list[str])
    """Notes that were edited here and differ from the export; they stay as they are."""
    left_out: int = 0
    not_restored: int = 0
    """Of those, notes of memoriter's own export that could not be put back at their place."""
    reasons: list[LeftOut] = field(default_factory=list[LeftOut])
    """The first ones that are left out."""
    samples: list[Sample] = field(default_factory=list[Sample])


def run_import(
    workspace: Workspace,
    form: Format,
    path: Path,
    *,
    locks: Path,
    zone: str | None = None,
    own: bool = False,
    name: str = "",
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Import an export into a folder of notes.

    Args:
        workspace: the folder of notes.
        form: the format of the export.
        path: the file or folder.
        locks: a private folder, which has what is needed to undo imports. Two imports run one after the other.
        zone: the owner's time zone, an IANA name; None: that of the process.
        own: whether the owner wrote all of it, so that it counts like their own notes.
        name: what the owner calls the source. Imports of the same name belong to one source; empty: the file or folder
            is the source.
        dry_run: only count, and write nothing.
        progress: called with the number of records that are done, and of all.

    Raises:
        UsageError: the export cannot be read, or is broken or hostile; nothing was written.
        WriteError: a note could not be written. The next run continues there.
    """
    if own and not form.owned:
        message = f"The option --own is not for {form.name}: an export of it has text that others wrote."
        raise UsageError(message, remedy="Leave out --own.")
    name = source_name(name)
    with open_files(path, form.inner) as files, nullcontext() if dry_run else folder_lock(locks):
        run = Run(form.name, run_id(form, path, name), zone, own)
        report = ImportReport(form.name, run.id, dry_run)
        known = known_records(workspace.root, form.name)
        others = OtherSources(form, run, known, path, files.title)
        with closing(records_of(form, files, own=own, name=name)) as records:
            total = _check(records, form, path, others)
        history = History(locks, workspace.root)
        repeated = any(each.run == run.id for each in known.values())
        with _recording():
            record = None if dry_run else history.begin(run, repeated=repeated)
        report.id = record.id if record else history.id_of(run, repeated=repeated)
        writing = _Writing(workspace, run, report, known, record)
        actor = acting(who=f"import from {form.name}", act="import", session=report.id)
        with actor, closing(records_of(form, files, own=own, name=name)) as records:
            for number, each in enumerate(records):
                if progress and number % _STEP == 0:
                    progress(number, total)
                writing.add(each)
        writing.finish()
        if progress:
            progress(total, total)
        if not (report.notes or report.updated):
            report.id = run.id if repeated else ""
    return report


@contextmanager
def _recording() -> Generator[None]:
    """Raise WriteError if the record of the import cannot be written."""
    try:
        yield
    except OSError as error:
        message = f"The import could not be recorded in {error.filename!r}: {sentence(error.strerror or error)}"
        raise WriteError(message, remedy="Repeat the import: it continues where it stopped.") from error


def _check(records: Iterator[Record], form: Format, path: Path, others: OtherSources) -> int:
    """Read an export to its end, and return the number of its records. Raises UsageError."""
    total = kept = 0
    try:
        for record in records:
            total += 1
            kept += not isinstance(record, LeftOut | NotesLayout | IgnoreFile)
            others.check(record)
    except UsageError as error:
        if kept:
            raise
        raise _of_another_program(form, path) or error from error
    if not kept:
        message = f"There is nothing of {form.name} in {str(path)!r}."
        remedy = "Name another format or path: docs/import.md lists what to give for each format."
        raise _of_another_program(form, path) or UsageError(message, remedy=remedy)
    return total


def _of_another_program(form: Format, path: Path) -> UsageError | None:
    """Return the error for an export of another program, if it is one."""
    if (other := recognise(path, form.name)) is None:
        return None
    message = f"{str(path)!r} is not an export of {form.name}. It is one of {other}."
    return UsageError(message, remedy=f"Run `memoriter import {other} {quote(str(path))}`.")


@dataclass(slots=True)
class _Writing:
    """The second pass."""

    workspace: Workspace
    run: Run
    report: ImportReport
    known: dict[str, KnownRecord]
    record: RunRecord | None
    seen: set[str] = field(default_factory=set[str])
    pending: dict[tuple[str, str], list[Entry]] = field(default_factory=dict[tuple[str, str], list[Entry]])
    """Entries by their group and day."""
    pending_chars: int = 0
    changes: dict[str, Changed] = field(default_factory=dict[str, "Changed"])
    """By the note."""

    def add(self, record: Record) -> None:
        match record:
            case LeftOut():
                self.report.not_restored += self.run.own and self.run.source == "memoriter"
                self._leave_out(record)
            case NotesLayout():
                self.workspace.adopt_notes_layout(write=not self.report.dry_run)
            case IgnoreFile():
                self._restore_ignore_file(record)
            case Original():
                self._restore(record)
            case Page():
                self._add_page(record)
            case Entry():
                self._add_entry(record)
            case _:
                assert_never(record)

    def finish(self) -> None:
        self._write_entries()
        for path, changes in self.changes.items():
            self._update_entries(path, changes)
        if self.record is not None:
            with _recording():
                self.record.finish(changed=bool(self.report.notes or self.report.updated))

    def _add_page(self, page: Page) -> None:
        for part in parts_of(page):
            key = page_key(part.id)
            known = None if key in self.seen else self.known.get(key)
            if key in self.seen:
                self.report.present += 1
            elif known is None:
                self._write_new(page_path(part, self.run), partial(page_note, part, self.run), key)
            else:
                self._update_page(part, known)
            self.seen.add(key)

    def _update_page(self, page: Page, known: KnownRecord) -> None:
        run = Run(self.run.source, known.run, self.run.zone, self.run.own)
        text = page_note(page, run)
        front = read_imported(text)
        if front is None or front.hash == known.hash:
            self.report.present += 1
        elif not known.unchanged:
            self.report.kept.append(known.path)
        else:
            self._change(known.path, lambda _: text, [known])

    def _add_entry(self, entry: Entry) -> None:
        key = f"entry {entry_key(entry.id)}"
        known = self.known.get(key)
        if key in self.seen:
            self.report.present += 1
        elif known is None:
            self.pending.setdefault((entry.group, self.run.day(entry.at)), []).append(entry)
            self.pending_chars += len(entry.text)
        elif known.hash == content_hash(entry_lines(entry, self.run)):
            self.report.present += 1
        elif known.unchanged:
            self.changes.setdefault(known.path, []).append((entry, known))
        else:
            self.report.kept.append(known.path)
        self.seen.add(key)
        if self.pending_chars > PENDING_CHARS:
            self._write_entries()

    def _write_entries(self) -> None:
        for (group, day), entries in self.pending.items():
            title = ", ".join(filter(None, (self.run.source, group, day or "undated")))
            for part in portions(entries):
                note = partial(entries_note, title, day, part, self.run)
                self._write_new(entries_path(group, day, self.run), note, "", records=len(part))
        self.pending.clear()
        self.pending_chars = 0

    def _update_entries(self, path: str, found: Changed) -> None:
        def with_entries(text: str) -> str:
            places = entry_places(text)
            changes = [(*places[entry_key(entry.id)], entry_lines(entry, self.run)) for entry, _ in found]
            return with_new_hash(replace_lines(text, changes))

        self._change(path, with_entries, [known for _, known in found])

    def _change(self, path: str, edit: Callable[[str], str], known: list[KnownRecord]) -> None:
        """Change a note of an earlier import, and keep the version that it had, unless somebody edits it meanwhile."""
        if self.record is not None:
            content = self.workspace.content(path) or b""
            before = content.decode("utf-8", "replace")
            front = read_imported(before)
            if front is None or not front.is_unchanged(before):
                self.report.kept.append(path)
                return
            text = edit(before)
            with _recording():
                self.record.add_changed(path, content, text)
            try:
                self.workspace.replace(path, text, expected=bytes_hash(content))
            except WriteConflict:
                self.report.kept.append(path)
                return
        self.report.updated += len(known)
        for each in known:
            if each.run not in {self.run.id, *self.report.updated_of}:
                self.report.updated_of.append(each.run)

    def _write_new(self, path: str, note: Callable[[], str], key: str, *, records: int = 1) -> None:
        """Write a new note, beside a note that has the name already. A dry run makes only the notes that it shows."""
        wants_sample = len(self.report.samples) < SAMPLES
        text = note() if wants_sample or not self.report.dry_run else ""
        if not self.report.dry_run:
            try:
                path = self._create(path, text, key)
            except PathRefused as error:
                self._leave_out(LeftOut(path, error.message))
                return
        self.report.notes += 1
        self.report.records += records
        if wants_sample:
            self.report.samples.append(Sample(path, beginning(text)))

    def _create(self, path: str, text: str, key: str) -> str:
        """Create a note, and return its path. Raises PathRefused and WriteError."""
        names = [path, *([numbered(path, content_hash(key)[:8])] if key else ())]
        for name in (*names, *(numbered(path, number) for number in range(2, MOST_OF_A_NAME))):
            if os.path.lexists(self.workspace.root / name):
                continue
            if self.record is not None:
                with _recording():
                    self.record.add_new(name, text)
            try:
                self.workspace.replace(name, text, expected=None)
            except WriteConflict:
                continue
            return name
        raise WriteError(f"There are {MOST_OF_A_NAME:,} notes like {path!r}; no more were written.")

    def _restore_ignore_file(self, file: IgnoreFile) -> None:
        try:
            done = restore_ignore_file(self.workspace.root, file.path, file.content, dry_run=self.report.dry_run)
        except PathRefused as error:
            self._leave_out(LeftOut(file.path, error.message))
            return
        if not done:
            self.report.kept.append(file.path)

    def _restore(self, note: Original) -> None:
        """Write a note of memoriter as it was, unless there is one."""
        try:
            present = self.workspace.content(note.path)
            if present is not None:
                self.report.present += present == note.content
                self.report.kept += [note.path] if present != note.content else []
                return
            if not self.report.dry_run:
                self.workspace.replace(note.path, note.content, expected=None)
                self.report.id = ""
                os.utime(self.workspace.root / note.path, ns=(note.changed_ns, note.changed_ns), follow_symlinks=False)
        except PathRefused as error:
            self.report.not_restored += 1
            self._leave_out(LeftOut(note.path, error.message))
            return
        self.report.notes += 1
        self.report.records += 1
        if len(self.report.samples) < SAMPLES:
            self.report.samples.append(Sample(note.path, beginning(note.content.decode("utf-8", "replace"))))

    def _leave_out(self, record: LeftOut) -> None:
        self.report.left_out += 1
        if len(self.report.reasons) < SHOWN_LEFT_OUT:
            self.report.reasons.append(record)


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
        self._others = {key: each for key, each in known.items() if form.local_ids and each.run != run.id}
        self._run = run
        self._path = path
        self._title = title
        self._is_folder = form.in_place and path.is_dir()

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
