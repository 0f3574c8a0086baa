"""A hostile repository meets the installed program: hooks, MCP over stdio and a server, each as its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from hook_inputs import PROGRAMS, hook_input
from hostile_repository import GREEDY, ORDER, PLANTED, contents, hostile_repository
from mcp_endpoints import LIMIT
from memory_env import MemoryEnv, Outcome
from odd_files import posix_only
from serving import NOT_BY_ITSELF, hook, serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

QUESTION = "Where is the zeppelin ledger kept?"
OWN = "The zeppelin ledger is kept in the safe of the owner."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    """An environment whose current folder is a hostile repository, beside the owner's default workspace."""
    env = MemoryEnv(tmp_path / "cloned", tmp_path / "home")
    env.home.mkdir(mode=0o700)
    env.configure(provider="none")
    (env.home / "workspace").mkdir()
    (env.home / "workspace" / "MEMORY.md").write_text(f"# Own\n\n- {OWN}\n", encoding="utf-8")
    hostile_repository(env.notes)
    return env


def run(env: MemoryEnv, *words: str, typed: str = "") -> Outcome:
    """Run the program in the repository, without a named workspace."""
    done = subprocess.run(
        env.command(*words),
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env=env.environment(),
        cwd=env.notes,
        timeout=LIMIT,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def client(env: MemoryEnv) -> Client:
    """A client over stdio that works in the repository."""
    command = env.command("mcp")
    server = StdioServerParameters(command=command[0], args=command[1:], env=env.environment(), cwd=str(env.notes))
    return Client(server, read_timeout_seconds=LIMIT)


async def called(connected: Client, tool: str, **arguments: Any) -> Any:
    return (await connected.call_tool(tool, arguments)).structured_content


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("settings", [None, GREEDY])
def test_a_session_in_the_repository_gets_the_owners_notes_and_leaves_the_repository_alone(
    env: MemoryEnv, program: str, settings: object
) -> None:
    if settings is not None:
        hostile_repository(env.notes.with_name("greedy"), settings=settings)
        env.notes = env.notes.with_name("greedy")
    before = contents(env.notes)
    outputs = [
        run(env, "hook", event, typed=hook_input(program, event, cwd=env.notes / "src", **changes))
        for event, changes in (
            ("session-start", {}),
            ("user-prompt", {"prompt": QUESTION, "session_id": "another"}),
            ("stop", {}),
            ("pre-compact", {}),
            ("session-start", {"source": "compact"}),
        )
    ]
    assert [outcome.exit_code for outcome in outputs] == [0] * 5
    assert all(OWN in outputs[number].out for number in (0, 1, 4))
    assert "evil.example" not in "".join(outcome.out for outcome in outputs)
    assert [f"memoriter trust {env.notes}" in outcome.out for outcome in outputs] == [True, *[False] * 4]
    assert contents(env.notes) == before


@pytest.mark.anyio
async def test_tools_over_stdio_use_the_owners_notes_until_the_folder_is_trusted(env: MemoryEnv) -> None:
    before = contents(env.notes)
    async with client(env) as connected:
        assert "project folder" not in (connected.instructions or "")
        found = await called(connected, "memory_search", query=QUESTION)
        assert "evil.example" not in str(found)
        assert "origin" not in found
        written = await called(connected, "memory_append", text="My door code is 4711.")
        assert written["written"] is True
    assert contents(env.notes) == before
    kept = "".join(file.read_text(encoding="utf-8") for file in (env.home / "workspace").rglob("*.md"))
    assert "4711" in kept

    assert run(env, "trust", ".").exit_code == 0
    async with client(env) as connected:
        assert f"project folder {env.notes}" in (connected.instructions or "")
        found = await called(connected, "memory_search", query=QUESTION)
        read = await called(connected, "memory_get", path="MEMORY.md")
        for answer in (found, read):
            assert "evil.example" in str(answer)
            assert answer["origin"].startswith(f"These are notes of the project folder {env.notes}")
        quoted = (await connected.get_prompt("recall", {"question": QUESTION})).messages[0].content
        assert f"project folder {env.notes}" in quoted.text
        assert all(line.startswith("> ") for line in quoted.text.splitlines() if ORDER in line)
        await called(connected, "memory_append", text="The project builds with just.")
    assert "just" in "".join(file.read_text(encoding="utf-8") for file in env.notes.rglob("*.md"))


@pytest.mark.anyio
async def test_a_server_that_runs_refuses_the_repository_as_soon_as_trust_is_removed(env: MemoryEnv) -> None:
    env.trust()
    async with client(env) as connected:
        assert "evil.example" in str(await called(connected, "memory_search", query=QUESTION))
        assert run(env, "trust", "--remove", ".").exit_code == 0
        before = contents(env.notes)
        for tool, arguments in (
            ("memory_search", {"query": QUESTION}),
            ("memory_get", {"path": "MEMORY.md"}),
            ("memory_append", {"text": "My door code is 4711."}),
        ):
            refused = await connected.call_tool(tool, arguments)
            assert refused.is_error
            told = refused.content[0].text
            assert f"does not trust '{env.notes}' any more" in told
            assert "tell the user" in told.lower()  # the model cannot run a program
            assert f"`memoriter trust {env.notes}`" in told
            assert "evil.example" not in told
        with pytest.raises(MCPError, match="does not trust"):
            await connected.list_resources()
        with pytest.raises(MCPError, match="does not trust"):
            await connected.read_resource("memory://notes/MEMORY.md")
        prompt = (await connected.get_prompt("recall", {"question": QUESTION})).messages[0].content
        assert "evil.example" not in prompt.text
        hook = {"event": "user-prompt", "session_id": "s", "prompt": QUESTION}
        assert (await connected.call_tool("memory_hook", hook)).content[0].text == "{}"
        assert contents(env.notes) == before
        assert run(env, "trust", ".").exit_code == 0
        assert "evil.example" in str(await called(connected, "memory_search", query=QUESTION))


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_a_server_in_the_repository_serves_the_owners_notes_and_says_why(env: MemoryEnv) -> None:
    before = contents(env.notes)
    own = ("-w", str(env.home / "workspace"))
    with serving(env, *own) as server:
        assert server.announcement["workspace"] == str(env.home / "workspace")
        start = hook(env, "session-start", before=NOT_BY_ITSELF)
        assert OWN in start.json["hookSpecificOutput"]["additionalContext"]
        recalled = hook(env, "user-prompt", before=NOT_BY_ITSELF, prompt=QUESTION, session_id="another")
        assert OWN in recalled.out
        assert "evil.example" not in start.out + recalled.out
    command = env.command("--json", "serve", "--port", "0", "--no-watch")
    with subprocess.Popen(
        command, env=env.environment(), cwd=env.notes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert "url" in process.stdout.readline()
        process.terminate()
        _, err = process.communicate(timeout=LIMIT)
    assert f"`memoriter trust {env.notes}`" in err
    assert contents(env.notes) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_a_server_of_the_repository_labels_it_for_those_who_only_trust_it(env: MemoryEnv) -> None:
    env.trust()
    with serving(env, "--no-watch"):
        served = hook(env, "session-start", before=NOT_BY_ITSELF)
        recalled = hook(env, "user-prompt", before=NOT_BY_ITSELF, prompt=QUESTION, session_id="another")
        for outcome in (served, recalled):
            text = outcome.json["hookSpecificOutput"]["additionalContext"]
            assert f"notes of the project folder {env.notes}" in text
            assert all(line.startswith("> ") for line in text.splitlines() if ORDER in line)
        assert PLANTED in served.out
        run(env, "trust", "--remove", ".")
        assert "evil.example" not in hook(env, "session-start", source="resume").out


@posix_only
def test_at_a_terminal_the_owner_trusts_the_folder_for_which_they_make_settings(env: MemoryEnv) -> None:
    own = env.home / "vault"
    own.mkdir()
    (own / "MEMORY.md").write_text("# Plans\n", encoding="utf-8")
    assert f"memoriter trust {own}" in run(env, "-w", str(own), "init").err  # without a terminal, an agent may run it
    (own / ".memoriter.json5").unlink()
    assert str(own) not in run(env, "trust", "--list").out
    assert f"You trust {own} now" in at_terminal(env, "-w", str(own), "init")
    assert str(own) in run(env, "trust", "--list").out

    asked = at_terminal(env, "init", "--layout", "notes", typed="n\n")
    assert "in a Git repository, so its notes may come from anybody" in asked
    assert str(env.notes) not in run(env, "trust", "--list").out
    assert f"You trust {env.notes} now" in at_terminal(env, "init", "--layout", "openclaw", typed="y\n")


def at_terminal(env: MemoryEnv, *words: str, typed: str = "") -> str:
    """Run the program at a terminal in the repository, and return what it shows without line breaks."""
    keyboard, terminal = os.openpty()
    with subprocess.Popen(
        env.command(*words), env=env.environment(), cwd=env.notes, stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        os.write(keyboard, typed.encode())
        shown = b""
        with suppress(OSError):  # the program has ended
            while part := os.read(keyboard, 65_536):
                shown += part
        process.wait(LIMIT)
    os.close(keyboard)
    return " ".join(shown.decode().split())


@posix_only
@pytest.mark.parametrize("answer", ["n", "y"])
def test_at_a_terminal_the_owner_is_asked_before_an_entry_goes_into_the_repository(env: MemoryEnv, answer: str) -> None:
    before = contents(env.notes)
    keyboard, terminal = os.openpty()
    command = env.command("remember", "The mooring mast is painted.")
    with subprocess.Popen(
        command,
        env=env.environment(),
        cwd=env.notes,
        stdin=terminal,
        stderr=terminal,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(terminal)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(keyboard, 1_000)
        os.write(keyboard, f"{answer}\n".encode())
        out, _ = process.communicate(timeout=LIMIT)
    os.close(keyboard)
    assert b"You have not trusted" in shown
    assert process.returncode == (0 if answer == "y" else 2)
    assert (f"of {env.notes}" in out) is (answer == "y")
    assert (contents(env.notes) == before) is (answer == "n")
    assert (str(env.notes) in run(env, "trust", "--list").out) is (answer == "y")
