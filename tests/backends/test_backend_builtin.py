"""The builtin backend behind `Memory`: real files, a real index, and clocks that the tests move."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import json5
import pytest

from memoriter import Memory
from memoriter.api_json import status_json
from memoriter.app import Environment, assemble
from memoriter.backends import _builtin, _embedding
from memoriter.cli._status import status_rows
from memoriter.embed._fake import FakeProvider
from memoriter.errors import IndexBusy, InputRejected, InvalidQuery, ProviderUnavailable, UsageError
from memoriter.index import Index
from memoriter.index._connection import vfs
from memoriter.index._index import IndexReader
from memoriter.sync import _apply
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.types import Role, SearchResult

EXAMPLES = Path(__file__).parents[2] / "examples" / "workspace"
NOTES = {
    "MEMORY.md": "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n",
    "memory/2026-02-10.md": "# Router\n\nThe Omada ER605 keeps VLAN 10 for the printers.\n",
    "memory/2026-03-05.md": "# Trip\n\nThe train to Osaka leaves at noon; the hotel is by the river.\n",
    "memory/work/style.md": "# Style\n\nCommits are written in the imperative mood.\n",
}


@dataclass
class BackendEnv:
    """A folder of notes, a home, and the time of day."""

    notes: Path
    home: Path
    seconds: float = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
    ticks: float = 1_000.0
    opened: list[Memory] = field(default_factory=list)

    def write(self, path: str, text: str) -> None:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        (self.notes / path).unlink()

    def wait(self, seconds: float = 2.0) -> None:
        """Let time pass."""
        self.ticks += seconds
        self.seconds += seconds

    def open(self, provider: str = "fake", workspace: Path | None = None, **search: Any) -> Memory:
        """A memory with these settings of `memorySearch`."""
        config = self.home / f"config-{len(self.opened)}.json5"
        settings = {"agents": {"defaults": {"memorySearch": {"provider": provider, **search}}}}
        config.write_text(json5.dumps(settings), encoding="utf-8")
        environment = Environment(
            {"MEMORITER_HOME": str(self.home)}, self.home, self.notes, lambda: self.seconds, lambda: self.ticks
        )
        self.opened.append(Memory(assemble(workspace or self.notes, config=config, env=environment)))
        return self.opened[-1]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[BackendEnv]:
    env = BackendEnv(tmp_path / "notes", tmp_path / "home")
    env.home.mkdir()
    for path, text in NOTES.items():
        env.write(path, text)
    yield env
    for memory in env.opened:
        memory.close()


def paths(result: SearchResult) -> list[str]:
    return [hit.path for hit in result.results]


def codes(result: SearchResult) -> list[str]:
    return [reason.code for reason in result.health.reasons]


def found(result: SearchResult) -> list[tuple[str, float]]:
    return [(hit.citation, hit.score) for hit in result.results]


# the files decide


def test_the_first_search_builds_the_index(env: BackendEnv) -> None:
    result = env.open().search("which database for the ledger")
    assert paths(result)[0] == "MEMORY.md"
    assert (result.mode, result.outcome, result.health.ok) == ("hybrid", "match", True)


def test_a_folder_without_notes_says_that_there_are_none(env, tmp_path):
    (tmp_path / "empty").mkdir()
    result = env.open(workspace=tmp_path / "empty").search("anything")
    assert (result.results, result.outcome) == ((), "none")
    (reason,) = result.health.reasons
    assert (reason.code, "empty" in reason.message, "remember" in reason.remedy) == ("no_notes", True, True)


def test_a_question_without_words_is_refused(env: BackendEnv) -> None:
    with pytest.raises(InvalidQuery):
        env.open().search(" \n\0 ")


def test_an_added_note_is_found_by_the_next_search(env: BackendEnv) -> None:
    memory = env.open()
    memory.search("kiwi")
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    env.wait()
    assert paths(memory.search("kiwi fruit"))[0] == "memory/fruit.md"


def test_a_changed_note_is_found_by_what_it_says_now_and_not_by_what_it_said(env: BackendEnv) -> None:
    memory = env.open("none")
    assert paths(memory.search("PostgreSQL")) == ["MEMORY.md"]
    env.write("MEMORY.md", "# Decisions\n\n- We chose SQLite for the ledger because it is one file.\n")
    env.wait()
    assert paths(memory.search("SQLite")) == ["MEMORY.md"]
    assert paths(memory.search("PostgreSQL")) == []


def test_a_removed_note_is_not_found_any_more(env: BackendEnv) -> None:
    memory = env.open("none")
    assert paths(memory.search("Osaka")) == ["memory/2026-03-05.md"]
    env.remove("memory/2026-03-05.md")
    env.wait()
    assert paths(memory.search("Osaka")) == []


def test_what_was_written_since_the_last_search_is_found_at_once(env: BackendEnv) -> None:
    memory = env.open()
    memory.search("kiwi")
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    assert paths(memory.search("kiwi fruit"))[0] == "memory/fruit.md"


def test_without_sync_on_search_only_an_empty_index_is_filled(env: BackendEnv) -> None:
    memory = env.open(sync={"onSearch": False})
    assert paths(memory.search("Osaka"))[0] == "memory/2026-03-05.md"
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    env.wait(60)
    assert "memory/fruit.md" not in paths(memory.search("kiwi fruit"))
    memory.sync()
    assert "memory/fruit.md" in paths(memory.search("kiwi fruit"))


@pytest.mark.parametrize("to", ["daily", "long-term"])
def test_what_is_remembered_is_found_by_the_next_search_at_once(env: BackendEnv, to: Any) -> None:
    memory = env.open()
    memory.search("kiwi")
    written = memory.remember("Kiwi is the favourite fruit.", to=to)
    (hit, *_) = memory.search("kiwi fruit").results
    assert (env.notes / hit.path, "Kiwi is the favourite fruit." in hit.snippet) == (written.path, True)
    assert hit.start_line <= written.start_line <= written.end_line <= hit.end_line


def test_nothing_and_too_much_are_not_remembered(env: BackendEnv) -> None:
    memory = env.open()
    for text in ("", " \n", "x" * 1_000_001):
        with pytest.raises(UsageError):
            memory.remember(text)
    assert {file.name for file in (env.notes / "memory").iterdir()} == {"2026-02-10.md", "2026-03-05.md", "work"}


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system sets no time zone for a process")
@pytest.mark.parametrize(
    ("zone", "day"), [("UTC0", "2026-03-10"), ("KST-9", "2026-03-11"), ("HST10", "2026-03-10"), ("EST5", "2026-03-10")]
)
def test_a_daily_note_is_that_of_the_local_day(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch, zone: str, day: str
) -> None:
    env.seconds = datetime(2026, 3, 10, 23, 30, tzinfo=UTC).timestamp()
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert env.open().remember("Late.").path.name == f"{day}.md"
    finally:
        monkeypatch.delenv("TZ") if before is None else monkeypatch.setenv("TZ", before)
        time.tzset()


# without vectors, or with few


def test_a_provider_that_this_version_lacks_leaves_the_words_and_says_what_to_set(env: BackendEnv) -> None:
    memory = env.open("bedrock")
    result = memory.search("ledger database PostgreSQL")
    assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
    assert result.health.legs == {"keyword": True, "vector": False}
    (reason,) = result.health.reasons
    assert reason.code == "provider_unknown"
    assert "bedrock" in reason.message
    assert "bundled" in reason.remedy
    assert result.fallback == reason
    assert memory.sync().files == len(NOTES)
    assert [each.code for each in memory.status().health.reasons] == ["provider_unknown"]


def test_no_provider_is_a_choice_and_no_complaint(env: BackendEnv) -> None:
    result = env.open("none").search("ledger database PostgreSQL")
    assert (result.mode, result.health.ok, result.fallback, result.model) == ("keyword", True, None, "")


def absent(*_: Any, **__: Any) -> Any:
    raise ProviderUnavailable("the wheel is not there", remedy="Install it.")


def test_a_provider_that_cannot_start_leaves_the_words_and_says_why(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_embedding, "open_choice", absent)
    memory = env.open()
    for _ in range(2):
        result = memory.search("ledger database PostgreSQL")
        assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
        (reason,) = result.health.reasons
        assert (reason.code, reason.message, reason.remedy) == (
            "provider_unavailable",
            "the wheel is not there",
            "Install it.",
        )
        assert result.health.pending == len(NOTES)
    report = memory.sync()
    assert (report.files, report.embedded, report.pending) == (len(NOTES), 0, len(NOTES))
    assert [each.code for each in report.reasons] == ["provider_unavailable"]


def test_a_provider_that_went_away_leaves_the_words_and_its_vectors(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.open().sync()
    with monkeypatch.context() as patch:
        patch.setattr(_embedding, "open_choice", absent)
        result = env.open().search("ledger database PostgreSQL")
        assert (result.mode, codes(result), result.health.pending) == ("keyword", ["provider_unavailable"], 0)
    assert env.open().sync().embedded == 0


class Poisoned:
    """Replaces how the fake provider embeds: a text with the word poison is refused."""

    embed = FakeProvider.embed

    @classmethod
    def instead(cls, provider: FakeProvider, texts: Sequence[str], *, role: Role) -> Any:
        if any("poison" in text for text in texts):
            raise InputRejected("this text is refused")
        return cls.embed(provider, texts, role=role)


def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(self: FakeProvider, texts: Sequence[str], *, role: Role) -> Any:
        return Poisoned.instead(self, texts, role=role)

    monkeypatch.setattr(FakeProvider, "embed", embed)


def test_a_text_that_the_provider_refuses_costs_only_its_own_vector(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.write("memory/poison.md", "A poison dart frog lives in the terrarium.\n")
    memory = env.open()
    with monkeypatch.context() as patch:
        poison(patch)
        report = memory.sync()
        assert (report.embedded, report.failed, report.pending) == (len(NOTES), 1, 0)
        assert (memory.status().vectors, memory.status().failed) == (len(NOTES), 1)
        result = memory.search("dart frog in the terrarium")
        assert paths(result)[0] == "memory/poison.md"
        assert (result.mode, codes(result)) == ("hybrid", ["vectors_failed"])
        assert paths(memory.search("which database for the ledger"))[0] == "MEMORY.md"
        assert memory.sync().failed == 0
    assert memory.status().failed == 1
    assert (memory.sync(force=True).embedded, memory.status().failed) == (1, 0)
    assert memory.search("dart frog").health.ok


def test_a_question_that_the_provider_refuses_is_answered_by_words(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = env.open()
    memory.sync()
    poison(monkeypatch)
    result = memory.search("poison for the ledger PostgreSQL")
    assert (result.mode, codes(result), paths(result)[0]) == ("keyword", ["input_rejected"], "MEMORY.md")


def slow(monkeypatch: pytest.MonkeyPatch, env: BackendEnv, seconds: float) -> None:
    """Let every call of the provider for documents take so long."""
    embed = FakeProvider.embed

    def later(self: FakeProvider, texts: Sequence[str], *, role: Role) -> Any:
        env.wait(seconds if role == "document" else 0.01)
        return embed(self, texts, role=role)

    monkeypatch.setattr(FakeProvider, "embed", later)


def many(env: BackendEnv, number: int = 30) -> None:
    for n in range(number):
        env.write(f"memory/many/{n}.md", f"# Topic {n}\n\n" + " ".join(f"word{n}x{k}" for k in range(150)) + "\n")


@pytest.mark.slow
def test_the_first_search_answers_in_time_and_tells_how_many_vectors_wait(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(env)
    slow(monkeypatch, env, 9.5)
    memory = env.open()
    started = env.ticks
    result = memory.search("word7x3 word7x4")
    assert env.ticks - started < 20
    assert paths(result)[0] == "memory/many/7.md"
    assert (result.mode, result.truncated_by, codes(result)) == ("hybrid", None, ["vectors_pending"])
    assert 0 < result.health.pending < memory.status().chunks
    assert str(result.health.pending) in result.health.reasons[0].message
    assert memory.status().pending == result.health.pending
    report = memory.sync()
    assert (report.embedded, report.pending) == (result.health.pending, 0)
    assert memory.search("word7x3 word7x4").health.ok


@pytest.mark.slow
def test_later_searches_embed_a_little_more_each_time_until_nothing_waits(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(env)
    slow(monkeypatch, env, 30)
    memory = env.open()
    waiting: list[int] = []
    for _ in range(10):
        waiting.append(memory.search("word7x3").health.pending)
        env.wait()
    assert waiting == sorted(waiting, reverse=True)
    assert (waiting[0] > waiting[1], waiting[-1]) == (True, 0)


def test_every_word_can_be_found_before_any_vector_is_there(env: BackendEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    many(env)
    slow(monkeypatch, env, 100)
    memory = env.open()
    for n in (0, 15, 29):
        assert paths(memory.search(f"word{n}x140 word{n}x141"))[0] == f"memory/many/{n}.md"


def test_providers_can_be_changed_and_changed_back_without_embedding_anew(env: BackendEnv) -> None:
    with env.open() as memory:
        assert memory.sync().embedded == len(NOTES)
        before = found(memory.search("which database for the ledger"))
    with env.open("none") as memory:
        assert memory.search("which database for the ledger").mode == "keyword"
        assert memory.status().vectors == 0
        env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
        env.wait()
        assert paths(memory.search("kiwi"))[0] == "memory/fruit.md"
        env.remove("memory/fruit.md")
        memory.sync()
    with env.open() as memory:
        assert memory.sync().embedded == 0
        assert found(memory.search("which database for the ledger")) == before


# the index and other processes


def busy(memory: Memory) -> Index:
    """The index as another process has it open."""
    return Index.open(Path(memory.status().index), clock=time.time)


def test_while_another_process_indexes_a_search_answers_from_what_there_is(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_builtin, "PATIENCE", 0.0)
    memory = env.open()
    memory.sync()
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    env.wait()
    with busy(memory) as other, other.lease():
        result = memory.search("which database for the ledger")
        assert (paths(result)[0], codes(result)) == ("MEMORY.md", ["index_busy", "stale"])
        assert "memory/fruit.md" in result.health.reasons[1].message
        assert result.health.reasons[0].remedy
        assert "memory/fruit.md" not in paths(memory.search("kiwi fruit"))
        with pytest.raises(IndexBusy):
            memory.sync()
    result = memory.search("kiwi fruit")
    assert (paths(result)[0], result.health.ok) == ("memory/fruit.md", True)


@pytest.mark.slow
def test_while_another_process_builds_the_first_index_a_search_says_so(env: BackendEnv) -> None:
    memory = env.open()
    with busy(memory) as other, other.lease():
        result = memory.search("which database for the ledger")
        assert (result.results, codes(result)) == ((), ["index_busy"])
    assert paths(memory.search("which database for the ledger"))[0] == "MEMORY.md"


def write_garbage(index: Path) -> None:
    index.write_bytes(b"no database " * 10_000)


def drop_a_table(index: Path) -> None:
    connection = apsw.Connection(str(index), vfs=vfs())
    connection.execute("DROP TABLE chunks_fts")
    connection.close()


def spoil_the_background(index: Path) -> None:
    connection = apsw.Connection(str(index), vfs=vfs())
    connection.execute("UPDATE meta SET value = '{' WHERE key LIKE 'background:%'")
    connection.close()


ACTS: dict[str, Callable[[Memory], Any]] = {
    "search": lambda memory: memory.search("which database for the ledger"),
    "sync": lambda memory: memory.sync(),
    "status": lambda memory: memory.status(),
    "estimate": lambda memory: memory.estimate(),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("damage", [write_garbage, drop_a_table, spoil_the_background])
def test_an_index_that_breaks_during_a_session_is_replaced_whatever_comes_next(
    env: BackendEnv, damage: Callable[[Path], None], act: str
) -> None:
    memory = env.open()
    memory.sync()
    before = found(memory.search("which database for the ledger"))
    damage(Path(memory.status().index))
    ACTS[act](memory)
    env.wait()
    result = memory.search("which database for the ledger")
    assert found(result) == before
    memory.remember("Kiwi is the favourite fruit.")
    assert paths(memory.search("kiwi fruit"))[0] == "memory/2026-03-10.md"
    later = env.open()
    again = later.search("kiwi fruit")
    assert paths(again)[0] == "memory/2026-03-10.md"
    # What is still in SQLite's own memory answers until the file is read again: then, at the latest, it is told.
    assert "index_quarantined" in {*codes(result), *codes(again)}
    assert later.search("Osaka hotel").outcome == "match"


def test_two_workspaces_never_share_an_index(env: BackendEnv, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("The other folder speaks of walruses.\n", encoding="utf-8")
    for store in ({}, {"store": {"path": "~/one.sqlite"}}):
        one = env.open("none", **store)
        two = env.open("none", workspace=other, **store)
        assert one.status().index != two.status().index
        assert paths(one.search("walruses")) == []
        assert paths(two.search("walruses")) == ["MEMORY.md"]
        assert (one.status().files, two.status().files) == (len(NOTES), 1)


def test_a_workspace_reached_by_a_link_has_the_index_of_the_folder_itself(env: BackendEnv, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(env.notes)
    assert env.open(workspace=link).status().index == env.open().status().index


# settings


def ids(result: SearchResult) -> list[str]:
    return [hit.citation for hit in result.results]


@pytest.mark.parametrize("scoring", ["classic", "rrf", "calibrated"])
def test_every_scoring_finds_the_note_and_stays_within_its_scale(env: BackendEnv, scoring: str) -> None:
    memory = env.open(query={"scoring": scoring})
    result = memory.search("PostgreSQL ledger", explain=True)
    assert (paths(result)[0], result.mode) == ("MEMORY.md", "hybrid")
    assert all(0 <= hit.score <= 1 for hit in result.results)
    assert memory.status().scoring == scoring


def test_changing_the_scoring_cuts_the_notes_anew_and_changing_back_embeds_nothing(env: BackendEnv) -> None:
    with env.open() as memory:
        memory.sync()
        before = found(memory.search("PostgreSQL ledger"))
    with env.open(query={"scoring": "classic"}) as memory:
        assert memory.sync().changed == len(NOTES)
    with env.open() as memory:
        report = memory.sync()
        assert (report.changed, report.embedded) == (len(NOTES), 0)
        assert found(memory.search("PostgreSQL ledger")) == before


def test_without_hybrid_only_meaning_counts(env: BackendEnv) -> None:
    memory = env.open(query={"hybrid": {"enabled": False}})
    result = memory.search("PostgreSQL ledger", explain=True, min_score=0.0)
    assert (result.mode, paths(result)[0]) == ("vector", "MEMORY.md")
    explanations = [hit.explanation for hit in result.results]
    assert {(each.legs, each.keyword) for each in explanations if each} == {(("vector",), 0.0)}


def test_only_an_explained_search_explains(env: BackendEnv) -> None:
    memory = env.open()
    assert {hit.explanation for hit in memory.search("ledger", min_score=0.0).results} == {None}
    hits = memory.search("ledger", min_score=0.0, explain=True).results
    assert all(hit.explanation is not None for hit in hits)
    assert [hit.citation for hit in hits] == ids(memory.search("ledger", min_score=0.0))


EVERY = {"min_score": 0.0, "max_results": 50}


@pytest.mark.parametrize("provider", ["fake", "none"])
@pytest.mark.parametrize(
    ("narrowed", "left"),
    [
        ({"since": date(2026, 2, 11), "until": date(2026, 3, 31)}, {"memory/2026-03-05.md"}),
        ({"since": date(2026, 2, 10), "until": date(2026, 2, 10)}, {"memory/2026-02-10.md"}),
        ({"until": date(2026, 3, 5)}, {"memory/2026-02-10.md", "memory/2026-03-05.md"}),
        ({"path": "memory/work"}, {"memory/work/style.md"}),
        ({"path": "MEMORY.md"}, {"MEMORY.md"}),
        ({"path": "memory/work/*"}, {"memory/work/style.md"}),
        ({"path": "memory/2026-0[23]-*"}, {"memory/2026-02-10.md", "memory/2026-03-05.md"}),
        ({"path": "./memory/work/"}, {"memory/work/style.md"}),
        ({"sources": ["memory"]}, set(NOTES)),
        ({"sources": ["sessions"]}, set()),
        ({"path": "memory/work", "until": date(2026, 3, 5)}, set()),
    ],
)
def test_filters_hold_for_both_legs(env: BackendEnv, provider: str, narrowed: Any, left: set[str]) -> None:
    changed = datetime(2026, 5, 1, tzinfo=UTC).timestamp()
    for path in NOTES:
        os.utime(env.notes / path, (changed, changed))
    memory = env.open(provider)
    everything = "ledger router train commits"
    assert set(paths(memory.search(everything, **EVERY))) == set(NOTES)
    assert set(paths(memory.search(everything, **EVERY, **narrowed))) == left


@pytest.mark.parametrize(
    "wrong",
    [{"max_results": 0}, {"max_results": 1_001}, {"min_score": -0.1}, {"min_score": 1.1}, {"deadline_ms": 0}],
)
def test_a_number_out_of_range_is_refused_with_the_range(env: BackendEnv, wrong: Any) -> None:
    with pytest.raises(UsageError) as error:
        env.open().search("ledger", **wrong)
    assert next(iter(wrong)) in error.value.message
    assert " to " in error.value.remedy


@pytest.mark.matrix
@pytest.mark.parametrize("provider", ["fake", "none"])
@pytest.mark.parametrize("engine", ["codes"])
def test_every_engine_gives_the_hits_of_the_exact_engine(env: BackendEnv, provider: str, engine: str) -> None:
    shutil.copytree(EXAMPLES / "memory", env.notes / "memory", dirs_exist_ok=True)
    exact, other = (env.open(provider, store={"vector": {"engine": name}}) for name in ("exact", engine))
    for question in ("why PostgreSQL", "오사카 여행", "the router", "LEDGER_IDEMPOTENCY_TTL"):
        left = exact.search(question, **EVERY)
        right = other.search(question, **EVERY)
        assert ids(left) == ids(right)
        assert [hit.score for hit in left.results] == pytest.approx([hit.score for hit in right.results], abs=1e-6)
    assert (exact.status().vector_engine, other.status().vector_engine) == ("exact", engine)


@pytest.mark.slow
def test_a_status_tells_how_many_vectors_the_codes_engine_compares(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES / "memory", env.notes / "memory", dirs_exist_ok=True)
    exact = env.open().status()
    assert (exact.oversampling, exact.recall) == (None, None)
    monkeypatch.setattr("memoriter.index.vectors._codes_engine.COMPARE_ALL", 0)
    memory = env.open(store={"vector": {"engine": "codes"}})
    memory.sync()
    state = memory.status()
    assert state.oversampling in {2, 4, 8, 16, 32}
    assert status_json(state)["oversampling"] == state.oversampling
    assert state.recall is not None
    assert 0.9 < state.recall <= 1
    assert status_json(state)["recall"] == state.recall
    compared = f"{state.oversampling} compared for each found, recall {state.recall:.3f}"
    line = f"{state.vectors} ready, 0 pending (codes engine, {compared})"
    assert ("vectors", line) in [*status_rows(state)]


# looking


def test_an_estimate_is_what_indexing_then_does(env: BackendEnv) -> None:
    memory = env.open()

    def holds(items: int = 0) -> None:
        foreseen = memory.estimate()
        report = memory.sync()
        assert (foreseen.files, foreseen.added, foreseen.changed, foreseen.removed) == (
            report.files,
            report.added,
            report.changed,
            report.removed,
        )
        assert foreseen.chunks + items == report.embedded + report.cached
        assert (foreseen.tokens > 0) == (foreseen.chunks > 0)

    holds()
    holds()
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    env.write(
        "MEMORY.md",
        "# Decisions\n\n- We chose SQLite.\n\n# Colours\n\n" + "\n".join(f"- Blue {n} is calm." for n in range(300)),
    )
    env.remove("memory/work/style.md")
    os.utime(env.notes / "memory/2026-02-10.md", (1, 1))
    holds(items=300)


def test_an_estimate_writes_nothing(env: BackendEnv) -> None:
    memory = env.open()
    assert memory.estimate() == memory.estimate()
    assert (memory.status().files, memory.status().chunks) == (0, 0)


def test_an_estimate_knows_what_new_settings_cost(env: BackendEnv) -> None:
    with env.open("none") as memory:
        memory.sync()
        env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
        foreseen = memory.estimate()
        assert (foreseen.added, foreseen.chunks, foreseen.tokens) == (1, 1, 0)
        memory.sync()
    with env.open() as memory:
        foreseen = memory.estimate()
        assert (foreseen.added, foreseen.changed, foreseen.chunks) == (0, 0, 0)
        assert foreseen.tokens > 0
        memory.sync()
        assert memory.estimate().tokens == 0
    with env.open(chunking={"tokens": 8, "overlap": 0}) as memory:
        foreseen = memory.estimate()
        report = memory.sync()
        assert (foreseen.added, foreseen.changed, foreseen.chunks) == (0, report.changed, report.chunks)
        assert report.changed == len(NOTES) + 1


def test_an_estimate_passes_over_a_note_that_is_gone_before_it_is_read(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = env.open()
    workspace = memory._workspace
    scan = workspace.scan()
    monkeypatch.setattr(workspace, "scan", lambda: scan)
    env.remove("MEMORY.md")
    assert memory.estimate().added == len(NOTES) - 1
    report = memory.sync()
    assert (report.added, [reason.code for reason in report.reasons]) == (len(NOTES) - 1, ["unreadable"])


def test_a_search_looks_at_the_files_once_whether_or_not_they_changed(
    env: BackendEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = env.open(sync={"watchDebounceMs": 0})
    memory.sync()
    workspace = memory._workspace
    scans = []
    scan = workspace.scan
    monkeypatch.setattr(type(workspace), "scan", lambda _: scans.append(1) or scan())
    for text in ("", "The heron stands by the lock."):
        if text:
            env.write("memory/2026-03-11.md", f"{text}\n")
        scans.clear()
        result = memory.search("heron lock")
        assert ("memory/2026-03-11.md" in paths(result), len(scans)) == (bool(text), 1)


@pytest.mark.slow
def test_a_deep_look_finds_every_known_passage_of_the_examples(env: BackendEnv, tmp_path: Path) -> None:
    workspace = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    for provider in ("fake", "none"):
        memory = env.open(provider, workspace=workspace)
        memory.sync()
        status = memory.status(deep=True)
        assert len(status.canaries) == 8
        assert [canary for canary in status.canaries if not canary.found] == []
        assert status.health.ok


def test_a_status_counts_what_there_is_and_lists_what_is_left_out(env: BackendEnv) -> None:
    env.write(".memoryignore", "memory/private/\n")
    env.write("memory/private/diary.md", "Secret.\n")
    memory = env.open()
    memory.sync()
    status = memory.status()
    assert (status.files, status.chunks, status.vectors, status.pending) == (len(NOTES), 4, 4, 0)
    assert status.index_bytes > 0
    assert [(skipped.path, skipped.reason) for skipped in status.skipped] == [("memory/private", "ignored")]
    assert paths(memory.search("secret diary", **EVERY)).count("memory/private/diary.md") == 0


# a search does not wait for long


def slow_reading(monkeypatch: pytest.MonkeyPatch, env: BackendEnv, seconds: float) -> list[str]:
    """Let each note take so long to be read; returns what was read."""
    read: list[str] = []
    load = Workspace.load

    def slow(self: Workspace, source: Any, *gone: Any) -> Any:
        env.wait(seconds)
        read.append(source.path)
        return load(self, source, *gone)

    monkeypatch.setattr(Workspace, "load", slow)
    return read


def written_at(env: BackendEnv, path: str, text: str, when: int) -> None:
    env.write(path, text)
    os.utime(env.notes / path, (when, when))


def test_a_search_reads_the_newest_changes_while_there_is_time_and_later_ones_go_on(env, monkeypatch):
    memory = env.open()
    memory.search("kiwi")
    for number in range(7):
        written_at(env, f"memory/new/{number}.md", f"Fruit number {number} is a kiwi.\n", 1_600_000_000 + number)
    env.wait()
    read = slow_reading(monkeypatch, env, 0.7)
    first = memory.search("kiwi")
    assert read == [f"memory/new/{number}.md" for number in (6, 5, 4)]
    (reason,) = [reason for reason in first.health.reasons if reason.code == "files_pending"]
    assert (reason.message[:23], reason.remedy) == ("4 changed files are not", "Run `memoriter index`.")
    assert "memory/new/6.md" in paths(first)
    second = memory.search("kiwi")
    assert "1 changed file is" in next(r.message for r in second.health.reasons if r.code == "files_pending")
    third = memory.search("kiwi")
    assert "files_pending" not in codes(third)
    assert len(read) == 7


def test_what_was_remembered_is_read_first_however_much_else_has_changed(env, monkeypatch):
    memory = env.open()
    memory.search("kiwi")
    for number in range(9):
        written_at(env, f"memory/new/{number}.md", f"Fruit {number} is a kiwi.\n", 4_000_000_000 + number)
    memory.remember("The quokka sleeps.")
    read = slow_reading(monkeypatch, env, 1.5)
    found_ = memory.search("quokka")
    assert read[0] == "memory/2026-03-10.md"
    assert paths(found_)[0] == "memory/2026-03-10.md"
    assert "files_pending" in codes(found_)


def test_the_remedy_for_unread_files_reads_them_all(env, monkeypatch):
    memory = env.open()
    memory.search("kiwi")
    for number in range(9):
        env.write(f"memory/new/{number}.md", f"Fruit {number} is a kiwi.\n")
    env.wait()
    slow_reading(monkeypatch, env, 1.5)
    assert "files_pending" in codes(memory.search("kiwi"))
    assert memory.sync().unread == 0
    assert "files_pending" not in codes(memory.search("kiwi"))


def test_the_first_search_reads_every_note_however_long_that_takes(env, monkeypatch):
    slow_reading(monkeypatch, env, 60.0)
    result = env.open().search("Osaka")
    assert paths(result)[0] == "memory/2026-03-05.md"
    assert "files_pending" not in codes(result)


def test_a_large_index_made_with_other_settings_serves_as_it_is_until_it_is_made_anew(env, monkeypatch):
    monkeypatch.setattr(_apply, "QUICK_CHUNKS", 2)
    env.open().search("kiwi")
    memory = env.open(chunking={"tokens": 100})
    result = memory.search("Osaka")
    assert paths(result)[0] == "memory/2026-03-05.md"
    assert "index_outdated" in codes(result)
    memory.sync()
    assert "index_outdated" not in codes(memory.search("Osaka"))


def test_a_note_that_is_indexed_anew_while_it_is_searched_for_is_still_found(env, monkeypatch):
    memory = env.open("none")
    other = env.open("none")
    memory.search("Osaka")
    search = IndexReader.keyword_search
    times = []

    def overtaken(self, *words, **more):
        found_ = search(self, *words, **more)
        if not times:
            times.append(1)
            env.write("memory/2026-03-05.md", "# Trip\n\nThe train to Osaka leaves at one.\n")
            other.sync()
        return found_

    monkeypatch.setattr(IndexReader, "keyword_search", overtaken)
    assert "leaves at one" in memory.search("Osaka").results[0].snippet
    assert times
