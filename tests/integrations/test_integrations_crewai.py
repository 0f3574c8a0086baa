"""CrewAI's agents with the tools of a memory, and a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from crewai import LLM, Agent

from framework_runs import FACT, KEY, QUESTION, run_example
from memoriter.integrations.crewai import memory_tools
from servers.agent_model import Step

if TYPE_CHECKING:
    from framework_runs import Run

pytest_plugins = ["framework_fixtures"]


def agent(run: Run) -> Agent:
    model = LLM(model="openai/scripted", base_url=run.openai, api_key=KEY)
    return Agent(role="assistant", goal="help", backstory="none", tools=memory_tools(run.memory), llm=model)


def test_an_agent_searches_the_notes_with_outcome_citation_and_health(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), Step("PostgreSQL."))
    assert agent(run).kickoff(QUESTION).raw == "PostgreSQL."
    (found,) = run.answers()
    assert found["results"][0]["citation"] == "MEMORY.md#L1-L3"
    assert found["outcome"] == "match"
    assert found["health"]["ok"] is True


def test_the_same_search_sees_what_was_written_since(run: Run) -> None:
    steps = [
        Step(tool="memory_search", arguments={"query": "port of the ledger"}),
        Step(tool="memory_append", arguments={"text": FACT}),
        Step(tool="memory_search", arguments={"query": "port of the ledger"}),
    ]
    run.model.play(*steps, Step("5433."))
    agent(run).kickoff("Which port has the ledger? Remember it.")
    before, _, after = run.answers()
    assert FACT not in json.dumps(before)
    assert f"{FACT} <!-- from: agent, 2026-03-10 -->" in after["results"][0]["snippet"]


def test_wrong_arguments_are_answered_with_what_to_do(run: Run) -> None:
    search, *_ = memory_tools(run.memory)
    answer = json.loads(search.run(query=""))
    assert answer["results"] == []
    assert answer["action"]
    with pytest.raises(ValueError, match="query"):
        search.run(maxResults=3)


def test_tools_run_in_asynchronous_crews(run: Run) -> None:
    _, get, _ = memory_tools(run.memory)
    answer = json.loads(asyncio.run(get.arun(path="MEMORY.md", **{"from": 3, "lines": 1})))
    assert answer["text"] == "- We chose PostgreSQL for the ledger because of ACID."


def test_the_example_runs(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), Step("PostgreSQL."))
    assert "PostgreSQL." in run_example(run, "crewai_tools")
    assert run.answers()[0]["results"][0]["citation"] == "MEMORY.md#L1-L3"
