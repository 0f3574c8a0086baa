"""Copies of note text beside the notes: those that forgetting deletes, and those that it can only report.

Beside an agent's sessions are the context given to each, and logs from before a flush. A context is assembled again
when it is needed, so forgetting deletes all contexts. A copy of a log may be the only place of lines that a model
removed, so forgetting removes only the forgotten text from it. The same holds for the versions of imported notes that a
later import replaced, in the folder of imports of memoriter's home. Git history, copies of other programs, indexes of
other agents and services are outside its control.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from memoriter.errors import MemoriterError
from memoriter.folding import contains, fold
from memoriter.ids import bytes_hash
from memoriter.layout import SUFFIX
from memoriter.permissions import folder_lock
from memoriter.plain_file import open_plain, read_plain
from memoriter.providers import PROCESS
from memoriter.types import ORIGIN, Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES, blocks_with, holds, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoriter.workspace import Removal

CONTEXTS = "contexts"
COPIES = "flushes"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_NOT_A_WORD = re.compile(r"\W+")
_MARKS = re.compile(r"(?:`{3,}|~{3,})\S*|[\W_]*")
"""A line without words, or the first line of a fence."""


@dataclass(frozen=True, slots=True)
class CopyQuery:
    """The text to forget, in the form that is searched for in these files: a text, or lines of notes."""

    match: str | None
    rows: frozenset[str] = frozenset()
    """The lines that say something, stripped of surrounding white space: no marks of fences, tables or origins."""

    def is_in(self, text: str) -> bool:
        """Return whether a text contains it, even if its marks are escaped, such as `<` as `&lt;`."""
        if self.match is None:
            return any(row.strip() in self.rows for row in text.split("\n"))
        words = _words(self.match)
        return holds(text, self.match) or (bool(words) and words in _words(text))

    def lines(self, content: bytes) -> set[int]:
        """Return the numbers, from 1, of the lines to remove from a log."""
        if self.match is not None:
            passages = blocks_with(content, self.match)
            return {line for passage in passages for line in range(passage.start_line, passage.end_line + 1)}
        rows = (row.decode("utf-8", "replace").strip() for row in content.split(b"\n"))
        return {number for number, row in enumerate(rows, 1) if row in self.rows}


def copy_query(match: str | None, notes: Iterable[Removal]) -> CopyQuery:
    """Return the search terms for the files that sessions keep. Those hold no text of transcripts."""
    passages = (passage for removal in notes for passage in removal.passages)
    lines = (row.strip() for passage in passages for row in passage.text.split("\n"))
    # Any other line, such as a fence, is in many entries, and would go from all of them.
    return CopyQuery(match, frozenset(line for line in lines if not _MARKS.fullmatch(ORIGIN.sub("", line))))


def files_containing(query: CopyQuery, sessions: Path | None) -> tuple[Path, ...]:
    """Return the files beside an agent's sessions that contain the text to forget."""
    if sessions is None:
        return ()
    contexts = [file for file in _files(sessions.with_name(CONTEXTS)) if query.is_in(_context_text(content_of(file)))]
    copies = [file for file in versions(sessions) if query.lines(content_of(file))]
    return (*contexts, *copies)


def contexts_of(sessions: Path | None) -> list[Path]:
    """Return every file with the context that was given to a session of the agent."""
    return list(_files(sessions.with_name(CONTEXTS))) if sessions is not None else []


def cut_from_copies(query: CopyQuery, files: Iterable[Path]) -> list[Diagnostic]:
    """Remove the text to forget from copies of notes. Return diagnostics for those that still hold it."""
    problems = list[Diagnostic]()
    for file in files:
        content = content_of(file)
        if not (removed := query.lines(content)):
            continue
        remaining = b"".join(line for number, line in enumerate(_LINE.findall(content), 1) if number not in removed)
        try:
            replace(file, remaining, expected=bytes_hash(content))
        except MemoriterError as error:
            message = f"A copy still holds it: {error.message}"
            problems.append(Diagnostic(error.code, message, "Delete the text in that file."))
    return problems


def drop_versions(sessions: Path, root: Path) -> None:
    """Delete the earlier versions of imported notes that are not there any more."""
    from memoriter.import_history import forget_versions

    if (folder := _records_of_imports(sessions)).is_dir():
        forget_versions(root, folder)


def drop_past(sessions: Path) -> None:
    """Delete the states of the past that are kept for searches, and those that are being made."""
    past = sessions.parents[2] / "memory" / "past"
    if past.is_dir():
        with folder_lock(past.parent):
            shutil.rmtree(past, ignore_errors=True)


