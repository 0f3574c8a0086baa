"""A preference in Korean, said in one conversation and recalled in a later one: in the chat, and through the hooks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import json5
import pytest

from hook_inputs import PROGRAMS, hook_input
from long_term import NOTE, configure_long_term
from memory_env import MemoryEnv
from servers import KEY
from servers.talk import AnthropicTalk, Calls, OpenAITalk, Reply, TalkServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory_env import Outcome

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


def chat(env: MemoryEnv, server: TalkServer, *typed: str) -> Outcome:
    service = {"baseUrl": server.base_url, "apiKey": KEY, "api": server.vendor}
    settings = json5.loads(env.config.read_text(encoding="utf-8")) | {"models": {"providers": {"mine": service}}}
    env.config.write_text(json.dumps(settings), encoding="utf-8")
    outcome = env.run("chat", "--model", f"mine/{server.model}", "--show-memory", typed="\n".join([*typed, ""]))
    assert outcome.exit_code == 0, outcome
    return outcome


def hook(env: MemoryEnv, client: str, event: str, session: str, **fields: Any) -> dict[str, Any]:
    given = hook_input(client, event, cwd=env.notes, session_id=session, **fields)
    outcome = env.run("hook", event, typed=given)
    assert (outcome.exit_code, outcome.err) == (0, "")
    return json.loads(outcome.out) if outcome.out else {}


def context(answer: dict[str, Any]) -> str:
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


@pytest.mark.parametrize("service", [OpenAITalk, AnthropicTalk])
def test_the_chat_captures_a_preference_and_recalls_it_in_a_later_conversation(
    owner: MemoryEnv, service: Callable[..., TalkServer]
) -> None:
    with service(Reply("네, 기억할게요."), Reply("맑아요."), Reply("TypeScript를 선호하세요.")) as server:
        first = chat(owner, server, SAID)
        later = chat(owner, server, UNRELATED, QUESTION)
    assert f"captured  Remembered [preference]: {STATEMENT}" in first.err
    assert STATEMENT in (owner.notes / NOTE).read_text(encoding="utf-8")
    unrelated, asked = (request.last for request in server.received[1:])
    assert "<relevant-memories>" not in unrelated
    assert f"1. [preference] {STATEMENT}\n</relevant-memories>" in asked
    assert asked.endswith(QUESTION)
    assert f"recalled  1. [preference] {STATEMENT}" in later.err
    assert STATEMENT not in server.received[1].system  # and not a second time as a note


def test_what_the_model_stores_in_the_owners_words_is_recalled_with_its_author(owner: MemoryEnv) -> None:
    stores = Calls("memory_store", {"text": STATEMENT, "category": "preference"})
    with OpenAITalk(stores, Reply("저장했어요."), Reply("TypeScript요.")) as server:
        chat(owner, server, SAID)
        chat(owner, server, QUESTION)
    (memory,) = owner.run("ltm", "list", "--json").json
    assert (memory["text"], memory["origin"], memory["trusted"]) == (STATEMENT, "agent", True)
    assert re.search(rf"1\. \[preference\] Written by agent, [\d-]+: {re.escape(STATEMENT)}", server.received[-1].last)


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
