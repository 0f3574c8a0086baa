"""Agno's agents with the tools of a memory, and a scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agno.agent import Agent
from agno.models.openai.like import OpenAILike

from framework_runs import FACT, KEY, QUESTION, run_example
from memoriter.integrations.agno import memory_tools
from servers.agent_model import Step

if TYPE_CHECKING:
    from framework_runs import Run

pytest_plugins = ["framework_fixtures"]


def agent(run: Run, session: str | None = None) -> Agent:
    model = OpenAILike(id="scripted", base_url=run.openai, api_key=KEY)
    return Agent(model=model, tools=[memory_tools(run.memory, session=session)], telemetry=False)


def test_an_agent_searches_the_notes_with_outcome_citation_and_health(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), Step("PostgreSQL."))
    assert agent(run).run(QUESTION).content == "PostgreSQL."
    (found,) = run.answers()
    assert found["results"][0]["citation"] == "MEMORY.md#L1-L3"
    assert found["outcome"] == "match"
    assert found["health"]["ok"] is True


def test_an_entry_of_an_agent_is_in_the_day_s_note_with_its_author(run: Run) -> None:
    run.model.play(Step(tool="memory_append", arguments={"text": FACT}), Step("Noted."))
    agent(run).run("remember the port")
    assert run.note("memory/2026-03-10.md").endswith(f"- 12:00 {FACT} <!-- from: agent, 2026-03-10 -->\n")


def test_wrong_arguments_are_answered_with_what_to_do(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": "", "maxResults": 0}), Step("Sorry."))
    agent(run).run(QUESTION)
    (answer,) = run.answers()
    assert answer["results"] == []
    assert answer["error"]
    assert answer["action"]


def test_a_conversation_of_a_group_gets_no_citations(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), Step("PostgreSQL."))
    agent(run, session="agent:main:slack:group:7").run(QUESTION)
    assert run.answers()[0]["citations"] == "off"


def test_the_functions_say_which_of_them_write(run: Run) -> None:
    functions = memory_tools(run.memory).get_functions()
    assert {name: function.has_side_effects for name, function in functions.items()} == {
        "memory_search": False,
        "memory_get": False,
        "memory_append": True,
    }


def test_the_example_runs(run: Run) -> None:
    run.model.play(Step(tool="memory_search", arguments={"query": QUESTION}), Step("PostgreSQL."))
    assert "PostgreSQL." in run_example(run, "agno_tools")
    assert run.answers()[0]["results"][0]["citation"] == "MEMORY.md#L1-L3"
