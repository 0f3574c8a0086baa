"""Agents of smolagents with the tools of a memory, and a scripted model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent

from framework_runs import FACT, KEY, QUESTION, run_example
from memoriter import UsageError
from memoriter.integrations.smolagents import memory_tools
from servers.agent_model import Step

if TYPE_CHECKING:
    from framework_runs import Run

pytest_plugins = ["framework_fixtures"]


def model(run: Run) -> OpenAIServerModel:
    return OpenAIServerModel("scripted", api_base=run.openai, api_key=KEY)


def test_an_agent_searches_the_notes_with_outcome_citation_and_health(run: Run) -> None:
    final = Step(tool="final_answer", arguments={"answer": "PostgreSQL."})
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), final)
    assert ToolCallingAgent(memory_tools(run.memory), model(run), verbosity_level=0).run(QUESTION) == "PostgreSQL."
    found = run.answers()[-1]
    assert found["results"][0]["citation"] == "MEMORY.md#L1-L3"
    assert found["outcome"] == "match"
    assert found["health"]["ok"] is True


def test_an_entry_of_an_agent_is_in_the_day_s_note_with_its_author(run: Run) -> None:
    final = Step(tool="final_answer", arguments={"answer": "Noted."})
    run.model.play(Step(tool="memory_append", arguments={"text": FACT}), final)
    ToolCallingAgent(memory_tools(run.memory), model(run), verbosity_level=0).run("remember the port")
    assert run.note("memory/2026-03-10.md").endswith(f"- 12:00 {FACT} <!-- from: agent, 2026-03-10 -->\n")


def test_code_of_an_agent_calls_the_tools_by_position_and_with_names_that_are_no_keywords(run: Run) -> None:
    agent = CodeAgent(memory_tools(run.memory), model(run), verbosity_level=0)
    code = 'print(memory_get("MEMORY.md", from_=3, lines=1))'
    output = agent.python_executor
    output.send_tools(agent.tools)
    answer = json.loads(output(code).logs)
    assert answer["text"] == "- We chose PostgreSQL for the ledger because of ACID."
    assert "from_: integer" in agent.tools["memory_get"].to_code_prompt()


def test_wrong_arguments_are_answered_with_what_to_do(run: Run) -> None:
    search, *_ = memory_tools(run.memory)
    assert json.loads(search(query=""))["action"]
    with pytest.raises(UsageError, match=r"has \d+ parameters"):
        search(*["question"] * 20)


def test_the_example_runs(run: Run) -> None:
    final = Step(tool="final_answer", arguments={"answer": "PostgreSQL."})
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), final)
    assert "PostgreSQL." in run_example(run, "smolagents_tools")
    assert run.answers()[-1]["results"][0]["citation"] == "MEMORY.md#L1-L3"
