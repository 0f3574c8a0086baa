"""The folder of notes: list its files, and read and write them within limits."""

from __future__ import annotations

import codecs
import os
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import PathRefused, WorkspaceNotFound, WriteConflict, WriteError, sentence
from memoriter.ids import bytes_hash, has_cr_alone, has_crlf, note_bytes
from memoriter.layout import DAILY_NOTE, FOLDER, LONG_TERM, SUFFIX, VAULT, detect_layout, note_files, openclaw_marker
from memoriter.types import Diagnostic, Entry, Excerpt, Skipped, Source
from memoriter.workspace._cut import no_such_note, no_text, slice_lines, truncate
from memoriter.workspace._paths import (
    Admission,
    Area,
    ExtraPath,
    Loaded,
    Raw,
    ReadablePath,
    absolute,
    changed_ns,
    decode,
    find_normalized,
    is_client_memory,
    is_utf8,
    list_areas,
    names_below,
    names_inside,
    not_utf8,
    path_refused,
    read_bytes,
    source_at,
    split_citation,
    stamp_of,
)
from memoriter.workspace._scan import STATEMENTS, Scan, check_principal, notes_outside, scan_areas, without_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date, datetime

    from memoriter.journal import Journal
    from memoriter.layout import Layout
    from memoriter.workspace._authors import WriterRecords
    from memoriter.workspace.transcripts import Transcripts
    from memoriter.workspace.writing import Addition, Appended, Compose, Record
    from memoriter.workspace.writing import Entry as NewEntry

_ATTEMPTS = 8
"""Times that an entry is put into a note that others change meanwhile."""
MAX_BYTES = 16 * 1024 * 1024
"""Largest size of a note in bytes; a larger file is a book or a mistake."""


