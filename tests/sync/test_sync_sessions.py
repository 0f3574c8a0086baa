"""When transcripts are read, and that reading on is the same as reading anew."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import date
from itertools import count, pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.embed._fake import FakeProvider
from memoriter.index import Index
from memoriter.sync import ChunkingSettings, SessionRules, Sync, SyncSettings, Task, _sessions, due
from memoriter.sync._sessions import QUIET_SECONDS, Tail
from memoriter.types import Filters
from memoriter.workspace import TranscriptFolder, Transcripts, Workspace
from transcript_lines import NOON, claude_code, openclaw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memoriter.types import Role, SyncReport

NOW = 1_770_000_000.0
SOAK = float(os.environ.get("MEMORITER_SOAK", "1"))
"""How many times longer the long tests take."""

# when

sizes = st.integers(-10, 10**9)
ages = st.floats(-1e9, 1e9) | st.just(inf)
rules = st.builds(SessionRules, st.integers(0, 10**6), st.integers(0, 1000))


@given(sizes, ages, rules, st.integers(0, 10**6))
def test_nothing_is_left_unread_for_good(grown, age, session_rules, lines):
    later = max(age, QUIET_SECONDS)
    assert due(grown, later, session_rules, lambda: lines)
    if due(grown, age, session_rules, lambda: lines):
        assert due(grown + 1, age, session_rules, lambda: lines + 1) or grown <= 0


@given(st.integers(1, 10**6), st.floats(0, QUIET_SECONDS, exclude_max=True), rules, st.integers(0, 2000))
def test_while_it_is_written_enough_must_be_new(grown, age, session_rules, lines):
    enough = grown >= session_rules.delta_bytes or lines >= session_rules.delta_messages
    assert due(grown, age, session_rules, lambda: lines) is enough


@given(st.integers(1, 10**9), ages)
def test_nought_means_that_anything_new_is_enough(grown, age):
    for session_rules in (SessionRules(0, 50), SessionRules(100_000, 0)):
        assert due(grown, age, session_rules, lambda: 0)


def test_a_shorter_file_and_a_clock_that_is_wrong_make_it_due():
    assert due(-1, 0.0, SessionRules(), lambda: 0)
    assert due(1, -1.0, SessionRules(), lambda: 0)
    assert not due(1, 0.0, SessionRules(), lambda: 0)


@given(
    st.builds(
        Tail, read=st.integers(0), line=st.integers(0), time=st.none() | st.floats(allow_nan=False), known=st.booleans()
    )
)
def test_what_is_remembered_is_read_as_it_was_written(tail):
    assert Tail.loads(tail.dumps()) == tail


@given(st.text() | st.just("[]") | st.just('{"other": 1}') | st.just('{"too_long": 3}'))
def test_what_cannot_be_read_is_nothing(text):
    assert Tail.loads(text) in {None, Tail()}


# carried out


class Counted(FakeProvider):
    """A provider that notes what it is asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, role: Role) -> Any:
        self.texts += texts
        return super().embed(texts, role=role)


@dataclass
class SyncEnv:
    """Transcripts and an index, with a clock that the tests move."""

    folder: Path
    index: Index
    cutting: ChunkingSettings = field(default_factory=ChunkingSettings)
    provider: Counted = field(default_factory=Counted)
    edits: Iterator[int] = field(default_factory=lambda: count(1))
    seconds: float = NOW
    opened: int = 0

    def __post_init__(self) -> None:
        env = self

        class Watched(Transcripts):
            def opened(self, source):
                env.opened += 1
                return super().opened(source)

        self.workspace = Workspace(self.folder, transcripts=Watched([TranscriptFolder(self.folder / "s")]))

    def write(self, text: str | bytes, name: str = "a.jsonl", *, mode: str = "wb") -> None:
        file = self.folder / "s" / name
        file.parent.mkdir(exist_ok=True)
        with file.open(mode) as out:
            out.write(text.encode() if isinstance(text, str) else text)
        self.touch(name)

    def append(self, text: str | bytes, name: str = "a.jsonl") -> None:
        self.write(text, name, mode="ab")

    def touch(self, name: str = "a.jsonl") -> None:
        time = self.seconds + next(self.edits) / 1000
        os.utime(self.folder / "s" / name, (time, time))

    @property
    def sync(self) -> Sync:
        return Sync(
            self.workspace, self.index, SyncSettings(self.cutting), lambda: 0.0, wall=lambda: self.seconds + 1.0
        )

    def run(self, **task: Any) -> SyncReport:
        self.provider.texts = []
        self.opened = 0
        return self.sync.run(lambda: self.provider, Task(**task))

    def chunks(self, name: str = "a.jsonl") -> list[tuple[int, int, str, int]]:
        rows = self.index.rows(self.index.ids_at(f"sessions/{name}")).values()
        return [(row.chunk.start_line, row.chunk.end_line, row.chunk.text, row.day) for row in rows]


