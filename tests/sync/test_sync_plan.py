"""What a run of indexing does and, more so, what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.embed._fake import FakeProvider
from memoriter.environment import Deadline
from memoriter.errors import EmbeddingError, IndexBusy, PathRefused
from memoriter.index import Index
from memoriter.records import IndexedFile
from memoriter.sync import ChunkingSettings, Plan, Progress, Sync, SyncSettings, Task, background_of, make_plan
from memoriter.sync._apply import background_key
from memoriter.types import Source
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.types import Role, SyncReport
    from memoriter.workspace import Loaded

NOW = 1_770_000_000.0

# the plan, which is pure

stats = st.tuples(st.integers(0, 3), st.integers(0, 3))
listings = st.dictionaries(st.sampled_from([f"memory/{name}.md" for name in "abcdefgh"]), stats)


def sources(listing: dict[str, tuple[int, int]]) -> list[Source]:
    return [Source(path, "memory", Path("/notes") / path, size, time) for path, (size, time) in listing.items()]


def known(listing: dict[str, tuple[int, int]]) -> dict[str, IndexedFile]:
    return {
        source.path: IndexedFile(source.path, "memory", "", source.size, source.mtime_ns, chunks=1)
        for source in sources(listing)
    }


@given(listings, listings)
def test_every_path_gets_what_it_needs_and_nothing_else(disk, index):
    plan = make_plan(sources(disk), known(index))
    assert {source.path for source in plan.added} == disk.keys() - index.keys()
    assert {source.path for source in plan.suspect} == {
        path for path in disk.keys() & index.keys() if disk[path] != index[path]
    }
    assert plan.removed == tuple(sorted(index.keys() - disk.keys()))


@pytest.mark.slow
@given(listings, listings)
def test_after_a_plan_is_carried_out_there_is_nothing_left_to_do(disk, index):
    plan = make_plan(sources(disk), known(index))
    after = {path: stat for path, stat in index.items() if path not in plan.removed}
    after |= {source.path: (source.size, source.mtime_ns) for source in (*plan.added, *plan.suspect)}
    assert make_plan(sources(disk), known(after)) == Plan()
    assert make_plan(sources(disk), known(after)).empty


@given(listings)
def test_a_plan_keeps_the_order_of_the_look_at_the_disk(disk):
    assert [source.path for source in make_plan(sources(disk), {}).added] == list(disk)


@pytest.mark.slow
@given(listings, listings)
def test_a_plan_is_empty_only_if_disk_and_index_say_the_same(disk, index):
    assert make_plan(sources(disk), known(index)).empty == (disk == index)


# carried out


class Watched(Workspace):
    """A workspace that notes what is read."""

    read_paths: list[str]
    refused: str | None = None

    def load(self, source: Source, gone: Mapping[str, str] | None = None) -> Loaded:
        self.read_paths.append(source.path)
        if source.path == self.refused:
            raise PathRefused(f"{source.path!r} cannot be read", remedy="Look at its permissions.")
        return super().load(source, gone)


class Counted(FakeProvider):
    """A provider that notes what it is asked for, and may give up."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.gives_up_after: int | None = None

    def embed(self, texts: Sequence[str], *, role: Role) -> Any:
        if self.gives_up_after is not None and len(self.texts) >= self.gives_up_after:
            raise EmbeddingError("the provider is gone")
        self.texts += texts
        return super().embed(texts, role=role)


@dataclass
class SyncEnv:
    """Notes, an index, a provider, and runs of indexing."""

    workspace: Watched
    index: Index
    provider: Counted = field(default_factory=Counted)
    ticks: float = 0.0
    opened: int = 0
    edits: Iterator[int] = field(default_factory=lambda: count(1))

    def write(self, path: str, text: str) -> None:
        """Write a note; its time is always a later one."""
        file = self.workspace.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.touch(path)

    def touch(self, path: str) -> None:
        time = int(NOW) + next(self.edits)
        os.utime(self.workspace.root / path, (time, time))

    def run(
        self,
        cutting: ChunkingSettings = ChunkingSettings(),  # noqa: B008 (frozen)
        *,
        words_only: bool = False,
        progress: Callable[[Progress], None] | None = None,
        **task: Any,
    ) -> SyncReport:
        self.workspace.read_paths = []
        self.provider.texts = []
        sync = Sync(self.workspace, self.index, SyncSettings(cutting), lambda: self.ticks, progress or (lambda _: None))
        return sync.run(None if words_only else self.open, Task(**task))

    def open(self) -> Counted:
        self.opened += 1
        return self.provider

    @property
    def read(self) -> list[str]:
        return self.workspace.read_paths

    def texts(self) -> dict[str, list[str]]:
        return {
            path: [row.chunk.text for row in self.index.rows(self.index.ids_at(path)).values()]
            for path in self.index.files()
        }


