"""Nobody waits for the index: hooks answer from what is there, and a process in the background finishes the rest."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import hook_input
from memoriter.index import Index
from memory_env import MemoryEnv, Outcome
from serving import LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROMPT = "Why did we choose PostgreSQL for the ledger?"
posix = pytest.mark.skipif(os.name == "nt", reason="signals")


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    env.environ["MEMORITER_BACKGROUND"] = "on"
    yield env
    end_of_run(env, signal.SIGTERM)
    env.close()


def program(env: MemoryEnv, *words: str, typed: str = "", before: str = "", **variables: str) -> Outcome:
    """Run the program as its script does, in a process that runs nothing else."""
    code = f"import sys\n{before}\nfrom memoriter.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, "-w", str(env.notes), *words],
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env=env.environment() | variables,
        timeout=LIMIT,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def hook(env: MemoryEnv, event: str, *, before: str = "", variables: dict[str, str] | None = None, **changes: Any):
    typed = hook_input("claude-code", event, cwd=env.notes, **changes)
    return program(env, "hook", event, typed=typed, before=before, **(variables or {}))


def status(env: MemoryEnv) -> dict[str, Any]:
    return env.run("--json", "status").json[0]


def until(happened: Callable[[], Any]) -> Any:
    """Wait for something that another process does."""
    deadline = time.monotonic() + LIMIT
    while not (value := happened()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return value


def record(env: MemoryEnv) -> dict[str, Any] | None:
    """What the run in the background has written about itself."""
    files = list(env.home.glob("memory/*.run"))
    return json.loads(files[0].read_text(encoding="utf-8")) if files else None


def end_of_run(env: MemoryEnv, number: int | None = None) -> None:
    """Wait until the run in the background has ended; send it a signal first."""
    run = record(env)
    if run is None or run["ended"] is not None:
        return
    if number is not None:
        os.kill(run["pid"], number)
    until(lambda: (record(env) or {}).get("ended") is not None)


def finished(env: MemoryEnv) -> bool:
    return (record(env) or {}).get("ended") is not None


def words_only(env: MemoryEnv) -> None:
    """Index the words of all notes, and no vector."""
    env.configure(provider="none")
    assert env.run("index").exit_code == 0
    env.configure(provider="fake")


@pytest.mark.slow
def test_a_prompt_gets_its_memory_while_vectors_are_missing_and_computes_none(env: MemoryEnv) -> None:
    words_only(env)
    answer = hook(env, "user-prompt", prompt=PROMPT, variables={"MEMORITER_BACKGROUND": "off"})
    assert (answer.exit_code, answer.err) == (0, "")
    assert "PostgreSQL" in answer.json["hookSpecificOutput"]["additionalContext"]
    state = status(env)
    assert (state["vectors"], state["pending"]) == (0, state["chunks"])


def test_what_a_hook_leaves_undone_is_done_in_the_background(env: MemoryEnv) -> None:
    env.write("memory/long.md", "# Long\n\n" + "The granite lies in the quarry. \n\n" * 6_000)
    answer = hook(env, "session-start")
    assert (answer.exit_code, answer.err) == (0, "")
    assert "PostgreSQL" in answer.json["hookSpecificOutput"]["additionalContext"]
    until(lambda: finished(env))
    state = status(env)
    assert (state["pending"], state["stale"]) == (0, 0)
    assert state["vectors"] > 0
    assert "indexing" not in state
    log = env.home / "background.log"
    assert "done: 5 files" in log.read_text(encoding="utf-8")
    assert "granite" not in log.read_text(encoding="utf-8")
    if os.name != "nt":
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        ({"MEMORITER_BACKGROUND": "off"}, {}),
        ({"MEMORITER_BACKGROUND": "", "CI": "true"}, {}),
        ({"MEMORITER_BACKGROUND": ""}, {"sync": {"background": False}}),
    ],
    ids=["variable", "CI", "setting"],
)
def test_no_process_is_left_behind_where_that_is_not_wanted(
    env: MemoryEnv, variables: dict[str, str], settings: dict[str, Any]
) -> None:
    env.configure(provider="fake", **settings)
    assert hook(env, "stop", variables=variables).exit_code == 0
    assert not (env.home / "background.log").exists()


@contextmanager
def indexing(env: MemoryEnv) -> Iterator[int]:
    """A run in the background that waits, because this process holds the right to index; its process number."""
    backend: Any = env.open().backend
    with backend.index.lease():
        assert env.run("index", "--background").exit_code == 0
        yield until(lambda: record(env))["pid"]


@pytest.mark.slow
@posix
def test_status_shows_a_run_at_work_another_one_ends_at_once_and_a_signal_ends_it_cleanly(env: MemoryEnv) -> None:
    with indexing(env) as pid:
        assert status(env)["indexing"]["pid"] == pid
        assert f"(process {pid})" in env.run("status").out
        again = program(env, "-v", "index", "--detached")
        assert again.exit_code == 0
        assert "in the background" in again.err
        assert (record(env) or {})["pid"] == pid
        end_of_run(env, signal.SIGTERM)
        assert "indexing" not in status(env)
    until(lambda: "stopped; what was finished is kept" in (env.home / "background.log").read_text(encoding="utf-8"))


@pytest.mark.slow
@posix
def test_a_run_that_was_killed_is_not_shown_as_one_at_work(env: MemoryEnv) -> None:
    with indexing(env) as pid:
        os.kill(pid, signal.SIGKILL)
        until(lambda: "indexing" not in status(env))
    (file,) = env.home.glob("memory/*.run")
    file.unlink()


@pytest.mark.slow
def test_the_index_command_takes_turns_with_the_background(env: MemoryEnv) -> None:
    env.many(300)
    assert env.run("index", "--background").exit_code == 0
    report = env.run("--json", "index").json
    assert report["pending"] == 0


def test_a_search_that_lacks_vectors_goes_on_in_the_background(env: MemoryEnv) -> None:
    for number in range(60):  # more than the first step of a search
        env.write(f"memory/note{number}.md", f"# Note\n\nThe ledger has page {number}.\n")
    words_only(env)
    search = ("search", "ledger", "--deadline-ms", "1")
    assert "Run `memoriter index`." in program(env, *search, MEMORITER_BACKGROUND="off").err
    assert "A background process does this now" in program(env, *search).err
    until(lambda: finished(env))
    assert status(env)["pending"] == 0


@pytest.mark.slow
def test_a_search_without_an_update_waits_for_the_process_that_indexes_and_computes_no_vector(env: MemoryEnv) -> None:
    env.environ["MEMORITER_BACKGROUND"] = "off"
    memory = env.open()
    memory.sync()
    env.write("memory/fruit.md", "# Fruit\n\nKiwi is the favourite fruit.\n")
    held = threading.Event()

    def index_for_a_moment() -> None:
        with Index.open(Path(memory.status().index), clock=time.time) as other, other.lease():
            held.set()
            time.sleep(0.5)

    other_process = threading.Thread(target=index_for_a_moment)
    other_process.start()
    held.wait(LIMIT)
    result = memory.search("kiwi fruit", update=False, deadline_ms=60_000)
    other_process.join()
    assert result.hits[0].path == "memory/fruit.md"
    assert result.health.pending == 1


HANGING = "import threading\nfrom memoriter import app\napp.assemble = lambda *_, **__: threading.Event().wait()"


@pytest.mark.slow
@pytest.mark.parametrize("event", ["session-start", "user-prompt"])
def test_a_memory_that_hangs_leaves_the_agent_alone(env: MemoryEnv, event: str) -> None:
    variables = {"MEMORITER_HOOK_SECONDS": "0.5", "MEMORITER_BACKGROUND": "off"}
    answer = hook(env, event, before=HANGING, variables=variables)
    assert answer == Outcome(0, "", "")


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("--nope", "hook", "stop"), ""),
        (("hook", "stop", "--config"), ""),
        (("hook", "stop"), "from memoriter import app\ndef leave(*_, **__): sys.exit(2)\napp.assemble = leave"),
        (("hook", "stop", "--shared=2"), ""),
    ],
)
def test_a_hook_never_exits_with_the_code_that_blocks_a_prompt(
    env: MemoryEnv, words: tuple[str, ...], before: str
) -> None:
    typed = hook_input("claude-code", "stop", cwd=env.notes)
    answer = program(env, *words, typed=typed, before=before, MEMORITER_BACKGROUND="off")
    assert answer.exit_code in {0, 1}
    assert answer.err


@pytest.mark.slow
def test_trouble_reaches_the_person_once_in_a_session(env: MemoryEnv) -> None:
    env.configure(provider="local", local={"modelPath": str(env.home / "gone.gguf")})
    env.environ["MEMORITER_BACKGROUND"] = "off"
    first = hook(env, "session-start").json
    assert "gone.gguf" in first["systemMessage"]
    assert "PostgreSQL" in first["hookSpecificOutput"]["additionalContext"]
    assert "systemMessage" not in hook(env, "session-start", source="resume").json
    assert "systemMessage" in hook(env, "session-start", session_id="another").json
    env.config.write_text("{", encoding="utf-8")
    broken = hook(env, "session-start")
    assert (broken.exit_code, set(broken.json)) == (0, {"systemMessage"})


KEYS = {"OPENAI_API_KEY": "sk-of-the-agent-0123456789"}


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize(
    "settings",
    [
        {"provider": "none", "fallback": "openai"},
        {"provider": "openai"},
        {"provider": "auto", "remote": {"apiKey": "${OPENAI_API_KEY}"}},
    ],
    ids=["fallback", "named", "automatic"],
)
def test_a_key_of_the_agent_sends_no_note_away_until_a_person_was_informed(
    env: MemoryEnv, settings: dict[str, Any]
) -> None:
    with counting_connections() as (proxy, connections):
        env.configure(**settings, sync={"background": False})
        env.environ |= KEYS | {"HTTPS_PROXY": proxy, "MEMORITER_BACKGROUND": ""}
        for event in ("session-start", "user-prompt", "stop"):
            assert hook(env, event, prompt=PROMPT).exit_code == 0
        assert program(env, "-v", "index", "--detached", MEMORITER_BACKGROUND="on").exit_code == 0
        assert connections == []
        output = hook(env, "session-start", session_id="another").out
        assert ("Nothing is sent to openai" in output) == (settings["provider"] == "openai")
        if settings["provider"] != "none":
            assert "will be sent to openai" in env.run("index").err
            assert connections


@contextmanager
def counting_connections() -> Iterator[tuple[str, list[object]]]:
    """A proxy that takes connections, counts them, and answers none."""
    connections: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take() -> None:
            with suppress(OSError):
                while True:
                    connection, place = listening.accept()
                    connections.append(place)
                    connection.close()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", connections
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(LIMIT)


def on_a_terminal(env: MemoryEnv, *words: str, typed: bytes = b"", output: int | None = None) -> str:
    """Run the program on a terminal, type something at once, and return what it shows.

    `output` is where its stdout goes instead.
    """
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environ = env.environment() | {"TERM": "xterm-256color"}
    command = env.command("-w", str(env.notes), *words)
    shown = b""
    with subprocess.Popen(
        command, env=environ, stdin=theirs, stdout=theirs if output is None else output, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, typed)
        with suppress(OSError):  # the other end was closed
            while part := os.read(ours, 1 << 16):
                shown += part
        process.wait(LIMIT)
    os.close(ours)
    return shown.decode("utf-8", "replace")


QUESTION = "Provider (bundled, openai)"


@pytest.mark.slow
def test_a_terminal_is_asked_once_which_provider_a_key_is_for(env: MemoryEnv) -> None:
    env.config.write_text("{}", encoding="utf-8")
    env.environ |= KEYS | {"MEMORITER_BACKGROUND": "off"}
    empty = env.notes.parent / "empty"
    empty.mkdir()
    env.notes = empty
    piped = env.run("--json", "index")
    assert (piped.exit_code, "Provider" in piped.err, env.config.read_text(encoding="utf-8")) == (0, False, "{}")
    assert QUESTION in on_a_terminal(env, "init", typed=b"\n")
    assert 'provider: "bundled"' in env.config.read_text(encoding="utf-8").replace('"provider"', "provider")
    assert QUESTION not in on_a_terminal(env, "index")


def test_the_question_for_a_provider_is_asked_although_the_output_is_piped(env: MemoryEnv) -> None:
    env.config.write_text("{}", encoding="utf-8")
    env.environ |= KEYS
    assert QUESTION in on_a_terminal(env, "init", typed=b"\n", output=subprocess.DEVNULL)


@pytest.mark.slow
def test_a_search_on_a_terminal_shows_how_fast_it_computes_vectors_and_a_pipe_gets_no_bar(env: MemoryEnv) -> None:
    env.environ["MEMORITER_BACKGROUND"] = "off"
    env.many(200)
    shown = on_a_terminal(env, "search", "ledger")
    assert "Computing vectors" in shown
    assert re.search(r"\d/s", shown)
    env.many(200, "more")
    assert "━" not in env.run("search", "ledger").err