@pytest.fixture
def env(tmp_path) -> Iterator[SyncEnv]:
    with Index.open(tmp_path / "index" / "main.sqlite", clock=lambda: NOW) as index:
        (tmp_path / "ws").mkdir()
        index.use_vectors(FakeProvider().spec)
        yield SyncEnv(tmp_path / "ws", index)


def conversation(first: int, last: int) -> str:
    """Two lines for each number: a question, and an answer too long to be joined with another."""
    return "".join(
        openclaw("user", f"Question {number}: what of topic{number}?")
        + openclaw("assistant", f"Answer {number}. " + " ".join(f"word{number}x{place}" for place in range(60)))
        for number in range(first, last)
    )


def test_only_what_was_added_is_cut_and_embedded(env):
    env.write(conversation(0, 40))
    first = env.run()
    before = env.chunks()
    assert (first.added, first.embedded) == (1, len(before))
    env.append(conversation(40, 41))
    rows = set(env.index.ids_at("sessions/a.jsonl"))
    report = env.run()
    after = env.chunks()
    assert (report.added, report.changed) == (0, 1)
    assert after[: len(before)] == before
    assert len(env.provider.texts) == len(after) - len(before) == report.embedded
    kept = rows & set(env.index.ids_at("sessions/a.jsonl"))
    assert len(kept) > len(before) / 2
    assert env.run().changed == 0
    assert env.opened == 0


LINES = st.lists(
    st.builds(
        lambda role, words, day: openclaw(role, " ".join(words), f"2026-02-{day:02}T00:00:00Z" if day else None),
        st.sampled_from(["user", "assistant", "toolResult"]),
        st.lists(
            st.sampled_from(["alpha", "beta:", "# gamma", "```", "delta. " * 40, "- item", "|", "데이터"]), max_size=30
        ),
        st.integers(0, 28),
    )
    | st.sampled_from(["not json\n", "\n", '{"type":"custom"}\n', "null\n"]),
    min_size=1,
    max_size=60,
)


@pytest.mark.slow
@settings(max_examples=int(15 * SOAK))
@given(LINES, st.lists(st.integers(0, 100_000), max_size=4), st.sampled_from(["markdown", "lines"]), st.booleans())
def test_reading_on_gives_what_reading_at_once_gives(tmp_path_factory, lines, cuts, strategy, ended):
    text = "".join(lines).encode()
    text = text if ended else text.rstrip(b"\n")
    places = sorted({0, *(cut % (len(text) + 1) for cut in cuts), len(text)})
    base = tmp_path_factory.mktemp("on")
    cutting = ChunkingSettings(strategy, words="classic" if strategy == "lines" else "analysed")
    found = []
    for name, pieces in (("once", [(0, len(text))]), ("on", list(pairwise(places)))):
        (base / name).mkdir()
        with Index.open(base / name / "main.sqlite", clock=lambda: NOW) as index:
            env = SyncEnv(base / name, index, cutting)
            env.write(b"")
            env.sync.run(None)
            for start, end in pieces:
                env.append(text[start:end])
                env.sync.run(None)
            found.append(env.chunks())
            assert index.corpus().chunks == len(found[-1]) == index.files()["sessions/a.jsonl"].chunks
    assert found[0] == found[1]


def test_a_line_that_is_still_being_written_waits_for_its_end(env):
    whole = openclaw("user", "The whole sentence.")
    env.write(openclaw("user", "First.") + whole[:-20])
    env.run()
    assert [text for _, _, text, _ in env.chunks()] == ["User: First."]
    env.append(whole[-20:])
    env.run()
    assert [text for _, _, text, _ in env.chunks()] == ["User: First.\nUser: The whole sentence."]


