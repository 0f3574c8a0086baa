"""Delegation of the work of a command to a server of its memory, over a socket that only processes of this user reach.

The memory that a command selects is found without parsing the configuration, which would take longest.

The file system authenticates both sides: the socket is in a folder that belongs to this user and that nobody else can
enter, so only processes of this user can listen there, and only they can connect. The requests are those of HTTP. They
are written by hand, because `http.client` takes longer to import than all the rest of this package.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from memoriter.config import (
    LONGEST_FILE,
    PROJECT_FILE,
    chosen_file,
    find_workspace,
    secret_files,
    state_of,
    user_home_of,
)
from memoriter.discovery._announcement import (
    announced,
    create_ticket,
    is_available,
    is_private_folder,
    redeem_ticket,
    unregister,
)
from memoriter.plain_file import read_plain
from memoriter.providers import KEY_VARIABLES
from memoriter.values import dataclass

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from memoriter.config import Place
    from memoriter.discovery._announcement import Announcement
    from memoriter.environment import Environment

VARIABLES = {
    *("HOME", "USERPROFILE", "SUDO_UID", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"),
    *("HF_ENDPOINT", "HF_TOKEN", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *KEY_VARIABLES,
}
"""Environment variables that a search depends on, besides those that `TargetMemory` resolves."""
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
BY_SETTINGS = "default"
"""The reason of a `Place` that only the configuration can decide."""


@dataclass(frozen=True, slots=True)
class TargetMemory:
    """The memory that a command selects."""

    workspace: str
    """Absolute path with symbolic links resolved; empty: that of a command that names none and runs in none."""
    agent: str
    """Agent; empty: the default agent."""
    config: str | None
    """Configuration file as given."""
    env: Environment
    exact: bool = False
    """Whether the server must also be the same program with the same environment variables."""

    def matches(self, server: Announcement) -> bool:
        """Return whether the server has this memory open with the same settings. Raises ConfigError."""
        same_workspace = self.workspace == server.workspace if self.workspace else server.usual
        same_agent = self.agent == server.agent if self.agent else server.default_agent
        return (
            same_workspace
            and same_agent
            and settings_digest(self.config, server.workspace, self.env) == server.settings
            and (not self.exact or conditions_digest(self.config, server.workspace, self.env) == server.conditions)
        )


def resolve_target(
    workspace: str | None,
    config: str | None,
    agent: str | None,
    env: Environment,
    *,
    exact: bool = False,
    place: Place | None = None,
) -> TargetMemory:
    """Return the memory that the options of a command, the environment and the current folder select."""
    flag = Path(workspace) if workspace is not None else None
    if place is None:
        place = find_workspace(flag, environ=env.environ, cwd=env.cwd, configured=None, home=env.home, by_person=exact)
    by_settings = place.reason == BY_SETTINGS or (flag is None and uses_openclaw(config, env))
    real_workspace = "" if by_settings else os.path.realpath(place.workspace)
    return TargetMemory(real_workspace, agent or "", config, env, exact)


def settings_digest(config: str | None, workspace: str, env: Environment) -> str:
    """Return a SHA-256, in hexadecimal, of everything that the settings depend on, unparsed. Raises ConfigError."""
    digest = hashlib.sha256(env.environ.get("TZ", "").encode("utf-8", "surrogateescape"))
    for real_path, content in _settings_files(config, workspace, env):
        digest.update(f"\0{real_path}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def conditions_digest(config: str | None, workspace: str, env: Environment) -> str:
    """Return a SHA-256, in hexadecimal, of the installed program and the environment variables of a search.

    These are the variables in `VARIABLES` and those that a configuration file names. Raises ConfigError.
    """
    words = {word for _, content in _settings_files(config, workspace, env) for word in WORD.findall(content)}
    named = {word.decode("ascii") for word in words} | VARIABLES
    values = sorted((name, value) for name, value in env.environ.items() if name in named)
    package = Path(__file__).parents[1]
    status = os.stat(package / "__init__.py")  # noqa: PTH116 - a file that each installation writes anew
    program = (str(package), sys.prefix, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return hashlib.sha256(repr((program, values)).encode("utf-8", "surrogateescape")).hexdigest()


def uses_openclaw(config: str | None, env: Environment) -> bool:
    """Return whether the configuration is OpenClaw's, whose agents have folders of their own. Raises ConfigError."""
    file = chosen_file(Path(config) if config is not None else None, env.home, env.environ)
    return state_of(file, env.environ, user_home_of(env.environ, env.home)) is not None


def _settings_files(config: str | None, workspace: str, env: Environment) -> Iterator[tuple[str, bytes]]:
    """Yield the real path and the content of both configuration files; both are empty if there is no such file."""
    file = chosen_file(Path(config) if config is not None else None, env.home, env.environ)
    for path in (file, Path(workspace, PROJECT_FILE)):
        real_path = os.path.realpath(path) if path is not None else ""
        try:
            content = read_plain(path, LONGEST_FILE, follow=path is file) if path is not None else b""
        except OSError:
            real_path = ""
            content = b""
        yield real_path, content
        if b"$include" in content:
            yield "", str(os.getpid()).encode()  # included files may change unseen, so no server has these settings
    state = state_of(file, env.environ, user_home_of(env.environ, env.home))
    for path in secret_files(state) if state is not None else ():
        status = path.stat()
        yield str(path), repr((status.st_size, status.st_mtime_ns)).encode()