def new_env(base: Path) -> SyncEnv:
    (base / "notes").mkdir(parents=True)
    index = Index.open(base / "home" / "main.sqlite", clock=lambda: NOW, network=False)
    index.use_vectors(FakeProvider.spec)
    return SyncEnv(Watched(base / "notes"), index)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[SyncEnv]:
    env = new_env(tmp_path)
    for name in ("one", "two", "three"):
        env.write(f"memory/{name}.md", long_note(name))
    yield env
    env.index.close()


def long_note(name: str) -> str:
    sections = [f"## Part {n} of {name}\n\n" + " ".join(f"{name}{n}x{k}" for k in range(60)) for n in range(4)]
    return f"# {name}\n\n" + "\n\n".join(sections) + "\n"


def test_a_first_run_reads_and_embeds_everything_once(env: SyncEnv) -> None:
    report = env.run()
    assert sorted(env.read) == ["memory/one.md", "memory/three.md", "memory/two.md"]
    assert (report.files, report.added, report.changed, report.removed) == (3, 3, 0, 0)
    assert report.chunks == report.embedded == len(env.provider.texts) == len(set(env.provider.texts)) == 12
    assert (report.cached, report.failed, report.pending) == (0, 0, 0)


def test_notes_with_the_same_size_and_time_are_not_read(env: SyncEnv) -> None:
    env.run()
    report = env.run()
    assert (env.read, env.provider.texts, env.opened) == ([], [], 1)
    assert (report.files, report.added, report.changed, report.removed, report.embedded) == (3, 0, 0, 0, 0)


def test_a_note_with_a_new_time_and_the_same_words_is_read_once_and_stays_as_it_is(env: SyncEnv) -> None:
    env.run()
    before = env.index.ids_at("memory/one.md")
    env.touch("memory/one.md")
    report = env.run()
    assert env.read == ["memory/one.md"]
    assert (report.added, report.changed, report.removed, report.embedded, report.cached) == (0, 0, 0, 0, 0)
    assert env.index.ids_at("memory/one.md") == before
    env.run()
    assert env.read == []


def test_only_a_changed_note_is_read_and_only_its_changed_passage_is_embedded(env: SyncEnv) -> None:
    env.run()
    before = env.index.ids_at("memory/two.md")
    env.write("memory/one.md", long_note("one").replace("one2x7 ", "lighthouse "))
    report = env.run()
    assert env.read == ["memory/one.md"]
    assert (report.changed, report.embedded, report.cached) == (1, 1, 3)
    assert ["lighthouse" in text for text in env.provider.texts] == [True]
    assert env.index.ids_at("memory/two.md") == before


def test_a_note_that_moves_or_is_copied_is_embedded_no_more(env: SyncEnv) -> None:
    env.run()
    (env.workspace.root / "memory/one.md").rename(env.workspace.root / "memory/moved.md")
    report = env.run()
    assert (report.added, report.removed, report.embedded, report.cached) == (1, 1, 0, 4)
    env.write("memory/copy.md", long_note("two"))
    report = env.run()
    assert (report.added, report.embedded, report.cached, report.pending) == (1, 0, 4, 0)


def test_a_note_that_comes_back_is_embedded_no_more(env: SyncEnv) -> None:
    env.run()
    (env.workspace.root / "memory/one.md").unlink()
    assert env.run().removed == 1
    env.write("memory/one.md", long_note("one"))
    report = env.run()
    assert (report.added, report.embedded, report.cached) == (1, 0, 4)


def test_new_chunking_reads_everything_and_embeds_only_passages_that_are_new(env: SyncEnv) -> None:
    env.run()
    report = env.run(ChunkingSettings(tokens=399))
    assert len(env.read) == 3
    assert (report.added, report.changed, report.embedded, report.cached) == (0, 3, 0, 12)
    env.write("memory/huge.md", " ".join(f"huge{n}" for n in range(300)))
    whole = env.run(ChunkingSettings(tokens=399))
    report = env.run(ChunkingSettings(tokens=200))
    assert (report.changed, report.embedded) == (4, report.chunks - 12)
    assert report.chunks > whole.chunks
    report = env.run(ChunkingSettings(tokens=399))
    assert (report.chunks, report.embedded, report.cached) == (whole.chunks, 0, whole.chunks)


