"""Apply edits of configuration files. All edits are computed before the first write.

A file that was there before memoriter has a backup beside it, as long as memoriter is installed. Removing memoriter
restores the file to the byte, unless its owner or its program has changed it since, and deletes the files that the
installation created. It also deletes the backup, unless the file lacks something that the backup has.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import WriteError, sentence
from memoriter.ids import bytes_hash
from memoriter.installation._contents import LONGEST, is_empty, lacks, read_text, same_but_for_layout
from memoriter.permissions import check_writable
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace.writing import remove, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.installation._clients import FileEdit

BACKUP = ".memoriter-backup"
TOKEN_HEADER = re.compile(r"(Bearer )[A-Za-z0-9._~+/=-]+")
"""A token in a header, which a diff must not show."""
OTHERS_PERMISSIONS = 0o077
"""The permission bits of everybody but the owner."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an edit of one file."""

    file: Path
    kind: Literal["created", "changed", "deleted", "unchanged"]
    diff: str
    """The added and removed lines without context, because other programs keep their keys in the same file."""
    backup: Path | None
    """A copy of the file as it was before memoriter; None: there is none, or it was deleted."""
    holds_token: bool = False
    """True if the file gives its reader access to the memory; after the write, only the owner can read it."""


@dataclass(frozen=True, slots=True)
class _PlannedWrite:
    target: Path
    before: bytes | None
    after: str
    outcome: Outcome
    keep: bool = False
    """True if `before` must be kept as the backup."""
    obsolete: Path | None = None
    """A backup to delete after the write."""


def apply(changes: Sequence[FileEdit], *, dry_run: bool) -> list[Outcome]:
    """Write the edits, or only report them.

    Raises:
        ConfigError: a file is malformed; none was written.
        WriteError: a file is read-only, so none was written; or one could not be written, or its program changed it
            meanwhile, and that file is unchanged.
    """
    writes = [_plan(change) for change in changes]
    for write in writes if not dry_run else ():
        if write.outcome.holds_token:
            _restrict_permissions(write.target)
        if write.outcome.kind != "unchanged":
            _write(write)
    return [write.outcome for write in writes]


def _plan(change: FileEdit) -> _PlannedWrite:
    """Compute the new text of a file and its diff, without a write."""
    target = Path(os.path.realpath(change.file))  # it may be a link into a folder of shared settings
    content, plain, byte_order_mark = read_text(change.file)
    text = byte_order_mark + plain
    after = byte_order_mark + change.edit(plain)
    if after == text:
        return _PlannedWrite(target, content, after, Outcome(change.file, "unchanged", "", None, change.holds_token))
    if content is not None:
        check_writable(target, target.stat())
    backup = target.with_name(target.name + BACKUP)
    if change.edit is change.remove:
        return _plan_removal(change.file, target, content, text, after)
    keep = content is not None and change.remove(plain) == plain  # with lines of memoriter, an older backup is better
    kind = "created" if content is None else "changed"
    diff = _diff(text, after, str(change.file))
    kept = backup if keep or backup.is_file() else None
    return _PlannedWrite(target, content, after, Outcome(change.file, kind, diff, kept, change.holds_token), keep)


def _plan_removal(file: Path, target: Path, content: bytes | None, text: str, after: str) -> _PlannedWrite:
    """Return the write that removes memoriter from a file."""
    backup = target.with_name(target.name + BACKUP)
    try:
        original = read_plain(backup, LONGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        original = None
    if original is not None and same_but_for_layout(original, after, target):
        after = original
    kind = "deleted" if original is None and is_empty(after, target) else "changed"
    diff = _diff(text, after, str(file))
    if original is None or not lacks(after, original, target):
        return _PlannedWrite(target, content, after, Outcome(file, kind, diff, None), obsolete=backup)
    return _PlannedWrite(target, content, after, Outcome(file, kind, diff, backup))


def _diff(before: str, after: str, name: str) -> str:
    """Return the changed lines of a file without tokens, or the changed part if the file is a single line."""
    if len(before.splitlines()) == 1:  # the line is the whole file, so show only the changed part
        start = _common_prefix_length(before, after)
        end = _common_prefix_length(before[start:][::-1], after[start:][::-1])
        removed = before[start : len(before) - end]
        added = after[start : len(after) - end]
        before = removed and f"{removed}\n"
        after = added and f"{added}\n"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=0)
    return TOKEN_HEADER.sub(r"\1…", "\n".join(lines) + "\n")


def _common_prefix_length(one: str, other: str) -> int:
    """Return the number of characters at the beginning that two texts share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))


def _write(planned: _PlannedWrite) -> None:
    before = planned.before
    target = planned.target
    backup = planned.outcome.backup
    try:
        if planned.keep and backup is not None and before is not None:
            _write_backup(before, target, backup)
        target.parent.mkdir(parents=True, exist_ok=True)
        if before is None and planned.outcome.holds_token:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # a file keeps its permissions
            before = b""
    except OSError as error:
        raise _write_error(target, error) from error
    if planned.outcome.kind == "deleted" and before is not None:
        remove(target, expected=bytes_hash(before))
        return
    replace(target, planned.after, expected=bytes_hash(before) if before is not None else None)
    if planned.obsolete is not None:
        with suppress(OSError):
            planned.obsolete.unlink()


def _restrict_permissions(target: Path) -> None:
    """Remove the permissions of others from a file before it holds a token.

    Raises WriteError: the permissions could not be changed.
    """
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        if mode & OTHERS_PERMISSIONS and os.name != "nt":
            target.chmod(mode & ~OTHERS_PERMISSIONS)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _write_error(target, error) from error


def _write_error(target: Path, error: OSError) -> WriteError:
    return WriteError(f"{target} could not be written: {sentence(error.strerror)}", remedy="The file is unchanged.")


def _write_backup(content: bytes, like: Path, backup: Path) -> None:
    """Write a copy beside the file; from its first byte on, it is readable only for those who can read the file."""
    backup.unlink(missing_ok=True)
    descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as copy:
        copy.write(content)
    shutil.copymode(like, backup)
