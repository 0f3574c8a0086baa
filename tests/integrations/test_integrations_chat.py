"""`examples/chat.py`, as a user runs it, with a model that talks as a script says, on notes about a Korean decision."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servers import KEY
from servers.talk import AnthropicTalk, Calls, ChatRequest, Fails, OpenAITalk, Reply, TalkServer

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "chat.py"
PLUGIN = ROOT / "tests" / "support" / "plugin"
"""The folder of a module; it is a plugin only if a package names it."""
NOTES = {
    "MEMORY.md": "# 결정\n\n- DB 결정: PostgreSQL로 한다. ACID 트랜잭션이 필요하다.\n- 커피: 플랫 화이트.\n",
    "memory/travel.md": "# Travel\n\n- The Osaka trip starts on the twelfth of April from Kansai airport.\n",
}
QUESTION = "지난번 DB 결정 기억해?"
OSAKA = "When does the Osaka trip start, from which airport?"
PRINTER = "Printer: the office printer is a Brother HL-L2350DW on the second floor."
SMALL = ("--context", "30000")
"""With 20,000 tokens that stay free: a flush is due from 6,000 tokens on, and a compaction above 10,000."""


@dataclass
class Shown:
    """What one conversation printed."""

    replies: list[str]
    lines: list[str]

    def of(self, kind: str) -> list[str]:
        return [line[10:] for line in self.lines if line.startswith(f"{kind:<9} ")]


@dataclass
class Folder:
    """A folder of notes in which the example runs."""

    notes: Path
    home: Path

    def chat(self, server: TalkServer, *typed: str, words: tuple[str, ...] = (), plugin: Path | None = None) -> Shown:
        """A conversation of these messages with the scripted model."""
        environ = {each: os.environ[each] for each in ("PATH", "MEMORITER_BACKGROUND") if each in os.environ}
        environ |= {
            "HOME": str(self.home),
            "MEMORITER_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", PLUGIN, *filter(None, [plugin])))),
            "PYTHONUTF8": "1",
            f"{server.vendor.upper()}_API_KEY": KEY,
            f"{server.vendor.upper()}_BASE_URL": server.base_url,
        }
        model = {"openai": "openai-chat"}.get(server.vendor, server.vendor)
        done = subprocess.run(
            [sys.executable, str(EXAMPLE), f"{model}:{server.model}", *words],
            input="".join(f"{line}\n" for line in typed),
            env=environ,
            cwd=self.notes,
            capture_output=True,
            encoding="utf-8",
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return Shown(done.stdout.splitlines(), done.stderr.splitlines())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes", tmp_path / "home")
    for name, text in NOTES.items():
        file = folder.notes / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("service", [OpenAITalk, AnthropicTalk])
def test_a_question_about_an_earlier_decision_is_answered_from_the_notes(
    folder: Folder, service: Callable[..., TalkServer]
) -> None:
    def answers(received: ChatRequest) -> Reply:
        return Reply(f"PostgreSQL로 결정하셨습니다 ({json.loads(received.last)['results'][0]['citation']}).")

    with service(Calls("memory_search", {"query": "DB 결정"}), answers) as server:
        shown = folder.chat(server, QUESTION)
    assert shown.replies == ["PostgreSQL로 결정하셨습니다 (MEMORY.md#L1-L4)."]
    assert shown.of("tool") == ['memory_search {"query":"DB 결정"}']
    assert shown.of("problem") == []
    first, second = server.received
    assert first.tools == ["memory_search", "memory_get", "memory_append"]
    assert "Search your memory before you answer" in first.system
    assert [role for role, _ in second.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("service", [OpenAITalk, AnthropicTalk])
def test_what_matches_goes_before_the_turn(folder: Folder, service: Callable[..., TalkServer]) -> None:
    with service(Reply("On the twelfth of April."), Reply("You are welcome.")) as server:
        shown = folder.chat(server, OSAKA, "Thank you!")
    assert shown.of("recalled") == ["memory/travel.md#L1-L3", "nothing"]
    asked = server.received[0]
    assert "[memory/travel.md#L1-L3]" in asked.last
    assert asked.last.endswith(f"\n\n{OSAKA}")
    assert "PostgreSQL" in asked.last, "the notes of the owner come with the first message, and not as instructions"
    assert "PostgreSQL" not in asked.system
    assert server.received[1].last == "Thank you!"


def test_what_the_model_writes_down_is_found_in_the_next_conversation(folder: Folder) -> None:
    append = Calls("memory_append", {"text": PRINTER, "to": "long-term"})
    with OpenAITalk(append, Reply("Noted."), Reply("A Brother HL-L2350DW.")) as server:
        folder.chat(server, f"Remember this: {PRINTER}")
        second = folder.chat(server, "Which printer does the office have on the second floor?")
    assert PRINTER in (folder.notes / "MEMORY.md").read_text(encoding="utf-8")
    assert second.replies == ["A Brother HL-L2350DW."]
    assert PRINTER in server.received[-1].last
    assert PRINTER not in server.received[-1].system


@pytest.mark.parametrize("service", [OpenAITalk, AnthropicTalk])
def test_a_long_conversation_is_written_down_and_summarised_before_it_goes_on(
    folder: Folder, service: Callable[..., TalkServer]
) -> None:
    entry = "The user prefers ferries to planes for the trip."
    with service(
        Reply("Noted: ferries.", tokens=6_000),
        Calls("memory_append", {"text": entry}),
        Reply("NO_REPLY"),
        Reply("A good choice.", tokens=10_001),
        Reply("They spoke of ferries."),
        Reply("By ferry."),
    ) as server:
        shown = folder.chat(server, "I prefer ferries.", "Is that good?", "How shall I travel?", words=SMALL)
    assert shown.replies == ["Noted: ferries.", "A good choice.", "By ferry."]
    (log,) = (folder.notes / "memory").glob("2*.md")
    assert entry in log.read_text(encoding="utf-8")
    assert shown.of("flushed") == [f"written, 1 new in memory/{log.name}"]
    assert shown.of("compacted") == ["10,001 tokens to a summary of 22 characters"]
    _, flush, _, second, summary, last = server.received
    assert "what must outlast this conversation" in flush.last
    assert [role for role, _ in second.messages] == ["user", "assistant", "user"], "the history has no flush"
    said = "user: I prefer ferries.\n\nassistant: Noted: ferries.\n\nuser: Is that good?\n\nassistant: A good choice."
    assert summary.last.endswith(said)
    assert [role for role, _ in last.messages] == ["user"]
    assert "They spoke of ferries." in last.system
    assert entry in last.last
    assert entry not in last.system


@pytest.mark.parametrize(("tokens", "flushes"), [(5_999, 0), (6_000, 1), (9_000, 1)])
def test_a_flush_is_due_at_the_soft_threshold_once(folder: Folder, tokens: int, flushes: int) -> None:
    steps = [Reply("One.", tokens=tokens), *[Reply("NO_REPLY")] * flushes, Reply("Two.", tokens=tokens)]
    with OpenAITalk(*steps) as server:
        shown = folder.chat(server, "Please count.", "And on.", words=SMALL)
    assert (shown.replies, len(shown.of("flushed")), server.steps) == (["One.", "Two."], flushes, [])


def test_a_conversation_that_the_model_cannot_hold_any_more_is_compacted_at_once(folder: Folder) -> None:
    too_long = Fails(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")
    with OpenAITalk(
        Reply("Yes."), too_long, Reply("NO_REPLY"), Reply("They greeted each other."), Reply("In April.")
    ) as server:
        shown = folder.chat(server, "Are you there?", OSAKA)
    assert shown.replies == ["Yes.", "In April."]
    assert [line.partition(",")[0] for line in shown.of("flushed")] == ["nothing_to_store"]
    assert "They greeted each other." in server.received[-1].system
    assert "[memory/travel.md#L1-L3]" in server.received[-1].last


@pytest.mark.parametrize("service", [OpenAITalk, AnthropicTalk])
def test_an_error_of_the_service_is_one_line_and_what_was_recalled_comes_with_the_next_turn(
    folder: Folder, service: Callable[..., TalkServer]
) -> None:
    with service(Fails(400, "nonsense"), Reply("In April.")) as server:
        shown = folder.chat(server, OSAKA, "Please try again.")
    assert shown.replies == ["In April."]
    (line,) = shown.of("failed")
    assert "nonsense" in line
    assert "[memory/travel.md#L1-L3]" in server.received[-1].last


def test_what_a_plugin_captures_is_told_and_its_tool_is_called(folder: Folder, tmp_path: Path) -> None:
    metadata = tmp_path / "site" / "memoriter_diary-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: memoriter-diary\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[memoriter.plugins]\ndiary = memoriter_diary\n", encoding="utf-8")
    with OpenAITalk(Reply("Nice."), Calls("diary_look_up", {"word": "kettle"}), Reply("A kettle.")) as server:
        shown = folder.chat(server, "today I bought a kettle", "what did I buy?", plugin=metadata.parent)
    assert shown.replies == ["Nice.", "A kettle."]
    assert shown.of("captured") == ["today I bought a kettle", "what did I buy?"]
    assert json.loads(server.received[-1].last) == {"lines": ["today I bought a kettle"]}


def test_without_a_memory_plugin_it_is_a_plain_conversation(folder: Folder) -> None:
    folder.home.mkdir(mode=0o700)
    (folder.home / "memoriter.json5").write_text('{plugins: {slots: {memory: "none"}}}', encoding="utf-8")
    with OpenAITalk(Reply("Hello.", tokens=6_000)) as server:
        shown = folder.chat(server, OSAKA, words=SMALL)
    assert (shown.replies, shown.of("recalled"), shown.of("flushed")) == (["Hello."], ["nothing"], [])
    assert (server.received[0].tools, server.received[0].last) == ([], OSAKA)