@pytest.mark.matrix
@pytest.mark.parametrize("change", ["shorter", "other beginning", "other end", "same size"])
def test_a_transcript_that_is_another_one_is_read_anew(env, change):
    env.write(conversation(0, 10))
    env.run()
    other = {
        "shorter": conversation(3, 5),
        "other beginning": openclaw("user", "New.") + conversation(0, 12),
        "other end": conversation(0, 9) + conversation(20, 30),
        "same size": conversation(0, 10).replace("topic5", "tipoc5"),
    }[change]
    env.write(other)
    env.run()
    after = env.chunks()
    env.run(force=True)
    assert after == env.chunks()
    assert len(after) == len({place[:2] for place in after})


def test_little_that_is_new_waits_until_there_is_more_or_nobody_writes(env):
    env.write(openclaw("user", "First."))
    env.run()
    env.append(openclaw("user", "Second."))
    assert not env.sync.scan().needed
    assert env.run(everything=False).changed == 0
    env.append("".join(openclaw("user", f"Line {number}.") for number in range(50)))
    assert env.sync.scan().needed
    assert env.run(everything=False).changed == 1
    env.append(openclaw("user", "Last."))
    assert not env.sync.scan().needed
    env.seconds += QUIET_SECONDS
    assert env.sync.scan().needed
    assert env.run(everything=False).changed == 1
    env.append(openclaw("user", "At once."))
    assert env.run().changed == 1


@pytest.mark.slow
def test_what_is_not_changed_costs_a_stat(env):
    for number in range(1_000):
        env.write(openclaw("user", f"Session {number}."), f"{number}.jsonl")
    env.run()
    assert not env.sync.scan().needed
    env.run()
    assert env.opened == 0


@pytest.mark.slow
def test_a_long_transcript_is_stored_part_by_part_and_goes_on_after_a_stop(env, monkeypatch):
    env.write(conversation(0, 400))
    put = Index.put_file
    stored = []

    def stopping(self, source, hash, entries, **options):  # noqa: A002
        put(self, source, hash, entries, **options)
        stored.append(len(entries))
        if len(stored) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_sessions, "READ_AT_ONCE", 64)
    with monkeypatch.context() as patched:
        patched.setattr(Index, "put_file", stopping)
        with pytest.raises(KeyboardInterrupt):
            env.sync.run(None)
    assert sum(stored) < 800
    assert env.sync.scan().needed
    report = env.sync.run(None)
    assert report.chunks == len(env.chunks())
    at_once = env.chunks()
    env.sync.run(None, Task(force=True))
    assert env.chunks() == at_once
    assert [start for start, _, _, _ in at_once] == sorted(start for start, _, _, _ in at_once)


def test_a_chunk_is_of_the_day_of_its_messages(env):
    text = "word " * 150
    env.write(
        openclaw("user", f"a {text}", "2026-02-10T23:59:59Z")
        + claude_code("assistant", f"b {text}", "2026-02-11T00:00:01Z")
        + openclaw("user", f"c {text}", None)
    )
    env.run()
    days = [day for _, _, _, day in env.chunks()]
    assert [day - days[0] for day in days] == [0, 1, 1]
    env.write(openclaw("user", "No time is told.", None), "b.jsonl")
    env.run()
    assert env.chunks("b.jsonl")[0][3] == date(2026, 2, 2).toordinal()


def test_what_is_no_transcript_is_told_once_and_holds_nothing(env):
    env.write('{"name": "x"}\n{"name": "y"}\n', "data.jsonl")
    env.write("", "empty.jsonl")
    report = env.run()
    assert [reason.code for reason in report.reasons] == ["transcript_left_out"]
    assert env.run().reasons == ()
    assert env.index.corpus().chunks == 0


def test_an_unreadable_transcript_is_told_and_leaves_the_index(env):
    env.write(conversation(0, 2))
    env.run()
    (env.folder / "s" / "a.jsonl").unlink()
    (env.folder / "s" / "a.jsonl").mkdir()
    assert env.run().removed == 1
    assert env.chunks() == []


def test_transcripts_of_a_workspace_without_any_leave_the_index(env):
    env.write(conversation(0, 2))
    env.run()
    env.workspace.transcripts = None
    assert env.run().removed == 1
    assert env.index.keyword_search(["topic1"], limit=5, filters=Filters()) == []


def test_the_first_line_may_hold_anything(env):
    env.write(json.dumps({"type": "session", "timestamp": NOON}) + "\n" + openclaw("user", "Dated by its head.", None))
    env.run()
    assert env.chunks()[0][3] == date(2026, 2, 10).toordinal()