class Workspace:
    """The memory files below one folder, and the extra paths that the owner configured."""

    root: Path
    transcripts: Transcripts | None
    """Session transcripts that belong to the memory, or None."""

    def __init__(
        self,
        root: Path,
        extra_paths: Sequence[ExtraPath] = (),
        *,
        max_bytes: int = MAX_BYTES,
        transcripts: Transcripts | None = None,
        make: Callable[[Path], None] | None = None,
        layout: Layout | None = None,
        keep_layout: Callable[[], None] | None = None,
        daily_note: str = DAILY_NOTE,
        extra_suffixes: Sequence[str] = (),
        principal: str = "",
        writers: Path | None = None,
        journal: Callable[[], Journal | None] = lambda: None,
    ) -> None:
        """Open a workspace.

        Args:
            root: the folder of notes; it may itself be a symbolic link.
            extra_paths: further files and folders that are memory.
            max_bytes: size limit of a note; scans skip larger notes, and reads refuse them.
            transcripts: session transcripts that belong to the memory.
            make: creates `root` if it is missing, when something is written; None: `root` must exist.
            layout: which Markdown files of the folder are memory; None: what the folder holds decides at each scan.
            keep_layout: called before the first write that would change the layout that the folder's content
                decided, so that all its notes stay memory; it must make the layout a setting.
            daily_note: path of a day's note below the folder, with the date codes of `strftime`.
            extra_suffixes: suffixes of notes besides `.md`, such as `.txt`.
            principal: whose long-term memories are memory here; empty: those of no configured principal.
            writers: the file that records what came with tokens; None: only the marks in the notes name authors.
            journal: returns where each change of a note is entered; None: nowhere.

        Raises:
            WorkspaceNotFound: `root` is not a folder.
        """
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolving would follow the link
        self._extra_paths = tuple(extra_paths)
        self._max_bytes = max_bytes
        self.transcripts = transcripts
        self._previous_sources: Mapping[str, Source] = {}
        self._make = make
        self._chosen_layout: Layout | None = layout
        self._keep_layout = keep_layout
        self._daily_note = daily_note
        self._principal = principal
        self._writers_file = writers
        self._open_journal = journal
        self.suffixes = (SUFFIX, *extra_suffixes)
        """The suffixes of notes."""
        self._detected_layout: Layout | None = None
        if not self.root.is_dir() and (make is None or os.path.lexists(self.root)):
            message = f"The path {os.fspath(root)!r} is not a folder."
            raise WorkspaceNotFound(message, remedy="Create it, or name another with -w.")

    @property
    def layout(self) -> Layout:
        """Which Markdown files of the folder are memory, as of the last scan."""
        if self._chosen_layout is None and self._detected_layout is None:
            chosen = bool(self._extra_paths) and names_inside(str(self.root), self._extra_paths)
            self._detected_layout = "openclaw" if chosen else detect_layout(str(self.root), self.suffixes)
        return self._chosen_layout or self._detected_layout or "openclaw"

    def make_root(self) -> None:
        """Create the folder of notes if it is missing and may be created. Raises OSError."""
        if self._make is not None and not self.root.is_dir():
            self._make(self.root)

    def scan(self) -> Scan:
        """Return all sources that are on the disk now, and the files that were skipped."""
        self._detected_layout = None  # what the folder holds may have changed
        notes, self._previous_sources = scan_areas(self._areas(), self._max_bytes, self._previous_sources)
        notes = without_foreign(notes, self._readable_path, self._max_bytes, self._principal)
        if self.transcripts is None:
            return notes
        sessions = self.transcripts.scan()
        sources = sorted((*notes.sources, *sessions.sources), key=lambda source: source.path)
        skipped = sorted((*notes.skipped, *sessions.skipped), key=lambda skip: skip.path)
        return Scan(tuple(sources), tuple(skipped), {**notes.folders, **sessions.folders})

    def find(self, path: str) -> tuple[str, Source | None] | None:
        """Return the cited form of a path and its current source.

        Returns:
            The cited path and the source, or None as the source if the file does not exist. None alone if the path
            can never be memory.
        """
        if self.transcripts is not None and self.transcripts.cites(path):
            source = self.transcripts.find(path)
            if source is None:
                return None if os.path.isabs(path) else (path, None)  # noqa: PTH117 (as in a scan)
            return source.path, source
        verdict = self._admission().admit(path)
        return None if isinstance(verdict, Skipped) else (verdict.cited, source_at(verdict, self._max_bytes))

    def load(self, source: Source, gone: Mapping[str, str] | None = None) -> Loaded:
        """Read a note, and enter a change by another program into the journal.

        Args:
            source: the note.
            gone: by their hashes, the notes that are not there any more; one of the same content had the name before.

        Raises:
            PathRefused: the note is gone, or it is no longer a plain file of the memory.
        """
        place = self._readable_path(source.path)
        try:
            with self._watching(place.cited) as saw:
                content, status = self._read(place)
                moved = gone.get(bytes_hash(content), "") if gone else ""
                saw(content, status.st_mtime, moved)
        except FileNotFoundError:
            raise path_refused(source.path, "it is not there any more") from None
        self._keep_writers(moved, place.cited)
        return _loaded(source, content, status)

    def peek(self, source: Source) -> Loaded:
        """Read a note, and write nothing. Raises PathRefused, as `load` does."""
        try:
            content, status = self._read(self._readable_path(source.path))
        except FileNotFoundError:
            raise path_refused(source.path, "it is not there any more") from None
        return _loaded(source, content, status)

    def read(
        self, path: str, *, start: int | None = None, lines: int | None = None, max_chars: int = 100_000
    ) -> Excerpt:
        """Read lines of one memory file.

        For a transcript, return the messages in these lines of its file.

        Args:
            path: a cited or an absolute path, which may end in lines: `#L4-L6`, `#L4`, `:4` or `:4-6`.
            start: first line, 1-based; smaller numbers count as 1.
            lines: number of lines; smaller numbers count as 1, but 0 without `start` means all lines.
            max_chars: limit of the text in characters. A text of several lines is cut at the end of a line, and
                `truncated` is set.

        Returns:
            The lines. The text is empty if the file does not exist yet, or ends before `start`.

        Raises:
            PathRefused: the path is not one of the memory's files. No other exception is raised.
        """
        path, cited_start, cited_lines = split_citation(path)
        if cited_start is not None and start is None:
            start = cited_start
            lines = lines if lines is not None else cited_lines
        if self.transcripts is not None and self.transcripts.cites(path):
            return self.transcripts.read(path, start=start, lines=lines, max_chars=max(1, max_chars))
        place = self._readable_path(path)
        try:
            content, _ = self._read(place)
        except FileNotFoundError:
            actual_path = find_normalized(place)
            if actual_path is None:
                return Excerpt(place.cited, "", reason=no_such_note(place.cited))
            return self.read(actual_path, start=start, lines=lines, max_chars=max_chars)
        full_text = decode(content)
        text, truncated = truncate(slice_lines(full_text, start, lines), max(1, max_chars))
        reason = None if text else no_text(place.cited, full_text, start)
        exact = "\ufffd" not in full_text or is_utf8(content)
        return Excerpt(place.cited, text, truncated, reason, bytes_hash(content) if exact else None)

    def cited(self, path: str) -> str:
        """Return the cited form of a path. Raises PathRefused if it can never be memory."""
        return self._readable_path(path).cited

    def _keep_writers(self, old: str, new: str) -> None:
        """Let the lines of a note have the writers that they had under its old name; empty: it had none."""
        if old and self._writers is not None:
            with suppress(WriteError):  # while the record is damaged, no line counts as the owner's
                self._writers.copy(old, new)

    def look(self, path: str, *, renamed: bool = False) -> bytes | None:
        """Return what `content` does, and enter into the journal what another program changed. Raises PathRefused.

        Args:
            path: the note.
            renamed: whether to look for the name that a new note may have had before, in the whole journal.
        """
        place = self._readable_path(path)
        moved = ""
        with self._watching(place.cited) as saw:
            try:
                content, status = self._read(place)
            except FileNotFoundError:
                saw(None, 0.0, "")
                return None
            if renamed and self.journal is not None:
                moved = self.journal.former_name(place.cited, content, lambda name: os.path.lexists(self.root / name))
            saw(content, status.st_mtime, moved)
        self._keep_writers(moved, place.cited)
        return content

    def saw_removed(self, path: str, moved: str = "") -> None:
        """Enter into the journal that a note is gone, if it is; `moved` is its new name, if it has one."""
        with self._watching(path) as saw:
            if not os.path.lexists(self.root / path):
                saw(None, 0.0, moved)

    def _watching(self, path: str) -> AbstractContextManager[Callable[[bytes | None, float, str], None]]:
        """Return what yields a function that enters a change of another program into the journal."""
        if self.journal is None:
            return nullcontext(lambda _content, _changed, _moved: None)
        return self.journal.watching(path)

    def _read(self, place: ReadablePath) -> tuple[bytes, os.stat_result]:
        """Return the content of a plain file and its stat. Raises PathRefused and FileNotFoundError."""
        content, status = read_bytes(place, self._max_bytes)
        if place.cited.endswith(STATEMENTS):
            check_principal(content, place.cited, self._principal)
        return content, status

    def raw(self, path: str) -> Raw:
        """Read the bytes of a memory file at a cited or absolute path. Raises PathRefused if it is no such file."""
        place = self._readable_path(path)
        try:
            content, _ = self._read(place)
        except FileNotFoundError:
            raise path_refused(path, "it is not there") from None
        return Raw(place.cited, Path(place.base, *place.names), content)

    def append(self, path: str, text: str | Compose, *, admission: Admission | None = None) -> Appended:
        """Append lines to a note, and create the note if it is missing.

        `append`, `replace` and `remove` open the note through the descriptors of its folders. They follow no link
        below the workspace; the workspace itself may be a link. They also write to a note that an ignore rule
        excludes.

        Args:
            path: a cited or an absolute path.
            text: the lines to add, or a function that returns them; see `append` of this package.
            admission: which paths are memory; None: as the disk is now.

        Raises:
            PathRefused: the path is not one of the memory's files, or leads through a link.
            WriteError: nothing was written, or the note would become larger than `max_bytes`.
        """
        from memoriter.workspace.writing import append

        place = self._place_to_write(path, admission)
        return append(place, text, limit=self._max_bytes, record=self._record(place, "append"))

    def remember(
        self,
        text: str,
        *,
        to: Literal["daily", "long-term"],
        origin: str | None,
        now: datetime,
        again: bool = False,
        section: str = "",
    ) -> Appended:
        """Append an entry to the note of the day or to `MEMORY.md`, unless it is there already.

        An entry for the note of the day is also looked for in `MEMORY.md`. An entry for `MEMORY.md` is not looked for
        in the note of the day, because it may be kept for longer on purpose.

        Args:
            text: the entry.
            to: the note of the day or `MEMORY.md`.
            origin: the author, if that is not the owner.
            now: time in the owner's time zone.
            again: whether to append an entry that is already there.
            section: the heading below which it is put; the heading is added if the note has none like it.

        Raises:
            PathRefused: the note leads through a link, or is outside the memory.
            WriteError: nothing was written.
        """
        from memoriter.journal import acting
        from memoriter.workspace.writing import Appended
        from memoriter.workspace.writing import Entry as NewEntry

        admission = self._admission()
        long_term = self.long_term()
        entry = NewEntry(text, origin, now, self._daily_note if to == "daily" else "", again)
        with acting(who=origin):
            appended: Appended | None = None
            if to == "daily":
                daily = self.daily(now.date(), admission)
                with suppress(PathRefused):
                    content = self.content(str(long_term), admission)
                    if existing := entry.find_in(decode(content or b"")):
                        appended = Appended(long_term, existing.start_line, existing.end_line, existing=True)
                appended = appended or self._add_entry(daily, entry, section, admission)
            else:
                appended = self._add_entry(long_term, entry, section, admission)
        return replace(appended, left_out=self.exclusion_of(appended.path, admission))

    def _add_entry(self, file: Path, entry: NewEntry, section: str, admission: Admission) -> Appended:
        """Put an entry below a heading, which is appended if there is none, or at the end of the note."""
        from memoriter.workspace.writing import Appended

        if not section:
            return self._append_entry(file, entry, admission)
        for attempt in range(_ATTEMPTS):
            content = self.content(str(file), admission) or b""
            note = decode(content)
            if existing := entry.find_in(note):
                return Appended(file, existing.start_line, existing.end_line, existing=True)
            changed = entry.below(note, section)
            if changed is None:
                return self._append_entry(file, replace(entry, heading=section), admission)
            text, lines, first = changed
            try:
                self.replace(str(file), text, expected=bytes_hash(content))
            except WriteConflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            if entry.origin is not None:
                cited = self._writable_path(str(file), admission).cited
                self.record_author(cited, lines.split("\n"), before=note)
            return Appended(file, first, first + lines.count("\n") - 1)
        raise AssertionError("the last attempt returns or raises")

    def _append_entry(self, file: Path, entry: NewEntry, admission: Admission) -> Appended:
        """Append an entry, and record what comes with somebody else's token. Its mark counts until that is done."""
        if entry.origin is None:
            return self.append(str(file), entry.add_to, admission=admission)
        from memoriter.workspace.writing import Existing

        if self._writers is not None:
            self._writers.check()
        added = list[tuple[str, bytes]]()

        def add_to(content: bytes) -> Addition | Existing:
            addition = entry.add_to(content)
            added[:] = [] if isinstance(addition, Existing) else [(addition.text, content)]
            return addition

        appended = self.append(str(file), add_to, admission=admission)
        for text, before in added:
            cited = self._writable_path(str(file), admission).cited
            self.record_author(cited, text.split("\n"), before=decode(before))
        return appended

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Return the entries of a note in their order. Raises PathRefused if the path is not memory."""
        from memoriter.workspace.chunking import entry_spans
        from memoriter.workspace.untrusted import without_mark

        place = self._readable_path(path)
        lines = decode(self.content(path) or b"").split("\n")
        authors = self.authors(path, lines)
        return tuple(
            Entry(
                place.cited,
                start + 1,
                end,
                "\n".join(without_mark(line.removesuffix("\r")) for line in lines[start:end]),
                authors[start],
            )
            for start, end in entry_spans(lines)
        )

    def authors(self, path: str, lines: Sequence[str] | None = None) -> list[str]:
        """Return who wrote each line of a note, such as `agent, 2026-11-22`; empty: the owner.

        `lines` are all of its lines; None: as they are now.

        Raises:
            PathRefused: the path is not memory, or cannot be read.
            WriteError: the record of what came with tokens is damaged, so that nobody is known to be the owner.
        """
        from memoriter.workspace.untrusted import authors_of

        if lines is None:
            lines = decode(self.content(path) or b"").split("\n")
        authors = authors_of(lines)
        return authors if self._writers is None else self._writers.authors(path, lines, authors)

    def record_author(self, path: str, lines: Sequence[str], author: str = "", *, before: str, front: str = "") -> None:
        """Record who wrote lines of a note, if it is neither the owner nor one of their agents. Raises WriteError.

        Args:
            path: the note, as cited.
            lines: the lines.
            author: as in the mark; empty: what the first mark of the lines says.
            before: the text of the note without them.
            front: the text of the note, if its front matter is the author's.
        """
        from memoriter.workspace.untrusted import authors_of, standing_of, without_mark

        author = author or next(filter(None, authors_of(lines)), "")
        if self._writers is not None and standing_of(author) == "other":
            old = before.split("\n")
            owned = [line for line, by in zip(old, authors_of(old), strict=True) if not by]
            self._writers.add(path, list(map(without_mark, lines)), author, owned=owned, front=front)

    def replace(
        self,
        path: str,
        text: str | bytes,
        *,
        expected: str | None,
        of: tuple[str, ...] = (),
        for_good: bool = False,
        moved: str = "",
    ) -> None:
        """Replace the whole content of a note.

        Args:
            path: a cited or an absolute path.
            text: the new content. A `str` gets the line endings and the byte order mark of the present content.
            expected: `ids.bytes_hash` of the current content, or None if the note must not exist.
            of: the changes that this takes back, by their ids in the journal.
            for_good: whether nothing brings lines back that go, so that their authors are not kept.
            moved: the present name of the note, which this one is to replace: its authors and history are the same.

        Raises:
            PathRefused: the path is not one of the memory's files, or leads through a link.
            WriteConflict: the content does not match `expected`; the note is unchanged.
            WriteError: the note could not be written, or has bytes that are not UTF-8 and that a `str` cannot keep; it
                is unchanged.
        """
        from memoriter.workspace.writing import replace as replace_file

        place = self._place_to_write(path)
        if isinstance(text, str) and expected is not None:
            content = self.content(path) or b""
            if not is_utf8(content):
                raise not_utf8(place.cited)
            text = _as_in(content, text)
        if moved:
            self.look(moved)
            if self._writers is not None:
                self._writers.copy(moved, place.cited)
        replace_file(place, text, expected=expected, record=self._record(place, "replace", of, moved))
        if self._writers is not None:
            present = decode(note_bytes(text) if isinstance(text, str) else text)
            self._writers.keep(place.cited, present, for_good=for_good)
            if of:
                self._writers.bring_back(place.cited, present)

    def remove(
        self, path: str, *, expected: str, of: tuple[str, ...] = (), for_good: bool = False, moved: str = ""
    ) -> None:
        """Delete a note.

        The arguments and errors are those of `replace`, but `moved` is the new name of the note.
        """
        from memoriter.workspace.writing import remove

        place = self._writable_path(path)
        remove(place, expected=expected, record=self._record(place, "remove", of, moved))
        if self._writers is not None:
            self._writers.keep(place.cited, "", for_good=for_good)

    def _record(self, place: ReadablePath, act: str, of: tuple[str, ...] = (), moved: str = "") -> Record:
        """Return what enters a write to a note into the journal."""
        journal = self.journal

        def record(before: bytes | None, after: bytes | None) -> AbstractContextManager[object]:
            if journal is None:
                return nullcontext()
            return journal.recording(place.cited, before, after, act, of=of, moved=moved)

        return record

    def content(self, path: str, admission: Admission | None = None) -> bytes | None:
        """Return the bytes of a memory file at a cited or absolute path, or None if the file does not exist.

        Raises:
            PathRefused: the path is not memory, or leads to a link, a pipe, a folder or a file that is too large.
        """
        try:
            return self._read(self._readable_path(path, admission))[0]
        except FileNotFoundError:
            return None

    def replace_readable(
        self, path: str, text: str, *, expected: str | None, origin: str | None = None, day: str = ""
    ) -> str:
        """Do what `replace` does, and return the text that was written.

        Args:
            path: as for `replace`.
            text: the new content.
            expected: as for `replace`.
            origin: the author, if that is not the owner. What the author has changed is marked and recorded. Of what
                was marked and now is not, the owner becomes the author.
            day: date for the marks, as `YYYY-MM-DD`.

        Raises PathRefused also if scans and reads leave the note out, and WriteError as `authors` does.
        """
        from memoriter.journal import acting
        from memoriter.workspace._authors import with_authors
        from memoriter.workspace.untrusted import origin_words

        cited = self._readable_path(path).cited
        content = self.content(path) or b""
        before = decode(content)
        text = _with_line_endings(content, text)
        if origin is not None:
            if bytes_hash(content) != (expected or bytes_hash(b"")):
                message = f"{cited!r} has changed since it was read, or exists already."
                raise WriteConflict(message, remedy="Read it again and repeat the change.")
            if cited in LONG_TERM and self.long_term().name != cited:
                raise path_refused(path, f"the long-term memory of this folder is {self.long_term().name}")
            text, lines = with_authors(before, text, origin, day)
            front = text if lines and lines[0].rstrip() == "---" else ""
            self.record_author(cited, lines, origin_words(origin, day), before=before, front=front)
        with acting(who=origin):
            self.replace(path, text, expected=expected)
        if origin is None and self._writers is not None:
            self._writers.adopt(cited, before, text)
        return text

    def refusal(self, path: str) -> Skipped | None:
        """Return why the name or an ignore rule excludes a cited or absolute path, or None. Watchers call this."""
        verdict = self._admission().admit(path)
        return verdict if isinstance(verdict, Skipped) else None

    def may_hold(self, folder: str) -> bool:
        """Return whether a folder at this absolute path leads to memory or may contain it. Watchers call this."""
        return self._admission().may_hold(folder)

    def daily(self, day: date, admission: Admission | None = None) -> Path:
        """Return the path of the daily log of a day. Raises PathRefused if scans would not find a note there."""
        *folders, name = day.strftime(self._daily_note).split("/")
        folder = self.root
        for part in folders:
            folder /= part
            if folder.is_symlink():
                raise PathRefused(
                    f"{folder.relative_to(self.root).as_posix()!r} is a symbolic link and is not followed.",
                    remedy="Make it a plain folder.",
                )
        file = folder / name
        verdict = (admission or self._admission()).admit(str(file))
        if isinstance(verdict, Skipped) and verdict.reason == "outside":
            raise PathRefused(
                f"The note of the day {file.relative_to(self.root).as_posix()!r} is outside the memory.",
                remedy='Set memory.dailyNote to a path below memory/, or memory.layout to "notes".',
            )
        return file

    def exclusion_of(self, file: Path, admission: Admission | None = None) -> Diagnostic | None:
        """Return why no search finds a note that was just written; None if searches do."""
        verdict = (admission or self._admission()).admit(str(file))
        if isinstance(verdict, Skipped):
            why = verdict.message
            advice = "Correct .memoryignore. "
        elif source_at(verdict, self._max_bytes) is None:
            why = "it is not a plain file of the workspace any more"
            advice = ""
        else:
            return None
        message = f"{file.name!r} was written, but no search finds it: {sentence(why)}"
        return Diagnostic("left_out", message, f"{advice}See what is left out with `memoriter status -v`.")

    def long_term(self) -> Path:
        """Return the path of `MEMORY.md`, or of `memory.md` if only that file exists."""
        upper, lower = (self.root / name for name in LONG_TERM)
        return lower if os.path.lexists(lower) and not os.path.lexists(upper) else upper

    def notes_outside(self) -> Diagnostic | None:
        """Return a diagnostic if notes below the folder are not memory because of OpenClaw's layout."""
        where = (str(self.root), self._areas(), self._max_bytes, self.suffixes)
        return notes_outside(*where) if self.layout == "openclaw" else None

    def adopt_notes_layout(self, *, write: bool) -> None:
        """Make all Markdown files of a folder without notes memory, unless its layout is chosen; `write` keeps that."""
        if self._chosen_layout or self.layout == "notes" or any(note_files(str(self.root), self.suffixes)):
            return
        if write and self._keep_layout is not None:
            self.make_root()
            self._keep_layout()
        self._chosen_layout = "notes"

    def _place_to_write(self, path: str, admission: Admission | None = None) -> ReadablePath:
        self.make_root()
        place = self._writable_path(path, admission)
        # Make the layout a setting if the file that is about to be written would change it.
        if self._keep_layout is not None and self._chosen_layout is None and self.layout == "notes":
            root = str(self.root)
            names = names_below(root, str(Path(place.base, *place.names))) or ("",)
            if names[0] in {*LONG_TERM, FOLDER} and not (self.root / VAULT).is_dir() and not openclaw_marker(root):
                self._keep_layout()
                self._chosen_layout = "notes"
        return place

    @cached_property
    def journal(self) -> Journal | None:
        """The journal of changes, or None."""
        return self._open_journal()

    @cached_property
    def _writers(self) -> WriterRecords | None:
        """The record of what came with tokens, or None."""
        if self._writers_file is None:
            return None
        from memoriter.workspace._authors import WriterRecords

        return WriterRecords(self._writers_file)

    def _admission(self) -> Admission:
        return Admission(str(self.root), self._areas())

    def _areas(self) -> tuple[Area, ...]:
        return list_areas(str(self.root), self._extra_paths, self.layout, self.suffixes)

    def _writable_path(self, path: str, admission: Admission | None = None) -> ReadablePath:
        verdict = (admission or self._admission()).admit(path)
        if isinstance(verdict, ReadablePath):
            if is_client_memory(verdict.cited):
                raise path_refused(path, "another program keeps it, and memoriter does not write there")
            return verdict
        names = names_below(str(self.root), absolute(str(self.root), verdict.path))
        if verdict.reason != "ignored" or not names:
            raise path_refused(path, verdict.message)
        return ReadablePath(str(self.root), names, verdict.path)

    def _readable_path(self, path: str, admission: Admission | None = None) -> ReadablePath:
        verdict = (admission or self._admission()).admit(path)
        if isinstance(verdict, Skipped):
            raise path_refused(path, verdict.message)
        return verdict


def _with_line_endings(content: bytes, text: str) -> str:
    """Return a text with the line endings of a note."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if has_crlf(content) else text


def _loaded(source: Source, content: bytes, status: os.stat_result) -> Loaded:
    current = Source(source.path, source.kind, source.file, status.st_size, changed_ns(status), stamp_of(status))
    text = decode(content)
    # Invalid bytes decode to U+FFFD, so a text without it needs no check.
    return Loaded(current, bytes_hash(content), text, "\ufffd" not in text or is_utf8(content), status.st_ctime_ns)


def _as_in(content: bytes, text: str) -> str:
    """Return a text with the line endings and the byte order mark of a note."""
    text = _with_line_endings(content, text)
    if has_cr_alone(content):
        text = text.replace("\r\n", "\n").replace("\n", "\r")
    return f"\ufeff{text}" if content.startswith(codecs.BOM_UTF8) and not text.startswith("\ufeff") else text
