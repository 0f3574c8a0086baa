"""The Claude Agent SDK, with the Claude Code that it brings, a memory and a scripted model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from framework_runs import FACT, KEY, QUESTION, QUIET, run_example
from memoriter.integrations.claude_agent_sdk import MemoryHooks, memory_options
from servers.agent_model import Step

if TYPE_CHECKING:
    from framework_runs import Run

pytest_plugins = ["framework_fixtures"]
ROUTER = "Which VLAN does the Omada ER605 router keep for the printers?"
CONTEXT: Any = {"signal": None}


def converse(run: Run, options: dict[str, Any], *prompts: str) -> list[str | None]:
    """Return what the agent answers to each prompt of one session."""
    home = run.env.home / "claude"
    home.mkdir(exist_ok=True)
    services = {"ANTHROPIC_BASE_URL": run.model.root, "ANTHROPIC_API_KEY": KEY}
    environ = {**QUIET, **services, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home)}

    async def turns() -> list[str | None]:
        answers: list[str | None] = []
        chosen = ClaudeAgentOptions(**options, env=environ, cwd=str(home), setting_sources=[], max_turns=9)
        async with ClaudeSDKClient(chosen) as client:
            for prompt in prompts:
                await client.query(prompt)
                messages = [message async for message in client.receive_response()]
                answers += [message.result for message in messages if isinstance(message, ResultMessage)]
        return answers

    return asyncio.run(turns())


def test_a_session_gets_the_long_term_memory_once_and_each_prompt_what_matches(run: Run) -> None:
    run.model.play(Step("Hello."), Step("VLAN 10."))
    assert converse(run, memory_options(run.memory), "Hello there", ROUTER) == ["Hello.", "VLAN 10."]
    last = run.model.seen()
    assert last.count("We chose PostgreSQL for the ledger because of ACID.") == 1
    assert "[memory/2026-02-10.md#L1-L3]" in last
    assert "The Omada ER605 keeps VLAN 10 for the printers." in last
    assert "VLAN 10" not in run.model.seen(0)


def test_the_program_gets_outcome_citations_and_health_of_each_recall(run: Run) -> None:
    recalls: list[dict[str, Any]] = []
    run.model.play(Step("Hello."), Step("VLAN 10."))
    converse(run, memory_options(run.memory, on_recall=recalls.append), "Hello there", ROUTER)
    first, second = recalls
    assert (first["outcome"] == "match", first["citations"]) == (False, [])
    assert (second["outcome"], second["citations"]) == ("match", ["memory/2026-02-10.md#L1-L3"])
    assert second["health"]["ok"] is True
    assert first["session"] == second["session"] != ""


def test_the_agent_may_call_the_tools_of_the_memory(run: Run) -> None:
    run.model.play(
        Step(tool="memory_search", arguments={"query": QUESTION}),
        Step(tool="memory_append", arguments={"text": FACT}),
        Step("PostgreSQL."),
    )
    assert converse(run, memory_options(run.memory), QUESTION) == ["PostgreSQL."]
    found, written = run.answers()
    assert found["outcome"] == "match"
    assert found["results"][0]["citation"] == "MEMORY.md#L1-L3"
    assert found["health"]["ok"] is True
    assert written["findable"] is True
    assert run.note("memory/2026-03-10.md").endswith(f"- 12:00 {FACT} <!-- from: agent, 2026-03-10 -->\n")


@pytest.mark.usefixtures("diary")
@pytest.mark.parametrize("interactive", [True, False])
def test_a_turn_of_the_owner_is_delivered_to_the_listeners_that_capture(run: Run, *, interactive: bool) -> None:
    run.model.play(Step("What a kettle."))
    converse(run, memory_options(run.env.open(), interactive=interactive), "my kettle is called Brumsel")
    kept = [file.read_text(encoding="utf-8") for file in run.env.home.rglob("diary.txt")]
    assert kept == (["my kettle is called Brumsel\n"] if interactive else [])


def answer(hooks: MemoryHooks, **fields: Any) -> dict[str, Any]:
    given = cast("Any", {"session_id": "s", "transcript_path": "", "cwd": "/", **fields})
    return cast("dict[str, Any]", asyncio.run(hooks(given, None, CONTEXT)))


def test_after_a_compaction_the_next_prompt_brings_the_notes_as_they_are_then(run: Run) -> None:
    hooks = MemoryHooks(run.memory)
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "hello"}
    assert "PostgreSQL" in answer(hooks, **prompt)["hookSpecificOutput"]["additionalContext"]
    assert answer(hooks, **prompt) == {}
    answer(hooks, hook_event_name="PreCompact", trigger="auto", custom_instructions=None)
    run.env.write("MEMORY.md", "# Decisions\n\n- We chose SQLite.\n")
    assert "We chose SQLite." in answer(hooks, **prompt)["hookSpecificOutput"]["additionalContext"]


def test_a_hook_with_wrong_input_reports_it_to_the_person_and_lets_the_agent_go_on(run: Run) -> None:
    reply = answer(MemoryHooks(run.memory), session_id=" ", hook_event_name="UserPromptSubmit", prompt="hello")
    assert reply["systemMessage"].startswith("memoriter: The input has no session_id.")


def test_others_who_read_the_conversation_do_not_get_the_long_term_memory(run: Run) -> None:
    reply = answer(MemoryHooks(run.memory, audience="shared"), hook_event_name="UserPromptSubmit", prompt=QUESTION)
    assert "PostgreSQL" not in str(reply)


def test_the_example_runs(run: Run) -> None:
    run.model.play(Step("PostgreSQL."))
    assert "PostgreSQL." in run_example(run, "claude_agent")
    assert "We chose PostgreSQL" in run.model.seen(0)
