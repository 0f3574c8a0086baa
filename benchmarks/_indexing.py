"""Keeping the index true to the files, its size, and the memory that searching takes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks._command import Failed, environment
from benchmarks._corpus import make_small_notes
from benchmarks._report import Row
from benchmarks._stage import AT_ONCE, Stage
from benchmarks._timing import repeated, timed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._plan import Effort
    from memoriter import Memory

NO_CHANGE_SECONDS, CHANGE_SECONDS = 0.5, 0.3
CHUNKS_A_SECOND = 3_000
SIZE_RATIO = 2.5
RESIDENT_MB = 250
FULL_AGAINST_NO_CHANGE = 5.0
"""Measured 30-130. Under 5 files are read that a look at their size and time would have spared."""


def syncs(stage: Stage, effort: Effort) -> Iterator[Row]:
    """Full, without a change, and after one."""
    files = len(stage.corpus.notes)
    full, words = _full(stage, effort)
    yield Row(
        "sync.full",
        "indexing anew, vectors known",
        stage.size,
        stage.corpus.chunks / full,
        "chunks/s",
        budget=CHUNKS_A_SECOND,
        more=True,
    )
    yield Row("sync.words", "indexing a new workspace, words only", stage.size, stage.corpus.chunks / words, "chunks/s")
    with stage.open_index() as index:
        idle = repeated(lambda: stage.sync(index), effort.syncs)
    yield Row(
        "sync.idle", f"sync of {files:,} files without a change", stage.size, idle.p50, "s", idle.p95, NO_CHANGE_SECONDS
    )
    yield Row(
        "sync.ratio",
        "- times as fast as indexing anew",
        stage.size,
        full / idle.p50,
        "x",
        budget=FULL_AGAINST_NO_CHANGE,
        more=True,
        ratio=True,
    )
    change = _change(stage, effort)
    yield Row("sync.change", "search that finds a line added just before", stage.size, change, "s")
    # Who watches the files knows which one changed.
    known = max(change - idle.p50, 0.0)
    yield Row("sync.known", "- without the look at all files", stage.size, known, "s", budget=CHANGE_SECONDS)


def small_files(folder: Path, effort: Effort) -> Iterator[Row]:
    """A workspace of very many small notes."""
    stage = Stage.of(folder, make_small_notes(effort.small_files), effort.small_files)
    with stage.open_index() as index:
        idle = repeated(lambda: stage.sync(index), effort.syncs)
    yield Row(
        "files.idle",
        "sync of small files without a change",
        effort.small_files,
        idle.p50,
        "s",
        idle.p95,
        NO_CHANGE_SECONDS,
    )


def size_on_disk(stage: Stage, effort: Effort) -> Iterator[Row]:
    """The index file against what it must hold."""
    del effort
    with stage.memory() as memory:
        found = memory.status().index_bytes
    needed = stage.corpus.text_bytes + stage.corpus.chunks * 4 * stage.provider.spec.dimensions
    yield Row("size.index", "index on disk", stage.size, found / 2**20, "MB")
    yield Row("size.ratio", "- times text and vectors", stage.size, found / needed, "x", budget=SIZE_RATIO)


def resident(stage: Stage, effort: Effort) -> Iterator[Row]:
    """The most memory of a process that opens the index, loads the model and searches."""
    questions = stage.corpus.questions[: effort.questions]
    told = json.dumps({"notes": str(stage.notes), "home": str(stage.home), "questions": questions})
    command = [sys.executable, "-m", "benchmarks._resident"]
    done = subprocess.run(
        command, input=told, env=environment(stage.home), capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise Failed(f"the process that searches ended with {done.returncode}: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    yield Row(
        "memory.search",
        "resident memory while searching, model loaded",
        stage.size,
        figures["peak_mb"],
        "MB",
        budget=RESIDENT_MB,
    )


def _full(stage: Stage, effort: Effort) -> tuple[float, float]:
    """Seconds of indexing every file anew with all vectors known, and of a first indexing without vectors."""
    scratch = stage.folder / "scratch"
    with stage.open_index(scratch / "full.sqlite") as index:
        stage.sync(index)
        full = repeated(lambda: stage.sync(index, force=True), min(effort.syncs, 3), warm_up=0)
    with stage.open_index(scratch / "words.sqlite") as index:
        words = timed(lambda: stage.sync(index, words_only=True))
    shutil.rmtree(scratch)
    return full.p50, words


def _change(stage: Stage, effort: Effort) -> float:
    """Seconds of the search that comes after a note has grown, the program and its model being warm."""
    with stage.memory(stage.config(AT_ONCE)) as memory:
        memory.search("warm up")
        return median(_found_after_change(stage, memory, number) for number in range(effort.syncs))


def _found_after_change(stage: Stage, memory: Memory, number: int) -> float:
    note = stage.corpus.notes[number % len(stage.corpus.notes)]
    file, word = stage.notes / note.path, f"zyx{number}quoll"
    with file.open("a", encoding="utf-8") as grown:
        grown.write(f"\n- The {word} is kept in the blue drawer.\n")
    start = perf_counter()
    result = memory.search(f"where is the {word}?")
    seconds = perf_counter() - start
    if not any(word in hit.snippet for hit in result.hits):
        raise Failed(f"{word!r} was written to {note.path!r} and not found")
    return seconds
