"""The folder of notes: what is in it, and bounded reads of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WorkspaceNotFound
from memoriter.ids import bytes_hash
from memoriter.types import Excerpt, Skipped, Source
from memoriter.workspace._areas import Area, ExtraPath, ReadablePath, admit, areas_of, may_hold
from memoriter.workspace._confined import changed_ns, read_bytes, refused, stamp_of
from memoriter.workspace._excerpt import cut_to, not_there, nothing_there, slice_lines
from memoriter.workspace._find import source_at
from memoriter.workspace._paths import FOLDER, LONG_TERM, absolute, below
from memoriter.workspace._scan import Scan, scan_areas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from memoriter.workspace._transcripts import Transcripts
    from memoriter.workspace._write import Appended

MAX_BYTES = 16 * 1024 * 1024
"""A larger file is a book or a mistake, not a note."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A source with its content."""

    source: Source
    """As the disk had it when the content was read."""
    hash: str
    """`ids.bytes_hash` of the file's bytes."""
    text: str
    """Decoded as UTF-8 (wrong bytes as U+FFFD), without a byte order mark, newlines as they are."""
    decoded: bool = True
    """Whether all bytes were UTF-8."""
    inode_changed_ns: int = 0
    """When the inode changed, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A memory file, byte for byte."""

    path: str
    """As cited."""
    file: Path
    content: bytes


