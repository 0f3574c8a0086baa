"""`memoriter index`, killed at twenty moments, loses nothing that it had finished and does nothing twice.

The program runs through its command line in a process of its own. That process also notes, in a file of the test, each
batch of texts that the provider was handed and each note that was opened.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import memoriter
from memoriter import Memory

if TYPE_CHECKING:
    from memoriter.types import SearchResult, Status

pytestmark = pytest.mark.slow

KILLS = 20
FILES = 1_000
LONGEST_RUN = 0.35
"""Seconds from the start of the command to the kill, at most: a tenth of the whole work on a laptop."""
PROGRAM = """
import json, os, sys
from memoriter.cli import main
from memoriter.embed import _fake

log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
embed = _fake.FakeProvider.embed

def note(**what):
    os.write(log, (json.dumps(what) + "\\n").encode())

def noted(self, texts, *, role):
    if role != "query":  # questions are embedded to measure what a match is
        note(embedded=list(texts))
    return embed(self, texts, role=role)

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".md"):
        note(opened=str(arguments[0]))

_fake.FakeProvider.embed = noted
sys.addaudithook(watch)
print("ready", flush=True)
main(sys.argv[2:])
"""


@dataclass(frozen=True)
class Run:
    """One run of the program, and the index after it."""

    killed: bool
    batches: list[list[str]]
    """The texts that the provider was handed, call by call."""
    opened: int
    """How many notes were opened."""
    report: Any
    """What was printed, if it came to that."""
    after: Status

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


@dataclass(frozen=True)
class Place:
    """A folder of notes, with a home for the index."""

    notes: Path
    home: Path

    def memory(self) -> Memory:
        return Memory.open(self.notes, home=self.home)

    def run(self, *words: str, kill_after: float | None = None) -> Run:
        """Run `memoriter index`, and kill it so many seconds after its beginning unless it is done before."""
        log = self.home / "log.jsonl"
        log.write_bytes(b"")
        command = [sys.executable, "-c", PROGRAM, str(log), "-w", str(self.notes), "--json", "index", *words]
        environment = {"MEMORITER_HOME": str(self.home), "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                process.wait(kill_after)
            except subprocess.TimeoutExpired:
                process.kill()
            printed = process.stdout.read()
        killed = process.returncode != 0
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        batches = [event["embedded"] for event in events if "embedded" in event]
        with self.memory() as memory:
            state = memory.status()
        report = None if killed else json.loads(printed)
        return Run(killed, batches, sum("opened" in event for event in events), report, state)


def write_notes(folder: Path, count: int) -> None:
    draw = Random(7)
    words = ["".join(draw.choices("abdegiklmnoprstu", k=draw.randint(3, 8))) for _ in range(500)]
    folder.mkdir(parents=True)
    for number in range(count):
        paragraphs = [" ".join(draw.choices(words, k=105)) for _ in range(4)]
        (folder / f"note-{number:04}.md").write_text(
            "\n\n".join([f"# Note {number}", *paragraphs]) + "\n", encoding="utf-8"
        )


def new_place(folder: Path, files: int) -> Place:
    write_notes(folder / "notes" / "memory", files)
    return Place(folder / "notes", new_home(folder / "home"))


def new_home(home: Path) -> Path:
    home.mkdir()
    (home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A thousand notes, three megabytes."""
    place = new_place(tmp_path_factory.mktemp("killed"), FILES)
    size = sum(file.stat().st_size for file in place.notes.rglob("*.md"))
    assert 2_500_000 < size < 3_500_000
    return place


@pytest.fixture(scope="module")
def killed(place: Place) -> list[Run]:
    """Twenty runs that were killed at random moments, those that were not done before."""
    draw = Random(20)
    return [place.run(kill_after=draw.uniform(0, LONGEST_RUN)) for _ in range(KILLS)]


@pytest.fixture(scope="module")
def last(place: Place, killed: list[Run]) -> Run:
    """The run after all those, which nobody killed."""
    assert killed
    return place.run()


def test_most_of_the_runs_really_were_killed(killed: list[Run]) -> None:
    assert sum(run.killed for run in killed) >= KILLS // 4


def test_no_kill_takes_back_what_was_finished(killed: list[Run], last: Run) -> None:
    for before, run in zip(killed, [*killed[1:], last], strict=True):
        assert before.after.files <= run.after.files
        assert before.after.chunks <= run.after.chunks
        assert before.after.vectors <= run.after.vectors


