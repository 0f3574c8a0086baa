"""The names of hidden files next to a note: a draft of its new content, and its old content until it is checked.

A name records what the check needs, because the process that gave it may be killed: the note, and the versions of its
content before and after.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.ids import bytes_hash
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.workspace.writing._folder import Folder

_LONGEST_LABEL = 100
_RANDOM = "[0-9a-f]{12}"
_VERSION = "([0-9a-f]+)-([0-9a-f]{12})"
_NAME = re.compile(rf"\.(.+)\.(?:new|old-([0-9a-f]+)-{_VERSION}(?:-{_VERSION})?)-{_RANDOM}\.tmp", re.DOTALL)
_KEPT = re.compile(rf"\.(.+?)(?:\.[0-9a-f]+-[0-9a-f]+)?\.{_RANDOM}\.(?:kept|tmp)", re.DOTALL)
"""A file that is kept for the owner; `.tmp`: one of an earlier version, whose name records too little to check it."""


@dataclass(frozen=True, slots=True)
class Version:
    """A content, by its size and the beginning of its hash."""

    size: int
    hash: str

    @classmethod
    def of(cls, content: bytes) -> Version:
        """Return the version that a content is."""
        return cls(len(content), bytes_hash(content)[:12])

    def lines_after(self, content: bytes) -> bytes | None:
        """Return the lines that were appended to this version, or None if it changed in another way."""
        before = content[: self.size]
        after = content[self.size :]
        if Version.of(before) != self:
            return None
        at_line_start = not before or before.endswith(b"\n") or after[:1] in {b"\n", b""}
        return after if at_line_start else None


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the name of a hidden file records."""

    file: str
    """The hidden name itself."""
    name: str
    """Name of the note."""
    inode: int = 0
    old: Version | None = None
    """The content of the note before, which has that inode. None for a draft, and for a kept file."""
    new: Version | None = None
    """The content that replaces it; None if the note is removed."""
    kept: bool = False
    """Whether it is for the owner to look at: nothing else is known of it."""

    @classmethod
    def draft(cls, name: str) -> Hidden:
        """Return a name for new content that is not in its place yet."""
        return cls(f".{_label(name)}.new-{os.urandom(6).hex()}.tmp", name)

    @classmethod
    def out(cls, name: str, inode: int, old: Version, new: Version | None) -> Hidden:
        """Return a name for the content of a note while it is replaced or removed."""
        versions = "-".join(f"{version.size:x}-{version.hash}" for version in (old, new) if version is not None)
        file = f".{_label(name)}.old-{inode:x}-{versions}-{os.urandom(6).hex()}.tmp"
        return cls(file, name, inode, old, new)


def hidden_files(folder: Folder, note: str | None = None) -> list[Hidden]:
    """Return the hidden files of replacements and removals in a folder, or those of one note.

    Those of processes that are still at work are among them.
    """
    names = folder.names()
    hidden = [each for name in names if name.startswith(".") and (each := _parse(name)) is not None]
    if note is not None:
        return [replace(each, name=note) for each in hidden if each.name == _label(note)]
    full = {_label(name): name for name in names} if hidden else {}
    return [replace(each, name=full.get(each.name, each.name)) for each in hidden]


def kept_name(name: str) -> str:
    """Return a hidden name for content that is kept for the owner."""
    return f".{_label(name)}.{os.urandom(6).hex()}.kept"


def _parse(file: str) -> Hidden | None:
    if match := _NAME.fullmatch(file):
        label, inode, old_size, old_hash, new_size, new_hash = match.groups()
        old = Version(int(old_size, 16), old_hash) if old_size else None
        new = Version(int(new_size, 16), new_hash) if new_size else None
        return Hidden(file, label, int(inode or "0", 16), old, new)
    match = _KEPT.fullmatch(file)
    return Hidden(file, match[1], kept=True) if match else None


def _label(name: str) -> str:
    """Return the form of the name in hidden names, shortened if it is too long."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_LABEL else f"{name[:16]}-{bytes_hash(encoded)[:16]}"
