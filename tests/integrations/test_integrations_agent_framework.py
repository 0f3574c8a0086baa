"""Agents of Microsoft Agent Framework with a provider of notes, and a scripted model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from agent_framework import Agent, ContextProvider
from agent_framework.openai import OpenAIChatCompletionClient

from framework_runs import FACT, KEY, QUESTION, run_example
from memoriter.integrations.agent_framework import NotesProvider
from servers.agent_model import Step

if TYPE_CHECKING:
    from framework_runs import Run

pytest_plugins = ["framework_fixtures"]
ROUTER = "Which VLAN does the Omada ER605 router keep for the printers?"


def converse(run: Run, provider: ContextProvider, *prompts: str) -> list[str]:
    client = OpenAIChatCompletionClient(model="scripted", api_key=KEY, base_url=run.openai)
    agent = Agent(client=client, instructions="Be brief.", context_providers=[provider])

    async def turns() -> list[str]:
        session = agent.create_session()
        return [(await agent.run(prompt, session=session)).text for prompt in prompts]

    return asyncio.run(turns())


def test_a_session_begins_with_the_long_term_memory_and_stays_the_same(run: Run) -> None:
    run.model.play(Step("Hello."), Step("Bye."))
    assert converse(run, NotesProvider(run.memory), "Hello there", "Goodbye then") == ["Hello.", "Bye."]
    fact = "We chose PostgreSQL for the ledger because of ACID."
    contexts = list[str]()
    for request in run.model.requests:
        assert fact not in str(request["messages"][0]["content"])  # no instructions
        contexts += [str(each["content"]) for each in request["messages"] if fact in str(each["content"])]
    first, second = contexts
    assert first == second


def test_a_message_brings_the_passages_that_match_it(run: Run) -> None:
    run.model.play(Step("VLAN 10."))
    converse(run, NotesProvider(run.memory), ROUTER)
    recalled, asked = run.model.requests[0]["messages"][-2:]
    assert recalled["role"] == "user"
    assert "[memory/2026-02-10.md#L1-L3]" in str(recalled["content"])
    assert "The Omada ER605 keeps VLAN 10 for the printers." in str(recalled["content"])
    assert asked["content"] == ROUTER


def test_an_agent_searches_and_writes_with_the_tools(run: Run) -> None:
    run.model.play(
        Step(tool="memory_search", arguments={"query": QUESTION}),
        Step(tool="memory_append", arguments={"text": FACT}),
        Step("PostgreSQL."),
    )
    converse(run, NotesProvider(run.memory), QUESTION)
    found, written = run.answers()
    assert found["outcome"] == "match"
    assert found["results"][0]["citation"] == "MEMORY.md#L1-L3"
    assert found["health"]["ok"] is True
    assert written["findable"] is True
    assert run.note("memory/2026-03-10.md").endswith(f"- 12:00 {FACT} <!-- from: agent, 2026-03-10 -->\n")


def test_others_who_read_the_conversation_do_not_get_the_long_term_memory(run: Run) -> None:
    run.model.play(Step("I do not know."))
    converse(run, NotesProvider(run.memory, audience="shared", tools=False), QUESTION)
    assert all("PostgreSQL" not in call.body.decode() for call in run.model.calls)


@pytest.mark.usefixtures("diary")
@pytest.mark.parametrize("capture", [True, False])
def test_a_turn_is_delivered_to_the_listeners_that_capture(run: Run, *, capture: bool) -> None:
    memory = run.env.open()
    run.model.play(Step("What a kettle."))
    converse(run, NotesProvider(memory, capture=capture), "my kettle is called Brumsel")
    kept = [file.read_text(encoding="utf-8") for file in run.env.home.rglob("diary.txt")]
    assert kept == (["my kettle is called Brumsel\n"] if capture else [])


class Watching(NotesProvider):
    """Keeps the context that the provider has left."""

    metadata: dict[str, Any]

    async def after_run(self, **parts: Any) -> None:
        await super().after_run(**parts)
        self.metadata = parts["context"].metadata


def test_the_context_has_the_outcome_and_citations_of_the_recall(run: Run) -> None:
    provider = Watching(run.memory)
    run.model.play(Step("VLAN 10."), Step("Hello."))
    converse(run, provider, ROUTER)
    found = {key: provider.metadata["memoriter"][key] for key in ("outcome", "citations", "reasons")}
    assert found == {"outcome": "match", "citations": ["memory/2026-02-10.md#L1-L3"], "reasons": []}
    assert provider.metadata["memoriter"]["health"] == {"ok": True, "reasons": []}
    converse(run, provider, "hi")
    assert provider.metadata["memoriter"]["outcome"] == "skipped"


@pytest.mark.usefixtures("diary")
def test_what_is_wrong_with_the_memory_is_in_the_context(run: Run) -> None:
    memory = run.env.open()
    folder = run.env.home / "plugins" / "diary"
    folder.mkdir(parents=True)
    (folder / "diary.txt").write_bytes(b"\xff")  # the plugin cannot read it
    provider = Watching(memory)
    run.model.play(Step("VLAN 10."))
    assert converse(run, provider, ROUTER) == ["VLAN 10."]
    assert "hook_failed" in [reason["code"] for reason in provider.metadata["memoriter"]["reasons"]]


def test_the_example_runs(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), Step("PostgreSQL."))
    assert "PostgreSQL." in run_example(run, "agent_framework_provider")
    assert run.answers()[0]["results"][0]["citation"] == "MEMORY.md#L1-L3"