def test_the_same_chunking_again_is_no_reason_to_read(env: SyncEnv) -> None:
    env.run(ChunkingSettings(tokens=200))
    env.run(ChunkingSettings(tokens=200))
    assert env.read == []


def test_a_new_cut_tells_added_from_changed_and_removed(env: SyncEnv) -> None:
    env.run()
    env.write("memory/four.md", long_note("four"))
    (env.workspace.root / "memory/one.md").unlink()
    report = env.run(ChunkingSettings(tokens=399))
    assert (report.files, report.added, report.changed, report.removed) == (3, 1, 2, 1)


def test_by_force_everything_is_read_and_nothing_embedded(env: SyncEnv) -> None:
    env.run()
    before = env.texts()
    report = env.run(force=True)
    assert len(env.read) == 3
    assert (report.changed, report.embedded, report.cached) == (3, 0, 12)
    assert env.texts() == before


def test_a_change_is_seen_that_left_size_and_time_alone(env: SyncEnv) -> None:
    env.run()
    file = env.workspace.root / "memory/one.md"
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_text(long_note("one").replace("one0x0", "ONE0X0"), encoding="utf-8")
    os.utime(file, ns=times)
    env.run()
    assert "ONE0X0" in env.texts()["memory/one.md"][0]


def test_without_time_the_words_are_indexed_and_the_vectors_wait(env: SyncEnv) -> None:
    report = env.run(embed_by=Deadline(lambda: 1.0, at=0.0))
    assert (report.files, report.chunks, report.embedded, report.pending) == (3, 12, 0, 12)
    assert env.run().embedded == 12


@pytest.mark.parametrize("seconds", [0.07, 0.9])
def test_no_request_is_begun_that_would_end_after_the_deadline(env: SyncEnv, seconds: float) -> None:
    env.write("memory/many.md", "\n\n".join(long_note(f"more{n}") for n in range(12)))
    embed = env.provider.embed

    def slow(texts: Sequence[str], *, role: Role) -> Any:
        env.ticks += seconds * len(texts)
        return embed(texts, role=role)

    env.provider.embed = slow
    deadline = 20 * seconds + 1.7
    report = env.run(embed_by=Deadline(lambda: env.ticks, at=deadline))
    assert report.pending
    assert env.ticks <= deadline
    assert env.ticks > deadline / 2


def test_without_a_provider_the_words_are_indexed_and_the_vectors_come_with_one(env: SyncEnv) -> None:
    assert env.run(words_only=True).chunks == 12
    report = env.run()
    assert (env.read, report.embedded) == ([], 12)


def test_what_was_embedded_before_a_provider_failed_is_kept(env: SyncEnv) -> None:
    for n in range(10):
        env.write(f"memory/more-{n}.md", long_note(f"more{n}"))
    env.provider.gives_up_after = 20
    with pytest.raises(EmbeddingError):
        env.run()
    kept = len(env.provider.texts)
    assert env.index.vectors() == kept >= 20
    env.provider.gives_up_after = None
    report = env.run()
    assert (report.embedded, report.pending) == (52 - kept, 0)


def test_a_note_that_cannot_be_read_is_told_and_stops_nothing(env: SyncEnv) -> None:
    env.run()
    env.workspace.refused = "memory/one.md"
    env.touch("memory/one.md")
    env.write("memory/two.md", long_note("new"))
    report = env.run()
    assert [(reason.code, reason.remedy) for reason in report.reasons] == [("unreadable", "Look at its permissions.")]
    assert (report.changed, sorted(env.index.files())) == (1, ["memory/three.md", "memory/two.md"])


def test_two_runs_at_once_are_refused(env: SyncEnv) -> None:
    with Index.open(env.index.path, clock=lambda: NOW, network=False) as other, other.lease():
        with pytest.raises(IndexBusy) as error:
            env.run()
        assert error.value.remedy
        assert env.read == []


def test_progress_goes_forward_to_the_end_of_each_stage(env: SyncEnv) -> None:
    seen: list[Progress] = []
    env.run(progress=seen.append)
    for stage, total in (("read", 3), ("embed", 12)):
        steps = [(step.done, step.total) for step in seen if step.stage == stage]
        assert steps == sorted(steps)
        assert steps[-1] == (total, total)


def background_figures(env: SyncEnv) -> str:
    """The baseline, without the name of the content that it was measured on."""
    return replace(background_of(env.index, FakeProvider.spec), content="").dumps()


