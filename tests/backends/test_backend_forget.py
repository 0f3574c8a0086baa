"""What is forgotten is in no byte of the state or the notes; what is not, stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import apsw
import json5
import pytest

import memoriter
from memoriter import Memory
from memoriter.app import Environment, assemble
from memoriter.errors import IndexBusy, PathRefused, UsageError, WriteConflict
from memoriter.index import Index
from memoriter.index._connection import vfs
from memoriter.search import analyse
from memoriter.sync import ChunkingSettings, entry_of
from memoriter.types import Chunk, Source
from memoriter.workspace.writing._folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = str(Path(memoriter.__file__).parents[1])
CANARIES = {"latin": "qxzjkanary", "hangul": "뷁쀍쒫앏", "han": "龘靐齉爩"}
UNICODE = ("utf-8", "utf-16-le", "utf-16-be")
FILLER = "".join(f"- Fact {number}: the {number}th drawer holds paper and {number} pens.\n" for number in range(60))


@dataclass
class Place:
    """Notes, a home, and memories of them."""

    notes: Path
    home: Path

    def write(self, path: str, text: str) -> Path:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def open(self, engine: str = "auto", **search: Any) -> Memory:
        config = self.home / "memoriter.json5"
        settings = {"provider": "fake", "store": {"vector": {"engine": engine}}, **search}
        config.write_text(json5.dumps({"agents": {"defaults": {"memorySearch": settings}}}), encoding="utf-8")
        seconds = iter(range(1_000, 1_000_000))
        environment = Environment(
            {"MEMORITER_HOME": str(self.home)}, self.home, self.notes, lambda: 1_770_000_000.0, lambda: next(seconds)
        )
        return Memory(assemble(self.notes, env=environment))

    def content(self) -> dict[str, bytes]:
        """Every byte of the notes and of the state, by file."""
        folders = (self.notes, self.home)
        files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
        return {file.name: file.read_bytes() for file in files}

    @property
    def index(self) -> Path:
        (path,) = (path for path in (self.home / "memory").glob("main*.sqlite") if ".g" not in path.name)
        return path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path / "notes", tmp_path / "home")
    place.home.mkdir()
    place.write("MEMORY.md", f"# Facts\n\n{FILLER}")
    return place


def traces(text: str) -> list[bytes]:
    """Return byte sequences that show that the text or one of its words is stored.

    None of them is short. Hundreds of kilobytes of vectors, keys and times contain any two or three given bytes by
    chance, and a Han character alone has no more. Its term shows in the pair of characters that follows it in a segment
    of FTS5. That entry leaves out what it shares with the entry before: the letter of the table and the first
    character. It begins with the length of this part and the length of the rest. `terms_of` compares the terms
    themselves.
    """
    terms = analyse(text)
    words = [form.encode(code) for form in {text, normalize("NFD", text), *terms} for code in UNICODE]
    first = {term: len(term.encode()) for term in terms if len(term) == 1}
    pairs = [(first[term[0]], term[1].encode()) for term in terms if len(term) == 2 and term[0] in first]
    return [*(word for word in words if len(word) >= 6), *(bytes([1 + n, len(rest)]) + rest for n, rest in pairs)]


def terms_of(place: Place) -> set[str]:
    """Return the terms of the keyword index."""
    with apsw.Connection(str(place.index), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        terms = {str(term) for (term,) in connection.execute("SELECT term FROM chunks_terms")}
    connection.close()
    return terms


def found(place: Place, text: str) -> list[str]:
    held = place.content()
    return [f"{name}: {trace!r}" for name, content in held.items() for trace in traces(text) if trace in content]


def note_with(text: str) -> str:
    return f"# Day\n\n- We met at ten.\n- The word is {text}, tell nobody.\n  It is {text} again.\n- We left at six.\n"


Way = tuple[dict[str, str], str]
WAYS: dict[str, Callable[[str], Way]] = {
    "the file": lambda _: ({"path": "memory/day.md"}, ""),
    "lines": lambda _: ({"path": "memory/day.md#L4-L5"}, "# Day\n\n- We met at ten.\n- We left at six.\n"),
    "match": lambda text: ({"match": text}, "# Day\n\n- We met at ten.\n- We left at six.\n"),
}


def forget(memory: Memory, **request: str) -> Any:
    return memory.forget(memory.plan_forget(**request))


@pytest.mark.matrix
@pytest.mark.parametrize("engine", ["exact", "codes"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("script", CANARIES)
def test_what_is_forgotten_is_in_no_byte_of_notes_and_state(place: Place, script: str, way: str, engine: str) -> None:
    text = CANARIES[script]
    file = place.write("memory/day.md", note_with(text))
    request, after = WAYS[way](text)
    with place.open(engine) as memory:
        memory.sync()
        held = place.content()[place.index.resolve().name]
        needles = traces(text)
        assert all(needle in held for needle in needles if needle.startswith(b"\x04"))
        assert found(place, text)
        assert set(analyse(text)) <= terms_of(place)
        before = memory.search("drawer 7 pens").results
        vectors = secret_vectors(place, text)
        assert vectors

        receipt = forget(memory, **request)

        assert found(place, text) == []
        assert not terms_of(place) & set(analyse(text))
        contents = place.content()
        assert [name for name, content in contents.items() for vector in vectors if vector in content] == []
        assert receipt.left == ()
        assert receipt.index is not None
        assert memory.search("drawer 7 pens").results[0].path == before[0].path
        assert memory.search(text).results == () or all(text not in hit.snippet for hit in memory.search(text).results)
    assert file.exists() == bool(after)
    assert not after or file.read_text(encoding="utf-8") == after


def secret_vectors(place: Place, text: str) -> list[bytes]:
    """Keys and vectors of the chunks that hold the text."""
    with apsw.Connection(str(place.index), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        rows = connection.execute(
            "SELECT known.key, vector FROM chunks JOIN embedding_cache AS known ON known.key = chunks.key"
            " WHERE instr(text, ?)",
            (text,),
        ).fetchall()
    connection.close()
    return [bytes(value) for row in rows for value in row]


def test_what_an_agent_was_given_of_it_goes_too(place: Place) -> None:
    with place.open() as memory:
        memory.remember(f"The word is {CANARIES['latin']}, tell nobody.")
        memory.sync()
        session = memory.session("chat", audience="private")
        assert CANARIES["latin"] in session.start().text
        assert session.flush(1_000_000).turn is not None
        memory.forget(memory.plan_forget(match=CANARIES["latin"]))
        assert CANARIES["latin"] not in memory.session("chat", audience="private").start().text
    assert found(place, CANARIES["latin"]) == []


def test_earlier_wordings_go_too(place: Place) -> None:
    text = CANARIES["latin"]
    with place.open() as memory:
        for version in range(4):
            place.write("memory/day.md", note_with(f"{text} number {version}"))
            memory.sync()
        forget(memory, match=text)
    assert found(place, text) == []
    with apsw.Connection(str(place.index), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        used = "SELECT key FROM chunks UNION SELECT key FROM items"
        unused = f"SELECT count(*) FROM embedding_cache WHERE key NOT IN ({used})"
        assert connection.execute(unused).get == 0
    connection.close()


READER = """
import sys, time
from pathlib import Path
from memoriter.index import Index
index = Index.open(Path(sys.argv[1]), clock=time.time)
with index._file.reading() as connection:
    rows = connection.execute("SELECT text FROM chunks")
    next(rows)
    print("reading", flush=True)
    sys.stdin.readline()
    rows.close()
