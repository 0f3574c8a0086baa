"""Questions asked of one workspace through several systems: memoriter, simple searches, and other programs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.app import assemble
from memoriter.extensions.evals._baselines import BASELINES, Passage, Passages
from memoriter.extensions.evals._metrics import Cell, Estimate, Table, estimate, estimate_cells
from memoriter.extensions.evals._question_report import (
    DEPTH,
    OURS,
    QuestionResult,
    QuestionsReport,
    ask,
    figure_values,
    figures_of,
    shares_of,
    shortened,
)
from memoriter.ids import bytes_hash
from memoriter.index import InspectedIndex
from memoriter.memory import Memory
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from memoriter.config import MemorySearch
    from memoriter.environment import Environment
    from memoriter.extensions.evals._baselines import Baseline, OtherPrograms, ProgramFigures, ProgramResult
    from memoriter.extensions.evals._datasets import NotesSet
    from memoriter.questions import EvalQuestion
    from memoriter.sync import Progress

COMPARED = ("lines@3", "nDCG@10", "recall@10")
"""Figures of which differences between systems are reported."""
_PLACES = ("note@1", "note@3", "lines@1", "lines@3", "nDCG@10", "recall@10", "cross-language note@3")
MATCHES = ("precision of match", "recall of match", "near-misses called match", "foreign questions called match")
_CERTAINTY = (*MATCHES, "AUC against near-misses", "AUC against foreign questions")
_SUMMARY = (*_PLACES[1:], *MATCHES)


class OpenMemory(Protocol):
    """Opens the memory of the workspace that is measured."""

    def __call__(
        self, adjust: Callable[[MemorySearch], MemorySearch] | None = None, index_file: Path | None = None
    ) -> Memory:
        """Return the memory, with other settings of search and another index file if they are given."""
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceResult:
    """The results of every system on the questions about one workspace, ours first."""

    name: str
    notes: int
    reports: tuple[QuestionsReport, ...]
    programs: tuple[ProgramFigures, ...] = ()
    """What each program costs, if other programs were measured."""

    @property
    def ours(self) -> QuestionsReport:
        return self.reports[0]

    def lines(self, *, details: bool) -> list[str]:
        """Return the comparison of all systems as lines of Markdown, with all that is known of ours for `details`."""
        tables = [line for table in self.tables() for line in table.lines()]
        return [*tables, *self.ours.lines()] if details else tables

    def tables(self) -> list[Table]:
        """Return the tables of all systems: figures, and differences to ours."""
        figures = {report.system: figures_of(report) for report in self.reports}
        answerable = len(self.ours.answerable)
        others = len(self.ours.unanswerable)
        title = f"{self.name}: {answerable} questions, {others} without an answer, {self.notes} notes"
        tables = [
            _system_table(title, figures, _PLACES),
            _system_table(f"{self.name}: what the answers claim", figures, _CERTAINTY),
        ]
        tables += [self._differences()] if len(self.reports) > 1 else []
        return [*tables, self._programs_table()] if self.programs else tables

    def _programs_table(self) -> Table:
        rows = [
            (
                each.name,
                each.vectors or "-",
                each.index_seconds,
                each.index_peak_mb,
                each.search_peak_mb,
                each.disk_mb,
                each.cold_seconds,
                each.warm_seconds,
            )
            for each in self.programs
        ]
        columns = ("index (s)", "peak (MB)", "search peak (MB)", "disk (MB)", "cold search (s)", "warm search (s)")
        return Table(f"{self.name}: programs", ("program", "vectors", *columns), tuple(rows))

    def _differences(self) -> Table:
        rows = [
            (report.system, *(cell for each in self.differences(report).values() for cell in estimate_cells(each)))
            for report in self.reports[1:]
        ]
        columns = [cell for name in COMPARED for cell in (name, "from", "to")]
        return Table(
            f"{self.name}: difference to {OURS}, with paired 95 % intervals", ("system", *columns), tuple(rows)
        )

    def differences(self, report: QuestionsReport) -> dict[str, Estimate | None]:
        """Return by how much a system is better than ours, question by question."""
        ours = shares_of(self.ours)
        theirs = shares_of(report)
        return {
            name: estimate([one - other for one, other in zip(theirs[name], ours[name], strict=True)])
            for name in COMPARED
        }

    def values(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return {
            "name": self.name,
            "notes": self.notes,
            **self.ours.values(),
            "systems": [
                {
                    "system": report.system,
                    "figures": figure_values(report),
                    "difference": {
                        name: each and [each.value, each.low, each.high]
                        for name, each in self.differences(report).items()
                    },
                }
                for report in self.reports
            ],
            "programs": [asdict(each) for each in self.programs],
        }


def notes_summary(results: Sequence[WorkspaceResult]) -> Table:
    """Return our figures, with one row for each workspace or group of workspaces."""
    rows: list[tuple[Cell, ...]] = []
    for result in results:
        figures = figures_of(result.ours)
        found = (figures.get(name) for name in _SUMMARY)
        rows.append((result.name, len(result.ours.answerable), *(each and each.value for each in found)))
    return Table(f"Summary of the notes: {OURS}", ("notes", "n", *_SUMMARY), tuple(rows))


def pooled(results: Sequence[WorkspaceResult], name: str = "all sets") -> WorkspaceResult:
    """Return the results of several workspaces as those of one, with every question counting once.

    Systems that did not answer in every workspace are left out.
    """
    found = [{report.system: report for report in result.reports} for result in results]
    reports = [
        QuestionsReport(
            tuple(each for reports in found for each in reports[system].answerable),
            tuple(each for reports in found for each in reports[system].unanswerable),
            system,
        )
        for system in found[0]
        if all(system in reports for reports in found)
    ]
    return WorkspaceResult(name, sum(result.notes for result in results), tuple(reports))


def measure_workspace(
    open_memory: OpenMemory,
    name: str,
    answerable: Sequence[EvalQuestion],
    unanswerable: Sequence[EvalQuestion],
    *,
    baselines: bool,
    scratch: Path,
    programs: OtherPrograms | None = None,
    left_out: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> WorkspaceResult:
    """Ask all questions of every system.

    `baselines` adds simple searches and other ways to rank, whose index goes into the folder `scratch`. Other programs
    are asked the questions with answers only. No system may find the note `left_out`, because it contains the
    questions.

    Raises:
        EmbeddingError: the provider fails.
    """
    questions = (*answerable, *unanswerable)

    def report(system: str, results: Sequence[QuestionResult]) -> QuestionsReport:
        return QuestionsReport(tuple(results[: len(answerable)]), tuple(results[len(answerable) :]), system)

    with open_memory() as memory:
        reports = [report(OURS, ask(memory, questions, left_out=left_out, progress=progress))]
        notes = memory.status().files
        passages = _passages_of(memory, left_out) if baselines else None
        measured: Sequence[ProgramResult] = (
            programs.measure(memory, [question.text for question in answerable], DEPTH) if programs else []
        )
    if passages:
        ranked = Passages(passages)
        reports += [report(each, [_asked(ranked, each, question) for question in questions]) for each in BASELINES]
        for system, adjust, index_file in _other_rankings(scratch):
            with open_memory(adjust, index_file) as memory:
                reports.append(report(system, ask(memory, questions, left_out=left_out, progress=progress)))
    reports += [_report_of(result, answerable) for result in measured if result.hits and result.figures.name != OURS]
    return WorkspaceResult(name, notes, tuple(reports), _with_our_time(measured, reports[0]))


def _report_of(result: ProgramResult, answerable: Sequence[EvalQuestion]) -> QuestionsReport:
    results = (
        QuestionResult(question, tuple(map(shortened, hits)), float("-inf"))
        for question, hits in zip(answerable, result.hits, strict=True)
    )
    return QuestionsReport(tuple(results), (), result.figures.name)


def _with_our_time(measured: Sequence[ProgramResult], ours: QuestionsReport) -> tuple[ProgramFigures, ...]:
    """Return the figures of all programs; our warm searches are those of the evaluation itself."""
    seconds = median([result.seconds for result in ours.answerable]) if ours.answerable else None
    return tuple(
        replace(result.figures, warm_seconds=seconds) if result.figures.name == OURS else result.figures
        for result in measured
    )


def _asked(passages: Passages, baseline: Baseline, question: EvalQuestion) -> QuestionResult:
    hits = (passage.hit(score) for passage, score in passages.rank(baseline, question.text, DEPTH))
    return QuestionResult(question, tuple(hits), float("-inf"))


def _passages_of(memory: Memory, left_out: str | None) -> list[Passage]:
    """Return the passages of the notes as they are indexed."""
    with InspectedIndex.inspect(Path(memory.status().index), clock=lambda: 0.0) as index:
        rows = index.rows(index.all_ids())
    return [
        Passage(str(number), row.path, row.chunk.start_line, row.chunk.text)
        for number, row in sorted(rows.items(), key=lambda item: (item[1].path, item[1].chunk.start_line))
        if row.path != left_out
    ]


def _other_rankings(
    scratch: Path,
) -> list[tuple[str, Callable[[MemorySearch], MemorySearch], Path | None]]:
    """Return other ways to rank by name: how the settings change, and the index file, if it differs."""

    def vectors(settings: MemorySearch) -> MemorySearch:
        return replace(settings, query=replace(settings.query, hybrid=replace(settings.query.hybrid, enabled=False)))

    def rrf(settings: MemorySearch) -> MemorySearch:
        return replace(settings, query=replace(settings.query, scoring="rrf"))

    def classic(settings: MemorySearch) -> MemorySearch:
        return replace(settings, query=replace(settings.query, scoring="classic"))

    return [("vectors", vectors, None), ("RRF", rrf, None), ("classic", classic, scratch / "classic.sqlite")]


def _system_table(title: str, figures: Mapping[str, Mapping[str, Estimate | None]], names: Sequence[str]) -> Table:
    rows = [
        (system, *((each.value if (each := found.get(name)) else None) for name in names))
        for system, found in figures.items()
    ]
    return Table(title, ("system", *names), tuple(rows))


@contextmanager
def notes_workspace(
    notes: NotesSet, cache: Path, provider: str, env: Environment
) -> Generator[tuple[OpenMemory, Path]]:
    """Write the notes of a set into a folder, and yield what opens their memory, and its configuration file.

    Except for the provider and the layout, every setting has its default. Notes that are files stay where they are. The
    others and their index are kept below `cache` for the next run.
    """
    texts = "\0".join(part for note in notes.notes for part in note)
    content = str(notes.folder) if notes.folder else texts
    folder = cache / "notes" / f"{notes.name.replace('/', '-')}-{bytes_hash(content.encode('utf-8', 'replace'))[:12]}"
    workspace = notes.folder or folder / "workspace"
    config = folder / "memoriter.json5"
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in notes.notes:
        file = workspace / path
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
    search = f'{{provider: "{provider}", sync: {{background: false}}}}'
    layout = "" if notes.folder else 'memory: {layout: "notes"}, '
    config.write_text(f"{{{layout}agents: {{defaults: {{memorySearch: {search}}}}}}}", "utf-8")

    def open_memory(
        adjust: Callable[[MemorySearch], MemorySearch] | None = None, index_file: Path | None = None
    ) -> Memory:
        file = index_file or folder / f"{provider}.sqlite"
        return Memory(assemble(workspace, config=config, env=env, adjust=adjust, index_file=file))

    yield open_memory, config
