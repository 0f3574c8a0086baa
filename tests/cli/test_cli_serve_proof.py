"""A hook tells a server nothing before it has proven to be the one that announced itself, and proves itself in turn."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.access import MOST_CHALLENGES, CommandProof
from memoriter.discovery import (
    Announcement,
    Call,
    Exchange,
    address_of,
    announce,
    announced,
    body_digest,
    delegate,
    redeem_ticket,
    resolve_target,
    settings_digest,
)
from memoriter.discovery._announcement import create_ticket
from memoriter.environment import Environment
from memory_env import MemoryEnv, trust
from serving import LIMIT, Serving, answering, hook, proven, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent, and files have owners")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives things to another user")
NOBODY = 65_534
PRIVATE = "Where do we keep the key of the Brumsel vault?"
BODY = json.dumps({"session_id": "private-session", "prompt": PRIVATE, "transcript_path": "/private/path"}).encode()
STOP = json.dumps({"session_id": "private-session", "hook_event_name": "Stop"}).encode()
NONCE_ONLY = re.compile(
    rb"POST /hook HTTP/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\nmemoriter-nonce: [0-9a-f]{64}\r\nContent-Length: 0\r\n\r\n"
)
"""All that leaves a hook before the server has proven itself."""


def _zero() -> float:
    return 0.0


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(provider="none")
    env.trust()
    return env


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    env = MemoryEnv.at(tmp_path_factory.mktemp("proof"))
    env.configure(provider="none")
    env.trust()
    with serving(env, "--no-watch") as server:
        yield server


class Foreign:
    """A program that has taken a port, writes down all that comes in, and answers as it likes."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.received = b""
        self._answer = answer

    def __call__(self, connection: socket.socket) -> None:
        first = connection.recv(1 << 16)
        self.received += first
        connection.sendall(self._answer(first))
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
        self.server = Announcement("", "the-secret", os.getpid(), 0.0, place, False, "main", True, digest, "")

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


def nonce(request: bytes) -> bytes:
    return re.findall(rb"memoriter-nonce: (\w+)", request)[0]


def mirrored(request: bytes) -> bytes:
    """A proof with another secret."""
    exchange = Exchange(os.getpid(), "127.0.0.1 1", nonce(request).decode(), "2" * 64)
    return ok(f"{exchange.server_nonce} {exchange.server_proof('guessed')}".encode())


