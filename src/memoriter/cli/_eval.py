"""`memoriter eval`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoriter.cli._options import Command, GlobalOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.cli._render import Line, Screen
    from memoriter.evals import DatasetResult

READABLE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(cls=Command, name="eval")
@click.argument(
    "folder", metavar="[DIR]", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--sets", metavar="A,B", help="Only these sets of DIR: file names without .json.")
@click.option(
    "--limit-paragraphs",
    type=click.IntRange(1),
    default=250,
    show_default=True,
    metavar="N",
    help="Use at most N documents of a set.",
)
@click.option("--by-type", is_flag=True, help="Also print a table by type of question.")
@click.option(
    "--provider", default="bundled", show_default=True, metavar="NAME", help="The provider of the vectors, for sets."
)
@click.option(
    "--cache", type=click.Path(path_type=Path), metavar="DIR", help="The folder in which to keep the vectors of sets."
)
@click.option(
    "--questions", type=READABLE, metavar="FILE", help="Questions about the workspace, with the lines that answer them."
)
@click.option("--unanswerable", type=READABLE, metavar="FILE", help="Questions that the workspace cannot answer.")
def eval_command(
    folder: Path | None,
    sets: str | None,
    limit_paragraphs: int,
    *,
    by_type: bool,
    provider: str,
    cache: Path | None,
    questions: Path | None,
    unanswerable: Path | None,
) -> None:
    """Measure the quality of the answers.

        memoriter eval ~/datasets
        memoriter eval ~/datasets --sets locomo10_turns --by-type
        memoriter eval --questions questions.json --unanswerable none.json -w ~/notes

    It uses public sets, or questions about your own notes. A set is a JSON file with documents, and with questions and
    the documents that answer them. docs/evaluation.md describes the format. memoriter keeps the vectors, so that the
    second run is fast. Next: memoriter search --explain.
    """
    if (folder is None) == (questions is None):
        raise click.UsageError("Give a folder of sets, or --questions FILE.", click.get_current_context())
    if folder is None:
        assert questions is not None
        _ask(questions, unanswerable)
        return
    names = tuple(name.strip() for name in (sets or "").split(",") if name.strip())
    _measure(folder, names, limit_paragraphs, provider, cache, by_type=by_type)


def _ask(questions: Path, unanswerable: Path | None) -> None:
    from memoriter.evals import QuestionsReport, ask, load_questions

    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    files = [load_questions(questions), load_questions(unanswerable) if unanswerable else ()]
    with options.open_memory() as memory, screen.progress() as progress:
        answerable, others = (ask(options.show_egress_notice(memory), part, progress=progress) for part in files)
    report = QuestionsReport(answerable, others)
    if screen.as_json:
        screen.json(report.values())
    else:
        screen.show(_plain(report.lines()), wrapped=False)


def _measure(
    folder: Path, names: Sequence[str], limit: int, provider: str, cache: Path | None, *, by_type: bool
) -> None:
    from tempfile import TemporaryDirectory

    from memoriter.app import read_environment
    from memoriter.evals import EvalRun, VectorStore, dataset_files, load_dataset, values

    screen, env = GlobalOptions.current().screen, read_environment()
    store = VectorStore(provider, cache or env.home / "eval", env.home / "models")
    results: list[DatasetResult] = []
    for name, file in dataset_files(folder, names).items():
        dataset = load_dataset(file).cut(limit)
        screen.note(((f"{name}: {len(dataset.documents)} documents, {len(dataset.needs)} questions", "dim"),))
        with TemporaryDirectory(prefix="memoriter-eval-") as scratch, screen.progress() as progress:
            results.append(EvalRun(store, Path(scratch), env.wall, progress).measure(dataset))
        if not screen.as_json:
            _show(screen, results[-1], by_type=by_type)
    if screen.as_json:
        screen.json(values(results))


def _show(screen: Screen, result: DatasetResult, *, by_type: bool) -> None:
    from memoriter.evals import kinds_table, system_table

    tables = [system_table(result), kinds_table(result) if by_type else None]
    screen.show(_plain([line for table in tables if table for line in table.lines()]), wrapped=False)


def _plain(lines: Sequence[str]) -> list[Line]:
    return [((line, ""),) for line in lines]
