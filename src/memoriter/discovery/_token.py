"""The bearer token of the HTTP server: its creation, storage and validation."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.discovery._announcement import LONGEST, privacy_fault, read_private
from memoriter.errors import ConfigError, sentence
from memoriter.permissions import HAS_MODES, folder_lock, write_new
from memoriter.plain_file import open_plain
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "MEMORITER_TOKEN"
FILE = "token"
TOKEN_PATTERN = re.compile(rb"[A-Za-z0-9._~+/-]{16,512}=*")
"""A bearer token of RFC 6750, with a length that rules out guessing."""
FORM_TEXT = "16 to 512 characters out of A-Z a-z 0-9 . _ ~ + / -"
REMEDY = f"Name a file with --token-file, or set {VARIABLE}."


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its origin."""

    value: str = field(repr=False)
    file: Path | None
    """The file of the token; None: the token comes from the environment."""
    notice: str = ""
    """Notice for a person, such as that the token is new; empty: none."""
    user_named: bool = False
    """Whether the user named the file; it may then be a symbolic link."""

    def read(self) -> str:
        """Read the token from the file again. Raises ConfigError and OSError."""
        assert self.file is not None, "the token has a file"
        return _read_named_token(self.file) if self.user_named else _read_private_token(self.file)


class LiveToken:
    """The current token of a running server; a renewed token in the file takes effect at once."""

    def __init__(self, token: Token) -> None:
        """Start with a token that was just read."""
        self._token = token
        self._stamp = self._file_stamp()

    def __call__(self) -> str:
        """Return the current token. If the file is missing or invalid, the last token stays in force."""
        stamp = self._file_stamp()
        if self._token.file is not None and stamp not in {None, self._stamp}:
            self._stamp = stamp
            with suppress(ConfigError, OSError):
                self._token = replace(self._token, value=self._token.read())
        return self._token.value

    def _file_stamp(self) -> tuple[int, ...] | None:
        """Return values that change whenever the file changes, or None if there is no file."""
        if self._token.file is None:
            return None
        try:
            status = self._token.file.stat()
        except OSError:
            return None
        return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def token_for(home: Path, environ: Mapping[str, str], file: Path | None = None) -> Token:
    """Return the token of this user's servers; the token in the home is created on first use.

    Args:
        home: memoriter's own folder.
        environ: the environment, in which `MEMORITER_TOKEN` takes precedence over the file in the home.
        file: a file to read instead of both; it is never written.

    Raises:
        ConfigError: the token cannot be read or stored, other users can read it, or it is not a valid token.
    """
    if file is not None:
        return Token(_read_named_token(file), file, user_named=True)
    if value := environ.get(VARIABLE, "").strip():
        return Token(_validate(value.encode("utf-8", "surrogateescape"), f"The variable {VARIABLE}"), None)
    stored = home / FILE
    try:
        return _existing(stored) or _create(stored)
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(f"The token file {str(stored)!r} cannot be used: {sentence(why)}", remedy=REMEDY) from error


def renewed_token(home: Path) -> Token:
    """Replace the token in the home by a new one, and return it. Raises ConfigError."""
    stored = home / FILE
    try:
        with folder_lock(home):
            _write(stored, over=True)
            return Token(_read_private_token(stored), stored)
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(
            f"The token file {str(stored)!r} cannot be written: {sentence(why)}", remedy=REMEDY
        ) from error


def _existing(file: Path) -> Token | None:
    """Return the stored token, or None if it is missing or others may have read it. Raises ConfigError, OSError."""
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return None
    if _was_exposed(status):
        return None
    if fault := privacy_fault(status):
        remedy = "Remove it; a new one is made at the next start."
        raise ConfigError(f"The token file {str(file)!r} {fault}, so it is not used.", remedy=remedy)
    return Token(_read_private_token(file), file)


def _create(file: Path) -> Token:
    """Create a token if there is none, or replace one that other users may have read."""
    with folder_lock(file.parent):
        if existing := _existing(file):  # another server has just created it
            return existing
        replaced = os.path.lexists(file)
        _write(file, over=replaced)
        notice = (
            f"Other users could read or change the token file {str(file)!r}, so it holds a new token now. "
            "Give it to the clients of this server: memoriter token"
        )
        return Token(_read_private_token(file), file, notice if replaced else "")


def _write(file: Path, *, over: bool) -> None:
    """Write a new token atomically; an existing one is kept unless `over`. Raises OSError."""
    import secrets

    temporary = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        write_new(temporary, secrets.token_urlsafe(32).encode("ascii") + b"\n")
        if over or not hasattr(os, "link"):
            temporary.replace(file)
            return
        try:
            file.hardlink_to(temporary)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _was_exposed(status: os.stat_result) -> bool:
    """Return whether it is a file of this user that other users can read or change."""
    is_own = HAS_MODES and stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and bool(privacy_fault(status))


def _read_private_token(file: Path) -> str:
    return _validate(read_private(file), f"The token file {str(file)!r}")


def _read_named_token(file: Path) -> str:
    """Return the token in a file that the user named, which may be a symbolic link, like a mounted container secret."""
    name = f"The token file {str(file)!r}"
    try:
        opened = open_plain(file, follow=True)
    except OSError as error:
        raise ConfigError(
            f"{name} cannot be read: {sentence(error.strerror)}", remedy="Correct --token-file."
        ) from error
    with opened:
        status = os.fstat(opened.fileno())
        fault = "" if _is_root_secret(status) else privacy_fault(status)
        if fault:
            remedy = f"Make it readable by this user only (chmod 600), or set {VARIABLE}."
            raise ConfigError(f"{name} {fault}, so it is not used.", remedy=remedy)
        return _validate(opened.read(LONGEST), name)


def _is_root_secret(status: os.stat_result) -> bool:
    """Return whether root owns the file, and only root and the file's group can read it."""
    return stat.S_ISREG(status.st_mode) and status.st_uid == 0 and not status.st_mode & 0o027


def _validate(content: bytes, name: str) -> str:
    """Return the token if it is valid; no message contains it. Raises ConfigError."""
    value = content.strip()
    if not TOKEN_PATTERN.fullmatch(value):
        remedy = "Correct it there; `memoriter token --renew` makes a new one in memoriter's home."
        raise ConfigError(f"{name} does not hold a token of {FORM_TEXT}.", remedy=remedy)
    return value.decode("ascii")