def test_a_killed_run_is_finished_by_the_next_one(killed: list[Run], last: Run) -> None:
    assert last.report is not None
    assert (last.after.files, last.after.pending, last.after.failed) == (FILES, 0, 0)
    assert last.after.vectors == last.after.chunks == last.report["chunks"]
    assert last.after.health.ok


def test_an_index_that_waits_for_files_or_vectors_says_so(killed: list[Run], last: Run) -> None:
    for run in (*killed, last):
        reasons = {reason.code for reason in run.after.health.reasons}
        expected = "vectors_pending" if run.after.pending else "" if run.after.files else "not_indexed"
        assert reasons == ({expected} if expected else set())


def test_the_last_run_embeds_exactly_what_had_no_vector_before(killed: list[Run], last: Run) -> None:
    assert last.report["embedded"] == len(last.texts) == last.after.chunks - killed[-1].after.vectors


def test_no_text_is_embedded_again_but_those_of_the_batch_that_a_kill_interrupted(killed: list[Run], last: Run) -> None:
    runs = [*killed, last]
    for number, run in enumerate(runs):
        interrupted = run.batches[-1] if run.killed and run.batches else []
        finished = set(run.texts) - set(interrupted)
        assert len(run.texts) == len(set(run.texts))
        assert all(finished.isdisjoint(later.texts) for later in runs[number + 1 :])


def test_all_texts_are_embedded_once_and_the_interrupted_batches_once_more_at_most(
    killed: list[Run], last: Run
) -> None:
    runs = [*killed, last]
    handed = sum(len(run.texts) for run in runs)
    interrupted = sum(len(run.batches[-1]) for run in killed if run.killed and run.batches)
    assert last.after.chunks <= handed <= last.after.chunks + interrupted


def test_a_run_with_nothing_to_do_opens_no_note_and_embeds_nothing(place: Place, last: Run) -> None:
    assert last.report is not None
    again = place.run()
    assert {key: again.report[key] for key in ("added", "changed", "removed", "embedded", "pending")} == {
        "added": 0,
        "changed": 0,
        "removed": 0,
        "embedded": 0,
        "pending": 0,
    }
    assert (again.opened, again.batches) == (0, [])
    assert again.report["files"] == FILES


def test_no_note_is_opened_again_but_the_one_that_a_kill_interrupted(killed: list[Run], last: Run) -> None:
    opened = sum(run.opened for run in killed) + last.opened
    assert FILES <= opened <= FILES + sum(run.killed for run in killed)


def found(result: SearchResult) -> list[tuple[str, float]]:
    return [(hit.citation, hit.score) for hit in result.results]


def test_an_index_that_was_killed_twenty_times_answers_as_one_that_never_was(
    place: Place, last: Run, tmp_path: Path
) -> None:
    assert last.report is not None
    quiet = Place(place.notes, new_home(tmp_path / "home"))
    assert quiet.run().report["embedded"] == last.after.chunks
    with place.memory() as one, quiet.memory() as other:
        for number in (3, 500, 999):
            text = (place.notes / "memory" / f"note-{number:04}.md").read_text(encoding="utf-8")
            question = " ".join(text.split()[10:18])
            left = found(one.search(question))
            right = found(other.search(question))
            assert [citation for citation, _ in left] == [citation for citation, _ in right]
            assert [score for _, score in left] == pytest.approx([score for _, score in right], abs=1e-6)
            assert any(citation.startswith(f"memory/note-{number:04}.md") for citation, _ in left[:3])


def test_a_killed_rebuild_leaves_the_index_as_it_was_and_the_next_one_embeds_nothing(tmp_path: Path) -> None:
    place = new_place(tmp_path, 300)
    whole = place.run().after
    draw = Random(5)
    for _ in range(4):
        run = place.run("--force", kill_after=draw.uniform(0, LONGEST_RUN))
        assert (run.after.files, run.after.chunks, run.after.vectors) == (whole.files, whole.chunks, whole.vectors)
        assert run.batches == []
    rebuilt = place.run("--force")
    assert (rebuilt.report["changed"], rebuilt.report["cached"]) == (whole.files, whole.chunks)
    assert (rebuilt.batches, rebuilt.after.pending, rebuilt.after.health.ok) == ([], 0, True)
    left = [file.name for file in (place.home / "memory").iterdir() if ".sqlite" in file.name]
    assert len([name for name in left if name.endswith(".sqlite")]) == 1, left
    assert not [name for name in left if ".new" in name], left
