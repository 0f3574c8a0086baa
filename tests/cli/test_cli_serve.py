"""One process has the memory open, and hooks get the same from it as by themselves, once, whatever becomes of it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest

from hook_inputs import write_transcript
from mcp_endpoints import authorised, bearer
from memoriter.discovery import announced, redeem_ticket
from memory_env import MemoryEnv
from serving import LIMIT, NOT_BY_ITSELF, Serving, answering, hook, pointed, serving, started, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "Why did we choose PostgreSQL for the ledger?"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(provider="none")
    env.trust()
    return env


@pytest.fixture
def server(env: MemoryEnv) -> Iterator[Serving]:
    with serving(env) as server:
        yield server


def warm(env: MemoryEnv, event: str, *words: str, **changes: Any) -> Any:
    """What a hook says that can do nothing by itself."""
    return hook(env, event, *words, before=NOT_BY_ITSELF, **changes)


def by_itself(outcome: Any) -> bool:
    """Whether such a hook looked for a server in vain."""
    return "memoriter.app" in outcome.err


def post(server: Serving, path: str, body: str, **headers: str) -> tuple[int, bytes]:
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def health(server: Serving) -> dict[str, Any]:
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
    try:
        connection.request("GET", "/health", headers=bearer(server.token))
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def compactions(env: MemoryEnv) -> int:
    """How often the one session was compacted."""
    file = env.home / "agents" / "main" / "sessions" / "sessions.json"
    (entry,) = json.loads(file.read_text(encoding="utf-8")).values()
    return entry["compactionCount"]


@pytest.mark.slow
def test_every_hook_says_the_same_with_a_server_and_without(env: MemoryEnv, server: Serving, tmp_path: Path) -> None:
    alone = replace(env, home=tmp_path / "alone")
    alone.home.mkdir(mode=0o700)
    alone.configure(provider="none")
    alone.trust()
    transcript = write_transcript(tmp_path / "t.jsonl", "claude-code", 170_000)

    def both(event: str, *words: str, **changes: Any) -> str:
        with_server = warm(env, event, *words, transcript=transcript, **changes)
        assert with_server == hook(alone, event, *words, transcript=transcript, **changes)
        assert (with_server.exit_code, with_server.err) == (0, "")
        return with_server.out

    assert "PostgreSQL" in both("session-start")
    assert both("session-start", "--shared", session_id="of many") == ""
    assert "PostgreSQL" in both("user-prompt", prompt=QUESTION, session_id="new")
    assert both("user-prompt", prompt=QUESTION, session_id="new") == ""
    response = both("stop")
    (path,) = set(re.findall(r"memory/\d{4}-\d\d-\d\d\.md", response))
    env.write(path, "- We ship on Friday, 금요일.\n")
    assert both("stop", stop_hook_active=True, last_assistant_message="NO_REPLY") == ""
    assert both("pre-compact") == ""
    assert "금요일" in both("session-start", source="compact")


@pytest.mark.slow
def test_what_a_person_should_know_comes_through_as_well(env: MemoryEnv, server: Serving, tmp_path: Path) -> None:
    transcript = write_transcript(tmp_path / "t.jsonl", "claude-code", 170_000)
    env.write("memory/2026-02-11.md", "- old\n")
    response = warm(env, "stop", transcript=transcript)
    (path,) = set(re.findall(r"memory/\d{4}-\d\d-\d\d\.md", response.out))
    env.write("memory/elsewhere.md", "- We ship on Friday.\n")
    received = warm(env, "stop", stop_hook_active=True, last_assistant_message="Saved.")
    assert (received.exit_code, received.out, received.err.count("\n")) == (0, "", 1)
    assert received.err.startswith("memoriter: ")
    assert path in received.err or "elsewhere" in received.err


@pytest.mark.slow
def test_a_program_that_nobody_watches_is_not_sent_on(env: MemoryEnv, server: Serving, tmp_path: Path) -> None:
    transcript = write_transcript(tmp_path / "t.jsonl", "claude-code", 170_000)
    env.environ["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    unattended = warm(env, "stop", transcript=transcript)
    assert (unattended.out, unattended.err) == ("", "")


def test_several_hooks_at_once_get_one_answer_each(env: MemoryEnv, server: Serving) -> None:
    running = [
        started(env, "user-prompt", before=NOT_BY_ITSELF, prompt=QUESTION, session_id=f"s{number}")
        for number in range(8)
    ]
    answers = [process.communicate(timeout=LIMIT) for process in running]
    assert {err for _, err in answers} == {""}
    (text,) = {out for out, _ in answers}
    assert "PostgreSQL" in text
    assert not list(server.folder.glob("*.ticket"))


@pytest.mark.slow
def test_the_server_tells_where_it_is_to_its_owner_alone(env: MemoryEnv, server: Serving) -> None:
    assert stat.S_IMODE(server.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
    received = server.announcement
    assert (received["url"], received["pid"]) == (server.url, server.process.pid)
    assert health(server)["legs"] == {"keyword": True, "vector": False}


@pytest.mark.slow
@pytest.mark.anyio
async def test_clients_of_the_protocol_have_the_same_server_which_ends_well_while_they_are_there(
    env: MemoryEnv,
) -> None:
    with serving(env) as server:
        async with authorised(f"{server.url}/mcp", env) as client:
            found: Any = (await client.call_tool("memory_search", {"query": "train to Osaka"})).structured_content
            assert found["results"][0]["citation"] == "memory/2026-03-05.md#L1-L3"
            server.process.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(server.process.wait, LIMIT) == 0
        assert list(server.folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_well(env: MemoryEnv, number: int) -> None:
    with serving(env) as server:
        assert server.end(number) == 0
        assert list(server.folder.iterdir()) == []


@pytest.mark.slow
def test_a_killed_server_is_forgotten_by_the_next_hook(env: MemoryEnv, server: Serving) -> None:
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    assert server.file.exists()
    outcome = hook(env, "user-prompt", prompt=QUESTION)
    assert (outcome.exit_code, outcome.err) == (0, "")
    assert "PostgreSQL" in outcome.out
    assert list(server.folder.iterdir()) == []


@pytest.mark.slow
def test_a_file_whose_process_is_another_program_by_now_is_removed_too(env: MemoryEnv, server: Serving) -> None:
    received = server.announcement
    server.end(signal.SIGKILL)
    server.file.write_text(json.dumps(received | {"pid": os.getpid()}), encoding="utf-8")
    assert "PostgreSQL" in hook(env, "user-prompt", prompt=QUESTION).out
    assert list(server.folder.iterdir()) == []


@pytest.mark.slow
def test_a_file_that_is_none_of_ours_disturbs_nobody(env: MemoryEnv) -> None:
    folder = env.home / "serve"
    folder.mkdir()
    for number, text in enumerate(["", "{", "[]", '{"url": 1}', "null"]):
        (folder / f"{number}.json").write_text(text, encoding="utf-8")
    assert "PostgreSQL" in hook(env, "user-prompt", prompt=QUESTION).out


@pytest.mark.slow
def test_a_server_that_sleeps_is_passed_over_and_does_nothing_later(env: MemoryEnv, server: Serving) -> None:
    assert warm(env, "pre-compact").err == ""
    assert compactions(env) == 1
    server.process.send_signal(signal.SIGSTOP)
    outcome = hook(env, "pre-compact")
    assert (outcome.exit_code, outcome.out, outcome.err) == (0, "", "")
    assert compactions(env) == 2
    server.process.send_signal(signal.SIGCONT)
    assert health(server)["legs"]["keyword"]
    assert warm(env, "pre-compact").err == ""
    assert compactions(env) == 3


@pytest.mark.slow
def test_a_server_that_is_killed_while_a_hook_waits_for_it_leaves_the_work_to_the_hook(
    env: MemoryEnv, server: Serving
) -> None:
    waiting = threading.Event()

    def wait_and_die(connection: socket.socket) -> None:
        whole(connection)
        assert list(server.folder.glob("*.ticket"))
        waiting.set()
        server.end(signal.SIGKILL)

    with answering(wait_and_die) as path:
        pointed(server, path)
        with started(env, "pre-compact") as process:
            assert process.communicate(timeout=LIMIT) == ("", "")
    assert waiting.is_set()
    assert compactions(env) == 1
    assert not list(server.folder.glob("*.ticket"))


@pytest.mark.slow
def test_what_a_server_took_and_did_not_answer_is_not_done_again(env: MemoryEnv, server: Serving) -> None:
    def take_and_die(connection: socket.socket) -> None:
        request = whole(connection).decode()
        ticket = re.findall(r"idempotency-key: (\w+)", request)[0]
        assert redeem_ticket(server.folder, ticket)

    with answering(take_and_die) as path:
        pointed(server, path)
        lost = hook(env, "pre-compact")
        assert (lost.exit_code, lost.out, lost.err.count("\n")) == (0, "", 1)
        assert "not repeated" in lost.err
        assert not (env.home / "agents" / "main" / "sessions" / "sessions.json").exists()
        assert "PostgreSQL" in hook(env, "user-prompt", prompt=QUESTION).out


@pytest.mark.slow
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 500 no\r\n\r\n", b"hello\r\n\r\n", b"\xff" * 99, b"HTTP/1.1 401"])
def test_whatever_else_listens_there_the_hook_does_its_work_once(
    env: MemoryEnv, server: Serving, answer: bytes
) -> None:
    def answer_so(connection: socket.socket) -> None:
        whole(connection)
        connection.sendall(answer)

    with answering(answer_so) as path:
        pointed(server, path)
        outcome = hook(env, "pre-compact")
    assert (outcome.exit_code, outcome.out, outcome.err) == (0, "", "")
    assert compactions(env) == 1
    assert not list(server.folder.glob("*.ticket"))


def test_a_ticket_is_taken_once(tmp_path: Path) -> None:
    names = [f"{number:032x}" for number in range(50)]
    for name in names:
        (tmp_path / f"{name}.ticket").touch()
    taken = list[str]()

    def take() -> None:
        taken.extend(name for name in names if redeem_ticket(tmp_path, name))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == names
    assert not redeem_ticket(tmp_path, "../serve")


@pytest.mark.slow
def test_only_the_server_of_the_same_memory_is_asked(env: MemoryEnv, server: Serving, tmp_path: Path) -> None:
    inner = env.notes / "src" / "deep"
    inner.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(env.notes)
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("# Other\n", encoding="utf-8")
    env.trust(other)
    assert not by_itself(warm(env, "stop"))
    assert not by_itself(warm(env, "stop", cwd=inner))
    assert not by_itself(warm(env, "stop", "-w", str(link), cwd=other))
    assert not by_itself(warm(env, "stop", "--agent", "main"))
    assert by_itself(warm(env, "stop", cwd=other))
    assert by_itself(warm(env, "stop", cwd=tmp_path))
    assert by_itself(warm(env, "stop", "--agent", "work"))
    assert by_itself(warm(env, "stop", "--config", str(write_config(tmp_path))))
    env.configure(provider="none", enabled=True)
    assert by_itself(warm(env, "stop"))


def write_config(folder: Path) -> Path:
    file = folder / "another.json5"
    file.write_text("{}", encoding="utf-8")
    return file


@pytest.mark.slow
def test_the_usual_workspace_is_served_to_those_who_stand_nowhere(env: MemoryEnv, tmp_path: Path) -> None:
    usual = env.home / "workspace"
    usual.mkdir()
    (usual / "MEMORY.md").write_text("# Usual\n\n- The kettle is called Brumsel.\n", encoding="utf-8")
    bare = tmp_path / "bare"
    bare.mkdir()
    with serving(env, "-w", str(usual)):
        assert "Brumsel" in warm(env, "session-start", cwd=bare).out
        assert by_itself(warm(env, "session-start"))


@pytest.mark.slow
def test_two_servers_answer_for_a_workspace_each(env: MemoryEnv, tmp_path: Path) -> None:
    other = MemoryEnv.at(tmp_path / "other", {"MEMORY.md": "# Other\n\n- The kettle is called Brumsel.\n"})
    env.trust(other.notes)
    with serving(env), serving(env, "-w", str(other.notes)):
        assert "PostgreSQL" in warm(env, "session-start").out
        assert "Brumsel" in warm(env, "session-start", cwd=other.notes, session_id="other").out


@pytest.mark.slow
def test_a_hook_shows_the_token_and_names_this_machine(env: MemoryEnv, server: Serving) -> None:
    body = json.dumps({"session_id": "s", "hook_event_name": "Stop"})
    token = bearer(server.token)
    assert post(server, "/hook/stop", body, **token) == (204, b"")
    assert post(server, "/hook/stop", body)[0] == 401
    assert post(server, "/hook/stop", body, Authorization="Bearer wrong")[0] == 401
    assert post(server, "/hook/stop", body, Authorization="Bearer ü")[0] == 401
    assert post(server, "/hook/stop", body, **token, Origin="https://evil.example")[0] == 403
    assert post(server, "/hook/stop", body, **token, Host="evil.example")[0] == 421
    assert post(server, "/hook/stop", "{", **token)[0] == 400
    status, received = post(server, "/hook/nope", body, **token)
    assert (status, json.loads(received)["error"]["remedy"][:8]) == (400, "Name one")
    assert post(server, "/hook/stop", body, **token, **{"Idempotency-Key": "0" * 32})[0] == 409
    prompt = json.dumps({"session_id": "s", "prompt": QUESTION})
    assert (
        "PostgreSQL"
        in json.loads(post(server, "/hook/user-prompt", prompt, **token)[1])["hookSpecificOutput"]["additionalContext"]
    )


@pytest.mark.slow
def test_a_port_that_is_taken_is_an_error_with_a_remedy(env: MemoryEnv) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = env.run("serve", "--port", port)
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert f"Cannot listen on 127.0.0.1:{port}" in outcome.err
    assert "--port" in outcome.err
    assert not (env.home / "serve").exists()


@pytest.mark.slow
def test_the_notes_are_watched_unless_somebody_says_no(env: MemoryEnv) -> None:
    def waits_for_another() -> bool:
        """Whether `memoriter watch` finds that somebody watches already."""
        command = env.command("-w", str(env.notes), "watch", "--json")
        with subprocess.Popen(command, env=env.environment(), stdout=subprocess.PIPE, text=True) as watch:
            assert watch.stdout
            kinds = list[str]()
            while not {"waiting", "watching"} & set(kinds):
                kinds.append(json.loads(watch.stdout.readline())["kind"])
            watch.terminate()
            watch.communicate(timeout=LIMIT)
        return "waiting" in kinds

    with serving(env):
        assert waits_for_another()
    with serving(env, "--no-watch"):
        assert not waits_for_another()
    env.configure(provider="none", sync={"watch": False})
    with serving(env):
        assert not waits_for_another()


def test_what_is_written_while_the_server_runs_is_recalled(env: MemoryEnv, server: Serving) -> None:
    question = "Which kettle did we buy for the office kitchen?"
    assert warm(env, "user-prompt", prompt=question, session_id="before").out == ""
    env.write("memory/kettle.md", "# Kettle\n\nFor the office kitchen we did buy the kettle Brumsel.\n")
    answers = (warm(env, "user-prompt", prompt=question, session_id=f"after {number}").out for number in range(200))
    assert any("Brumsel" in answer for answer in answers)


@pytest.mark.slow
def test_each_prompt_recalls_what_another_program_wrote_before_it(env: MemoryEnv, server: Serving) -> None:
    token = bearer(server.token)
    for number in range(200):
        env.write(
            f"memory/kettle{number}.md", f"# Kettle\n\nFor kitchen {number:03} we bought the kettle Brum{number:03}.\n"
        )
        question = f"Which kettle did we buy for kitchen {number:03}, the Brum{number:03}?"
        prompt = json.dumps({"session_id": f"s{number}", "prompt": question})
        status, received = post(server, "/hook/user-prompt?seconds=60", prompt, **token)
        assert (status, b"the kettle Brum%03d." % number in received) == (200, True)


@pytest.mark.slow
def test_servers_that_were_killed_are_cleared_away_by_the_next_one(env: MemoryEnv, tmp_path: Path) -> None:
    other = MemoryEnv.at(tmp_path / "other")
    with serving(env) as first:
        first.end(signal.SIGKILL)
    with serving(env, "-w", str(other.notes)) as second:
        assert second.announcement["workspace"] == str(other.notes.resolve())
        assert [found.pid for found in announced(second.folder)] == [second.process.pid]