class Workspace:
    """The memory files below one folder, and those the owner added beside it."""

    root: Path
    transcripts: Transcripts | None
    """The conversations that count; None: none do."""

    def __init__(
        self,
        root: Path,
        extra_paths: Sequence[ExtraPath] = (),
        *,
        max_bytes: int = MAX_BYTES,
        transcripts: Transcripts | None = None,
    ) -> None:
        """Take the folder as it is.

        Args:
            root: may itself be a symbolic link.
            extra_paths: further files and folders.
            max_bytes: a larger note is left out of scans and refused to readers.
            transcripts: the conversations that count too.

        Raises:
            WorkspaceNotFound: `root` is not a folder.
        """
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolving would follow the link
        self._extra_paths = tuple(extra_paths)
        self._max_bytes = max_bytes
        self.transcripts = transcripts
        self._previous_sources: Mapping[str, Source] = {}
        if not self.root.is_dir():
            raise WorkspaceNotFound(
                f"{os.fspath(root)!r} is not a folder", remedy="Create it, or name another with -w."
            )

    def scan(self) -> Scan:
        """All sources, and all that looked like one, as the disk is now."""
        notes, self._previous_sources = scan_areas(self._areas(), self._max_bytes, self._previous_sources)
        if self.transcripts is None:
            return notes
        sessions = self.transcripts.scan()
        sources = sorted((*notes.sources, *sessions.sources), key=lambda source: source.path)
        skipped = sorted((*notes.skipped, *sessions.skipped), key=lambda skip: skip.path)
        return Scan(tuple(sources), tuple(skipped), {**notes.folders, **sessions.folders})

    def find(self, path: str) -> tuple[str, Source | None] | None:
        """How a path is cited, and its source as the disk is now, if any; `None` for a path that is never memory.

        Args:
            path: as cited, or absolute.
        """
        if self.transcripts is not None and self.transcripts.cites(path):
            source = self.transcripts.find(path)
            if source is None:
                return None if os.path.isabs(path) else (path, None)  # noqa: PTH117 (as in a scan)
            return source.path, source
        verdict = admit(self._areas(), str(self.root), path)
        return None if isinstance(verdict, Skipped) else (verdict.cited, source_at(verdict, self._max_bytes))

    def load(self, source: Source) -> Loaded:
        """The content of a note.

        Raises:
            PathRefused: it is gone, or no longer a plain file of the memory.
        """
        place = self._readable_path(source.path)
        try:
            content, status = read_bytes(place, self._max_bytes)
        except FileNotFoundError:
            raise refused(source.path, "it is not there any more") from None
        current = Source(source.path, source.kind, source.file, status.st_size, changed_ns(status), stamp_of(status))
        text = _decode(content)
        # Only a text with that character can have been cut out of wrong bytes.
        return Loaded(current, bytes_hash(content), text, "\ufffd" not in text or _is_utf8(content), status.st_ctime_ns)

    def read(
        self, path: str, *, start: int | None = None, lines: int | None = None, max_chars: int = 100_000
    ) -> Excerpt:
        """Lines of one memory file; an empty text if the file is not there yet, or ends before `start`.

        Of a transcript, what was said in these lines of its file.

        Args:
            path: as cited, or absolute.
            start: first line, 1-based; smaller numbers count as 1.
            lines: how many; smaller numbers count as 1, without `start` 0 means all.
            max_chars: the text is cut here, at the end of a line if it has several; `truncated` says so.

        Raises:
            PathRefused: the path is not one of the memory's files, and nothing else is ever raised.
        """
        if self.transcripts is not None and self.transcripts.cites(path):
            return self.transcripts.read(path, start=start, lines=lines, max_chars=max(1, max_chars))
        place = self._readable_path(path)
        try:
            content, _ = read_bytes(place, self._max_bytes)
        except FileNotFoundError:
            from memoriter.workspace._unicode_paths import find_normalized

            actual_path = None if path.isascii() else find_normalized(place)
            if actual_path is None:
                return Excerpt(place.cited, "", reason=not_there(place.cited))
            return self.read(actual_path, start=start, lines=lines, max_chars=max_chars)
        full_text = _decode(content)
        text, truncated = cut_to(slice_lines(full_text, start, lines), max(1, max_chars))
        return Excerpt(place.cited, text, truncated, None if text else nothing_there(place.cited, full_text, start))

    def raw(self, path: str) -> Raw:
        """The bytes of a memory file, as cited or absolute. Raises PathRefused, also where nothing is there."""
        place = self._readable_path(path)
        try:
            content, _ = read_bytes(place, self._max_bytes)
        except FileNotFoundError:
            raise refused(path, "it is not there") from None
        return Raw(place.cited, Path(place.base, *place.names), content)

    def append(self, path: str, text: str) -> Appended:
        """Add lines at the end of a note, which is created if it is missing.

        This and the two methods below reach the note through the descriptors of its folders and follow no link below
        the workspace, which may itself be a link. They also write a note that an ignore rule leaves out.

        Args:
            path: as cited, or absolute.
            text: what to add; see `append` of this package.

        Raises:
            PathRefused: the path is not one of the memory's files, or leads through a link.
            WriteError: nothing was written; also if the note would become larger than `max_bytes`.
        """
        from memoriter.workspace._write import append

        return append(self._writable_path(path), text, limit=self._max_bytes)

    def replace(self, path: str, text: str | bytes, *, expected: str | None) -> None:
        """Put the text in the place of a whole note.

        Args:
            path: as cited, or absolute.
            text: the new content.
            expected: `ids.bytes_hash` of the content it takes the place of; None: the note must not exist.

        Raises:
            PathRefused: the path is not one of the memory's files, or leads through a link.
            WriteConflict: the note is not as expected; it was left as it is.
            WriteError: it could not be written; it is as it was.
        """
        from memoriter.workspace._write import replace

        replace(self._writable_path(path), text, expected=expected)

    def remove(self, path: str, *, expected: str) -> None:
        """Delete a note.

        Args:
            path: as cited, or absolute.
            expected: `ids.bytes_hash` of its content.

        Raises:
            PathRefused: the path is not one of the memory's files, or leads through a link.
            WriteConflict: the note is not as expected; it was left as it is.
            WriteError: it could not be deleted.
        """
        from memoriter.workspace._write import remove

        remove(self._writable_path(path), expected=expected)

    def content(self, path: str) -> bytes | None:
        """Return the bytes of a memory file, as cited or absolute; None: nothing is there.

        Raises:
            PathRefused: the path is not memory, or a link, a pipe, a folder or a file that is too large is there.
        """
        try:
            return read_bytes(self._readable_path(path), self._max_bytes)[0]
        except FileNotFoundError:
            return None

    def refusal(self, path: str) -> Skipped | None:
        """Why a cited or absolute path is not memory by its name and the ignore rules, or `None`: for watchers."""
        verdict = admit(self._areas(), str(self.root), path)
        return verdict if isinstance(verdict, Skipped) else None

    def may_hold(self, folder: str) -> bool:
        """Whether a folder at this absolute path leads to memory, or may hold some: for watchers."""
        return may_hold(self._areas(), str(self.root), folder)

    def daily(self, day: date) -> Path:
        """The file for the notes of a day.

        Raises:
            PathRefused: `memory` is a symbolic link, so the note would be written but never found.
        """
        folder = self.root / FOLDER
        if folder.is_symlink():
            raise PathRefused(f"{FOLDER!r} is a symbolic link and is not followed", remedy="Make it a plain folder.")
        return folder / f"{day.isoformat()}.md"

    def long_term(self) -> Path:
        """`MEMORY.md`, or `memory.md` if only that is there."""
        upper, lower = (self.root / name for name in LONG_TERM)
        return lower if os.path.lexists(lower) and not os.path.lexists(upper) else upper

    def _areas(self) -> tuple[Area, ...]:
        return areas_of(str(self.root), self._extra_paths)

    def _writable_path(self, path: str) -> ReadablePath:
        verdict = admit(self._areas(), str(self.root), path)
        if isinstance(verdict, ReadablePath):
            return verdict
        names = below(str(self.root), absolute(str(self.root), verdict.path))
        if verdict.reason != "ignored" or not names:
            raise refused(path, verdict.message)
        return ReadablePath(str(self.root), names, verdict.path)

    def _readable_path(self, path: str) -> ReadablePath:
        verdict = admit(self._areas(), str(self.root), path)
        if isinstance(verdict, Skipped):
            raise refused(path, verdict.message)
        return verdict


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace").removeprefix("\ufeff")
