"""Coding agents get their memory through hooks, and lose nothing when one of them goes wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hook_inputs import PROGRAMS, hook_input, write_transcript
from memoriter.cli import main
from memoriter.coding_hooks import HOOKS
from memory_env import trust
from odd_files import KINDS, holding_the_secret, longer_than_memory, posix_only
from plugin_wheel import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome, Program

    Hook = Callable[..., Outcome]

QUESTION = "Why did we choose PostgreSQL for the ledger?"
NOTHING = "What breed is the neighbours' dog?"
FULL = {"claude-code": 163_000, "codex": 234_400}
"""Tokens from which on each of them is asked to write down what must last."""


@pytest.fixture(params=PROGRAMS)
def coding_agent(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def hook(program: Program, coding_agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hook:
    """Run a hook as the coding agent does, below the notes."""
    monkeypatch.delenv("CLAUDE_CODE_ENTRYPOINT", raising=False)
    (program.home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "none"}}}}')
    folder = program.workspace / "src"
    folder.mkdir()
    trust(program.home, program.workspace)
    monkeypatch.chdir(tmp_path)

    def run(event: str, *words: str, tokens: int = 0, **changes: Any) -> Outcome:
        transcript = write_transcript(tmp_path / "t.jsonl", coding_agent, tokens) if tokens else None
        typed = hook_input(coding_agent, event, cwd=folder, transcript=transcript, **changes)
        return program("hook", event, *words, typed=typed)

    return run


def context(outcome: Outcome, event: str) -> str:
    assert (outcome.exit_code, outcome.err) == (0, "")
    assert set(outcome.json) == {"hookSpecificOutput"}
    assert set(outcome.json["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert outcome.json["hookSpecificOutput"]["hookEventName"] == event
    return outcome.json["hookSpecificOutput"]["additionalContext"]


def request(outcome: Outcome, coding_agent: str) -> str:
    """The request for a flush, in the form in which each program goes on without a word about a problem."""
    if coding_agent == "claude-code":
        return context(outcome, "Stop")
    assert outcome.exit_code == 0
    assert set(outcome.json) == {"decision", "reason"}  # Codex refuses other fields
    assert outcome.json["decision"] == "block"
    return outcome.json["reason"]


def silent(outcome: Outcome) -> bool:
    return (outcome.exit_code, outcome.out, outcome.err) == (0, "", "")


def log_of(prompt: str) -> str:
    (path,) = set(re.findall(r"memory/\d{4}-\d\d-\d\d\.md", prompt))
    return path


def test_a_session_starts_with_the_memory_of_the_folder_the_agent_works_in(hook: Hook) -> None:
    text = context(hook("session-start"), "SessionStart")
    assert "PostgreSQL" in text
    assert len(text) <= 8_000
    assert context(hook("session-start", source="resume"), "SessionStart") == text
    assert silent(hook("session-start", "--shared"))


def test_a_message_gets_what_matches_it_once_and_else_not_a_byte(hook: Hook) -> None:
    assert silent(hook("user-prompt", prompt=NOTHING))
    assert "PostgreSQL" in context(hook("user-prompt", prompt=QUESTION), "UserPromptSubmit")
    assert silent(hook("user-prompt", prompt=QUESTION))
    other = hook("user-prompt", prompt=QUESTION, session_id="another")
    assert "PostgreSQL" in context(other, "UserPromptSubmit")


def test_a_conversation_that_was_cleared_knows_nothing_any_more(hook: Hook, program: Program) -> None:
    before = context(hook("session-start"), "SessionStart")
    travel = "오사카 여행은 언제 출발해?"
    assert "4월 12일" in context(hook("user-prompt", prompt=travel), "UserPromptSubmit")
    program("-w", str(program.workspace), "remember", "We ship on Friday.")
    after = context(hook("session-start", source="clear"), "SessionStart")
    assert "We ship on Friday" not in before
    assert "We ship on Friday" in after
    assert "4월 12일" in context(hook("user-prompt", prompt=travel), "UserPromptSubmit")


def test_a_full_conversation_is_flushed_once_before_it_is_compacted(
    hook: Hook, program: Program, coding_agent: str
) -> None:
    full = FULL[coding_agent]
    assert silent(hook("stop", tokens=full - 1))
    response = hook("stop", tokens=full)
    assert response.err == ""
    path = log_of(request(response, coding_agent))
    (program.workspace / path).write_text("- We ship on Friday.\n", encoding="utf-8")
    assert silent(hook("stop", tokens=full + 500, stop_hook_active=True, last_assistant_message="NO_REPLY"))
    assert silent(hook("stop", tokens=full + 1_000))
    assert silent(hook("pre-compact"))
    text = context(hook("session-start", source="compact"), "SessionStart")
    assert "We ship on Friday" in text
    assert "NO_REPLY" not in text
    assert request(hook("stop", tokens=full), coding_agent)


def test_what_an_agent_overwrites_is_told_with_its_copy_and_left_as_it_is(
    hook: Hook, program: Program, coding_agent: str
) -> None:
    program("-w", str(program.workspace), "remember", "The standup moved to ten.")
    path = program.workspace / log_of(request(hook("stop", tokens=FULL[coding_agent]), coding_agent))
    path.write_text("- We ship on Friday.\n", encoding="utf-8")
    settled = hook("stop", stop_hook_active=True, last_assistant_message="Saved.")
    assert (settled.exit_code, settled.out) == (0, "")
    assert "2 are missing or changed; nothing was restored" in settled.err
    assert path.read_text(encoding="utf-8") == "- We ship on Friday.\n"
    copy = Path(settled.err.split("'")[-2])
    assert "The standup moved to ten." in copy.read_text(encoding="utf-8")


def test_what_is_remembered_between_a_request_and_its_settling_stays(
    hook: Hook, program: Program, coding_agent: str
) -> None:
    def remember(text: str) -> None:
        assert program("-w", str(program.workspace), "remember", text).exit_code == 0

    remember("Do not ship release 2.4 before the audit of the ledger.")
    path = program.workspace / log_of(request(hook("stop", tokens=FULL[coding_agent]), coding_agent))
    kept = ["ship release 2.4 before the audit", "audit of the ledger.", "ship release 2.4 before the audit"]
    for text in kept:
        remember(text)
    left = path.read_bytes()
    assert silent(hook("stop", stop_hook_active=True, last_assistant_message="NO_REPLY"))
    assert path.read_bytes() == left
    assert left.count(b"\n- ") == len(kept)


def test_a_compaction_that_came_first_is_made_up_for_when_the_session_goes_on(hook: Hook, program: Program) -> None:
    assert silent(hook("pre-compact"))
    text = context(hook("session-start", source="compact"), "SessionStart")
    assert "This conversation was just replaced by a summary" in text
    assert text.endswith("Then answer the user.")
    assert "NO_REPLY" not in text  # the user waits for an answer
    assert len(text) <= 10_000
    assert "answer the user" not in context(hook("session-start", source="resume"), "SessionStart")


def test_the_result_of_codex_exec_stays_the_last_answer(hook: Hook, tmp_path: Path) -> None:
    first = {
        "type": "session_meta",
        "payload": {"id": "s", "source": "exec", "base_instructions": {"text": "x" * 20_000}},
    }
    file = write_transcript(tmp_path / "rollout.jsonl", "codex", FULL["codex"])
    rest = file.read_text(encoding="utf-8")
    for source, asks in (("exec", False), ("cli", True)):
        first["payload"]["source"] = source
        file.write_text(f"{json.dumps(first)}\n{rest}", encoding="utf-8")
        outcome = hook("stop", transcript_path=str(file))
        assert silent(outcome) is not asks


def test_where_no_person_looks_on_the_last_answer_stays_the_last(
    hook: Hook, coding_agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
    assert silent(hook("stop", tokens=FULL[coding_agent]))


@pytest.mark.matrix
def test_a_plugin_captures_what_was_said_in_a_turn(
    hook: Hook, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(install_plugin(tmp_path / "plugin")))
    assert silent(hook("user-prompt", prompt="my kettle is called Brumsel"))
    assert hook("stop").json == {"systemMessage": "memoriter: my kettle is called Brumsel"}
    assert silent(hook("stop"))
    diary = program.home / "plugins" / "diary" / "diary.txt"
    assert diary.read_text(encoding="utf-8") == "my kettle is called Brumsel\n"
    kept = [file.read_text(encoding="utf-8") for file in (program.home / "agents" / "main" / "contexts").iterdir()]
    assert "Brumsel" not in "".join(kept)
    sys.modules.pop("memoriter_diary", None)


def test_gemini_gets_the_context_and_what_matches_a_message_but_not_its_own_hooks(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program.home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "none"}}}}')
    trust(program.home, program.workspace)

    def gemini(event: str, **changes: Any) -> Outcome:
        return program("hook", event, typed=hook_input("gemini", event, cwd=program.workspace, **changes))

    assert "PostgreSQL" in context(gemini("session-start"), "SessionStart")
    # `gemini -p` puts what the hooks said at its start before the message, in this form.
    before = f"<hook_context>&lt;x&gt; {QUESTION}</hook_context>\n\n"
    other = {"session_id": "another"}
    assert silent(gemini("user-prompt", prompt=before + NOTHING, **other))
    assert "PostgreSQL" in context(gemini("user-prompt", prompt=before + QUESTION, **other), "BeforeAgent")
    assert silent(gemini("user-prompt", prompt=before + QUESTION, **other))
    assert silent(gemini("stop", prompt=before + QUESTION))
    refused = program("hook", "pre-compact", typed='{"session_id": "s", "hook_event_name": "PreCompress"}')
    assert "PreCompress happened" in refused.err


BROKEN = {
    "no json": "{",
    "no object": "[]",
    "no session": '{"hook_event_name": "Stop"}',
    "another event": '{"hook_event_name": "SessionEnd", "session_id": "s"}',
    "nothing": "",
}


@pytest.mark.parametrize("typed", BROKEN.values(), ids=BROKEN)
def test_what_is_no_hook_input_is_a_line_for_people_and_nothing_for_the_agent(program: Program, typed: str) -> None:
    outcome = program("hook", "stop", typed=typed)
    assert (outcome.exit_code, outcome.out, outcome.err.count("\n")) == (0, "", 1)
    assert outcome.err.startswith("memoriter: ")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.usefixtures("hook")
def test_input_with_a_mark_or_in_utf_16_is_read(program: Program, encoding: str) -> None:
    given = {"session_id": "s", "cwd": str(program.workspace), "hook_event_name": "SessionStart"}
    started = program("hook", "session-start", typed=json.dumps(given).encode(encoding))
    assert "PostgreSQL" in context(started, "SessionStart")


@pytest.mark.parametrize("character", ["\t", "\n", "\x00", "\x1b", "\x7f"])
@pytest.mark.usefixtures("hook")
def test_control_characters_in_the_input_stop_nothing(program: Program, character: str) -> None:
    fields = f'"session_id": "s{character}", "prompt": "Why did we choose{character} PostgreSQL for the ledger?"'
    typed = f'{{{fields}, "cwd": "{program.workspace}", "hook_event_name": "UserPromptSubmit"}}'
    answered = program("hook", "user-prompt", typed=typed)
    assert "PostgreSQL" in context(answered, "UserPromptSubmit")


@pytest.mark.parametrize(
    "words",
    [
        ("hook",),
        ("hook", "nope"),
        ("hook", "stop", "--nope"),
        ("-w", "gone", "hook", "stop"),
        ("--config", "gone", "hook", "stop"),
    ],
)
def test_a_hook_that_is_set_up_wrongly_never_stops_the_agent(program: Program, words: tuple[str, ...]) -> None:
    outcome = program(*words, typed='{"session_id": "s", "hook_event_name": "Stop"}')
    assert (outcome.exit_code, outcome.out, outcome.err.count("\n")) == (0, "", 1)


def test_a_broken_configuration_or_a_missing_plugin_never_stops_the_agent(hook: Hook, program: Program) -> None:
    for text in ("{", '{plugins: {slots: {memory: "memory-cloud"}}}'):
        (program.home / "memoriter.json5").write_text(text, encoding="utf-8")
        outcome = hook("user-prompt", prompt=QUESTION)
        assert (outcome.exit_code, outcome.out, outcome.err.count("\n")) == (0, "", 1)
    assert "plugins.slots.memory names 'memory-cloud'" in outcome.err


def test_a_damaged_index_is_no_reason_to_stop(hook: Hook, program: Program) -> None:
    program("index")
    for file in (program.home / "memory").glob("*.sqlite"):
        file.write_bytes(b"no database" * 500)
    assert hook("user-prompt", prompt=QUESTION).exit_code == 0
    assert "PostgreSQL" in hook("user-prompt", prompt=QUESTION, session_id="b").out


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event=st.sampled_from(sorted(HOOKS.values())), data=st.data())
def test_whatever_comes_in_the_agent_goes_on(program: Program, event: str, data: st.DataObject) -> None:
    (program.home / "memoriter.json5").write_text("{memory: {capture: true}}", encoding="utf-8")
    words = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.lists(st.text(max_size=3)))
    keys = ["session_id", "hook_event_name", "cwd", "prompt", "source", "transcript_path", "stop_hook_active"]
    keys += ["compact_summary", "reason"]
    received = data.draw(st.dictionaries(st.sampled_from(keys), words))
    typed: str | bytes = json.dumps({"session_id": "s", **received})
    if data.draw(st.booleans()):
        typed = data.draw(st.binary(max_size=50))
    done = CliRunner().invoke(main, ["-w", str(program.workspace), "hook", event], input=typed)
    assert done.exit_code == 0
    assert done.stdout == "" or json.loads(done.stdout)
    assert done.stderr.count("\n") <= 1


@pytest.mark.slow
def test_a_session_as_it_happens_in_processes_of_their_own(program: Program, tmp_path: Path) -> None:
    trust(program.home, program.workspace)

    def run(event: str, **changes: Any) -> str:
        transcript = write_transcript(tmp_path / "t.jsonl", "claude-code", 170_000)
        typed = hook_input("claude-code", event, cwd=program.workspace, transcript=transcript, **changes)
        command = [sys.executable, "-m", "memoriter", "hook", event]
        done = subprocess.run(command, input=typed, capture_output=True, text=True, cwd=tmp_path, encoding="utf-8")
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert "PostgreSQL" in run("session-start")
    assert "오사카" in run("user-prompt", prompt="오사카 여행은 언제 출발해?")
    path = log_of(run("stop"))
    (program.workspace / path).write_text("- 금요일에 배포한다.\n", encoding="utf-8")
    assert run("stop", stop_hook_active=True, last_assistant_message="NO_REPLY") == ""
    assert run("pre-compact") == ""
    assert "금요일에" in run("session-start", source="compact")


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not longer_than_memory])
def test_a_transcript_that_is_no_plain_file_is_one_line_and_the_agent_goes_on(
    hook: Hook, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    file = tmp_path / "odd.jsonl"
    make(file)
    outcome = hook("stop", transcript_path=str(file))
    assert (outcome.exit_code, outcome.out, outcome.err.count("\n")) == (0, "", 1)
    assert "odd.jsonl" in outcome.err


@pytest.mark.matrix
@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", KINDS)
def test_a_log_that_is_no_plain_file_is_one_line_and_is_not_copied(
    hook: Hook, program: Program, coding_agent: str, make: Callable[[Path], None]
) -> None:
    full = FULL[coding_agent]
    path = log_of(request(hook("stop", tokens=full), coding_agent))
    make(program.workspace / path)
    for event, changes in (("stop", {"stop_hook_active": True}), ("pre-compact", {}), ("stop", {"tokens": full})):
        outcome = hook(event, **changes)
        assert (outcome.exit_code, outcome.out, outcome.err.count("\n") <= 1) == (0, "", True)
    assert path in outcome.err
    assert holding_the_secret(program.home) == []
