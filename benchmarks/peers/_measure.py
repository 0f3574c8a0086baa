"""Measurements of other programs on the notes of a workspace: hits, times, memory and disk."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.peers._endpoint import serve_embeddings
from benchmarks.peers._peer import ANSWER_SECONDS, PeerPlace
from benchmarks.peers._process import PeerFailed, run_program
from benchmarks.peers._programs import PEERS, Ours
from memoriter.extensions.evals.api import ProgramFigures, ProgramResult
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.peers._endpoint import Endpoint
    from benchmarks.peers._peer import Peer, Search
    from benchmarks.peers._process import Finished
    from memoriter.memory import Memory
    from memoriter.types import Hit

INDEX_SECONDS = 1_800.0
"""Longest time for indexing."""
COLD_RUNS = 3
"""Questions that are asked of a new process each, for the time of a cold search."""


@dataclass(frozen=True, slots=True)
class PeerRun:
    """A measurement of programs with the same notes and, where they take one, the same embedding endpoint."""

    names: tuple[str, ...]
    """Names in `PEERS`."""
    provider: str
    """Provider of the endpoint's vectors."""
    models: Path
    """Folder of the provider's models."""
    scratch: Path
    """An existing folder for copies of the notes and all that the programs store."""
    environ: Mapping[str, str]
    model_file: Path | None = None
    """A GGUF file of the embedding model, for programs that take no endpoint."""
    config: Path | None = None
    """Configuration file of memoriter as a program; None: its defaults."""
    programs: Mapping[str, Peer] = field(default_factory=lambda: PEERS)

    def measure(self, memory: Memory, questions: Sequence[str], limit: int) -> list[ProgramResult]:
        """Return the results of memoriter as a program, without hits, and of each other program.

        Args:
            memory: the workspace, whose notes are copied.
            questions: the questions.
            limit: hits for each question.
        """
        notes = self.scratch / "notes"
        _copy_notes(memory, notes)
        results: list[ProgramResult] = []
        with serve_embeddings(self.provider, self.models) as endpoint:
            for peer in (Ours(self.config), *(self.programs[name] for name in self.names)):
                state = self.scratch / peer.name
                state.mkdir()
                place = PeerPlace(notes, state, endpoint.url, self.model_file, self.environ, endpoint.dimensions)
                results.append(self._measure_one(peer, place, endpoint, questions, limit))
        return results

    def _measure_one(
        self, peer: Peer, place: PeerPlace, endpoint: Endpoint, questions: Sequence[str], limit: int
    ) -> ProgramResult:
        if not isinstance(peer, Ours) and shutil.which(peer.name, path=self.environ.get("PATH")) is None:
            fault = f"{peer.name} is not installed. Install it with: {peer.install}."
            return ProgramResult(ProgramFigures(peer.name, fault=fault))
        measurement = _Measurement(peer, place, ProgramFigures(peer.name, peer.vectors(place)))
        try:
            measurement.run(endpoint, questions, limit)
        except (PeerFailed, KeyError, TypeError, ValueError) as error:
            fault = f"{peer.name} failed: {error if isinstance(error, PeerFailed) else repr(error)}"
            return ProgramResult(replace(measurement.figures, fault=fault))
        return ProgramResult(measurement.figures, tuple(measurement.hits))


@dataclass(slots=True)
class _Measurement:
    """One program at work; figures and hits as far as they are measured."""

    peer: Peer
    place: PeerPlace
    figures: ProgramFigures
    hits: list[tuple[Hit, ...]] = field(default_factory=list["tuple[Hit, ...]"])

    def run(self, endpoint: Endpoint, questions: Sequence[str], limit: int) -> None:
        """Index the notes and ask all questions. Raises PeerFailed."""
        environ = self.peer.configure(self.place)
        endpoint.role = "document"
        runs = self._run(self.peer.index(self.place), environ, INDEX_SECONDS)
        self.figures = replace(
            self.figures,
            index_seconds=sum(run.seconds for run in runs),
            index_peak_mb=_largest([run.peak_mb for run in runs]),
            disk_mb=_bytes_in(self.place.state) / 1e6,
        )
        endpoint.role = "query"
        warm = self.peer.session(self.place, environ)
        every = warm is None and not isinstance(self.peer, Ours)
        cold = questions if every else questions[:COLD_RUNS]
        runs = self._run([self.peer.search(self.place, each, limit) for each in cold], environ, ANSWER_SECONDS)
        self.figures = replace(
            self.figures,
            cold_seconds=median([run.seconds for run in runs]) if runs else None,
            search_peak_mb=_largest([run.peak_mb for run in runs]),
        )
        if warm is None:
            self.hits = [tuple(self.peer.hits(self.place, run.output)[:limit]) for run in runs]
        elif questions:
            with warm as search:
                self._ask_warm(search, questions, limit)

    def _run(self, commands: Sequence[Sequence[str]], environ: Mapping[str, str], timeout: float) -> list[Finished]:
        return [run_program(each, environ=environ, folder=self.place.state, timeout=timeout) for each in commands]

    def _ask_warm(self, search: Search, questions: Sequence[str], limit: int) -> None:
        search(questions[0], limit)  # loads the model
        times: list[float] = []
        for question in questions:
            begun = perf_counter()
            self.hits.append(tuple(search(question, limit)[:limit]))
            times.append(perf_counter() - begun)
        self.figures = replace(self.figures, warm_seconds=median(times))


def _copy_notes(memory: Memory, folder: Path) -> None:
    """Copy the notes below the folder of the workspace, but no transcripts and no files of other folders."""
    for source in memory.sources():
        inside = not Path(source.path).is_absolute() and ".." not in Path(source.path).parts
        if source.kind == "memory" and inside:
            file = folder / source.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.file.read_bytes())


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _bytes_in(folder: Path) -> int:
    """Return the bytes of all files below a folder, without models: most programs get the vectors from elsewhere."""
    total = 0
    for file in folder.rglob("*"):
        with suppress(OSError):
            counts = file.is_file() and not file.is_symlink() and "models" not in file.relative_to(folder).parts
            total += file.lstat().st_size if counts else 0
    return total
