"""Second versions of notes, which sync programs leave beside them: those of a day's note are joined with it.

Both versions of a day's note usually have the same beginning, and each machine has only added entries at the end. Then
the note gets the entries that only the copy has, whichever machine does so first, and the copy goes. All other copies
stay as they are, and are named.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteError
from memoriter.ids import bytes_hash
from memoriter.journal import FOUND, SEEN, acting
from memoriter.layout import LONG_TERM
from memoriter.plain_file import read_plain
from memoriter.times import path_date
from memoriter.types import Diagnostic
from memoriter.workspace._ignore import copied_note
from memoriter.workspace.chunking import scan_blocks, subtree_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from memoriter.journal import Change
    from memoriter.types import Skipped
    from memoriter.workspace._workspace import Workspace

_NAMED = 3
_LONGEST = 16 << 20
JOIN = "join"
"""The act of the changes that join two versions."""


def _second_versions(skipped: Iterable[Skipped], root: Path) -> dict[str, str]:
    """Return the copies among paths that are left out, and beside the long-term memory, with the notes beside them."""
    paths = [skip.path for skip in skipped if skip.reason == "ignored"]
    if root.is_dir():  # where no scan need look
        paths += [file.name for file in root.iterdir() if copied_note(file.name) in LONG_TERM]
    found: dict[str, str] = {}
    for path in sorted(set(paths)):
        folder, slash, name = path.rpartition("/")
        note = copied_note(name)
        if note and (root / folder / note).is_file() and (root / path).is_file():
            found[path] = f"{folder}{slash}{note}"
    return found


def versions_diagnostics(skipped: Iterable[Skipped], root: Path) -> tuple[Diagnostic, ...]:
    """Return a diagnostic that names the second versions of notes, if there are any."""
    versions = _second_versions(skipped, root)
    if not versions:
        return ()
    named = "; ".join(f"{path!r} of {note!r}" for path, note in list(versions.items())[:_NAMED])
    more = f"; and {len(versions) - _NAMED} more" if len(versions) > _NAMED else ""
    message = f"A sync program left second versions of notes, which are not searched: {named}{more}."
    remedy = "Put what you need of it into the note, and delete the copy. `memoriter index` joins those of days."
    return (Diagnostic("two_versions", message, remedy),)


def join_versions(workspace: Workspace, skipped: Iterable[Skipped], *, before: float = inf) -> list[Diagnostic]:
    """Join the copies of days' notes that lose nothing by it, and return a receipt for each.

    What cannot be written stays as it is.

    Args:
        workspace: the notes.
        skipped: what a scan of them has left out.
        before: the time, in seconds since 1970, since which a copy may still be being written, so that it is left.
    """
    receipts = list[Diagnostic]()
    for path, note in _second_versions(skipped, workspace.root).items():
        with suppress(PathRefused, WriteError, OSError):  # a link, no permission, or somebody else is joining them
            is_whole = (workspace.root / path).stat().st_mtime < before
            if is_whole and path_date(note) is not None and _join(workspace, path, note):
                message = f"{path!r} was joined with {note!r}."
                remedy = f"See `memoriter history {note}`; both changes can be undone."
                receipts.append(Diagnostic("versions_joined", message, remedy))
    return receipts


def _join(workspace: Workspace, copy_path: str, note_path: str) -> bool:
    """Join a copy with its note if both only had entries added at the end; return whether that is so."""
    if workspace.journal is None:
        return False
    note = workspace.look(note_path)
    copy = read_plain(workspace.root / copy_path, _LONGEST)
    if note is None:
        return False
    base = common_beginning(note, copy)
    if not _only_grew(base, bytes_hash(copy), workspace.journal.of_note(note_path).changes):
        return False
    joined = with_entries(note, copy, len(base))
    with acting(act=JOIN):
        if joined != note:
            workspace.replace(note_path, joined, expected=bytes_hash(note))
        workspace.remove(copy_path, expected=bytes_hash(copy))
    return True


def common_beginning(one: bytes, other: bytes) -> bytes:
    r"""Return the whole lines with which both texts begin.

    >>> common_beginning(b"a\nb\nc\n", b"a\nbc\n")
    b'a\n'
    """
    size = 0
    for line, same in zip(one.splitlines(keepends=True), other.splitlines(keepends=True), strict=False):
        if line != same:
            break
        size += len(line)
    return one[:size]


def with_entries(note: bytes, copy: bytes, begin: int) -> bytes:
    """Return a note with the entries that only its copy has, after a common beginning of some bytes."""
    own = Counter(text for _, text in _entries(note[begin:]))
    added = list[str]()
    for lines, text in _entries(copy[begin:]):
        if own[text]:
            own[text] -= 1
        else:
            added.append(lines)
    if not added:
        return note
    end = b"" if not note or note.endswith(b"\n") else b"\n"
    return note + end + ("\n".join(added) + "\n").encode("utf-8", "surrogateescape")


def _entries(content: bytes) -> list[tuple[str, str]]:
    """Return the lines of each outermost block with the blank ones above it, and its text, by which it is known."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    blocks = scan_blocks(lines)
    above = 0
    found = list[tuple[str, str]]()
    for block, last in zip(blocks, subtree_ends(blocks), strict=True):
        if not block.depth:
            end = blocks[last - 1].end
            text = "\n".join(line.rstrip() for line in lines[block.start : end])
            found.append(("\n".join(lines[above:end]), text))
            above = end
    return found


def _only_grew(base: bytes, copy: str, changes: Sequence[Change]) -> bool:
    """Return whether the journal knows a note as a beginning of it, and that it lost no line since.

    Args:
        base: the beginning.
        copy: the hash of the copy. What replaced the note when it was that text was the program that made the copy,
            so that its lines are not lost.
        changes: those of the note.
    """
    known: set[str | None] = {bytes_hash(base), bytes_hash(base.removesuffix(b"\n"))}
    if all(text.startswith("#") for _, text in _entries(base)):
        known.add(None)  # both machines began the note, with no more than its title
    begin: int | None = None
    for number, change in enumerate(changes):
        if change.before in known and change.act != FOUND:
            begin = number
        if change.after in known:
            begin = number + 1
    if begin is None:
        return False
    later = [change for change in changes[begin:] if change.act != FOUND]
    cut = [change for change in later if change.act != SEEN or change.before != copy]
    return not any(line != b"" for change in cut for hunk in change.hunks or () for line in hunk.removed)
