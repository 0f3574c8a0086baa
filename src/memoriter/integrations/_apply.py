"""Carry changes of configuration files out: all are known before the first is written; each leaves a copy behind."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import ConfigError, WriteError
from memoriter.ids import bytes_hash
from memoriter.plain_file import read_plain
from memoriter.workspace import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.integrations._clients import FileEdit

MARK = "\ufeff"
BACKUP = ".memoriter-backup"
LONGEST = 64 * 1024 * 1024
"""Bytes of a configuration file; Claude Code's has the history of every project."""
SHOWN_TOKEN = re.compile(r"(Bearer )[A-Za-z0-9._~+/=-]+")
"""A token in a header, which a difference does not show."""
OTHERS = 0o077
"""The permissions of everybody but the owner."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one file."""

    file: Path
    kind: Literal["created", "changed", "unchanged"]
    diff: str
    """The lines that come and go, without those around them: other programs keep their keys there."""
    backup: Path | None
    """The file as it was before; None where it was not there, or is not changed."""
    holds_token: bool = False
    """Whether the file lets whoever reads it into the memory; only its owner can, once it is written."""


@dataclass(frozen=True, slots=True)
class _Planned:
    target: Path
    before: bytes | None
    after: str
    outcome: Outcome


def apply(changes: Sequence[FileEdit], *, dry_run: bool) -> list[Outcome]:
    """Write what changes, or only say it.

    Raises:
        ConfigError: a file is malformed; none was written.
        WriteError: a file could not be written, or was changed by its program meanwhile; it is as it was.
    """
    planned = [_plan(change) for change in changes]
    for each in planned if not dry_run else ():
        if each.outcome.holds_token:
            _keep_from_others(each.target)
        if each.outcome.kind != "unchanged":
            _write(each)
    return [each.outcome for each in planned]


def _plan(change: FileEdit) -> _Planned:
    target = Path(os.path.realpath(change.file))  # it may be a link to where somebody keeps all of theirs
    try:
        content = read_plain(target, LONGEST)
    except FileNotFoundError:
        content = None
    except OSError as error:
        raise ConfigError(f"{change.file} cannot be read: {error.strerror}") from error
    try:
        text = (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{change.file}: this is not UTF-8", remedy="Nothing was written.") from error
    mark = MARK if text.startswith(MARK) else ""
    after = mark + change.edit(text.removeprefix(MARK))
    if after == text:
        return _Planned(target, content, after, Outcome(change.file, "unchanged", "", None, change.holds_token))
    backup = target.with_name(target.name + BACKUP) if content is not None else None
    kind = "created" if content is None else "changed"
    diff = SHOWN_TOKEN.sub(r"\1…", _diff(text, after, str(change.file)))
    return _Planned(target, content, after, Outcome(change.file, kind, diff, backup, change.holds_token))


def _diff(before: str, after: str, name: str) -> str:
    if len(before.splitlines()) == 1:  # the whole file: only what comes and what goes
        begin = _alike(before, after)
        rest = _alike(before[begin:][::-1], after[begin:][::-1])
        gone, come = before[begin : len(before) - rest], after[begin : len(after) - rest]
        before, after = gone and f"{gone}\n", come and f"{come}\n"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=0)
    return "\n".join(lines) + "\n"


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))


def _write(planned: _Planned) -> None:
    before, target, backup = planned.before, planned.target, planned.outcome.backup
    try:
        if backup is not None and before is not None:
            _keep(before, target, backup)
        target.parent.mkdir(parents=True, exist_ok=True)
        if before is None and planned.outcome.holds_token:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # a file keeps its permissions
            before = b""
    except OSError as error:
        raise _unwritten(target, error) from error
    replace(target, planned.after, expected=bytes_hash(before) if before is not None else None)


def _keep_from_others(target: Path) -> None:
    """Let nobody but its owner read a file that is about to hold a token. Raises WriteError."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        if mode & OTHERS and os.name != "nt":
            target.chmod(mode & ~OTHERS)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritten(target, error) from error


def _unwritten(target: Path, error: OSError) -> WriteError:
    return WriteError(f"{target} could not be written: {error.strerror}", remedy="The file is as it was.")


def _keep(content: bytes, like: Path, backup: Path) -> None:
    """A copy beside the file, readable by nobody else than the file itself, from its first byte."""
    backup.unlink(missing_ok=True)
    descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as copy:
        copy.write(content)
    shutil.copymode(like, backup)
