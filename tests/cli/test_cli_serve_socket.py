"""A command works with a server over a socket that only processes of its user can reach, and with no other program."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import pytest

from memoriter.discovery import (
    Announcement,
    Call,
    announce,
    announced,
    delegate,
    open_socket,
    redeem_ticket,
    resolve_target,
    settings_digest,
)
from memoriter.discovery._announcement import create_ticket, remove_socket
from memoriter.environment import Environment
from memory_env import MemoryEnv, trust
from serving import LIMIT, NOT_BY_ITSELF, Serving, answering, hook, serving, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent, and files have owners")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives things to another user")
NOBODY = 65_534
PRIVATE = "Where do we keep the key of the Brumsel vault?"
BODY = json.dumps({"session_id": "private-session", "prompt": PRIVATE, "transcript_path": "/private/path"}).encode()
STOP = json.dumps({"session_id": "private-session", "hook_event_name": "Stop"}).encode()


def _zero() -> float:
    return 0.0


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(provider="none")
    env.trust()
    return env


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path that is short enough for a socket below it."""
    with TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    env = MemoryEnv.at(tmp_path_factory.mktemp("proof"))
    env.configure(provider="none")
    env.trust()
    with serving(env, "--no-watch") as server:
        yield server


class Foreign:
    """A program that writes down all that comes in."""

    def __init__(self) -> None:
        self.received = b""

    def __call__(self, connection: socket.socket) -> None:
        connection.settimeout(LIMIT)
        while part := connection.recv(1 << 16):
            self.received += part