def state_folders(sessions: Path | None) -> list[str]:
    """Return the folders of memoriter's home whose files are replaced, among them those with versions of notes."""
    if sessions is None:
        return []
    own = [sessions.parents[2], sessions, sessions.with_name(CONTEXTS), sessions.with_name(COPIES)]
    return [str(folder) for folder in (*own, *sorted(_records_of_imports(sessions).glob("*-*")))]


def versions(sessions: Path | None) -> Iterator[Path]:
    """Yield the earlier versions of notes: of logs before a flush, and of imported notes before an import."""
    if sessions is None:
        return
    yield from _files(sessions.with_name(COPIES))
    for folder in sorted(_records_of_imports(sessions).glob("*-*")):
        yield from (file for file in _files(folder) if file.suffix == SUFFIX)


def _records_of_imports(sessions: Path) -> Path:
    """Return the folder of the records in memoriter's home, which is three folders above an agent's transcripts."""
    from memoriter.import_history import RECORDS

    return sessions.parents[2] / RECORDS


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(file for file in folder.iterdir() if not file.is_symlink() and file.is_file())
    except OSError:
        return


def content_of(file: Path) -> bytes:
    try:
        return read_plain(file, MAX_BYTES)
    except OSError:  # deleted meanwhile
        return b""


def _context_text(content: bytes) -> str:
    """Return the text of a context file, without the JSON syntax."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
    values = cast("dict[str, object]", fields).values() if isinstance(fields, dict) else ()
    return "\n".join(value for value in values if isinstance(value, str))


def _words(text: str) -> str:
    import html  # imported here because its table of names is large

    return _NOT_A_WORD.sub("", fold(html.unescape(text)))


LEDGER = "ledger.sqlite"
"""The ledger of usage, which holds no text of notes."""
_GENERATION = re.compile(r"\.g\d+\.sqlite$")
_GIT_SECONDS = 10
_SPACE = rb"(?:\s|\\[nrt])+"
"""White space in a file, also as JSON escapes it."""
_TELLING = 12
"""The length in characters from which a line is unlikely to occur elsewhere by chance."""
_COPIES = ("{0}~", "{0}.bak", "{0}.orig", "{0}.tmp", "#{0}#", ".#{0}", ".{0}.swp", ".{0}.swo", ".{0}.un~", ".trash/{0}")
"""Where editors and Obsidian keep a copy of a note, from the folder of the note or of the workspace."""
_COPY = re.compile("|".join(re.escape(form).replace(r"\{0\}", "[^/]+") for form in _COPIES))
_CONFLICT = ".sync-conflict-"


def residual_copies(
    match: str | None,
    notes: Sequence[Removal],
    *,
    root: Path,
    index: Path,
    sessions: Path | None,
    providers: set[str],
) -> list[Diagnostic]:
    """Return diagnostics for what the user must check or delete after a plan is carried out."""
    files = [removal.file for removal in notes]
    needles = list(_needles(match, notes))
    diagnostics = [*_git_history(files), *_copies(files, root), *_services(providers), *_other_indexes(needles, index)]
    if match is not None:
        diagnostics += _transcripts(match, sessions)
        diagnostics += [] if files else _left_by_others(match, root)
    diagnostics += _other_sessions(copy_query(match, notes), sessions)
    message = "Backups, snapshots and synchronised copies of the folder are not looked at."
    return [*diagnostics, Diagnostic("elsewhere", message, "Delete it there as well, where you have any.")]


def _git_history(files: Sequence[Path]) -> Iterator[Diagnostic]:
    """Report notes whose earlier versions git keeps."""
    if tracked := [file.name for file in files if _tracked(file)]:
        message = f"Git keeps earlier versions of {_listed(tracked)}."
        yield Diagnostic("git_history", message, "Commit the change, then rewrite the history with `git filter-repo`.")


def _tracked(file: Path) -> bool:
    if not any((folder / ".git").exists() for folder in file.parents):
        return False
    return any(
        _git_prints(file.parent, *arguments, "--", file.name)
        for arguments in (("ls-files",), ("log", "--all", "-1", "--format=%h"))
    )


def _git_prints(folder: Path, *arguments: str) -> bool:
    """Return whether git prints anything; True if that is unknown, because git is missing or does not end."""
    if (git := shutil.which("git")) is None:
        return True
    import subprocess

    # The repository may be untrusted, so none of its programs are run.
    command = [git, "-C", str(folder), "-c", "core.fsmonitor=false", *arguments]
    try:
        completed = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)  # noqa: S603 (our words)
    except (OSError, ValueError, subprocess.SubprocessError):
        return True
    return bool(completed.stdout.strip())


def _copies(files: Iterable[Path], root: Path) -> Iterator[Diagnostic]:
    """Report copies that editors and Obsidian keep beside a note."""
    candidates = [
        folder / form.format(file.name) for file in files for folder in (file.parent, root) for form in _COPIES
    ]
    if copies := sorted({str(copy) for copy in candidates if copy.is_file()}):
        yield Diagnostic(
            "copies", f"Copies of the note exist: {_listed(copies)}.", "Delete them if they are not needed."
        )


def _left_by_others(text: str, root: Path) -> Iterator[Diagnostic]:
    """Report where a text is that no note holds any more: in copies of editors below the folder, or in git."""
    found = list[str]()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        place = f"{Path(folder).name}/"
        copies = (name for name in names if _CONFLICT in name or _COPY.fullmatch(name) or _COPY.fullmatch(place + name))
        files = (Path(folder) / name for name in copies)
        found += [str(file) for file in files if file_contains(file, text)]
    if found:
        yield Diagnostic("copies", f"Copies of notes hold it: {_listed(sorted(found))}.", "Delete them.")
    if any((folder / ".git").exists() for folder in (root, *root.parents)) and _in_history(text, root):
        message = "Earlier versions of notes that Git keeps hold it, or could not be read."
        yield Diagnostic("git_history", message, "Rewrite the history with `git filter-repo`.")


def _in_history(text: str, root: Path) -> bool:
    """Return whether a version that Git keeps has the text; True if that is unknown."""
    options = ["--all", "-1", "--format=%h", "--no-ext-diff", "--no-textconv", f"-S{text}"]
    return _git_prints(root, "log", *options, "--", ".")


def _services(providers: set[str]) -> Iterator[Diagnostic]:
    if services := sorted(providers - PROCESS):
        message = (
            f"Text of your notes was sent to {', '.join(services)} for vectors. What the service keeps is unknown."
        )
        yield Diagnostic("sent", message, "Ask the service to delete it.")


def _other_indexes(needles: Sequence[str], index: Path) -> Iterator[Diagnostic]:
    """Report indexes of other agents in the same folder. Each belongs to its agent."""
    files = sorted(index.parent.glob("*.sqlite")) if index.parent.is_dir() else []
    own = {index.name, LEDGER}
    others = [path.name for path in files if path.name not in own and not _GENERATION.search(path.name)]
    others = [name for name in others if any(file_contains(index.parent / name, text) for text in needles)]
    if others:
        message = f"Indexes of other agents or workspaces contain the text: {_listed(others)}."
        yield Diagnostic("other_indexes", message, "Run the same command with --agent or -w for each of them.")


def _needles(match: str | None, notes: Sequence[Removal]) -> Iterator[str]:
    """Yield the texts to search for elsewhere: the text itself, or the longest line of each passage."""
    if match is not None:
        yield match
        return
    for passage in (passage for removal in notes for passage in removal.passages):
        longest = max(passage.text.split("\n"), key=len).strip()
        if len(longest) >= _TELLING:
            yield longest


def _transcripts(text: str, sessions: Path | None) -> Iterator[Diagnostic]:
    if sessions is None or not sessions.is_dir():
        return
    for file in sorted(sessions.iterdir()):
        if ".jsonl" in file.name and file.is_file() and file_contains(file, text):
            session = file.name.partition(".jsonl")[0]
            yield Diagnostic(
                "transcript", f"The transcript {file.name!r} holds it.", f"Run `memoriter forget --session {session}`."
            )


def _other_sessions(query: CopyQuery, sessions: Path | None) -> Iterator[Diagnostic]:
    """Report copies of note text that belong to sessions of other agents."""
    agents = sessions.parent.parent if sessions is not None else None
    if sessions is None or agents is None or not agents.is_dir():
        return
    others = sorted(agent / sessions.name for agent in agents.iterdir() if agent != sessions.parent)
    if files := [str(file) for other in others for file in files_containing(query, other)]:
        message = f"Copies that are kept for sessions of other agents hold it: {_listed(files)}."
        yield Diagnostic(
            "other_sessions", message, "Delete these files: they are copies, and are made again when needed."
        )


def file_contains(file: Path, text: str) -> bool:
    """Return whether a file contains the text in NFC, in NFD, escaped as JSON, or, unless it is long, as it is folded.

    Any white space is equal.
    """
    import mmap

    forms = {text, normalize("NFC", text), normalize("NFD", text)}
    escaped = [
        [json.dumps(word, ensure_ascii=plain)[1:-1] for word in form.split()]
        for form in forms
        for plain in (True, False)
    ]
    words = [*map(str.split, forms), *escaped]
    encoded = {_SPACE.join(re.escape(word.encode("utf-8", "replace")) for word in each) for each in words}
    try:
        with open_plain(file, follow=True) as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if any(re.search(form, content) is not None for form in encoded):
                return True
            return len(content) <= MAX_BYTES and contains(content[:].decode("utf-8", "replace"), text)
    except (OSError, ValueError):  # empty, or deleted
        return False


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
