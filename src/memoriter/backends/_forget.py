"""Forgetting: what is to go (a plan that changes nothing), and the steps in which it goes, safe to repeat."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoriter.backends._kept import Wanted, contexts_of, cut_from_copies, kept_with
from memoriter.errors import IndexUnavailable, MemoriterError, UsageError, WriteConflict
from memoriter.ids import bytes_hash
from memoriter.types import Diagnostic
from memoriter.workspace import Removal, all_of, blocks_with, lines_of, take_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from memoriter.index import Index
    from memoriter.types import CompactReport
    from memoriter.workspace import Workspace

_CITED = re.compile(r"(?P<path>.+?)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?")
_SESSION = re.compile(r"[\w@+-][\w.@+-]{0,199}")
_SHORTEST = 3
"""Characters of a text to forget: a shorter one is in every note."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What is to be forgotten: lines of a note or all of it, every block with a text, or one session."""

    path: str | None = None
    first: int | None = None
    last: int | None = None
    match: str | None = None
    session: str | None = None

    @classmethod
    def of(cls, path: str | None, match: str | None, session: str | None) -> ForgetRequest:
        """From a citation, a text or a session's id: one of them. Raises UsageError."""
        if [path, match, session].count(None) != 2:
            raise UsageError("One thing at a time is forgotten.", remedy="Give a path, or --match, or --session.")
        if match is not None and len(match.strip()) < _SHORTEST:
            message = f"{match!r} is too short a text: it could be anywhere."
            raise UsageError(message, remedy=f"Give {_SHORTEST} characters or more.")
        if session is not None and not _SESSION.fullmatch(session):
            raise UsageError(f"{session!r} is not the id of a session.", remedy="Give the file's name without .jsonl.")
        found = _CITED.fullmatch(path.strip()) if path is not None else None
        if found is None:
            return cls(path, match=match, session=session.removesuffix(".jsonl") if session else None)
        return cls(found["path"], int(found["first"]), int(found["last"] or found["first"]))


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What would go; nothing has been changed yet."""

    request: ForgetRequest
    notes: tuple[Removal, ...] = ()
    transcripts: tuple[Path, ...] = ()
    """Files that would be deleted."""
    indexed: tuple[str, ...] = ()
    """Places that only the index still holds: `path#L1-L2`."""
    unfinished: bool = False
    """An earlier forgetting did not come to its end; this one will."""
    kept: tuple[Path, ...] = ()
    """Files beside the agent's sessions that hold it: what a session was given, a log as it was before a flush."""
    unreached: tuple[Diagnostic, ...] = ()
    """Where else the text may be, out of our reach."""

    @property
    def empty(self) -> bool:
        """Is there nothing to do?"""
        return not (self.notes or self.transcripts or self.indexed or self.unfinished or self.kept)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The receipt: what went from where."""

    plan: ForgetPlan
    notes: tuple[Removal, ...] = ()
    transcripts: tuple[Path, ...] = ()
    index: CompactReport | None = None
    """What the index looked like before and after; None: it was not reached."""
    left: tuple[Diagnostic, ...] = ()
    """What should have gone and did not, and how to finish."""


def plan_of(request: ForgetRequest, workspace: Workspace, index: Index, sessions: Path | None) -> ForgetPlan:
    """What would go for a request. Raises UsageError where it names nothing that there is."""
    plan = ForgetPlan(request, unfinished=index.forgetting)
    if request.path is not None:
        return with_kept(replace(plan, notes=(_from_note(request, workspace),)), sessions)
    if request.match is not None:
        notes = tuple(_holding(request.match, workspace))
        there = {removal.path for removal in notes} | _transcribed(index, sessions)
        places = [place for place in index.places_of(request.match) if place[0] not in there]
        plan = replace(plan, notes=notes, indexed=tuple(f"{path}#L{a}-L{b}" for path, a, b in places))
        return with_kept(plan, sessions)
    assert request.session is not None
    files = tuple(_transcripts(request.session, sessions))
    known = tuple(path for path in _session_paths(request.session, index))
    if not files and not known and not plan.unfinished:
        raise UsageError(f"There is no session {request.session!r} in {str(sessions)!r}.", remedy="Look at its files.")
    return replace(plan, transcripts=files, indexed=known)


def with_kept(plan: ForgetPlan, sessions: Path | None) -> ForgetPlan:
    """Return the plan with the files beside the agent's sessions that hold what it is to forget."""
    return replace(plan, kept=kept_with(wanted_of(plan), sessions))


def wanted_of(plan: ForgetPlan) -> Wanted:
    """Return what a plan is to forget, as it is looked for in what sessions keep; of a transcript they keep nothing."""
    passages = (passage for removal in plan.notes for passage in removal.passages)
    rows = frozenset(row.strip() for passage in passages for row in passage.text.split("\n"))
    return Wanted(plan.request.match, rows - {""})


