"""Forgetting: a plan that changes nothing, its steps, which are safe to repeat, and the copies of notes it reaches.

Beside an agent's sessions are the context given to each, and logs from before a flush. A context is assembled again
when it is needed, so forgetting deletes all contexts. A copy of a log may be the only place of lines that a model
removed, so forgetting removes only the forgotten text from it. The same holds for the versions of imported notes that a
later import replaced, in the folder of imports of memoriter's home. Git history, copies of other programs, indexes of
other agents and services are outside its control: forgetting reports them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from memoriter.backends._context import CONTEXTS, COPIES, records_of_imports, state_folders
from memoriter.errors import IndexUnavailable, MemoriterError, PathRefused, UsageError, WriteConflict, sentence
from memoriter.folding import contains, fold
from memoriter.ids import bytes_hash
from memoriter.journal import FORGET, acting
from memoriter.layout import OTHER_SUFFIXES, SUFFIX
from memoriter.permissions import folder_lock
from memoriter.plain_file import open_plain, read_plain
from memoriter.providers import PROCESS
from memoriter.types import ORIGIN, Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import (
    MAX_BYTES,
    Removal,
    all_of,
    apply_removal,
    blocks_with,
    holds,
    is_client_memory,
    lines_of,
    recover,
    unfinished,
)
from memoriter.workspace import replace as replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memoriter.backends._context import BackendSettings
    from memoriter.backends._reranking import Reranking
    from memoriter.store import Store
    from memoriter.types import CompactReport
    from memoriter.workspace import Unfinished, Workspace


_BEFORE_LINES = "|".join(["#L", *(f"(?<={re.escape(suffix)}):" for suffix in (SUFFIX, *OTHER_SUFFIXES))])
_CITED = re.compile(rf"(?P<path>.+?)(?:{_BEFORE_LINES})(?P<first>\d{{1,9}})(?:-L?(?P<last>\d{{1,9}}))?")
_SESSION = re.compile(r"[\w@+-][\w.@+-]{0,199}")
_SHORTEST = 3
"""The fewest characters of a text to forget, because a shorter text is in every note."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What to forget: lines of a note or all of it, every block that contains a text, or one session."""

    path: str | None = None
    first: int | None = None
    last: int | None = None
    match: str | None = None
    session: str | None = None

    @classmethod
    def of(cls, path: str | None, match: str | None, session: str | None) -> ForgetRequest:
        """Return the request for a citation, a text or a session id: exactly one of them. Raises UsageError."""
        if [path, match, session].count(None) != 2:
            raise UsageError("A path, --match and --session exclude each other.", remedy="Give exactly one of them.")
        if match is not None and len(match.strip()) < _SHORTEST:
            message = f"{match!r} is too short: it could match anywhere."
            raise UsageError(message, remedy=f"Give {_SHORTEST} characters or more.")
        if session is not None and not _SESSION.fullmatch(session):
            raise UsageError(f"{session!r} is not the id of a session.", remedy="Give the file's name without .jsonl.")
        citation = (_CITED.fullmatch(path) or _CITED.fullmatch(path.strip())) if path is not None else None
        if citation is None:
            return cls(path, match=match, session=session.removesuffix(".jsonl") if session else None)
        return cls(citation["path"], int(citation["first"]), int(citation["last"] or citation["first"]))


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What forgetting would remove. Of that, nothing has been changed yet."""

    request: ForgetRequest
    notes: tuple[Removal, ...] = ()
    transcripts: tuple[Path, ...] = ()
    """Files that would be deleted."""
    indexed: tuple[str, ...] = ()
    """Passages that only the index still holds: `path#L1-L2`."""
    unfinished: bool = False
    """Whether an earlier forgetting was interrupted; this one completes it."""
    journaled: int = 0
    """Changes in the journal that hold the text."""
    kept: tuple[Path, ...] = ()
    """Copies that hold the text: session contexts, logs from before a flush, and what is kept of interrupted writes."""
    unreached: tuple[Diagnostic, ...] = ()
    """Other places where the text may be, which memoriter cannot change."""
    recovered: tuple[Diagnostic, ...] = ()
    """What was finished, before this plan was made, of what killed processes had left next to notes."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to remove."""
        return not (self.notes or self.transcripts or self.indexed or self.unfinished or self.kept or self.journaled)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of forgetting: what was removed from where."""

    plan: ForgetPlan
    notes: tuple[Removal, ...] = ()
    transcripts: tuple[Path, ...] = ()
    journaled: int = 0
    """Changes in the journal from which the text was erased."""
    index: CompactReport | None = None
    """The state of the index before and after; None if the index could not be changed."""
    left: tuple[Diagnostic, ...] = ()
    """Diagnostics for what could not be removed, and how to finish."""


def plan_of(request: ForgetRequest, workspace: Workspace, index: Store, settings: BackendSettings) -> ForgetPlan:
    """Return what a request would remove. First finish what killed processes left next to notes.

    Raises:
        UsageError: the request names nothing that exists.
        WriteConflict: the request names lines of a note, which changed because an interrupted write was finished.
    """
    lines_from = workspace.content(request.path) if request.path is not None and request.first is not None else None
    sessions = settings.sessions_dir
    folders = workspace.scan().folders
    state = state_folders(sessions)
    recovered = tuple(recover([*folders, *state] if settings.recovers else state))
    plan = ForgetPlan(request, unfinished=index.forgetting, recovered=recovered)
    left = unfinished([*folders, *state])
    if request.path is not None:
        if request.first is not None and workspace.content(request.path) != lines_from:
            message = f"{request.path!r} has changed, because the write of a killed process was finished first."
            raise WriteConflict(message, remedy="Look at the note and ask again.")
        path, source = workspace.find(request.path) or ("", None)
        if source is None and any(repr(str(workspace.root / path)) in each.message for each in recovered):
            return plan  # its removal is finished now
        return with_kept(replace(plan, notes=(_removal_from(request, workspace),)), sessions, left)
    if request.match is not None:
        notes = tuple(_matching_notes(request.match, workspace))
        covered = {removal.path for removal in notes} | _existing_transcripts(index, sessions)
        elsewhere = tuple(_in_client_memories(request.match, workspace))
        # The headings of a note hold its file name, which is not forgotten with a text.
        found = index.places_of(request.match)
        places = [
            place
            for place in found
            if place[0] not in covered and not contains(place[0], request.match) and not is_client_memory(place[0])
        ]
        indexed = tuple(f"{path}#L{a}-L{b}" for path, a, b in places)
        plan = replace(plan, notes=notes, indexed=indexed, unreached=elsewhere)
        return with_kept(plan, sessions, left)
    assert request.session is not None
    files = tuple(_transcript_files(request.session, sessions))
    indexed = tuple(_session_paths(request.session, index))
    if not files and not indexed and not plan.unfinished:
        raise UsageError(f"There is no session {request.session!r} in {str(sessions)!r}.", remedy="Look at its files.")
    return replace(plan, transcripts=files, indexed=indexed)


def plan_with_copies(
    request: ForgetRequest,
    workspace: Workspace,
    index: Store,
    *,
    settings: BackendSettings,
    reranking: Reranking | None,
) -> ForgetPlan:
    """Return the plan, with the copies of the text that forgetting does not reach."""
    sessions = settings.sessions_dir
    plan = plan_of(request, workspace, index, settings)
    plan = replace(plan, journaled=_in_journal(plan, workspace, erase=False))
    copies = residual_copies(
        plan.request.match,
        plan.notes,
        root=workspace.root,
        index=settings.index_path,
        sessions=sessions,
        providers=index.providers(),
    )
    sent = reranking and reranking.sent
    return replace(plan, unreached=(*plan.unreached, *copies, *((sent,) if sent else ())))


def with_kept(plan: ForgetPlan, sessions: Path | None, left: Sequence[Unfinished]) -> ForgetPlan:
    """Add the copies that hold text of the plan: beside the agent's sessions, and what was `left` next to notes."""
    query = copy_query(plan.request.match, plan.notes)
    holding = [each for each in left if query.lines(content_of(each.file))]
    kept = dict.fromkeys((*files_containing(query, sessions), *(each.file for each in holding if each.kept)))
    unreached = [
        replace(each.diagnostic, message=f"{str(each.file)!r} holds it. {each.diagnostic.message}")
        for each in holding
        if not each.kept
    ]
    return replace(plan, kept=tuple(kept), unreached=(*plan.unreached, *unreached))


