"""The released Claude Code with memoriter and a scripted model. Without npm and its registry, the tests are skipped."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import FOLDER as RECORDED
from hostile_repository import contents, hostile_repository
from long_term import configure_long_term
from odd_files import posix_only
from released_clients import (
    HANGING_SECONDS,
    SECONDS,
    Client,
    foreign_key,
    give_time,
    hanging_program,
    released_client,
    unfinished_index,
)
from servers.agent_model import SERVER, AgentModel, Step

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code@2.1.330"
MODEL = "claude-sonnet-4-6"
FULL = 164_000
"""Tokens, of a window of 200,000 which Claude Code compacts at 167,000."""
KEY = "sk-ant-scripted-0123456789abcdef"
QUIET = (
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)
"""Variables without which the client contacts its vendor."""
STILL = 2.0
"""Seconds without a change on the screen after which the client does nothing; while it works, it draws all the time."""
EVENTS = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "stop": "Stop",
    "pre-compact": "PreCompact",
    "post-compact": "PostCompact",
    "session-end": "SessionEnd",
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


class ClaudeCode(Client):
    @property
    def servers(self) -> Path:
        return self.env.home / ".claude.json"

    @property
    def settings(self) -> Path:
        return self.env.home / ".claude" / "settings.json"

    def memoriter(self, *words: str) -> str:
        return self.run(str(self.program), *words)

    def ask(self, prompt: str, *options: str) -> str:
        """Let the client answer once and print the answer."""
        return self.run("claude", "-p", prompt, "--model", MODEL, "--allowedTools", SERVER.strip("_"), *options)


@pytest.fixture(scope="module")
def released() -> Path:
    return released_client(PACKAGE, "claude")


@pytest.fixture
def claude(released: Path, model: AgentModel, tmp_path: Path) -> ClaudeCode:
    return ClaudeCode.at(
        tmp_path,
        released,
        model,
        **dict.fromkeys(QUIET, "1"),
        ANTHROPIC_BASE_URL=model.root,
        ANTHROPIC_API_KEY=KEY,
        MCP_TIMEOUT=str(SECONDS * 1_000),
        TERM="xterm-256color",
    )


def written(notes: Path) -> str:
    return "".join(note.read_text(encoding="utf-8") for note in notes.rglob("*.md"))


def test_a_session_has_the_notes_recalls_searches_appends_and_has_them_again_after_a_compaction(
    claude: ClaudeCode, tmp_path: Path
) -> None:
    own = {
        event: [{"hooks": [{"type": "command", "command": f"cat >> {tmp_path / word}"}]}]
        for word, event in EVENTS.items()
    }
    claude.settings.parent.mkdir()
    claude.settings.write_text(json.dumps({"hooks": own}), encoding="utf-8")
    claude.memoriter("-w", str(claude.env.notes), "install", "claude-code")
    give_time(claude.settings)
    hooks = json.loads(claude.settings.read_text(encoding="utf-8"))["hooks"]
    assert hooks["UserPromptSubmit"][-1]["hooks"][0]["type"] == "mcp_tool"
    claude.model.play(
        Step(tool="memory_search", arguments={"query": "which database for the ledger", "maxResults": None}),
        Step(tool="memory_append", arguments={"text": "The printers moved to VLAN 20."}),
        Step("The result.", tokens=FULL),
    )
    question = "Which VLAN does the Omada router keep for the printers?"
    assert claude.ask(question) == "The result.\n"  # and no request to write notes after it, although it is full
    first = claude.model.requests[0]
    last = claude.model.requests[-1]
    assert {f"{SERVER}memory_{verb}" for verb in ("search", "get", "append")} <= {
        tool["name"] for tool in first["tools"]
    }
    context = claude.model.seen(0)
    assert "SessionStart hook additional context: <memoriter-recall>" in context
    assert "We chose PostgreSQL for the ledger" in context
    assert "The Omada ER605 keeps VLAN 10 for the printers." in context
    assert "MEMORY.md#L1-L3" in json.dumps(last["messages"])
    assert "The printers moved to VLAN 20." in written(claude.env.notes / "memory")

    claude.model.play(Step("A summary."))
    claude.ask("/compact", "--continue")
    claude.model.play(Step("Well."))
    assert claude.ask("Go on.", "--continue") == "Well.\n"
    assert "We chose PostgreSQL for the ledger" in claude.model.seen(0)
    assert question not in claude.model.seen(0)

    # The inputs that the quick tests give to hooks are those that this client gives.
    recorded = json.loads((RECORDED / "claude-code.json").read_text(encoding="utf-8"))
    for word in EVENTS:
        hook_input = (tmp_path / word).read_text(encoding="utf-8")
        fields: dict[str, Any] = json.JSONDecoder().raw_decode(hook_input)[0]
        assert fields.keys() == recorded[word].keys(), word


def skip_first_run(claude: ClaudeCode) -> None:
    """Answer what the client asks when it runs in a terminal for the first time."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    first_run = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(claude.work): project}}
    approved = {"customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}
    claude.servers.write_text(json.dumps(first_run | approved), encoding="utf-8")


def test_a_full_conversation_in_a_terminal_is_asked_for_notes_once_and_goes_on(claude: ClaudeCode) -> None:
    skip_first_run(claude)
    claude.memoriter("-w", str(claude.env.notes), "install", "claude-code")
    give_time(claude.settings)
    claude.model.play(
        Step("The result.", tokens=FULL),
        Step(tool="memory_append", arguments={"text": "The ledger is audited in May."}, tokens=FULL),
        Step("NO_REPLY", tokens=FULL),
    )
    shown = in_terminal(claude, "Which database does the ledger use?")
    requests = [text for text in map(claude.model.seen, range(len(claude.model.requests))) if "Stop hook" in text]
    assert requests
    assert f"Stop hook additional context: Append to {claude.env.notes}" in requests[0]
    assert requests[-1].count("Stop hook additional context") == 1
    assert "reported a problem" not in shown
    assert "The ledger is audited in May." in written(claude.env.notes / "memory")


def test_a_compaction_and_the_end_of_a_conversation_leave_a_record_each_and_a_program_leaves_none(
    claude: ClaudeCode,
) -> None:
    skip_first_run(claude)
    claude.memoriter("-w", str(claude.env.notes), "install", "claude-code", "--capture")
    give_time(claude.settings)
    summary = "<analysis>Let me think.</analysis>\n<summary>\n1. Intent:\n   The invoices are printed on Tuesdays.\n"
    claude.model.play(Step("Noted."), Step(f"{summary}</summary>"), Step("Sure."), Step("Right."))
    later = (
        "And who delivers the new toner for the printer in the hall?",
        "Write down that the toner is delivered on Wednesdays.",
    )
    in_terminal(claude, "From now on, print the invoices of the ledger on Tuesdays.", "/compact", *later, "/exit")
    captures = json.loads(claude.memoriter("-w", str(claude.env.notes), "--json", "capture", "list"))["captures"]
    assert [capture["kind"] for capture in captures] == ["summary", "prompts"]
    assert captures[0]["text"].splitlines()[1:] == ["  1. Intent:", "    The invoices are printed on Tuesdays."]
    assert captures[1]["text"].splitlines()[1:] == [f"  - “{text}”" for text in later]

    claude.model.play(Step("Well."))
    claude.ask("Which of the printers in the hall is the oldest one, and who owns it?")
    claude.ask("How many invoices of the ledger were printed on the last Tuesday?", "--continue")
    assert written(claude.env.notes).count("<!-- from: capture") == 2
    claude.memoriter("-w", str(claude.env.notes), "capture", "undo", captures[0]["id"], "--yes")
    assert "Tuesdays" not in written(claude.env.notes)


def in_terminal(claude: ClaudeCode, prompt: str, *typed: str) -> str:
    """Run the client in a terminal until the steps are played and nothing more is asked, and return the screen.

    Args:
        claude: the client.
        prompt: the first message.
        typed: what is typed next, each when the client has answered; after the last one, the client ends by itself.
    """
    keyboard, terminal = os.openpty()
    command = ["claude", prompt, "--model", MODEL, "--allowedTools", SERVER.strip("_")]
    with subprocess.Popen(
        command, env=claude.environ, cwd=claude.work, stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        shown = b""
        answered = 0
        end = time.monotonic() + SECONDS
        try:
            for words in typed:
                shown += read_until_still(claude, keyboard, requests=answered + 1)
                answered = len(claude.model.requests)
                os.write(keyboard, words.encode())
                shown += read_until_still(claude, keyboard, seconds=0.5)  # pasted text may contain line ends
                os.write(keyboard, b"\r")
            while claude.model.steps and not typed and time.monotonic() < end:
                shown += read_until_still(claude, keyboard)
            while typed and process.poll() is None and time.monotonic() < end:
                shown += read_for(keyboard, 0.5)
        finally:
            process.terminate()
    os.close(terminal)
    os.close(keyboard)
    screen = shown.decode("utf-8", "replace")
    assert not claude.model.steps, screen
    return screen


def read_until_still(claude: ClaudeCode, keyboard: int, *, requests: int = 0, seconds: float = STILL) -> bytes:
    """Return what the client shows until the model has had so many requests and the screen stands still."""
    shown = b""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        part = read_for(keyboard, seconds)
        shown += part
        if not part and len(claude.model.requests) >= requests:
            break
    return shown


def read_for(keyboard: int, seconds: float) -> bytes:
    """Return the next part that the client shows, or nothing after so many seconds without one."""
    return os.read(keyboard, 65_536) if select.select([keyboard], [], [], seconds)[0] else b""


def test_a_repository_that_is_not_trusted_is_neither_read_nor_written(claude: ClaudeCode) -> None:
    own = claude.env.home / "workspace"
    own.mkdir()
    (own / "MEMORY.md").write_text("# Own\n\n- The zeppelin ledger is kept in the safe.\n", encoding="utf-8")
    claude.memoriter("install", "claude-code")
    give_time(claude.settings)
    hostile_repository(claude.work)
    before = contents(claude.work)
    claude.model.play(
        Step(tool="memory_search", arguments={"query": "Where is the zeppelin ledger kept?"}),
        Step(tool="memory_append", arguments={"text": "My door code is 4711."}),
        Step("The result."),
    )
    shown = claude.ask("Where is the zeppelin ledger kept?")
    assert shown == "The result.\n"
    seen = claude.model.seen()
    assert "The zeppelin ledger is kept in the safe." in seen
    assert "MEMORY.md#L1-L3" in seen
    assert "evil.example" not in seen
    assert contents(claude.work) == before
    assert "4711" in written(own)


def test_a_memoriter_that_hangs_does_not_keep_the_agent_from_its_answer(claude: ClaudeCode, tmp_path: Path) -> None:
    claude.memoriter("-w", str(claude.env.notes), "install", "claude-code")
    give_time(claude.settings, HANGING_SECONDS)
    claude.environ["MCP_TIMEOUT"] = str(HANGING_SECONDS * 1_000)
    claude.model.play(Step("The result."))
    with hanging_program(claude.program, tmp_path) as started:
        assert claude.ask("Which database does the ledger use?") == "The result.\n"  # within SECONDS
    assert set(started) == {"session-start", "stop", "mcp"}  # which answers the hook of a prompt, too


def test_an_unfinished_index_and_a_key_of_the_agent_leave_it_quick_silent_and_safe(claude: ClaudeCode) -> None:
    unfinished_index(claude.env)
    claude.memoriter("-w", str(claude.env.notes), "install", "claude-code")
    give_time(claude.settings)
    claude.model.play(Step("The result."))
    with foreign_key() as (variables, requests):
        claude.environ |= variables
        assert claude.ask("Which VLAN does the Omada router keep for the printers?") == "The result.\n"
    context = claude.model.seen(0)
    assert "We chose PostgreSQL for the ledger" in context
    assert "The Omada ER605 keeps VLAN 10 for the printers." in context
    assert [request for request in requests if "openai" in request] == []
    assert claude.env.run("--json", "status").json[0]["vectors"] == 0


def test_removal_restores_the_files_of_the_client_byte_for_byte(claude: ClaudeCode) -> None:
    claude.model.play(Step("Well."))
    claude.ask("Hello.")  # the client writes its files
    claude.settings.parent.mkdir(exist_ok=True)
    claude.settings.write_text(
        '{\n   "hooks": {"Stop": [{"hooks": [{"type":"command","command":"true"}]}]}\n}', "utf-8"
    )
    before = {file: file.read_bytes() for file in (claude.servers, claude.settings)}
    claude.memoriter("install", "claude-code")
    assert all(b"memoriter" in file.read_bytes() for file in before)
    claude.memoriter("install", "claude-code", "--remove")
    assert {file: file.read_bytes() for file in before} == before

    claude.memoriter("install", "claude-code")
    claude.ask("Hello again.")  # the client changes its file
    changed = json.loads(claude.servers.read_text(encoding="utf-8"))
    claude.memoriter("install", "claude-code", "--remove")
    del changed["mcpServers"]["memoriter"]
    left = json.loads(claude.servers.read_text(encoding="utf-8"))
    assert left == changed or left | {"mcpServers": {}} == changed
    assert claude.settings.read_bytes() == before[claude.settings]
    assert list(claude.env.home.rglob("*.memoriter-backup")) == []


def test_a_preference_that_a_person_states_is_kept_and_recalled_in_the_next_conversation(claude: ClaudeCode) -> None:
    pytest.importorskip("lancedb")
    skip_first_run(claude)
    configure_long_term(claude.env, ["memory-core", "memory-lancedb"], autoCapture=True)
    claude.environ["MEMORITER_HOOK_SECONDS"] = "60"
    claude.memoriter("-w", str(claude.env.notes), "install", "claude-code")
    give_time(claude.settings)
    statement = "나는 Python보다 TypeScript를 선호해."
    claude.model.play(Step("네, 기억할게요."), Step("천만에요."))
    shown = in_terminal(claude, f"{statement} 기억해줘.", "고마워!", "/exit")
    assert "Remembered" in shown
    (memory,) = json.loads(claude.memoriter("-w", str(claude.env.notes), "--json", "ltm", "list"))
    assert (memory["text"], memory["origin"], memory["category"]) == (statement, "owner", "preference")
    claude.model.play(Step("TypeScript요."))
    assert claude.ask("나는 Python보다 TypeScript를 선호해? 뭘로 할까?") == "TypeScript요.\n"
    assert "<relevant-memories>" in claude.model.seen(0)
    assert f"1. [preference] {statement}" in claude.model.seen(0)