WORK_PATHS = ("/hook/", "/command/")
"""The beginnings of the paths that the socket serves without a token."""
TICKET = "idempotency-key"
"""The request header with the ticket."""
REASONS = "memoriter-reasons"
"""The response header with diagnostics for a person: a JSON list of strings."""
NOT_OURS = (ValueError, IndexError, TypeError, RecursionError)
"""Exceptions from parsing a response that is not from a memoriter server."""
TAKEN_SECONDS = 1.0
"""The usual value of `Call.taken_seconds`."""
DONE = {200, 204}


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a command to a server."""

    path: str
    """Path with the query, if there is one; it begins with one of `WORK_PATHS`."""
    body: bytes
    answer_seconds: float = 30.0
    """Seconds within which a server that has begun must answer."""
    taken_seconds: float | None = None
    """Seconds within which a server must begin the work; None: `TAKEN_SECONDS`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The response of a server to a command."""

    status: int
    body: bytes
    reasons: tuple[str, ...]


class Channel:
    """A connection to a server."""

    def __init__(self, connection: socket.socket, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._clock = clock
        self._deadline = 0.0

    def close(self) -> None:
        self._connection.close()

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline for all further steps together, in seconds from now."""
        self._deadline = self._clock() + seconds

    def send(self, call: Call, ticket: str) -> None:
        """Send a request to the server. Raises OSError."""
        head = [
            f"POST {call.path} HTTP/1.1",
            "Host: localhost",
            f"{TICKET}: {ticket}",
            "Content-Type: application/json",
            "Connection: close",
            f"Content-Length: {len(call.body)}",
        ]
        self._apply_deadline()
        self._connection.sendall("\r\n".join([*head, "", ""]).encode("ascii") + call.body)

    def answers_within(self, seconds: float) -> bool:
        """Return whether the server starts to answer within that many seconds."""
        import select

        return bool(select.select([self._connection], [], [], seconds)[0])

    def receive(self) -> Reply:
        """Return the response, whose length a memoriter server always states. Raises OSError and `NOT_OURS`."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._read_part()
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(body) < length:
            body += self._read_part()
        reasons = cast("list[object]", json.loads(headers.get(REASONS, "[]")))
        return Reply(int(status.split()[1]), body[:length], tuple(str(reason) for reason in reasons))

    def _read_part(self) -> bytes:
        self._apply_deadline()
        part = self._connection.recv(1 << 16)
        if not part:
            raise ValueError("the answer ends too early")
        return part

    def _apply_deadline(self) -> None:
        """Limit the next step on the connection to the time left. Raises TimeoutError."""
        remaining = self._deadline - self._clock()
        if remaining <= 0:
            raise TimeoutError
        self._connection.settimeout(remaining)


def connect(server: Announcement, folder: Path, clock: Callable[[], float], seconds: float) -> Channel | None:
    """Return a connection to a server; None if there is none, or if another user could have made its socket.

    If the server has ended, its announcement in the folder is removed.
    """
    import socket

    if not is_private_folder(Path(server.socket).parent):
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(server.socket)
    except ConnectionRefusedError:
        connection.close()
        unregister(folder, server)
        return None
    except (OSError, ValueError):
        connection.close()
        return None
    return Channel(connection, clock)


class Unanswered(Exception):
    """A server has taken the work and did not report its result."""


def delegate(target: TargetMemory, folder: Path, call: Call) -> Reply | None:
    """Delegate the work of a command to a server of this memory.

    Returns:
        The reply of the server, or None if no server has done the work or will do it.

    Raises:
        Unanswered: a server has begun the work, and its result is unknown.
        ConfigError: the configuration does not exist.
    """
    for server in announced(folder):
        if not target.matches(server):
            continue
        channel = connect(server, folder, target.env.monotonic, call.taken_seconds or TAKEN_SECONDS)
        if channel is None:
            continue
        with closing(channel):
            try:
                ticket = create_ticket(folder)
            except OSError:
                return None
            reply = _send(channel, folder, call, ticket)
        if reply is not None and reply.status in DONE:
            redeem_ticket(folder, ticket)
            return reply
        if not redeem_ticket(folder, ticket):
            raise Unanswered
    return None


def _send(channel: Channel, folder: Path, call: Call, ticket: str) -> Reply | None:
    try:
        seconds = call.taken_seconds or TAKEN_SECONDS
        channel.set_deadline(seconds)
        channel.send(call, ticket)
        if not channel.answers_within(seconds) and is_available(folder, ticket):
            return None
        channel.set_deadline(call.answer_seconds)
        return channel.receive()
    except (OSError, *NOT_OURS):
        return None
