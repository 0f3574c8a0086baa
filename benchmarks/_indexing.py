"""Syncs of the index, its size on disk, and the memory that a search takes."""

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
from benchmarks._timing import repeated, timed
from benchmarks._workspace import AT_ONCE, BenchWorkspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._effort import Effort
    from memoriter import Memory

NO_CHANGE_SECONDS = 0.5
CHANGE_SECONDS = 0.3
CHUNKS_A_SECOND = 3_000
SIZE_RATIO = 2.5
RESIDENT_MB = 250
FULL_AGAINST_NO_CHANGE = 5.0
"""Measured 30-130. Below 5, a sync reads files whose size and time have not changed."""


def syncs(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of a full sync, of one without a change, and of one after a change."""
    files = len(workspace.corpus.notes)
    full, words = _full(workspace, effort)
    yield Row(
        "sync.full",
        "reindexing, all vectors cached",
        workspace.size,
        workspace.corpus.chunks / full,
        "chunks/s",
        budget=CHUNKS_A_SECOND,
        more=True,
    )
    yield Row(
        "sync.words", "first indexing, keywords only", workspace.size, workspace.corpus.chunks / words, "chunks/s"
    )
    with workspace.open_index() as index:
        idle = repeated(lambda: workspace.sync(index), effort.syncs)
    yield Row(
        "sync.idle", f"sync of {files:,} unchanged files", workspace.size, idle.p50, "s", idle.p95, NO_CHANGE_SECONDS
    )
    yield Row(
        "sync.ratio",
        "- speedup over reindexing",
        workspace.size,
        full / idle.p50,
        "x",
        budget=FULL_AGAINST_NO_CHANGE,
        more=True,
        ratio=True,
    )
    change = _change(workspace, effort)
    yield Row("sync.change", "search right after a line was added", workspace.size, change, "s")
    # A process that watches the files knows which one changed.
    known = max(change - idle.p50, 0.0)
    yield Row("sync.known", "- without checking all files", workspace.size, known, "s", budget=CHANGE_SECONDS)


def small_files(folder: Path, effort: Effort) -> Iterator[Row]:
    """Yield the row of a workspace with very many small notes."""
    workspace = BenchWorkspace.of(folder, make_small_notes(effort.small_files), effort.small_files)
    with workspace.open_index() as index:
        idle = repeated(lambda: workspace.sync(index), effort.syncs)
    yield Row(
        "files.idle",
        "sync of small unchanged files",
        effort.small_files,
        idle.p50,
        "s",
        idle.p95,
        NO_CHANGE_SECONDS,
    )


def size_on_disk(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the size of the index file, and its ratio to the text and vectors in it."""
    del effort
    with workspace.memory() as memory:
        index_bytes = memory.status().index_bytes
    needed = workspace.corpus.text_bytes + workspace.corpus.chunks * 4 * workspace.provider.spec.dimensions
    yield Row("size.index", "index on disk", workspace.size, index_bytes / 2**20, "MB")
    yield Row(
        "size.ratio", "- divided by text and vectors", workspace.size, index_bytes / needed, "x", budget=SIZE_RATIO
    )


def resident(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the peak memory of a process that opens the index, loads the model and searches."""
    questions = workspace.corpus.questions[: effort.questions]
    request = json.dumps({"notes": str(workspace.notes), "home": str(workspace.home), "questions": questions})
    command = [sys.executable, "-m", "benchmarks._memory_process"]
    done = subprocess.run(
        command, input=request, env=environment(workspace.home), capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise Failed(f"the process that searches ended with {done.returncode}: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    yield Row(
        "memory.search",
        "resident memory while searching, model loaded",
        workspace.size,
        figures["peak_mb"],
        "MB",
        budget=RESIDENT_MB,
    )


def _full(workspace: BenchWorkspace, effort: Effort) -> tuple[float, float]:
    """Return the seconds to reindex every file with all vectors cached, and of a first indexing without vectors."""
    scratch = workspace.folder / "scratch"
    with workspace.open_index(scratch / "full.sqlite") as index:
        workspace.sync(index)
        full = repeated(lambda: workspace.sync(index, force=True), min(effort.syncs, 3), warm_up=0)
    with workspace.open_index(scratch / "words.sqlite") as index:
        words = timed(lambda: workspace.sync(index, words_only=True))
    shutil.rmtree(scratch)
    return full.p50, words


def _change(workspace: BenchWorkspace, effort: Effort) -> float:
    """Return the seconds of a search right after a line was added to a note, in a warm process."""
    with workspace.memory(workspace.config(AT_ONCE)) as memory:
        memory.search("warm up")
        return median(_found_after_change(workspace, memory, number) for number in range(effort.syncs))


def _found_after_change(workspace: BenchWorkspace, memory: Memory, number: int) -> float:
    note = workspace.corpus.notes[number % len(workspace.corpus.notes)]
    file = workspace.notes / note.path
    word = f"zyx{number}quoll"
    with file.open("a", encoding="utf-8") as grown:
        grown.write(f"\n- The {word} is kept in the blue drawer.\n")
    start = perf_counter()
    result = memory.search(f"where is the {word}?")
    seconds = perf_counter() - start
    if not any(word in hit.snippet for hit in result.hits):
        raise Failed(f"{word!r} was written to {note.path!r} and not found")
    return seconds
