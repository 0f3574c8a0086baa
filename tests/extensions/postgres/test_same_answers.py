"""Both stores give the same answers for the same notes: hits, order, scores and outcomes, through `Memory`."""

from __future__ import annotations

import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from os import getpid
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from memory_env import MemoryEnv, compatible
from postgres_server import postgres_dsn
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter import Memory
    from memoriter.types import SearchResult

EXAMPLE = Path(__file__).parents[3] / "examples" / "workspace"
CLOSE = 1e-4
QUESTIONS = (
    "Which database did we settle on for the ledger, and why?",
    "What is LEDGER_IDEMPOTENCY_TTL set to?",
    "Why was there no hot water that morning in February, and what fixed it?",
    "What food does Misaki have to avoid?",
    "아이 예방접종은 언제 맞았지?",
    "冷链项目的客户是谁",
    "ヘロンの部品はどこから買う",
    "the",
    "zzqx does not occur",
    "when do I replace the filter",
)
LISTS = {
    "memory/2026-01-05.md": "# Errands\n\n- buy oat milk and rye bread\n- call the plumber about the boiler\n"
    "- return the drill to Jonas\n\n#home/kitchen\n",
    "memory/2026-02-11.md": "---\ntags: [work, heron]\naliases: [Grey bird]\n---\n# Heron\n\n"
    "- the freezer test ran for nine hours\n- the radio of the [[Grey bird]] board reboots below minus twenty\n",
    "memory/work/plan.md": "# План\n\nМы переносим склад в марте.\n\n# Plan\n\nThe warehouse moves in March.\n",
}


@dataclass
class Pair:
    """The same notes with an index in each store."""

    sqlite: MemoryEnv
    postgres: MemoryEnv
    always: dict[str, Any] = field(default_factory=dict)
    """Settings of `memorySearch` for both."""

    @classmethod
    def at(cls, folder: Path, *, example: bool = False) -> Pair:
        notes = folder / "notes"
        if example:
            shutil.copytree(EXAMPLE, notes, ignore=shutil.ignore_patterns("2025-*", "drafts", "people"))
        notes.mkdir(exist_ok=True)
        pair = cls(MemoryEnv(notes, folder / "home-s"), MemoryEnv(notes, folder / "home-p"))
        for env in (pair.sqlite, pair.postgres):
            env.home.mkdir(mode=0o700)
        for path, text in LISTS.items():
            pair.sqlite.write(path, text)
        pair.configure()
        return pair

    def configure(self, **search: Any) -> None:
        postgres = {"dsn": postgres_dsn(), "schema": f"same_{getpid()}"}
        search = {**self.always, **search}
        self.sqlite.configure(**search)
        self.postgres.configure(store={"driver": "postgres", "postgres": postgres}, **search)

    def open(self) -> tuple[Memory, Memory]:
        return self.sqlite.open(), self.postgres.open()

    def synced(self, **search: Any) -> tuple[Memory, Memory]:
        self.configure(**search)
        for memory in (opened := self.open()):
            memory.sync()
        return opened

    def wait(self) -> None:
        """Let so much time pass that the next search looks for changes."""
        self.sqlite.wait(60)
        self.postgres.wait(60)

    def close(self) -> None:
        self.sqlite.close()
        self.postgres.close()


def answer(result: SearchResult) -> dict[str, Any]:
    certainty = result.certainty.value if result.certainty else None
    return {
        "outcome": result.outcome,
        "mode": result.mode,
        "certainty": pytest.approx(certainty, abs=CLOSE) if certainty is not None else None,
        "reasons": [each.code for each in result.reasons],
        "hits": [
            (hit.path, hit.start_line, hit.end_line, hit.heading, hit.text, pytest.approx(hit.score, abs=CLOSE))
            for hit in result.hits
        ],
    }