def _in_journal(plan: ForgetPlan, workspace: Workspace, *, erase: bool) -> int:
    """Return how many changes in the journal hold the text of a plan, and erase it if that is asked. Raises OSError."""
    if workspace.journal is None or plan.request.session is not None:
        return 0
    query = copy_query(plan.request.match, plan.notes)
    whole = {removal.path for removal in plan.notes if removal.whole}
    return workspace.journal.erase(query.lines, whole, dry_run=not erase)


def _in_client_memories(text: str, workspace: Workspace) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each file with the text that another program keeps."""
    for source in workspace.scan().sources:
        if is_client_memory(source.path):
            with suppress(UsageError):
                if holds(workspace.raw(source.path).content.decode("utf-8", "replace"), text):
                    message = f"{source.path} is kept by another program and holds it; memoriter does not write there."
                    yield Diagnostic("copies", message, f"Delete it in {str(source.file)!r}.")


def _removal_from(request: ForgetRequest, workspace: Workspace) -> Removal:
    raw = workspace.raw(request.path or "")
    if is_client_memory(raw.path):
        message = f"Another program keeps {raw.path!r}, and memoriter does not write there."
        raise PathRefused(message, remedy=f"Delete it in {str(raw.file)!r}.")
    checksum = bytes_hash(raw.content)
    if request.first is None:
        return Removal(raw.path, raw.file, checksum, all_of(raw.content), whole=True)
    passages = lines_of(raw.content, request.first, request.last or request.first)
    return Removal(raw.path, raw.file, checksum, passages)


def _matching_notes(text: str, workspace: Workspace) -> Iterator[Removal]:
    for source in workspace.scan().sources:
        if source.kind != "memory" or is_client_memory(source.path):
            continue
        try:
            raw = workspace.raw(source.path)
        except UsageError:  # missing or unreadable now, so the index does not hold it either
            continue
        if passages := blocks_with(raw.content, text):
            yield Removal(raw.path, raw.file, bytes_hash(raw.content), passages)


def _transcript_files(session: str, folder: Path | None) -> Iterator[Path]:
    """Yield the transcript of a session and its archived copies."""
    if folder is not None and folder.is_dir():
        name = f"{session}.jsonl"
        yield from sorted(
            file
            for file in folder.iterdir()
            if (file.name == name or file.name.startswith(f"{name}.")) and file.is_file() and not file.is_symlink()
        )


def _existing_transcripts(index: Store, folder: Path | None) -> set[str]:
    """Return the indexed paths of transcripts whose files exist.

    Such text belongs to its transcript, and would be indexed again as long as the file exists.
    """
    names = {file.name for file in folder.iterdir()} if folder is not None and folder.is_dir() else set[str]()
    indexed = index.files().items()
    return {path for path, file in indexed if file.kind == "sessions" and path.rpartition("/")[2] in names}


def _session_paths(session: str | None, index: Store) -> list[str]:
    """Return the indexed paths of a session."""
    if session is None:
        return []
    names = {f"{session}.jsonl", f"{session}.md", session}
    indexed = index.files().items()
    return [path for path, file in indexed if file.kind == "sessions" and path.rpartition("/")[2] in names]


def carry_out(
    plan: ForgetPlan,
    workspace: Workspace,
    index: Store,
    sessions: Path | None,
    purge: Callable[[tuple[str, ...]], CompactReport],
) -> Forgotten:
    """Carry a plan out: first in the notes, so that nothing is indexed again, then in all derived data.

    Raises:
        WriteConflict: a note has changed since the plan was made; nothing was removed anywhere.
        WriteError: a note could not be written.
    """
    for removal in plan.notes:
        _require_unchanged(removal, workspace)
    problems: list[Diagnostic] = []
    try:
        index.begin_forgetting()
    except IndexUnavailable as error:
        problems.append(Diagnostic.of(error))
    # First, because an interrupted run can no longer tell what to remove from the copies.
    query = copy_query(plan.request.match, plan.notes)
    left = unfinished([*workspace.scan().folders, *state_folders(sessions)])
    problems += cut_from_copies(query, [*versions(sessions), *(each.file for each in left if each.kept)])
    journaled = 0
    try:
        journaled = _in_journal(plan, workspace, erase=True)
    except OSError as error:
        message = f"The journal of changes still holds it: {sentence(error.strerror or error)}"
        problems.append(Diagnostic("write", message, "Correct the cause, and run the command again."))
    try:
        with acting(act=FORGET):
            notes = _remove_from_notes(plan, workspace, problems)
    except MemoriterError:
        with suppress(IndexUnavailable):
            index.end_forgetting()
        raise
    transcripts = _delete(plan.transcripts, problems)
    _delete(contexts_of(sessions), problems)
    if sessions is not None:
        drop_versions(sessions, workspace.root)
        drop_past(sessions)
    try:
        report = purge(tuple(_session_paths(plan.request.session, index)))
    except MemoriterError as error:
        message = f"The files were changed, but the index still contains the text. {error.message}"
        problems.append(Diagnostic(error.code, message, "Correct the cause, then run `memoriter index`."))
        report = None
    else:
        problems = [reason for reason in problems if not reason.code.startswith("index")]
        problems += [_foreign_transcript(path) for path in _session_paths(plan.request.session, index)]
    return Forgotten(plan, tuple(notes), tuple(transcripts), journaled, report, tuple(problems))


def _require_unchanged(removal: Removal, workspace: Workspace) -> None:
    try:
        same = bytes_hash(workspace.raw(removal.path).content) == removal.hash
    except UsageError:
        same = False
    if not same:
        raise WriteConflict(
            f"{removal.path!r} has changed since the plan was made; nothing was removed.",
            remedy="Run the command again.",
        )


def _remove_from_notes(plan: ForgetPlan, workspace: Workspace, problems: list[Diagnostic]) -> list[Removal]:
    removed: list[Removal] = []
    for removal in plan.notes:
        try:
            apply_removal(removal, workspace)
        except MemoriterError as error:
            if not removed:
                raise
            problems.append(Diagnostic.of(error))
        else:
            removed.append(removal)
    return removed


def _delete(files: Iterable[Path], problems: list[Diagnostic]) -> list[Path]:
    deleted: list[Path] = []
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            message = f"{str(file)!r} could not be deleted: {sentence(error.strerror)}"
            problems.append(Diagnostic("write", message, "Check its permissions, then run the command again."))
        else:
            deleted.append(file)
    return deleted


def _foreign_transcript(path: str) -> Diagnostic:
    """Return the diagnostic for a transcript that was indexed again, because its file belongs to another program."""
    message = f"{path!r} is in a folder that memoriter only reads. It stays indexed until the file is deleted."
    return Diagnostic("transcript", message, "Delete the file there, then run `memoriter index`.")


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
            replace_file(file, remaining, expected=bytes_hash(content))
        except MemoriterError as error:
            message = f"A copy still holds it: {error.message}"
            problems.append(Diagnostic(error.code, message, "Delete the text in that file."))
    return problems


def drop_versions(sessions: Path, root: Path) -> None:
    """Delete the earlier versions of imported notes that are not there any more."""
    from memoriter.import_history import forget_versions

    if (folder := records_of_imports(sessions)).is_dir():
        forget_versions(root, folder)


def drop_past(sessions: Path) -> None:
    """Delete the states of the past that are kept for searches, and those that are being made."""
    past = sessions.parents[2] / "memory" / "past"
    if past.is_dir():
        with folder_lock(past.parent):
            shutil.rmtree(past, ignore_errors=True)


def versions(sessions: Path | None) -> Iterator[Path]:
    """Yield the earlier versions of notes: of logs before a flush, and of imported notes before an import."""
    if sessions is None:
        return
    yield from _files(sessions.with_name(COPIES))
    for folder in sorted(records_of_imports(sessions).glob("*-*")):
        yield from (file for file in _files(folder) if file.suffix == SUFFIX)


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