def test_the_same_notes_have_the_same_background_in_whatever_order_they_came(tmp_path: Path) -> None:
    figures = []
    for place, names in (("left", "abcdefgh"), ("right", "hgfedcba")):
        env = new_env(tmp_path / place)
        for name in names:
            env.write(f"memory/{name}.md", long_note(name))
            if place == "right":
                env.run()
        env.run()
        figures.append(background_figures(env))
        env.index.close()
    assert figures[0] == figures[1]


@pytest.mark.slow
def test_a_background_that_a_run_could_not_measure_is_measured_by_the_next_one(env: SyncEnv, tmp_path: Path) -> None:
    env.run()
    before = background_figures(env)
    env.write("memory/two.md", long_note("other"))
    with Index.open(env.index.path, clock=lambda: NOW, network=False) as other, ExitStack() as held:

        def hold(step: Progress) -> None:
            """Index from elsewhere once all vectors are stored, longer than a run waits for."""
            if step.stage == "embed" and step.done == step.total:
                held.enter_context(other.lease())

        assert env.run(progress=hold).pending == 0
        assert background_figures(env) == before
    report = env.run()
    assert (report.changed, report.embedded) == (0, 0)
    again = new_env(tmp_path / "again")
    shutil.copytree(env.workspace.root, again.workspace.root, dirs_exist_ok=True)
    again.run()
    after = background_figures(env)
    assert after == background_figures(again) != before
    again.index.close()


def test_a_background_of_another_way_to_sample_serves_until_it_is_measured_again(env: SyncEnv) -> None:
    env.run()
    key = background_key(FakeProvider.spec)
    measured = env.index.get_meta(key)
    assert measured is not None
    older = json.loads(measured)
    del older["sampling"]
    older["cosine"] = 0.123
    env.index.set_meta(key, json.dumps(older))
    assert background_of(env.index, FakeProvider.spec).figures[0] == 0.123
    assert env.run().changed == 0
    assert env.index.get_meta(key) == measured


paths = st.sampled_from(["MEMORY.md", "memory/a.md", "memory/b.md", "memory/deep/c.md"])
notes = st.lists(st.sampled_from(["# A", "## B", "alpha", "beta gamma", "", "오사카", "- x\n- y"]), max_size=6)
edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), paths, notes),
        st.tuples(st.just("remove"), paths, st.just([])),
        st.tuples(st.just("touch"), paths, st.just([])),
        st.tuples(st.just("run"), paths, st.just([])),
    ),
    max_size=12,
)


@settings(max_examples=20)
@given(edits=edits)
def test_after_any_edits_the_index_is_that_of_someone_who_indexes_for_the_first_time(tmp_path_factory, edits):
    base = tmp_path_factory.mktemp("edits")
    env = new_env(base)
    for act, path, lines in edits:
        there = (env.workspace.root / path).exists()
        if act == "write":
            env.write(path, "\n\n".join(lines))
        elif act == "remove" and there:
            (env.workspace.root / path).unlink()
        elif act == "touch" and there:
            env.touch(path)
        elif act == "run":
            env.run()
    last = env.run()
    fresh = SyncEnv(env.workspace, new_env(base / "fresh").index)
    first = fresh.run()
    assert env.texts() == fresh.texts()
    assert (last.files, last.chunks, last.pending) == (first.files, first.chunks, first.pending)
    assert env.index.vectors() == fresh.index.vectors()
    assert {path: file.hash for path, file in env.index.files().items()} == {
        path: file.hash for path, file in fresh.index.files().items()
    }
    for index in (env.index, fresh.index):
        index.close()


def test_files_that_were_just_looked_at_are_not_looked_at_again_unless_somebody_else_has_written(
    env: SyncEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.run()
    sync = Sync(env.workspace, env.index, SyncSettings(), lambda: 0.0)
    scan = env.workspace.scan
    scans = count()
    monkeypatch.setattr(type(env.workspace), "scan", lambda _: (next(scans), scan())[1])
    assert not sync.scan().needed
    env.write("memory/one.md", long_note("changed"))
    changes = sync.scan()
    assert changes.needed
    assert (env.run(changes=changes).changed, next(scans)) == (1, 2)
    env.write("memory/two.md", long_note("changed too"))
    changes = sync.scan()
    with Index.open(env.index.path, clock=lambda: NOW, network=False) as other:
        other.remove_files(["memory/three.md"])
    report = env.run(changes=changes)
    assert (report.added, report.changed) == (1, 1)