def equal(memories: tuple[Memory, Memory], questions: tuple[str, ...] = QUESTIONS, **limits: Any) -> int:
    """Compare the answers of both memories and return the number of hits."""
    count = 0
    for question in questions:
        one, other = (memory.search(question, min_score=0.0, **limits) for memory in memories)
        assert answer(other) == answer(one), question
        count += len(one.hits)
    return count


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Give many notes; a service computes their vectors, because the bundled model would take its time."""
    with CompatibleServer() as server:
        pair = Pair.at(tmp_path_factory.mktemp("example"), example=True)
        pair.always = compatible(server)
        yield pair
        pair.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair.at(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["calibrated", "rrf", "classic"])
def test_every_scoring_gives_the_same_answers_in_several_languages(example: Pair, scoring: str) -> None:
    memories = example.synced(query={"scoring": scoring})
    assert equal(memories) > 40
    assert equal(memories, QUESTIONS[:5], max_results=30) > 100


@pytest.mark.slow
def test_words_alone_give_the_same_answers(example: Pair) -> None:
    assert equal(example.synced(provider="none"), (*QUESTIONS, "Heron freezer reboot", "мы переносим")) > 40


@pytest.mark.slow
def test_every_filter_gives_the_same_answers(example: Pair) -> None:
    memories = example.synced()
    filters: list[dict[str, Any]] = [
        {"path": "memory/projects"},
        {"path": "memory/2026-*"},
        {"path": "MEMORY.md"},
        {"path": "memory/none-such"},
        {"since": date(2026, 1, 1)},
        {"until": "2026-01-31"},
        {"since": "2025-03-01", "until": "2026-02-28", "path": "memory"},
        {"tags": ["home"]},
        {"tags": ["work", "heron"]},
        {"sources": ["memory"]},
        {"sources": ["sessions"]},
    ]
    for limits in filters:
        hits = equal(memories, QUESTIONS[:4], **limits)
        assert hits or limits.get("path") == "memory/none-such" or limits.get("sources") == ["sessions"], limits
    operators = (
        '"hot water" morning',
        "ledger -database",
        'ledger -"idempotency"',
        "path:memory/projects heron",
        "tag:home boiler",
        "since:2026-01-01 plumber",
        "lex: freezer\nvec: why did boards reboot",
    )
    assert equal(memories, operators, operators=True) > 20


@pytest.mark.slow
def test_other_names_of_notes_lead_to_the_same_hits(pair: Pair) -> None:
    assert equal(pair.synced(), ("grey bird", "what about the grey bird board", "heron")) > 0


@pytest.mark.slow
def test_edits_and_removals_give_the_same_answers(pair: Pair) -> None:
    memories = pair.synced()
    questions = ("the plumber and the boiler", "oat milk", "drill", "склад", "train to Osaka")
    assert equal(memories, questions) > 0
    pair.sqlite.write("memory/2026-01-05.md", "# Errands\n\n- buy oat milk\n- train to Osaka at noon\n")
    (pair.sqlite.notes / "memory/work/plan.md").unlink()
    pair.sqlite.write("memory/trip.md", "# Trip\n\n" + "\n".join(f"- day {n}: walk to temple {n}" for n in range(30)))
    pair.wait()
    assert equal(memories, questions) > 0
    assert not any("plan" in hit.path for memory in memories for hit in memory.search("склад").hits)
    for memory in memories:
        memory.sync(force=True)
    assert equal(memories, questions) > 0
    # An item that becomes a passage of its own keeps its vector.
    pair.sqlite.write("memory/2026-01-05.md", "# Errands\n\n- buy oat milk\n")
    pair.wait()
    assert equal(memories, questions) > 0


@pytest.mark.slow
def test_forget_and_compact_leave_the_same_answers(pair: Pair) -> None:
    memories = pair.synced()
    secret = "call the plumber about the boiler"
    for memory in memories:
        memory.compact(unused=True)
    questions = ("the plumber and the boiler", "oat milk", "heron freezer")
    assert equal(memories, questions) > 0
    note = pair.sqlite.notes / "memory/2026-01-05.md"
    text = note.read_text(encoding="utf-8")
    left = list[int]()
    for memory in memories:
        note.write_text(text, encoding="utf-8")
        pair.wait()
        memory.sync()
        left.append(len(memory.forget(memory.plan_forget(match=secret)).left))
    assert left == [0, 0]
    pair.wait()
    assert equal(memories, questions) > 0
    assert not any(secret in hit.text for memory in memories for hit in memory.search("plumber boiler").hits)


def contents(pair: Pair) -> list[str]:
    """Return the name of the content of both stores, as new processes see it."""
    return [memory._backend.content_version() for memory in pair.open()]


def test_searches_and_runs_without_changes_leave_the_content_as_it_was(pair: Pair) -> None:
    pair.synced(provider="fake")
    before = contents(pair)
    for memory in (*pair.open(), *pair.open()):
        memory.search("plumber")
        memory.sync()
    assert contents(pair) == before


def test_threads_that_search_an_unchanged_memory_do_not_need_the_right_to_index(pair: Pair) -> None:
    for holder, memory in zip(pair.synced(provider="fake"), pair.open(), strict=True):
        lease = holder._backend._context.with_recovery(lambda index: index.lease())
        with lease, ThreadPoolExecutor(8) as threads:
            results = list(threads.map(memory.search, ["plumber"] * 16))
        assert {reason.code for result in results for reason in result.health.reasons} == set()


KILLED = """
import os, signal
from memoriter.extensions.postgres.api import PostgresStore
calls, write = [0], PostgresStore.{method}
def counted(self, *values, **named):
    calls[0] += 1
    if calls[0] == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(self, *values, **named)
PostgresStore.{method} = counted
"""


@pytest.mark.slow
@pytest.mark.parametrize(("method", "number"), [("put_file", 2), ("put_vectors", 1)])
def test_indexing_that_was_killed_is_finished_with_the_same_answers(pair: Pair, method: str, number: int) -> None:
    # A text that no other memory of this server has, so that its vector is computed and stored.
    pair.postgres.write("memory/2026-03-01.md", f"# Rehearsal\n\nThe key of the hall has the number {uuid4()}.\n")
    command = pair.postgres.command(
        "-w", str(pair.postgres.notes), "index", before=KILLED.format(method=method, number=number)
    )
    done = subprocess.run(command, env=pair.postgres.environment(), capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    memories = pair.synced()
    assert memories[1].status().pending == 0
    assert equal(memories, ("the plumber and the boiler", "oat milk", "склад", "heron freezer")) > 0