def _from_note(request: ForgetRequest, workspace: Workspace) -> Removal:
    raw = workspace.raw(request.path or "")
    known = bytes_hash(raw.content)
    if request.first is None:
        return Removal(raw.path, raw.file, known, all_of(raw.content), whole=True)
    passages = lines_of(raw.content, request.first, request.last or request.first)
    return Removal(raw.path, raw.file, known, passages)


def _holding(text: str, workspace: Workspace) -> Iterator[Removal]:
    for source in workspace.scan().sources:
        if source.kind != "memory":
            continue
        try:
            raw = workspace.raw(source.path)
        except UsageError:  # gone since, or not readable: then the index does not have it either
            continue
        if passages := blocks_with(raw.content, text):
            yield Removal(raw.path, raw.file, bytes_hash(raw.content), passages)


def _transcripts(session: str, folder: Path | None) -> Iterator[Path]:
    """The session's file and what was archived of it."""
    if folder is not None and folder.is_dir():
        name = f"{session}.jsonl"
        yield from sorted(
            file
            for file in folder.iterdir()
            if (file.name == name or file.name.startswith(f"{name}.")) and file.is_file() and not file.is_symlink()
        )


def _transcribed(index: Index, folder: Path | None) -> set[str]:
    """What the index knows of transcripts that are there: it is theirs, and comes back as long as they are."""
    names = {file.name for file in folder.iterdir()} if folder is not None and folder.is_dir() else set[str]()
    known = index.files().items()
    return {path for path, file in known if file.kind == "sessions" and path.rpartition("/")[2] in names}


def _session_paths(session: str | None, index: Index) -> list[str]:
    """What the index knows of a session, by path."""
    if session is None:
        return []
    names = {f"{session}.jsonl", f"{session}.md", session}
    known = index.files().items()
    return [path for path, file in known if file.kind == "sessions" and path.rpartition("/")[2] in names]


def carry_out(
    plan: ForgetPlan,
    workspace: Workspace,
    index: Index,
    sessions: Path | None,
    purge: Callable[[tuple[str, ...]], CompactReport],
) -> Forgotten:
    """Take it out of the notes first, so that nothing brings it back, then out of all that was made from them.

    Raises:
        WriteConflict: a note has changed since the plan was made; nothing was removed anywhere.
        WriteError: a note could not be written.
    """
    for removal in plan.notes:
        _unchanged(removal, workspace)
    left: list[Diagnostic] = []
    try:
        index.begin_forgetting()
    except IndexUnavailable as error:
        left.append(_reason(error))
    # First: a forgetting that is killed in between does not know any more what was to go from the copies.
    if stubborn := cut_from_copies(wanted_of(plan), sessions):
        _deleted(stubborn, left)
    try:
        notes = _cut(plan, workspace, left)
    except MemoriterError:
        with suppress(IndexUnavailable):
            index.end_forgetting()
        raise
    transcripts = _deleted(plan.transcripts, left)
    _deleted(contexts_of(sessions), left)
    try:
        report = purge(tuple(_session_paths(plan.request.session, index)))
    except MemoriterError as error:
        message = f"The notes are done, the index still has it. {error.message}"
        left.append(Diagnostic(error.code, message, "When the cause is gone, run: memoriter index"))
        report = None
    else:
        left = [reason for reason in left if not reason.code.startswith("index")]
        left += [_elsewhere(path) for path in _session_paths(plan.request.session, index)]
    return Forgotten(plan, tuple(notes), tuple(transcripts), report, tuple(left))


def _unchanged(removal: Removal, workspace: Workspace) -> None:
    try:
        same = bytes_hash(workspace.raw(removal.path).content) == removal.hash
    except UsageError:
        same = False
    if not same:
        raise WriteConflict(
            f"{removal.path!r} has changed since it was looked at; nothing was removed.", remedy="Look and ask again."
        )


def _cut(plan: ForgetPlan, workspace: Workspace, left: list[Diagnostic]) -> list[Removal]:
    done: list[Removal] = []
    for removal in plan.notes:
        try:
            take_out(removal, workspace)
        except MemoriterError as error:
            if not done:
                raise
            left.append(_reason(error))
        else:
            done.append(removal)
    return done


def _deleted(files: Iterable[Path], left: list[Diagnostic]) -> list[Path]:
    done: list[Path] = []
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            message = f"{str(file)!r} could not be deleted: {error.strerror}"
            left.append(Diagnostic("write", message, "Look at its permissions and ask again."))
        else:
            done.append(file)
    return done


def _elsewhere(path: str) -> Diagnostic:
    """A transcript that came back, since its file is another program's."""
    message = f"{path!r} is in a folder that memoriter only reads, and is indexed as long as it is there."
    return Diagnostic("transcript", message, "Delete the file there, then run: memoriter index")


def _reason(error: MemoriterError) -> Diagnostic:
    return Diagnostic(error.code, error.message, error.remedy)
