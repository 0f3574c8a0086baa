"""Transcripts as a second source, behind `Memory`: real files, a real index, clocks that the tests move."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import json5
import pytest

from memoriter import Memory
from memoriter.api_json import status_json
from memoriter.app import Environment, assemble
from memoriter.errors import ConfigError, PathRefused
from memoriter.tools import GET, SEARCH
from memoriter.workspace import injected
from transcript_lines import claude_code, openclaw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.types import SearchResult

ON: dict[str, Any] = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}
KEY = "ghp_9fK2mQx7LpVb4RtZ1wYc8NsD5hJg3AeUo6Ti"


@dataclass
class SessionsEnv:
    """Notes, transcripts, a home, and the time of day."""

    base: Path
    seconds: float = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
    ticks: float = 1_000.0
    opened: list[Memory] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def notes(self) -> Path:
        return self.base / "notes"

    def say(self, *lines: str, name: str = "s1.jsonl", agent: str = "main") -> Path:
        """Add lines to a transcript."""
        file = self.home / "agents" / agent / "sessions" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.writelines(lines)
        return file

    def open(self, *, agent: str | None = None, config: Path | None = None, **search: Any) -> Memory:
        """A memory with these settings of `memorySearch`."""
        if config is None:
            config = self.home / "config" / f"{len(self.opened)}.json5"
            config.parent.mkdir(parents=True, exist_ok=True)
            config.write_text(json5.dumps({"agents": {"defaults": {"memorySearch": {"provider": "fake", **search}}}}))
        environ = {"MEMORITER_HOME": str(self.home)}
        environment = Environment(environ, self.base / "user", self.notes, lambda: self.seconds, lambda: self.ticks)
        self.opened.append(Memory(assemble(self.notes, config=config, agent=agent, env=environment)))
        return self.opened[-1]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[SessionsEnv]:
    env = SessionsEnv(tmp_path)
    (env.notes / "memory").mkdir(parents=True)
    (env.notes / "MEMORY.md").write_text("# Decisions\n\n- We chose PostgreSQL for the ledger.\n", encoding="utf-8")
    env.say(
        '{"type":"session"}\n',
        openclaw("user", "Where is the billing deployment script?"),
        openclaw("assistant", f"It is ops/deploy.sh and takes the token {KEY}."),
    )
    yield env
    for memory in env.opened:
        memory.close()


def citations(result: SearchResult) -> list[str]:
    return [hit.citation for hit in result.results]


def codes(result: SearchResult) -> list[str]:
    return [reason.code for reason in result.health.reasons]


def test_what_was_said_is_found_and_its_citation_can_be_read(env):
    memory = env.open(**ON)
    (hit, *_) = memory.search("billing deployment script").results
    assert (hit.citation, hit.source) == ("sessions/s1.jsonl#L2-L3", "sessions")
    assert hit.snippet.startswith("User: Where is the billing deployment script?\nAssistant: It is ops/deploy.sh")
    assert memory.read(hit.path, start=2, lines=2).text == hit.snippet
    answer = GET.run(memory, {"path": "sessions/s1.jsonl", "from": 2, "lines": 1})
    assert answer["text"] == "User: Where is the billing deployment script?"


def test_a_secret_is_neither_indexed_nor_shown_nor_read(env):
    memory = env.open(**ON)
    memory.sync()
    found = memory.search("deployment token", min_score=0.0)
    assert KEY not in str(found)
    assert KEY not in memory.read("sessions/s1.jsonl").text
    memory.close()
    stored = [file for file in env.home.rglob("*") if file.is_file() and file.suffix != ".jsonl"]
    assert stored
    assert [file.name for file in stored if KEY.encode() in file.read_bytes()] == []


def test_what_came_out_of_memory_is_not_found_as_if_it_had_been_said(env):
    env.say(openclaw("user", f"{injected('- The parrot is called Zazu.')}\nAnything new?"))
    memory = env.open(**ON)
    assert "Zazu" not in str(memory.search("parrot Zazu", min_score=0.0))
    assert "Zazu" not in memory.read("sessions/s1.jsonl").text


def test_without_the_experiment_transcripts_are_nothing(env):
    for search in ({}, {"sources": ["memory", "sessions"]}, {"experimental": {"sessionMemory": True}}):
        memory = env.open(**search)
        assert memory.search("billing deployment script", min_score=0.0).hits[0].source == "memory"
        result = memory.search("billing deployment script", sources=["sessions"])
        assert (result.hits, "sessions_off" in codes(result)) == ((), True)
        with pytest.raises(PathRefused):
            memory.read("sessions/s1.jsonl")


def test_once_turned_off_they_are_not_found_even_before_they_have_left_the_index(env):
    store = {"store": {"path": str(env.base / "index.sqlite")}}
    assert "sessions" in {hit.source for hit in env.open(**ON, **store).search("billing script").hits}
    off = env.open(**store, sync={"onSearch": False})
    assert {hit.source for hit in off.search("billing script", min_score=0.0).hits} == {"memory"}
    assert off._backend.index.corpus().kinds["sessions"].files == 1
    report = off.sync()
    assert (report.removed, report.files) == (1, 1)


def test_each_agent_finds_only_its_own_conversations(env):
    env.say(openclaw("user", "The parrot is called Zazu."), agent="bob", name="b.jsonl")
    mine = env.open(**ON)
    his = env.open(agent="bob", **ON)
    assert "Zazu" not in str(mine.search("parrot Zazu", min_score=0.0))
    assert citations(his.search("parrot Zazu")) == ["sessions/b.jsonl#L1"]
    for path in ("sessions/b.jsonl", str(env.home / "agents/bob/sessions/b.jsonl")):
        with pytest.raises(PathRefused):
            mine.read(path)
        assert GET.run(mine, {"path": path})["disabled"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_hard_link_to_another_agents_conversation_shows_nothing_of_it(env):
    his = env.say(openclaw("user", "The parrot is called Zazu."), agent="bob", name="b.jsonl")
    os.link(his, env.home / "agents" / "main" / "sessions" / "b.jsonl")
    memory = env.open(**ON)
    report = memory.sync()
    assert "Zazu" not in str(memory.search("parrot Zazu", min_score=0.0))
    with pytest.raises(PathRefused):
        memory.read("sessions/b.jsonl")
    (skipped,) = status_json(memory.status())["skipped"]
    assert (skipped["path"], skipped["reason"]) == ("sessions/b.jsonl", "hard_link")
    assert any("sessions/b.jsonl" in reason.message for reason in report.reasons)


def test_a_removed_transcript_is_not_found_any_more(env):
    memory = env.open(**ON)
    memory.sync()
    shutil.rmtree(env.home / "agents")
    env.ticks += 10
    assert {hit.source for hit in memory.search("billing script", min_score=0.0).hits} == {"memory"}


def test_new_lines_are_found_once_nobody_writes_or_at_once_when_asked_to_index(env):
    memory = env.open(**ON)
    memory.sync()
    file = env.say(openclaw("user", "The parrot is called Zazu."))
    env.seconds = file.stat().st_mtime + 1
    env.ticks += 10
    assert "Zazu" not in str(memory.search("parrot"))
    env.ticks += 100
    env.seconds += 100
    assert citations(memory.search("parrot Zazu"))[0].startswith("sessions/")
    file = env.say(openclaw("user", "The hamster is called Timon."))
    env.seconds = file.stat().st_mtime + 1
    assert memory.sync().changed == 1
    assert "Timon" in str(memory.search("hamster Timon"))


@pytest.mark.slow
def test_neither_kind_drowns_the_other(env):
    note = "".join(f"- The ledger rule number {number} is kept.\n\n" for number in range(60))
    (env.notes / "memory" / "rules.md").write_text(note, encoding="utf-8")
    env.say(*(openclaw("user", f"ledger talk {n}: " + f"filler{n} " * 30) for n in range(60)), name="long.jsonl")
    memory = env.open(**ON)
    kinds = [hit.source for hit in memory.search("ledger rule", min_score=0.0).hits]
    assert len(kinds) == 6
    assert min(kinds.count("memory"), kinds.count("sessions")) >= 2
    scores = [hit.score for hit in memory.search("ledger rule", min_score=0.0).hits]
    assert scores == sorted(scores, reverse=True)
    for kind in ("memory", "sessions"):
        alone = memory.search("ledger rule", min_score=0.0, sources=[kind]).hits
        assert {hit.source for hit in alone} == {kind}
        both = {hit.citation: hit.score for hit in memory.search("ledger rule", min_score=0.0).hits}
        # What neighbours add by chance depends a little on the candidates.
        assert all(both.get(hit.citation, hit.score) == pytest.approx(hit.score, abs=0.02) for hit in alone)
    assert len(memory.search("ledger rule", min_score=0.0, max_results=1).hits) == 1


def test_decay_and_days_go_by_the_time_of_the_messages(env):
    env.say(openclaw("user", "The parrot moult began.", "2026-01-01T10:00:00Z"), name="old.jsonl")
    env.say(openclaw("user", "The parrot moult ended.", "2026-03-09T10:00:00Z"), name="new.jsonl")
    plain = env.open(**ON)
    assert citations(plain.search("parrot moult", since=date(2026, 3, 1))) == ["sessions/new.jsonl#L1"]
    assert citations(plain.search("parrot moult", until=date(2026, 1, 31))) == ["sessions/old.jsonl#L1"]
    fading = env.open(**ON, query={"minScore": 0.0, "hybrid": {"temporalDecay": {"enabled": True, "halfLifeDays": 30}}})
    factors = {
        hit.path: hit.explanation.decay for hit in fading.search("parrot moult", explain=True).hits if hit.explanation
    }
    assert factors["sessions/new.jsonl"] > 0.9
    assert factors["sessions/old.jsonl"] < 0.3


def test_status_counts_each_kind_and_says_what_was_left_out(env):
    env.say('{"name": "x"}\n', name="data.jsonl")
    memory = env.open(**ON)
    assert "transcript_left_out" in [reason.code for reason in memory.sync().reasons]
    state = status_json(memory.status())
    assert [(each["kind"], each["files"]) for each in state["sources"]] == [("memory", 1), ("sessions", 2)]
    assert [(skipped["path"], skipped["reason"]) for skipped in state["skipped"]] == [
        ("sessions/data.jsonl", "not_transcript")
    ]


def test_the_cost_of_transcripts_is_estimated_without_writing(env):
    memory = env.open(**ON)
    before = memory.estimate()
    assert (before.added, before.chunks > 1) == (2, True)
    report = memory.sync()
    assert (report.added, report.chunks) == (before.added, before.chunks)
    env.say(openclaw("user", "One more thing."))
    assert (memory.estimate().changed, memory.estimate().added) == (1, 0)
    memory.sync()
    assert (memory.estimate().changed, memory.estimate().chunks) == (0, 0)


def test_openclaws_own_transcripts_lie_beside_its_configuration(env):
    state = env.base / "user" / ".openclaw"
    file = state / "agents/main/sessions/o.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(openclaw("user", "The parrot is called Zazu."), encoding="utf-8")
    config = state / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": {"provider": "fake", **ON}}}}))
    memory = env.open(config=config)
    assert citations(memory.search("parrot Zazu")) == ["sessions/o.jsonl#L1"]


def test_claude_codes_transcripts_of_the_workspace_are_searched_when_named(env):
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(env.notes.resolve()))
    file = env.base / "user/.claude/projects" / name / "c.jsonl"
    file.parent.mkdir(parents=True)
    line = claude_code("user", "The parrot is called Zazu.", cwd=str(env.notes.resolve()))
    file.write_text(line, encoding="utf-8")
    memory = env.open(**ON, sessionPaths=["claude-code"])
    answer = SEARCH.run(memory, {"query": "parrot Zazu"})
    assert answer["results"][0]["path"] == "sessions/claude-code/c.jsonl"
    assert memory.read("sessions/claude-code/c.jsonl").text == "User: The parrot is called Zazu."


def test_a_file_that_comes_with_a_folder_may_not_name_transcripts(env):
    settings = {"agents": {"defaults": {"memorySearch": {"sessionPaths": ["/"]}}}}
    (env.notes / ".memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(ConfigError, match="sessionPaths"):
        env.open(**ON)
