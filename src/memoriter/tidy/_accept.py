"""Do what a proposal says, and remember which proposals the owner refused."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import WriteConflict
from memoriter.ids import bytes_hash
from memoriter.journal import OWNER, TIDY, acting
from memoriter.permissions import folder_lock, replace_private
from memoriter.plain_file import read_plain
from memoriter.tidy._statements import lines_of
from memoriter.workspace import Removal, RemovedPassage, apply_removal, marked

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from memoriter.tidy._propose import Proposal
    from memoriter.tidy._statements import Statement
    from memoriter.workspace import Workspace

LARGEST = 1 << 20
"""Bytes of a file of ids that are read."""
MOST_KEPT = 10_000
_MARKER = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+")


def accept(workspace: Workspace, proposal: Proposal, text: str | None, now: datetime) -> list[str]:
    """Change the notes as a proposal says, and return their paths.

    What stays is written before anything goes. All changes have the session `tidy-ID` in the journal.

    `text` is the owner's, and comes in the place of the one that stays or is added; None: there is none. `now` is in
    the owner's time zone.

    Raises:
        WriteConflict: a statement is not there any more; the notes are as before, or what stays is written already.
        WriteError: a note could not be written.
    """
    own = " ".join(text.split()) if text else ""
    added = own or proposal.added
    author = "" if own else proposal.author
    removed = list(proposal.removed)
    paths = [each.path for each in removed]
    with acting(who=OWNER, act=TIDY, session=f"{TIDY}-{proposal.id}"):
        if proposal.in_place:
            _replace(workspace, removed.pop(0), added, author, now)
        elif proposal.added:
            origin = author.rpartition(", ")[0] or author or None
            written = workspace.remember(
                added, to="long-term", origin=origin, now=now, section=_known(workspace, proposal.section)
            )
            paths.append(written.path.relative_to(workspace.root).as_posix())
        elif own and proposal.kept:
            _replace(workspace, proposal.kept, own, "", now)
            paths.append(proposal.kept.path)
        for path in dict.fromkeys(each.path for each in removed):
            _remove(workspace, path, [each for each in removed if each.path == path])
    return list(dict.fromkeys(paths))


def _remove(workspace: Workspace, path: str, statements: Iterable[Statement]) -> None:
    raw = workspace.raw(path)
    lines = lines_of(raw.content)
    passages = tuple(
        RemovedPassage(first, first + len(each.lines) - 1, "\n".join(each.lines))
        for each in statements
        for first in [_first_line(lines, each)]
    )
    apply_removal(Removal(path, raw.file, bytes_hash(raw.content), passages), workspace)


def _replace(workspace: Workspace, statement: Statement, text: str, author: str, now: datetime) -> None:
    """Put a text into the place of a statement."""
    content = workspace.raw(statement.path).content
    lines = lines_of(content)
    first = _first_line(lines, statement)
    marker = _MARKER.match(statement.lines[0])
    entry = f"{marker[0] if marker else ''}{text}\n"
    if author:
        entry = marked(entry, author.rpartition(", ")[0] or author, now.date().isoformat())
    new = [*lines[: first - 1], *entry.removesuffix("\n").split("\n"), *lines[first - 1 + len(statement.lines) :]]
    workspace.replace(statement.path, "\n".join(new), expected=bytes_hash(content))


def _first_line(lines: list[str], statement: Statement) -> int:
    """Return the line at which a statement begins now, from 1: where it was, or else the nearest place."""
    own = list(statement.lines)
    places = [at + 1 for at in range(len(lines)) if lines[at : at + len(own)] == own]
    if not places:
        raise WriteConflict(
            f"{statement.path!r} has changed since the proposal was made.", remedy="Run `memoriter tidy` again."
        )
    return min(places, key=lambda place: abs(place - statement.start_line))


def _known(workspace: Workspace, heading: str) -> str:
    """Return a heading if the long-term memory has it already; else nothing, for the end of the note."""
    content = workspace.content(str(workspace.long_term())) or b""
    is_there = re.search(rf"^#+ +{re.escape(heading)}\s*$", content.decode("utf-8", "replace"), re.MULTILINE)
    return heading if heading and is_there else ""


class KeptIds:
    """Ids in a file of memoriter's home, such as those of the proposals that the owner does not want to see again."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> tuple[str, ...]:
        """Return the ids; none if the file does not exist or cannot be used."""
        try:
            ids = json.loads(read_plain(self._file, LARGEST))
        except (OSError, ValueError, RecursionError):
            return ()
        return tuple(each for each in cast("list[Any]", ids) if isinstance(each, str)) if isinstance(ids, list) else ()

    def add(self, *identifiers: str) -> None:
        """Remember ids. Raises OSError."""
        with folder_lock(self._file.parent):
            ids = dict.fromkeys((*self.read(), *identifiers))
            replace_private(self._file, json.dumps(list(ids)[-MOST_KEPT:]).encode())
