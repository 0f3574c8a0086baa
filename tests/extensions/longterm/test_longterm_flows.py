"""A preference in Korean, said in one conversation and recalled in a later one: by the library, and by the hooks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import PROGRAMS, hook_input
from long_term import NOTE, configure_long_term
from memoriter.agent import Message
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

STATEMENT = "나는 Python보다 TypeScript를 선호해."
SAID = f"{STATEMENT} 기억해줘."
QUESTION = "내가 선호하는 프로그래밍 언어가 뭐야, Python이야 TypeScript야?"
UNRELATED = "내일 부산 날씨를 알려줘."
BOTH = ["memory-core", "memory-lancedb"]


@pytest.fixture
def owner(tmp_path: Path) -> MemoryEnv:
    """The owner, with capture turned on beside the notes, in a home without memories."""
    env = MemoryEnv.at(tmp_path, {})
    env.environ["MEMORITER_HOOK_SECONDS"] = "50"
    configure_long_term(env, BOTH, provider="bundled", autoCapture=True)
    return env


def hook(env: MemoryEnv, client: str, event: str, session: str, **fields: Any) -> dict[str, Any]:
    given = hook_input(client, event, cwd=env.notes, session_id=session, **fields)
    outcome = env.run("hook", event, typed=given)
    assert (outcome.exit_code, outcome.err) == (0, "")
    return json.loads(outcome.out) if outcome.out else {}


def context(answer: dict[str, Any]) -> str:
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def test_a_session_captures_a_preference_and_recalls_it_in_a_later_conversation(owner: MemoryEnv) -> None:
    memory = owner.open()
    first = memory.session("first", audience="private")
    assert STATEMENT not in first.recall(SAID).prepend_context
    captured = first.capture([Message("user", SAID), Message("assistant", "네, 기억할게요.")])
    assert captured.texts == (f"Remembered [preference]: {STATEMENT}",)
    assert STATEMENT in (owner.notes / NOTE).read_text(encoding="utf-8")
    later = memory.session("later", audience="private")
    assert STATEMENT not in later.start().text  # it comes as a memory, and not a second time as a note
    assert "<relevant-memories>" not in later.recall(UNRELATED).prepend_context
    assert f"1. [preference] {STATEMENT}\n</relevant-memories>" in later.recall(QUESTION).prepend_context


def test_what_the_model_stores_in_the_owners_words_is_recalled_with_its_author(owner: MemoryEnv) -> None:
    memory = owner.open()
    first = memory.session("first", audience="private")
    (store,) = (tool for tool in memory.tools if tool.name == "memory_store")
    store.run(memory, {"text": STATEMENT, "category": "preference"}, session_key=first.key)
    first.capture([Message("user", SAID), Message("assistant", "저장했어요.")])
    (stored,) = owner.run("ltm", "list", "--json").json
    assert (stored["text"], stored["origin"], stored["trusted"]) == (STATEMENT, "agent", True)
    recalled = memory.session("later", audience="private").recall(QUESTION).prepend_context
    assert re.search(rf"1\. \[preference\] Written by agent, [\d-]+: {re.escape(STATEMENT)}", recalled)


@pytest.mark.parametrize("client", PROGRAMS)
def test_the_hooks_capture_a_preference_and_recall_it_in_a_later_session(owner: MemoryEnv, client: str) -> None:
    assert context(hook(owner, client, "user-prompt", "first", prompt=SAID)) == ""
    kept = hook(owner, client, "stop", "first", last_assistant_message="네, 기억할게요.", stop_hook_active=False)
    assert f"Remembered [preference]: {STATEMENT}" in kept["systemMessage"]
    assert owner.run("ltm", "list", "--json").json[0]["session"] == "first"
    assert "<relevant-memories>" not in context(hook(owner, client, "user-prompt", "later", prompt=UNRELATED))
    recalled = context(hook(owner, client, "user-prompt", "later", prompt=QUESTION))
    assert recalled.count(STATEMENT) == 1
    assert f"1. [preference] {STATEMENT}\n</relevant-memories>" in recalled


def test_with_the_inbox_the_owner_accepts_what_a_hook_captured(owner: MemoryEnv) -> None:
    configure_long_term(owner, provider="bundled", autoCapture="inbox")
    hook(owner, "claude-code", "user-prompt", "first", prompt=SAID)
    kept = hook(owner, "claude-code", "stop", "first", last_assistant_message="네.", stop_hook_active=False)
    assert f"In the inbox [preference]: {STATEMENT}" in kept["systemMessage"]
    assert "memoriter ltm inbox" in kept["systemMessage"]
    assert STATEMENT not in context(hook(owner, "claude-code", "user-prompt", "second", prompt=QUESTION))
    assert owner.run("ltm", "accept", "--all").exit_code == 0
    assert f"1. [preference] {STATEMENT}" in context(
        hook(owner, "claude-code", "user-prompt", "third", prompt=QUESTION)
    )


def test_a_prompt_of_a_program_is_not_captured_as_the_owners_words(owner: MemoryEnv) -> None:
    owner.environ["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    hook(owner, "claude-code", "user-prompt", "first", prompt=SAID)
    assert hook(owner, "claude-code", "stop", "first", last_assistant_message="네.", stop_hook_active=False) == {}
    assert owner.run("ltm", "list", "--json").json == []
