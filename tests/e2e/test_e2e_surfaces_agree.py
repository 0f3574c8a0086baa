"""One engine: Python, the command line and the agent's tool give the same answer to the same question."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import memoriter
from memoriter import Memory
from memoriter.cli import main
from memoriter.tools import search_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples" / "workspace"
QUESTIONS = (
    "Which database does the ledger use and why?",
    "What is LEDGER_IDEMPOTENCY_TTL set to?",
    "RBC-17",
    "Why did we change memorySearch.query.minScore?",
    "왜 서비스 사이에 메시지 브로커를 쓰지 않나요?",
    "오사카 여행",
    "为什么选择这个数据库?",
    "ルーターの設定はどうなっていますか",
    "what happened in February",
    "-n --json",
    "NOT a AND (b OR c) NEAR/2 *",
    "When is the cat due for her next vaccination?",
)
Options = dict[str, Any]
NARROWED: tuple[tuple[Options, list[str], Options], ...] = (
    ({"max_results": 2}, ["-n", "2"], {"maxResults": 2}),
    ({"min_score": 0.0, "max_results": 50}, ["--min-score", "0", "-n", "50"], {"minScore": 0.0, "maxResults": 50}),
    ({"min_score": 0.45, "max_results": 20}, ["--min-score", "0.45", "-n", "20"], {"minScore": 0.45, "maxResults": 20}),
    ({"path": "memory/projects"}, ["--path", "memory/projects"], {"path": "memory/projects"}),
    ({"sources": ["sessions"]}, ["--source", "sessions"], {"source": "sessions"}),
    (
        {"since": date(2025, 7, 1), "until": date(2025, 9, 30)},
        ["--since", "2025-07-01", "--until", "2025-09-30"],
        {"since": "2025-07-01", "until": "2025-09-30"},
    ),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The examples with a finished index, and its home."""
    base = tmp_path_factory.mktemp("surfaces")
    workspace = Path(shutil.copytree(EXAMPLES, base / "workspace"))
    home = base / "home"
    home.mkdir()
    wide = "memory: {qmd: {limits: {maxInjectedChars: 1000000}}}"  # the agent's tool shows no more than 4,000 else
    settings = f'{{{wide}, agents: {{defaults: {{memorySearch: {{provider: "fake"}}}}}}}}'
    (home / "memoriter.json5").write_text(settings, encoding="utf-8")
    with Memory.open(workspace, home=home) as memory:
        memory.sync()
    return workspace, home


@pytest.fixture
def memory(place: tuple[Path, Path]) -> Iterator[Memory]:
    with Memory.open(place[0], home=place[1]) as memory:
        yield memory


Answer = tuple[list[tuple[str, int, int, float]], str, str, str, str]


def by_python(memory: Memory, question: str, options: Options) -> Answer:
    result = memory.search(question, **options)
    hits = [(hit.path, hit.start_line, hit.end_line, hit.score) for hit in result.results]
    return hits, result.outcome, result.mode, result.provider, result.model


def of_json(answer: Any) -> Answer:
    hits = [(hit["path"], hit["startLine"], hit["endLine"], hit["score"]) for hit in answer["results"]]
    return hits, answer["outcome"], answer["mode"], answer["provider"], answer["model"]


def by_command(place: tuple[Path, Path], question: str, words: list[str]) -> Answer:
    done = CliRunner(env={"MEMORITER_HOME": str(place[1])}).invoke(
        main, ["-w", str(place[0]), "--json", "search", *words, "--", question]
    )
    assert done.exit_code == 0, done.output
    return of_json(json.loads(done.stdout))


def by_tool(memory: Memory, question: str, params: Options) -> Answer:
    return of_json(json.loads(json.dumps(search_tool(memory, {"query": question, **params}))))


@pytest.mark.matrix
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_surface_gives_the_same_hits_scores_outcome_and_mode(
    memory: Memory, place: tuple[Path, Path], question: str
) -> None:
    expected = by_python(memory, question, {})
    assert by_command(place, question, []) == expected
    assert by_tool(memory, question, {}) == expected


@pytest.mark.matrix
@pytest.mark.parametrize(("options", "words", "params"), NARROWED, ids=str)
def test_every_option_means_the_same_on_every_surface(
    memory: Memory, place: tuple[Path, Path], options: Options, words: list[str], params: Options
) -> None:
    question = QUESTIONS[0]
    expected = by_python(memory, question, options)
    assert by_command(place, question, words) == expected
    assert by_tool(memory, question, params) == expected
    assert expected[0] != by_python(memory, question, {})[0]


@pytest.mark.slow
def test_a_process_of_its_own_answers_as_this_one_does(memory: Memory, place: tuple[Path, Path]) -> None:
    environment = os.environ | {"MEMORITER_HOME": str(place[1]), "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-m", "memoriter", "search", QUESTIONS[4], "--json", "-w", str(place[0])]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    assert of_json(json.loads(done.stdout)) == by_python(memory, QUESTIONS[4], {})


@pytest.mark.slow
def test_a_memory_of_its_own_answers_as_one_that_has_answered_before(memory: Memory, place: tuple[Path, Path]) -> None:
    warm = [by_python(memory, question, {}) for question in QUESTIONS for _ in range(2)][1::2]
    for question, expected in zip(QUESTIONS, warm, strict=True):
        with Memory.open(place[0], home=place[1]) as fresh:
            assert by_python(fresh, question, {}) == expected