ANSWERS = {
    "nothing": pytest.param(lambda _: b"", marks=pytest.mark.slow),  # the hook waits for a second
    "an empty page": lambda _: ok(b""),
    "its request": lambda request: request,
    "the number of the hook": lambda request: ok(nonce(request) + b" " + nonce(request)),
    "a guess": mirrored,
    "no proof": lambda _: ok(b"2" * 64 + b" "),
    "the welcome of before": lambda _: b"HTTP/1.1 204 No Content\r\n\r\n",
    "a refusal": lambda _: b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
    "a redirect": lambda _: b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    "more than any proof": lambda _: b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 9_000,
    "a long promise": lambda _: b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n" + b"2" * 9_000,
    "bytes": lambda _: b"\xff" * 200 + b"\r\n\r\n",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_foreign_program_hears_a_random_number_and_nothing_else(
    meeting: Meeting, answer: Callable[[bytes], bytes]
) -> None:
    foreign = Foreign(answer)
    with answering(foreign) as url:
        meeting.announce(url=url)
        assert meeting.hand_over() is None
    assert NONCE_ONLY.fullmatch(foreign.received)
    assert not list(meeting.folder.glob("*.ticket"))


@pytest.mark.slow
def test_a_program_that_took_the_port_of_a_killed_server_learns_nothing_from_any_hook(env: MemoryEnv) -> None:
    foreign = Foreign(mirrored)
    with serving(env, "--no-watch") as gone:
        gone.process.kill()
        gone.process.wait(LIMIT)
    response = gone.announcement
    with answering(foreign) as url:
        gone.file.write_text(json.dumps(response | {"url": url, "pid": os.getpid()}), encoding="utf-8")
        outcome = hook(env, "user-prompt", prompt="Why did we choose PostgreSQL for the ledger?", session_id="mine")
        assert "PostgreSQL" in outcome.out
        hook(env, "pre-compact", session_id="mine", transcript=env.notes / "t.jsonl")
    assert NONCE_ONLY.fullmatch(foreign.received[: len(foreign.received) // 2])
    received = foreign.received.decode()
    private = ["PostgreSQL", "mine", "t.jsonl", str(env.home), str(env.notes), response["secret"], gone.token, "Bearer"]
    assert [word for word in private if word in received] == []


@pytest.mark.slow
def test_a_foreign_program_that_passes_on_the_words_of_the_real_server_hears_no_more(server: Serving) -> None:
    received = list[bytes]()
    host, _, port = server.url.removeprefix("http://").partition(":")

    def relay(connection: socket.socket) -> None:
        with socket.create_connection((host, int(port)), timeout=LIMIT) as real:
            received.append(connection.recv(1 << 16))
            real.sendall(received[-1])
            connection.sendall(real.recv(1 << 16))
            while part := connection.recv(1 << 16):
                received.append(part)

    response = Announcement(**server.announcement)
    environment = Environment({"MEMORITER_HOME": str(server.folder.parent)}, server.folder, server.folder, _zero, _zero)
    target = resolve_target(response.workspace, None, None, environment)
    with answering(relay) as url:
        server.file.write_text(json.dumps(server.announcement | {"url": url}), encoding="utf-8")
        try:
            assert delegate(target, server.folder, Call("/hook/stop", STOP)) is None
        finally:
            server.file.write_text(json.dumps(server.announcement | {"url": response.url}), encoding="utf-8")
    assert NONCE_ONLY.fullmatch(b"".join(received))
    reply = delegate(target, server.folder, Call("/hook/stop", STOP))
    assert reply is not None
    assert reply.status == 204


@pytest.mark.slow
def test_what_a_server_once_said_proves_nothing_later(meeting: Meeting) -> None:
    received = list[bytes]()

    def answer(request: bytes) -> bytes:
        port = int(re.findall(rb"Host: 127\.0\.0\.1:(\d+)", request)[0])
        exchange = Exchange(os.getpid(), address_of("127.0.0.1", port), nonce(request).decode(), "2" * 64)
        received.append(ok(f"{exchange.server_nonce} {exchange.server_proof('the-secret')}".encode()))
        return received[0]

    foreign = Foreign(answer)
    with answering(foreign) as url:
        meeting.announce(url=url)
        meeting.hand_over()
        assert PRIVATE.encode() in foreign.received  # so far this was the server
        foreign.received = b""
        assert meeting.hand_over() is None
    assert NONCE_ONLY.fullmatch(foreign.received)


@pytest.mark.slow
def test_a_server_that_answers_byte_by_byte_costs_no_more_than_its_second(meeting: Meeting) -> None:
    ticks = iter(range(1_000))
    meeting.clock = lambda: next(ticks) * 0.2
    with answering(Foreign(lambda _: b"HTTP/1.1 200 OK\r\n")) as url:  # and the rest never comes
        meeting.announce(url=url)
        assert meeting.hand_over() is None
    assert next(ticks) < 20


def test_the_work_goes_to_a_server_that_has_proven_itself(meeting: Meeting) -> None:
    received = list[bytes]()

    def serve(connection: socket.socket) -> None:
        received.append(proven(connection, "the-secret", os.getpid()))
        connection.sendall(ok(b"{}"))

    with answering(serve) as url:
        meeting.announce(url=url)
        assert meeting.hand_over().status == 200
    (request,) = received
    assert request.endswith(BODY)
    assert b"the-secret" not in request


# what the server asks of a hook


class Wire:
    """A connection to the real server, on which anything can be said."""

    def __init__(self, server: Serving) -> None:
        self.announcement = server.announcement
        self.folder = server.folder
        self.tickets = list[str]()
        host, _, port = server.url.removeprefix("http://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=LIMIT)

    def challenge(self, nonce: str = "1" * 64) -> Exchange:
        status, body = self.say("/hook", b"", **{"memoriter-nonce": nonce})
        assert status == 200
        answered, proof = body.decode().split(" ")
        exchange = Exchange(self.announcement["pid"], address_of(*self.socket.getpeername()[:2]), nonce, answered)
        assert proof == exchange.server_proof(self.announcement["secret"])
        return exchange

    def signed(self, exchange: Exchange, target: str = "/hook/stop", body: bytes = STOP) -> dict[str, str]:
        ticket = create_ticket(self.folder)
        digest = body_digest(body)
        self.tickets.append(ticket)
        proof = exchange.client_proof(self.announcement["secret"], target, ticket, digest)
        return {"authorization": f"Memoriter {proof}", "memoriter-digest": digest, "idempotency-key": ticket}

    def say(self, target: str, body: bytes, **headers: str) -> tuple[int, bytes]:
        host = self.announcement["url"].removeprefix("http://")
        lines = [f"POST {target} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
        lines.append("Content-Type: application/json")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        received = b""
        while b"\r\n\r\n" not in received:
            part = self.socket.recv(1 << 16)
            if not part:
                return 0, b""
            received += part
        head, _, answer = received.partition(b"\r\n\r\n")
        length = int((re.findall(rb"content-length: (\d+)", head) or [b"0"])[0])
        while len(answer) < length:
            answer += self.socket.recv(1 << 16)
        return int(head.split()[1]), answer


@contextmanager
def wire(server: Serving) -> Iterator[Wire]:
    opened = Wire(server)
    try:
        yield opened
    finally:
        opened.socket.close()
        for ticket in opened.tickets:
            redeem_ticket(server.folder, ticket)


def test_a_signed_request_is_good_once_on_its_own_connection(server: Serving) -> None:
    with wire(server) as one:
        signed = one.signed(one.challenge())
        with wire(server) as other:
            assert other.say("/hook/stop", STOP, **signed)[0] == 401
        assert one.say("/hook/stop", STOP, **one.signed(one.challenge()))[0] == 204
        exchange = one.challenge()
        again = one.signed(exchange)
        assert one.say("/hook/stop", STOP, **again)[0] == 204
        assert one.say("/hook/stop", STOP, **again)[0] == 401
    with wire(server) as one:
        assert one.say("/hook/stop", STOP, **one.signed(exchange))[0] == 401
    with wire(server) as one:
        one.challenge()
        assert one.say("/hook/stop", STOP, **again)[0] == 401
    with wire(server) as one:
        first = one.challenge()
        one.challenge()
        assert one.say("/hook/stop", STOP, **one.signed(first))[0] == 401


def test_nothing_of_a_signed_request_can_be_changed(server: Serving) -> None:
    def status_of(target: str = "/hook/stop", body: bytes = STOP, **changes: str | None) -> int:
        with wire(server) as one:
            headers = one.signed(one.challenge()) | changes
            return one.say(target, body, **{name: value for name, value in headers.items() if value is not None})[0]

    assert status_of() == 204
    assert status_of("/hook/pre-compact") == 401
    assert status_of("/hook/stop?shared=1") == 401
    assert status_of("/mcp") == 401
    assert status_of("/health") == 401
    assert status_of(body=STOP.replace(b"private", b"another")) == 400
    assert status_of(**{"memoriter-digest": body_digest(b"{}")}) == 401
    assert status_of(**{"memoriter-digest": None}) == 401
    assert status_of(**{"idempotency-key": "0" * 32}) == 401
    assert status_of(**{"idempotency-key": None}) == 401
    assert status_of(authorization="Memoriter " + "0" * 64) == 401
    assert status_of(authorization="Memoriter") == 401
    assert status_of(authorization=None) == 401
    assert status_of(origin="https://evil.example") == 403


def test_challenges_that_are_none_are_refused_and_half_of_one_disturbs_nobody(server: Serving) -> None:
    for headers in ({}, {"memoriter-nonce": "1"}, {"memoriter-nonce": "g" * 64}, {"memoriter-nonce": "1" * 65}):
        with wire(server) as one:
            assert one.say("/hook", b"", **headers)[0] == 401
    with wire(server) as one:
        assert one.say("/hook", b"", **{"memoriter-nonce": "1" * 64, "origin": "null"})[0] == 401
    with wire(server) as half, wire(server) as one:
        half.socket.sendall(b"POST /hook HTTP/1.1\r\nHost: 127.0.0.1\r\nmemoriter-non")
        assert one.say("/hook/stop", STOP, **one.signed(one.challenge()))[0] == 204


def test_challenges_of_many_are_forgotten_and_the_last_ones_count() -> None:
    proof = CommandProof("the-secret", 7)

    def scope(port: int, path: str, **headers: str) -> dict[str, Any]:
        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        return {
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": named,
            "client": ("127.0.0.1", port),
            "server": ("127.0.0.1", 1),
        }

    def recognised(port: int, answer: str | None) -> bool:
        assert answer is not None
        exchange = Exchange(7, "127.0.0.1 1", "1" * 64, answer.split(" ")[0])
        shown = exchange.client_proof("the-secret", "/hook/stop", "0" * 32, "2" * 64)
        head = scope(port, "/hook/stop", idempotency_key="0" * 32, memoriter_digest="2" * 64)
        return proof.verify(head, shown)

    answers = [
        proof.answer_challenge(scope(port, "/hook", memoriter_nonce="1" * 64)) for port in range(MOST_CHALLENGES + 9)
    ]
    assert len(proof._exchanges) == MOST_CHALLENGES
    assert not recognised(8, answers[8])
    assert recognised(9, answers[9])
    assert not recognised(9, answers[9])
    assert recognised(MOST_CHALLENGES + 8, answers[-1])


@given(st.lists(st.tuples(st.integers(1, 99), *[st.text(max_size=4)] * 7), min_size=2, max_size=2, unique=True))
def test_a_proof_is_of_one_exchange_and_one_request_alone(two: list[tuple[Any, ...]]) -> None:
    proofs = [Exchange(*each[:4]).client_proof("a secret", *each[4:7]) for each in two]
    assert (proofs[0] == proofs[1]) is (two[0][:7] == two[1][:7])
    (pid, *words) = two[0]
    exchange = Exchange(pid, *words[:3])
    assert exchange.server_proof("a secret") != exchange.server_proof("another")
    assert exchange.server_proof("a secret") != exchange.client_proof("a secret", "", "", "")


# which announcements are believed


def test_an_announcement_that_others_can_write_or_read_is_passed_over(meeting: Meeting, tmp_path: Path) -> None:
    meeting.announce(url="http://127.0.0.1:1")
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
    foreign = Foreign(mirrored)
    with answering(foreign) as url:
        meeting.announce(url=url)
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
        meeting.announce(url="http://127.0.0.1:1")
    assert list(meeting.folder.iterdir()) == []


def test_a_process_that_is_gone_withdraws_its_announcement(meeting: Meeting) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(LIMIT)
    for pid in (process.pid, 0, -1, 1 << 70):
        meeting.announce(url="http://127.0.0.1:1", pid=pid)
        assert list(announced(meeting.folder)) == []
        assert not list(meeting.folder.glob("*.json"))


@root
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="root may signal every process")  # noqa: PTH112 - at import
def test_a_number_that_another_user_s_process_has_by_now_counts_as_gone(meeting: Meeting) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=NOBODY, cwd="/") as process:  # until its input ends
        meeting.announce(url="http://127.0.0.1:1", pid=process.pid)
        assert list(announced(meeting.folder)) == []
        assert process.poll() is None


def test_hooks_at_once_each_prove_themselves(server: Serving) -> None:
    statuses = list[int]()

    def go() -> None:
        with wire(server) as one:
            statuses.append(one.say("/hook/stop", STOP, **one.signed(one.challenge()))[0])

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [204] * 8
