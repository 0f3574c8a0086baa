"""Forgetting: a plan that changes nothing, and its steps, which are safe to repeat."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.backends._copies import (
    content_of,
    contexts_of,
    copy_query,
    cut_from_copies,
    drop_past,
    drop_versions,
    files_containing,
    residual_copies,
    state_folders,
    versions,
)
from memoriter.errors import IndexUnavailable, MemoriterError, PathRefused, UsageError, WriteConflict, sentence
from memoriter.folding import contains
from memoriter.ids import bytes_hash
from memoriter.journal import FORGET, acting
from memoriter.layout import OTHER_SUFFIXES, SUFFIX
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import (
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

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
