"""The bearer tokens of the HTTP server: the owner's, and further ones with a name and a scope, stored as hashes."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.discovery._announcement import LONGEST, privacy_fault, read_private
from memoriter.errors import ConfigError, UsageError, sentence
from memoriter.permissions import HAS_MODES, folder_lock, replace_private, write_new
from memoriter.plain_file import open_plain
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
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
        self._stamp = token.file and _stamp_of(token.file)

    def __call__(self) -> str:
        """Return the current token. If the file is missing or invalid, the last token stays in force."""
        stamp = self._token.file and _stamp_of(self._token.file)
        if stamp not in {None, self._stamp}:
            self._stamp = stamp
            with suppress(ConfigError, OSError):
                self._token = replace(self._token, value=self._token.read())
        return self._token.value


def _stamp_of(file: Path) -> tuple[int, ...] | None:
    """Return values that change whenever a file changes, or None if there is no file."""
    try:
        status = os.stat(file)  # noqa: PTH116 - half the time
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def token_for(home: Path, environ: Mapping[str, str], file: Path | None = None) -> Token:
    """Return the token of this user's servers; the token in the home is created on first use.

    `MEMORITER_TOKEN` takes precedence over the file in the home. A `file` is read instead of both, and never written.

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


Scope = Literal["metrics", "read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("metrics", "read", "write", "admin")
"""The scopes; each includes those before it. `metrics` reads measurements of the server, and no notes."""
SCOPED_FILE = "tokens.json"
USES = "token-uses.json"
"""The file with the last use of each token. Without it, only this is not known."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
NAME_TEXT = "1 to 40 letters, digits, _ . or -, begins with a letter or a digit"
RESERVED = frozenset({"owner", "command"})
"""Names of callers that have no token of this file."""
MOST_TOKENS = 100
LONGEST_PRINCIPAL = 80
"""Characters of the name of a principal at most."""
PREFIX = "mem_"
"""The beginning of every token, by which scanners for leaked secrets can recognize it."""


BURST_SECONDS = 10.0
"""A caller may send at once, after a pause, what its rate allows in so many seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the requests of one caller may use of a server."""

    per_second: float = 100.0
    """Requests per second over a longer time."""
    at_once: int | None = 64
    """Requests that run at the same time; None: any number."""
    bytes_per_minute: int | None = 256 << 20
    """Bytes of bodies, received and sent, per minute over a longer time; None: any number."""

    @property
    def burst(self) -> float:
        """Requests at once after a pause."""
        return max(1.0, self.per_second * BURST_SECONDS)


@dataclass(frozen=True, slots=True)
class ScopedToken:
    """A token as it is stored. The token itself is 256 random bits, so its hash needs neither salt nor stretching."""

    name: str
    scope: Scope
    principal: str
    """Whose long-term memories a server must have to accept the token; empty: any server does."""
    created: float
    """Seconds since 1970."""
    digest: str
    """The SHA-256 of the token, in hexadecimal."""
    workspace: str = ""
    """The absolute path of the only workspace whose server accepts the token; empty: any server of this home does."""
    also: tuple[str, ...] = ()
    """Further workspaces, besides that one."""
    limits: Limits = field(default_factory=Limits)
    expires: float = 0.0
    """Seconds since 1970 from which servers refuse the token; 0: never."""

    @property
    def workspaces(self) -> tuple[str, ...]:
        """All workspaces for which it is; empty: any."""
        return (self.workspace, *self.also) if self.workspace else ()

    def has_expired(self, now: float) -> bool:
        """Return whether servers refuse the token at a time, in seconds since 1970."""
        return bool(self.expires) and now >= self.expires


class TokenFile:
    """The file with the hashes of all tokens, which only its owner can read."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.path = home / SCOPED_FILE

    def tokens(self) -> tuple[ScopedToken, ...]:
        """Return all tokens in the order of their creation. Raises ConfigError."""
        try:
            return _parse(read_private(self.path))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, LookupError) as error:
            why = (error.strerror or str(error)) if isinstance(error, OSError) else "it is not a list of tokens"
            raise ConfigError(
                f"The tokens in {str(self.path)!r} cannot be read: {sentence(why)}",
                remedy="Make it readable by this user only (chmod 600), or remove it and create the tokens again.",
            ) from error

    def create(
        self,
        name: str,
        scope: Scope,
        *,
        now: float,
        principal: str = "",
        workspaces: Sequence[str] = (),
        limits: Limits | None = None,
        expires: float = 0.0,
    ) -> str:
        """Store a new token and return it; it cannot be shown again.

        Args:
            name: the name, by which it is listed and revoked.
            scope: what it allows.
            now: seconds since 1970.
            principal: whose long-term memories a server must have to accept the token; empty: any server does.
            workspaces: the absolute paths of the only workspaces for which servers accept the token; empty: any.
            limits: what its requests may use; None: the usual limits.
            expires: seconds since 1970 from which servers refuse it; 0: never.

        Raises:
            UsageError: the name is taken or has another form, or there are too many tokens.
            ConfigError: the file cannot be read or written.
        """
        if not NAME.fullmatch(name) or name.lower() in RESERVED:
            message = f"{name!r} cannot name a token. A name has {NAME_TEXT}, and is not 'owner' or 'command'."
            raise UsageError(message, remedy="Give another name.")
        if len(principal) > LONGEST_PRINCIPAL or not principal.isprintable():
            message = (
                f"{principal!r} is no name of a principal: it has at most {LONGEST_PRINCIPAL} printable characters."
            )
            raise UsageError(message, remedy="Give the value of plugins.entries.memory-lancedb.config.principal.")
        value = PREFIX + secrets.token_urlsafe(32)
        with self._changing() as known:
            if any(each.name == name for each in known):
                remedy = f"Give another name, or run `memoriter token revoke {name}` first."
                raise UsageError(f"There is a token {name!r} already.", remedy=remedy)
            if len(known) >= MOST_TOKENS:
                known[:] = [each for each in known if not each.has_expired(now)]
            if len(known) >= MOST_TOKENS:
                message = f"There are {MOST_TOKENS} tokens, which is the maximum."
                raise UsageError(message, remedy="Run `memoriter token revoke NAME` for one that is not used.")
            digest = digest_of(value)
            used = limits or Limits()
            first = workspaces[0] if workspaces else ""
            also = tuple(workspaces[1:])
            since = round(now, 3)
            known.append(ScopedToken(name, scope, principal, since, digest, first, also, used, round(expires, 3)))
        return value

    def last_uses(self) -> dict[str, float]:
        """Return when servers last accepted each token, in seconds since 1970, by its hash."""
        try:
            uses: Any = json.loads(read_private(self._home / USES))
            return {str(digest): float(at) for digest, at in uses.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def note_use(self, digest: str, at: float, known: Collection[str]) -> None:
        """Store when a token was last accepted, beside the last uses of the known tokens. Raises OSError.

        Of two servers that store one at the same time, one may win: no request waits for a lock.
        """
        kept = {name: used for name, used in self.last_uses().items() if name in known}
        replace_private(self._home / USES, json.dumps({**kept, digest: at}).encode("ascii"))

    def revoke(self, name: str) -> ScopedToken:
        """Remove a token, which servers then refuse at once, and return it. Raises UsageError, ConfigError."""
        with self._changing() as known:
            found = next((each for each in known if each.name == name), None)
            if found is None:
                raise UsageError(f"There is no token {name!r}.", remedy="See `memoriter token list`.")
            known.remove(found)
        return found

    @contextmanager
    def _changing(self) -> Generator[list[ScopedToken]]:
        """Give the list of tokens, and store it at the end unless an exception is raised. Raises ConfigError."""
        try:
            with folder_lock(self._home):
                known = [*self.tokens()]
                yield known
                content = json.dumps([_row_of(each) for each in known], ensure_ascii=False, indent=1)
                replace_private(self.path, f"{content}\n".encode())
        except OSError as error:
            message = f"The tokens in {str(self.path)!r} cannot be written: {sentence(error.strerror or error)}"
            raise ConfigError(message, remedy="Correct the permissions of this folder.") from error


USES_SECONDS = 60.0
"""Seconds between two writes of the last use of a token."""


class LiveTokens:
    """The tokens of a running server; changes of the file take effect at once."""

    def __init__(self, home: Path, clock: Callable[[], float]) -> None:
        """Read the tokens of a home. Raises ConfigError: the file cannot be read."""
        self._file = TokenFile(home)
        self._clock = clock
        self._uses: dict[str, float] = {}
        """The last use of each token that was stored."""
        self._stamp = _stamp_of(self._file.path)
        self._tokens = self._file.tokens()

    def find(self, value: str) -> ScopedToken | None:
        """Return the token with this value, unless it has expired."""
        return self.with_digest(digest_of(value))

    def with_digest(self, digest: str) -> ScopedToken | None:
        """Return the token with this hash, unless it has expired, and note that it was used.

        The time does not depend on which of them the hash resembles.
        """
        stamp = _stamp_of(self._file.path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._tokens = self._file.tokens()
            except ConfigError:
                self._tokens = ()  # a token that was revoked must not count because the file is damaged
        found = None
        for each in self._tokens:
            if hmac.compare_digest(each.digest, digest):
                found = each
        now = self._clock()
        if found is None or found.has_expired(now):
            return None
        if not 0 <= now - self._uses.get(digest, -math.inf) < USES_SECONDS:
            self._uses[digest] = now
            with suppress(OSError):  # a request is answered although its time cannot be stored
                self._file.note_use(digest, now, [each.digest for each in self._tokens])
        return found


def digest_of(value: str) -> str:
    """Return the hash of a token."""
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()


def _row_of(token: ScopedToken) -> dict[str, Any]:
    """Return a token as it is stored."""
    return {name: value for name, value in asdict(token).items() if name != "also" or value}


def _parse(content: bytes) -> tuple[ScopedToken, ...]:
    """Return the stored tokens. Raises ValueError, TypeError, LookupError."""
    rows = cast("Sequence[dict[str, Any]]", json.loads(content))
    for row in rows:
        texts = (row["name"], row["principal"], row["digest"], row.get("workspace", ""), *row.get("also", ()))
        if not all(isinstance(text, str) for text in texts) or row["scope"] not in SCOPES:
            raise ValueError("not a token")
        times = (row["created"], row.get("expires", 0.0))
        if not re.fullmatch("[0-9a-f]{64}", row["digest"]) or not all(isinstance(at, (int, float)) for at in times):
            raise ValueError("not a token")
    return tuple(_parse_token(row) for row in rows)


def _parse_token(row: dict[str, Any]) -> ScopedToken:
    """Return a stored token; one of an earlier version has the usual limits. Raises ValueError, TypeError."""
    stored: dict[str, Any] = row.get("limits", {})
    if not all(value is None or (isinstance(value, (int, float)) and value > 0) for value in stored.values()):
        raise ValueError("not limits")
    fields: dict[str, Any] = {**row, "also": tuple(row.get("also", ())), "limits": Limits(**stored)}
    return ScopedToken(**fields)
