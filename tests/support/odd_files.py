"""What may have the name of a file without being one, and files that lead elsewhere or have no end."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "The code of the safe is 88-41-07."
"""Stands in the file that links lead to."""

posix_only = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and links need POSIX")


def pipe(file: Path) -> None:
    os.mkfifo(file)


def socket(file: Path) -> None:
    try:
        os.mknod(file, stat.S_IFSOCK | 0o600)
    except PermissionError:
        pytest.skip("this system makes no sockets by name")


def folder(file: Path) -> None:
    file.mkdir()


def link_to_a_secret(file: Path) -> None:
    secret = secret_of(file)
    secret.write_text(SECRET, encoding="utf-8")
    file.symlink_to(secret)


def link_to_a_device_without_end(file: Path) -> None:
    file.symlink_to("/dev/zero")


def link_to_a_pipe(file: Path) -> None:
    other = file.with_name("some-pipe")
    if not other.exists():
        os.mkfifo(other)
    file.symlink_to(other)


def link_to_itself(file: Path) -> None:
    file.symlink_to(file)


def longer_than_memory(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(1 << 36)


def secret_of(file: Path) -> Path:
    return file.with_name("a-secret")


LINKS: list[Callable[[Path], None]] = [
    link_to_a_secret,
    link_to_a_device_without_end,
    link_to_a_pipe,
    link_to_itself,
]
KINDS: list[Callable[[Path], None]] = [pipe, socket, folder, longer_than_memory, *LINKS]


def holding_the_secret(place: Path) -> list[str]:
    """The plain files below a folder that have the secret, but for the one it is from."""
    files = [file for file in place.rglob("*") if stat.S_ISREG(file.lstat().st_mode) and file.lstat().st_size < 1 << 30]
    return [str(file) for file in files if SECRET.encode() in file.read_bytes() and file.name != "a-secret"]