class Meeting:
    """A hook in this process, and the announcement that it finds."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        (home / "MEMORY.md").touch()
        trust(home, home)
        self.clock: Callable[[], float] = _zero
        environ = {"MEMORITER_HOME": str(home)}
        self.environment = Environment(environ, home, home, _zero, lambda: self.clock())  # noqa: PLW0108 - it may change
        self.folder = home / "serve"
        place = os.path.realpath(home)
        digest = settings_digest(None, place, self.environment)
        self.server = Announcement("", "", os.getpid(), 0.0, place, False, "main", True, digest, "")

    def announce(self, **changes: Any) -> None:
        self.server = replace(self.server, **changes)
        announce(self.folder, self.server)

    def hand_over(self, body: bytes = BODY) -> Any:
        target = resolve_target(None, None, None, self.environment)
        return delegate(target, self.folder, Call("/hook/user-prompt?shared=0&attended=1", body))


@pytest.fixture
def meeting(tmp_path: Path) -> Meeting:
    return Meeting(tmp_path / "met")


def ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


# whom a command talks to


def test_the_work_goes_to_the_server_at_the_announced_socket(meeting: Meeting) -> None:
    received = list[bytes]()

    def serve(connection: socket.socket) -> None:
        received.append(whole(connection))
        connection.sendall(ok(b"{}"))

    with answering(serve) as path:
        meeting.announce(socket=path)
        assert meeting.hand_over().status == 200
    (request,) = received
    assert request.endswith(BODY)
    assert not list(meeting.folder.glob("*.ticket"))


@pytest.mark.parametrize("mode", [0o710, 0o701, 0o750, 0o705, 0o770, 0o777, 0o1777])
def test_nothing_is_sent_to_a_socket_in_a_folder_that_others_can_enter(meeting: Meeting, mode: int) -> None:
    foreign = Foreign()
    with answering(foreign) as path:
        meeting.announce(socket=path)
        Path(path).parent.chmod(mode)
        assert meeting.hand_over() is None
        Path(path).parent.chmod(0o700)
    assert foreign.received == b""
    assert not list(meeting.folder.glob("*.ticket"))


@root
def test_nothing_is_sent_to_a_socket_in_a_folder_of_another_user(meeting: Meeting) -> None:
    foreign = Foreign()
    with answering(foreign) as path:
        meeting.announce(socket=path)
        os.chown(Path(path).parent, NOBODY, NOBODY)
        assert meeting.hand_over() is None
        os.chown(Path(path).parent, 0, 0)
    assert foreign.received == b""


def test_nothing_is_sent_through_a_link_to_the_folder_of_a_socket(meeting: Meeting, short: Path) -> None:
    foreign = Foreign()
    with answering(foreign) as path:
        (short / "linked").symlink_to(Path(path).parent)
        meeting.announce(socket=str(short / "linked" / "s"))
        assert meeting.hand_over() is None
    assert foreign.received == b""


@pytest.mark.parametrize("path", ["", "s", "/nowhere/s", "/tmp/" + "s" * 200, "/tmp/\x00s"])
def test_a_socket_that_cannot_be_reached_leaves_the_work_to_the_command(meeting: Meeting, path: str) -> None:
    meeting.announce(socket=path)
    assert meeting.hand_over() is None
    assert not list(meeting.folder.glob("*.ticket"))


def test_a_socket_that_nobody_listens_on_is_withdrawn_with_its_announcement(meeting: Meeting, short: Path) -> None:
    with closing(open_socket(short / "serve", {}, 0.0)) as listening:
        path = Path(listening.getsockname())
        meeting.announce(socket=str(path))
    assert path.exists()  # as after `kill -9`
    assert meeting.hand_over() is None
    assert not path.exists()
    assert list(meeting.folder.iterdir()) == []


def test_a_file_that_is_no_socket_is_never_removed(meeting: Meeting, short: Path) -> None:
    note = short / "note.md"
    note.write_text("Tea.\n", encoding="utf-8")
    meeting.announce(socket=str(note), pid=1 << 70)
    assert list(announced(meeting.folder)) == []
    assert note.read_text(encoding="utf-8") == "Tea.\n"


@pytest.mark.slow
def test_a_server_that_answers_byte_by_byte_costs_no_more_than_its_seconds(meeting: Meeting) -> None:
    ticks = iter(range(1_000))
    meeting.clock = lambda: next(ticks) * 3.0

    def answer(connection: socket.socket) -> None:
        whole(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")  # and the rest never comes
        connection.settimeout(LIMIT)
        connection.recv(1)

    with answering(answer) as path:
        meeting.announce(socket=path)
        assert meeting.hand_over() is None
    assert next(ticks) < 20


# what the server does for whom


class Wire:
    """A connection to the real server, over its socket or over the network, on which anything can be said."""

    def __init__(self, server: Serving, *, local: bool = True) -> None:
        self.server = server
        if local:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(LIMIT)
            self.socket.connect(server.announcement["socket"])
        else:
            host, _, port = server.url.removeprefix("http://").partition(":")
            self.socket = socket.create_connection((host, int(port)), timeout=LIMIT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, target: str, body: bytes = STOP, method: str = "POST", **headers: str) -> int:
        host = self.server.url.removeprefix("http://")
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
        lines.append("Content-Type: application/json")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        received = b""
        while b"\r\n\r\n" not in received:
            part = self.socket.recv(1 << 16)
            if not part:
                return 0
            received += part
        head, _, answer = received.partition(b"\r\n\r\n")
        length = int((re.findall(rb"content-length: (\d+)", head) or [b"0"])[0])
        while len(answer) < length:
            answer += self.socket.recv(1 << 16)
        return int(head.split()[1])


def status_of(server: Serving, target: str, *, local: bool = True, method: str = "POST", **headers: str) -> int:
    with Wire(server, local=local) as wire:
        return wire.say(target, method=method, **headers)


def test_the_socket_serves_hooks_and_commands_and_nothing_else_without_a_token(server: Serving) -> None:
    assert status_of(server, "/hook/stop") == 204
    assert status_of(server, "/command/link") == 200
    for path in ("/mcp", "/health", "/metrics", "/api/v1/status", "/", "/search", "/hook", "/hooks/stop"):
        assert status_of(server, path) == 401, path
        assert status_of(server, path, method="GET") == 401, path
    assert status_of(server, "/health", method="GET", authorization=f"Bearer {server.token}") == 200


def test_a_page_of_another_site_is_refused_also_by_the_socket(server: Serving) -> None:
    assert status_of(server, "/hook/stop", origin="https://evil.example") == 403
    with Wire(server) as wire:
        assert wire.say("/hook/stop", Host="evil.example") in {400, 421}


def test_over_the_network_nobody_is_a_command(server: Serving) -> None:
    path = server.announcement["socket"]
    ticket = create_ticket(server.folder)
    pretences: list[dict[str, str]] = [
        {},
        {"idempotency_key": ticket},
        {"authorization": f"Memoriter {'0' * 64}"},
        {"authorization": f"Memoriter {path}"},
        {"x_forwarded_for": path, "forwarded": f"for=unix;by={path}", "x_real_ip": ""},
        {"memoriter_nonce": "1" * 64},
    ]
    try:
        for headers in pretences:
            for target in ("/hook/stop", "/command/search", "/command/link", "/hook"):
                assert status_of(server, target, local=False, **headers) == 401, (target, headers)
    finally:
        assert redeem_ticket(server.folder, ticket)


def test_half_a_request_disturbs_nobody_and_many_at_once_are_answered(server: Serving) -> None:
    statuses = list[int]()
    threads = [threading.Thread(target=lambda: statuses.append(status_of(server, "/hook/stop"))) for _ in range(8)]
    with Wire(server) as half:
        half.socket.sendall(b"POST /hook/stop HTTP/1.1\r\nHost: 127.0.0.1\r\nidempo")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [204] * 8


@pytest.mark.slow
def test_a_program_at_the_port_of_a_killed_server_learns_nothing_from_any_hook(env: MemoryEnv) -> None:
    received = list[bytes]()
    with serving(env, "--no-watch") as gone:
        gone.process.kill()
        gone.process.wait(LIMIT)
    host, _, port = gone.url.removeprefix("http://").partition(":")
    with socket.create_server((host, int(port))) as listening:
        listening.settimeout(0.0)
        outcome = hook(env, "user-prompt", prompt="Why did we choose PostgreSQL for the ledger?", session_id="mine")
        assert "PostgreSQL" in outcome.out
        with pytest.raises(BlockingIOError):
            received.append(listening.accept()[0].recv(1 << 16))
    assert received == []


# which announcements are believed


def test_an_announcement_that_others_can_write_or_read_is_passed_over(meeting: Meeting, tmp_path: Path) -> None:
    meeting.announce(socket="/nowhere/s")
    (file,) = meeting.folder.glob("*.json")
    assert list(announced(meeting.folder)) == [meeting.server]
    for mode in (0o644, 0o640, 0o620, 0o602):
        file.chmod(mode)
        assert list(announced(meeting.folder)) == []
    file.chmod(0o600)
    for mode in (0o770, 0o707, 0o1777):
        meeting.folder.chmod(mode)
        assert list(announced(meeting.folder)) == []
    meeting.folder.chmod(0o700)
    assert list(announced(meeting.folder)) == [meeting.server]
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert list(announced(meeting.folder)) == []
    file.unlink()
    os.mkfifo(file, 0o600)
    assert list(announced(meeting.folder)) == []
    linked = tmp_path / "linked"
    linked.symlink_to(meeting.folder)
    assert list(announced(linked)) == []


@root
def test_an_announcement_of_another_user_is_passed_over_and_stays(meeting: Meeting) -> None:
    foreign = Foreign()
    with answering(foreign) as path:
        meeting.announce(socket=path)
        (file,) = meeting.folder.glob("*.json")
        os.chown(file, NOBODY, NOBODY)
        assert meeting.hand_over() is None
        os.chown(file, 0, 0)
        os.chown(meeting.folder, NOBODY, NOBODY)
        assert meeting.hand_over() is None
    assert foreign.received == b""
    assert file.exists()


@pytest.mark.slow
@root
def test_a_server_does_not_announce_itself_in_a_folder_of_another_user(env: MemoryEnv) -> None:
    folder = env.home / "serve"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    refused = env.run("serve", "--port", "0", "--no-watch", "-w", str(env.notes))
    assert (refused.exit_code, refused.out) == (2, "")
    assert repr(str(folder)) in refused.err
    assert "belongs to another user" in refused.err
    assert list(folder.iterdir()) == []


@root
def test_an_announcement_is_not_written_into_a_folder_of_another_user(meeting: Meeting) -> None:
    meeting.folder.mkdir(mode=0o700)
    os.chown(meeting.folder, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        meeting.announce(socket="/nowhere/s")
    assert list(meeting.folder.iterdir()) == []


def test_a_process_that_is_gone_withdraws_its_announcement(meeting: Meeting) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(LIMIT)
    for pid in (process.pid, 0, -1, 1 << 70):
        meeting.announce(socket="/nowhere/s", pid=pid)
        assert list(announced(meeting.folder)) == []
        assert not list(meeting.folder.glob("*.json"))


@root
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="root may signal every process")  # noqa: PTH112 - at import
def test_a_number_that_another_user_s_process_has_by_now_counts_as_gone(meeting: Meeting) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=NOBODY, cwd="/") as process:  # until its input ends
        meeting.announce(url="http://127.0.0.1:1", pid=process.pid)
        assert list(announced(meeting.folder)) == []
        assert process.poll() is None


def test_an_announcement_of_a_former_version_is_passed_over(meeting: Meeting) -> None:
    meeting.announce(socket="/nowhere/s")
    (file,) = meeting.folder.glob("*.json")
    fields = json.loads(file.read_text(encoding="utf-8"))
    del fields["socket"]
    file.write_text(json.dumps(fields | {"url": "http://127.0.0.1:1", "secret": "s"}), encoding="utf-8")
    assert list(announced(meeting.folder)) == []
    assert meeting.hand_over() is None


# where the socket is


def test_the_socket_is_beside_the_announcement_for_its_owner_alone(short: Path) -> None:
    folder = short / "serve"
    folder.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        with open_socket(folder, {}, 0.0) as listening:
            path = Path(listening.getsockname())
            assert path.parent == folder
            assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, path)] == [0o700, 0o600]
    finally:
        os.umask(before)


@pytest.mark.parametrize("runtime", ["", "own", "open"])
def test_a_home_with_a_long_path_has_its_socket_in_a_short_folder_for_the_owner_alone(
    short: Path, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    folder = short / ("long" * 30) / "serve"
    for name in ("own", "open", "temporary"):
        (short / name).mkdir(mode=0o700)
    (short / "open").chmod(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(short / "temporary"))
    environ = {"XDG_RUNTIME_DIR": str(short / runtime)} if runtime else {}
    with open_socket(folder, environ, 0.0) as listening:
        path = Path(listening.getsockname())
        assert path.parent.parent == short / ("own" if runtime == "own" else "temporary")
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        remove_socket(str(path))
    assert not path.parent.exists()


def test_where_no_socket_can_be_made_beside_the_announcement_it_is_in_the_short_folder(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = short / "serve"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "urandom", bytes)
    (folder / f"{'00' * 8}.sock").touch()
    monkeypatch.setattr("tempfile.tempdir", str(short))
    with open_socket(folder, {}, 0.0) as listening:
        assert Path(listening.getsockname()).parent.parent == short


@root
def test_no_socket_is_opened_in_a_folder_of_another_user(short: Path) -> None:
    folder = short / "serve"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        open_socket(folder, {}, 0.0)
    assert list(folder.iterdir()) == []


def test_sockets_of_killed_servers_are_removed_and_those_of_others_stay(short: Path) -> None:
    folder = short / "serve"
    living = open_socket(folder, {}, 0.0)
    killed = open_socket(folder, {}, 0.0)
    left = Path(killed.getsockname())
    killed.close()
    starting = open_socket(folder, {}, left.stat().st_mtime + 1)  # it may be one that is just about to listen
    assert left.exists()
    later = open_socket(folder, {}, left.stat().st_mtime + 100)
    assert {str(each) for each in folder.iterdir()} == {each.getsockname() for each in (living, starting, later)}
    for each in (living, starting, later):
        each.close()


@pytest.mark.slow
def test_a_server_of_a_home_with_a_long_path_is_found_and_leaves_nothing_behind(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path / ("long" * 30))
    env.configure(provider="none")
    env.trust()
    with serving(env, "--no-watch") as server:
        path = Path(server.announcement["socket"])
        assert not path.is_relative_to(env.home)
        assert hook(env, "stop", before=NOT_BY_ITSELF).exit_code == 0
    assert not path.parent.exists()
