"""Whatever answers at the socket of a server, a piece of work is done by one of the two or by nobody, never by both."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.discovery import (
    Announcement,
    Call,
    Unanswered,
    announce,
    delegate,
    redeem_ticket,
    resolve_target,
    settings_digest,
)
from memoriter.environment import Environment
from memory_env import trust
from odd_files import KINDS, link_to_a_secret, posix_only
from serving import answering, whole

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

LINES = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.1 204", b"HTTP/1.1", b"content-length: 2", b"content-length: x", b"", b"{}", b"\xff"]
)
REASONS = st.sampled_from([b"memoriter-reasons: 1", b"memoriter-reasons: [1]", b"memoriter-reasons: " + b"[" * 9_000])
ANSWERS = st.binary(max_size=40) | st.lists(LINES | REASONS, max_size=6).map(b"\r\n".join)


@pytest.mark.slow
@settings(max_examples=60)
@given(answer=ANSWERS, takes=st.booleans())
def test_no_answer_makes_two_do_the_work(answer: bytes, *, takes: bool) -> None:
    with TemporaryDirectory() as named:
        home = Path(named)
        environment = Environment({"MEMORITER_HOME": named}, home, home, lambda: 0.0, lambda: 0.0)
        (home / "MEMORY.md").touch()
        trust(home, home)
        took = list[bool]()

        def act(connection: socket.socket) -> None:
            (ticket,) = re.findall(r"idempotency-key: (\w+)", whole(connection).decode())
            if takes:
                took.append(redeem_ticket(home / "serve", ticket))
            connection.sendall(answer)

        with answering(act) as path:
            place = os.path.realpath(home)
            digest = settings_digest(None, place, environment)
            announce(
                home / "serve",
                Announcement("", path, os.getpid(), 0.0, place, False, "main", True, digest, ""),
            )
            try:
                reply = delegate(
                    resolve_target(None, None, None, environment), home / "serve", Call("/hook/stop", b"{}")
                )
            except Unanswered:
                assert took == [True]
            else:
                assert reply is not None or not takes
                assert reply is None or reply.status in {200, 204}
        assert list((home / "serve").glob("*.ticket")) == []


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not link_to_a_secret])
@pytest.mark.parametrize("name", [".memoriter.json5", "home/memoriter.json5"])
def test_settings_that_are_no_plain_file_are_as_none(tmp_path: Path, make: Callable[[Path], None], name: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = Environment({}, home, tmp_path, lambda: 0.0, lambda: 0.0)
    without = settings_digest(None, str(tmp_path), environment)
    make(tmp_path / name)
    assert settings_digest(None, str(tmp_path), environment) == without
