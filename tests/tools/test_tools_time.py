"""An agent's tool understands words for days, in its parameters and in the query, and says what it understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema
import pytest

from memoriter.mcp_server._tools import to_result
from memoriter.tools import SEARCH
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Notes of February and March 2026, seen on 10 March."""
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    yield env.open()
    env.close()


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"query": "", "since": "last week"}, ["memory/2026-03-05.md"]),
        ({"query": " ", "until": "지난달"}, ["memory/2026-02-10.md"]),
        ({"since": "February 2026", "until": "letzten Monat"}, ["memory/2026-02-10.md"]),
        ({"query": "what did I write last week?"}, ["memory/2026-03-05.md"]),
        ({"query": "train to Osaka", "since": "2026-03-01"}, ["memory/2026-03-05.md"]),
    ],
)
def test_words_for_days_are_understood_in_parameters_and_in_the_query(
    memory: Memory, params: dict[str, str], found: list[str]
) -> None:
    answer = SEARCH.run(memory, params)
    jsonschema.validate(answer, dict(SEARCH.output_schema or {}))
    assert [hit["path"] for hit in answer["results"]] == found


def test_the_text_of_an_answer_says_which_time_was_understood_and_what_is_of_another(memory: Memory) -> None:
    answer = SEARCH.run(memory, {"query": "which database for the ledger last week"})
    result = to_result(answer, SEARCH.name)
    text = result.content[0].text
    assert '"time": {"words": "last week", "since": "2026-03-02", "until": "2026-03-08"}' in text
    (line,) = (line for line in text.splitlines() if "MEMORY.md" in line and line.startswith("["))
    assert "of another time" in line
    assert "changed 20" in line
    ledger = next(hit for hit in result.structured_content["results"] if "MEMORY.md" in hit["citation"])
    assert ledger["outsideTime"] is True


def test_a_query_is_not_read_for_times_if_the_agent_gives_days(memory: Memory) -> None:
    for since in ("any", "2026-01-01"):
        answer = SEARCH.run(memory, {"query": "train to Osaka last week", "since": since})
        assert "time" not in answer.get("understood", {})
        assert answer["results"][0]["path"] == "memory/2026-03-05.md"


def test_nothing_to_search_for_and_no_day_is_refused(memory: Memory) -> None:
    assert SEARCH.run(memory, {"query": ""})["error"] == "query required"
    assert "error" in SEARCH.run(memory, {"query": "", "since": "any"})
    assert SEARCH.run(memory, {"query": "x", "changed": "perhaps"})["error"] == (
        "The parameter changed must be true or false, not 'perhaps'."
    )


@pytest.mark.parametrize(
    ("days", "error"),
    [
        ({"since": "10/2/2026"}, "The value of since is '10/2/2026', which is not a day."),
        (
            {"since": "2026-02-02", "until": "2026-02-01"},
            "The day of since, 2026-02-02, is later than that of until, 2026-02-01.",
        ),
    ],
)
def test_days_that_mean_nothing_are_refused_with_what_the_agent_may_give(
    memory: Memory, days: dict[str, str], error: str
) -> None:
    answer = SEARCH.run(memory, {"query": "x", **days})
    assert (answer["results"], answer["error"], answer["code"]) == ([], error, "usage")
    assert answer["action"]