index.refresh()
print(sum(sys.argv[2] in row.chunk.text for row in index.rows(index.all_ids()).values()), flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
def test_it_leaves_while_another_process_reads_and_that_one_then_sees_the_new_index(place: Place) -> None:
    text = CANARIES["hangul"]
    place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        command = [sys.executable, "-c", READER, str(place.index), text]
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as reader:
            assert reader.stdin is not None
            assert reader.stdout is not None
            assert reader.stdout.readline().strip() == "reading"

            receipt = forget(memory, match=text)

            assert found(place, text) == []
            assert receipt.left == ()
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline().strip() == "0"
            assert found(place, text) == []
            reader.stdin.write("\n")


def test_damaged_copies_and_half_built_indexes_go_too(place: Place) -> None:
    text = CANARIES["han"]
    place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        (place.index.parent / f"{place.index.name}.damaged-20260101T000000Z").write_bytes(b"x" + text.encode())
        place.index.with_name(f"{place.index.name}.12ab.new").write_bytes(text.encode())
        (place.notes / "memory" / f".day.md.{'ab' * 6}.tmp").write_text(text, encoding="utf-8")

        receipt = forget(memory, match=text)

    assert found(place, text) == []
    assert len(receipt.index.damaged) == 1


def test_a_note_that_changed_after_the_look_is_left_alone_and_everything_else_too(place: Place) -> None:
    text = CANARIES["latin"]
    first = place.write("memory/a.md", note_with(text))
    second = place.write("memory/b.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        plan = memory.plan_forget(match=text)
        second.write_text(note_with(text) + "- A line of somebody else.\n", encoding="utf-8")

        with pytest.raises(WriteConflict, match=r"memory/b\.md"):
            memory.forget(plan)

        assert text in first.read_text(encoding="utf-8")
        assert second.read_text(encoding="utf-8").endswith("somebody else.\n")
        assert not memory.plan_forget(match=text).unfinished
        assert len(forget(memory, match=text).notes) == 2
    assert found(place, text) == []


def test_what_another_program_appends_while_a_note_is_rewritten_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CANARIES["latin"]
    theirs = "- A line of somebody else.\n"
    file = place.write("memory/day.md", note_with(text))
    exchange = Folder.exchange

    def meanwhile(*arguments: Any) -> bool:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(theirs)
        return exchange(*arguments)

    monkeypatch.setattr(Folder, "exchange", meanwhile)
    with place.open() as memory:
        memory.sync()
        receipt = forget(memory, match=text)
    assert receipt.left == ()
    assert file.read_text(encoding="utf-8") == f"# Day\n\n- We met at ten.\n- We left at six.\n{theirs}"
    assert found(place, text) == []


def test_behind_a_fence_that_is_never_closed_one_entry_goes_and_not_the_rest_of_the_note(place: Place) -> None:
    file = place.write("memory/day.md", f"# Day\n\n```\nlog\n{FILLER}- The code is 4711.\n{FILLER}")
    with place.open() as memory:
        plan = memory.plan_forget(match="4711")
        assert [(each.start_line, each.end_line) for each in plan.notes[0].passages] == [(65, 65)]
        memory.forget(plan)
    assert file.read_text(encoding="utf-8") == f"# Day\n\n```\nlog\n{FILLER}{FILLER}"


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("moment", ["_remove_from_notes", "_delete", "purge"])
def test_killed_in_the_middle_it_loses_nothing_and_is_finished_by_the_next_index_run(place: Place, moment: str) -> None:
    text = CANARIES["latin"]
    place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
    program = f"""
import os, signal, sys
from memoriter import Memory
from memoriter.backends import _forget
from memoriter.index import Index
def die(*arguments, **named): os.kill(os.getpid(), signal.SIGKILL)
if {moment!r} == "purge": Index.forget = die
else: setattr(_forget, {moment!r}, die)
with Memory.open({str(place.notes)!r}, home={str(place.home)!r}) as memory:
    memory.forget(memory.plan_forget(match={text!r}))
"""
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=150)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    note = (place.notes / "memory" / "day.md").read_text(encoding="utf-8")
    assert note == (
        note_with(text) if moment == "_remove_from_notes" else "# Day\n\n- We met at ten.\n- We left at six.\n"
    )

    with place.open() as memory:
        assert memory.plan_forget(match=text).unfinished
        if moment == "_remove_from_notes":
            forget(memory, match=text)
        else:
            memory.sync()
        assert memory.plan_forget(match=text).empty
    assert found(place, text) == []


@pytest.mark.parametrize("way", ["sync", "compact", "forget"])
def test_text_edited_out_of_a_note_leaves_a_large_index_with_the_next_command_that_works_on_all_of_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr("memoriter.index._content.ALWAYS_PURGED", 0)
    monkeypatch.setattr("memoriter.index._content.PURGE_SHARE", 0)
    text = CANARIES["latin"]
    file = place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        memory.compact()  # of several segments, a merge that comes by itself might drop the words
        file.write_text(note_with("nothing"), encoding="utf-8")
        memory.search("drawer")
        assert found(place, text) != []
        if way == "sync":
            memory.sync()
        elif way == "compact":
            memory.compact(unused=True)
        else:
            forget(memory, match="We left at six")
    # The journal keeps what an editor removed, so that it can be taken back.
    assert [each for each in found(place, text) if ".log: " not in each] == []


def test_text_that_only_the_index_holds_is_found_and_goes(place: Place) -> None:
    text = CANARIES["han"]
    file = place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        file.unlink()
        plan = memory.plan_forget(match=text)
        assert (plan.notes, plan.indexed) == ((), ("memory/day.md#L1-L6",))
        memory.forget(plan)
    assert found(place, text) == []


def test_while_another_process_indexes_the_note_is_done_and_the_rest_says_how_to_finish(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.backends._indexing.FORGET_WAIT", 0.05)
    text = CANARIES["latin"]
    file = place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        with Index.open(place.index, clock=lambda: 1.0) as other, other.lease():
            receipt = forget(memory, match=text)
        assert text not in file.read_text(encoding="utf-8")
        (left,) = receipt.left
        assert (left.code, receipt.index) == (IndexBusy.code, None)
        assert left.remedy.endswith("`memoriter index`.")
        memory.sync()
    assert found(place, text) == []


def test_a_session_goes_with_its_archives_and_no_other(place: Place) -> None:
    text = CANARIES["hangul"]
    folder = place.home / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    for name in ("abc.jsonl", "abc.jsonl.reset.2026-01-01", "abcd.jsonl"):
        (folder / name).write_text(f'{{"type": "message", "text": "{text}"}}\n', encoding="utf-8")
    with place.open() as memory:
        receipt = forget(memory, session="abc")
        assert [file.name for file in receipt.transcripts] == ["abc.jsonl", "abc.jsonl.reset.2026-01-01"]
        assert [file.name for file in folder.iterdir()] == ["abcd.jsonl"]
        unreached = {reason.code: reason for reason in memory.plan_forget(match=text).unreached}
        assert unreached["transcript"].remedy == "Run `memoriter forget --session abcd`."
        with pytest.raises(UsageError, match="no session 'abc'"):
            memory.plan_forget(session="abc")
        for wrong in ("../abcd", "a/b", "", ".", "..", "*"):
            with pytest.raises(UsageError):
                memory.plan_forget(session=wrong)


def test_only_memory_can_be_forgotten(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "diary.md"
    outside.write_text("mine", encoding="utf-8")
    (place.notes / "other.md").write_text("mine", encoding="utf-8")
    with place.open() as memory:
        for path in (str(outside), "../diary.md", "other.md", "memory/none.md"):
            with pytest.raises(PathRefused):
                memory.plan_forget(path)
        with pytest.raises(UsageError, match="the note has 62 lines"):
            memory.plan_forget("MEMORY.md#L900")
        for wrong in ({}, {"path": "MEMORY.md", "match": "pens"}, {"match": "ab"}):
            with pytest.raises(UsageError):
                memory.plan_forget(**wrong)
    assert outside.exists()


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=kim", "-c", "user.email=kim@example.test", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)


def test_it_says_what_it_cannot_reach(place: Place) -> None:
    file = place.write("memory/day.md", note_with("qxzjkanary"))
    with place.open() as memory:
        assert {reason.code for reason in memory.plan_forget("memory/day.md").unreached} == {"elsewhere"}
        file.with_name("day.md~").write_text("an editor's copy", encoding="utf-8")
        git(place.notes, "init", "-q")
        assert {reason.code for reason in memory.plan_forget("memory/day.md").unreached} == {"copies", "elsewhere"}
        git(place.notes, "add", "memory/day.md")
        git(place.notes, "commit", "-qm", "a day")
        git(place.notes, "rm", "-q", "--cached", "memory/day.md")
        unreached = {reason.code: reason for reason in memory.plan_forget("memory/day.md").unreached}
        assert unreached.keys() == {"git_history", "copies", "elsewhere"}
        assert "day.md" in unreached["git_history"].message


@pytest.mark.parametrize("name", ["day.md~", ".day.md.swp", "day.sync-conflict-20260310.md", ".trash/other.md"])
def test_copies_and_versions_are_named_also_when_no_note_has_the_text_any_more(place: Place, name: str) -> None:
    file = place.write("memory/day.md", "- the garden gate\n  of qxzjkanary\n")
    copy = file.parent / name
    copy.parent.mkdir(exist_ok=True)
    git(place.notes, "init", "-q")
    git(place.notes, "add", "memory/day.md")
    git(place.notes, "commit", "-qm", "a day")
    file.rename(copy)
    with place.open() as memory:
        plan = memory.plan_forget(match="the garden gate of qxzjkanary")
        assert (plan.notes, str(copy) in plan.unreached[0].message) == ((), True)
        assert "git_history" in {each.code for each in memory.plan_forget(match="qxzjkanary").unreached}


def test_indexes_of_others_and_services_are_told_of_where_they_have_it(place: Place) -> None:
    text = CANARIES["han"]
    place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        (place.home / "memory" / "family.sqlite").write_bytes(b"SQLite format 3" + note_with(text).encode())
        (place.home / "memory" / "work.sqlite").write_bytes(b"SQLite format 3")
        for request in ({"match": text}, {"path": "memory/day.md#L4-L5"}):
            unreached = {reason.code: reason for reason in memory.plan_forget(**request).unreached}
            assert "family.sqlite" in unreached["other_indexes"].message
            assert "work.sqlite" not in unreached["other_indexes"].message
        with apsw.Connection(str(place.index), vfs=vfs()) as connection:
            connection.execute("UPDATE sets SET spec = json_set(spec, '$.provider', 'openai')")
        connection.close()
        unreached = {reason.code: reason for reason in memory.plan_forget(match=text).unreached}
        assert "openai" in unreached["sent"].message


def test_batch_jobs_name_only_texts_that_are_there(place: Place) -> None:
    from memoriter.embed import BatchJob

    text = CANARIES["latin"]
    place.write("memory/day.md", note_with(text))
    with place.open() as memory:
        memory.sync()
        with Index.open(place.index, clock=lambda: 1.0) as index:
            known = {key.hex() for key in index.vector_keys()}
            index.set_meta("batch:set:job", BatchJob("job", tuple(sorted(known)), 1.0).to_json())
            index.set_meta("batch:set:broken", "{")
        forget(memory, path="memory/day.md")
        with Index.open(place.index, clock=lambda: 1.0) as index:
            (kept,) = index.metas("batch:").values()
            job = BatchJob.from_json(kept)
            left = {key.hex() for key in index.vector_keys()}
        assert job is not None
        assert set(job.keys) == left < known


def test_health_says_that_a_forgetting_is_unfinished_until_the_remedy_is_done(place: Place) -> None:
    with place.open() as memory:
        memory.sync()
        with Index.open(place.index, clock=lambda: 1.0) as index:
            index.begin_forgetting()
        codes = [reason.code for reason in memory.search("pens").health.reasons]
        assert codes == ["forgetting_unfinished"]
        memory.sync()
        assert memory.search("pens").health.reasons == ()


def test_a_session_that_only_the_index_knows_leaves_it(place: Place) -> None:
    text = CANARIES["hangul"]
    with place.open() as memory:
        memory.sync()
        with Index.open(place.index, clock=lambda: 1.0) as index:
            (row,) = index.rows(index.all_ids()[:1]).values()
            entry = entry_of(Chunk(1, 1, f"User: {text}"), row.day, ChunkingSettings())
            index.put_file(Source("sessions/abc.jsonl", "sessions", Path("gone"), 1, 1), "h", [entry])
        assert found(place, text)
        plan = memory.plan_forget(session="abc")
        assert (plan.transcripts, plan.indexed) == ((), ("sessions/abc.jsonl",))
        assert memory.forget(plan).left == ()
    assert found(place, text) == []
