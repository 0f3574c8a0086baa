"""`memoriter eval` and `memoriter eval tune`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli import FAILED, Command, CommandGroup, GlobalOptions, global_options
from memoriter.errors import UsageError, WriteError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.cli import Line
    from memoriter.config import MemorySearch
    from memoriter.extensions.evals.api import (
        Dataset,
        DatasetResult,
        LoadedSets,
        NotesSet,
        OpenMemory,
        OtherPrograms,
        ProgramsOf,
        TuneCase,
        Tuned,
        WorkspaceResult,
    )
    from memoriter.memory import Memory
    from memoriter.questions import OwnQuestions

READABLE = click.Path(exists=True, dir_okay=False, path_type=Path)
FORMATS = ("set", "notes", "workspace", "longmemeval", "beir")


def question_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select questions, and the provider of sets, to a command."""
    options = [
        click.option(
            "--provider",
            default="bundled",
            show_default=True,
            metavar="NAME",
            help="The provider of the vectors, for sets.",
        ),
        click.option(
            "--questions",
            type=READABLE,
            metavar="FILE",
            help="Questions about the workspace in Markdown or JSON; default: its eval.md.",
        ),
        click.option(
            "--unanswerable",
            type=READABLE,
            metavar="FILE",
            help="More questions, which the workspace cannot answer (JSON).",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


class EvalGroup(CommandGroup):
    """A group whose command `run` is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with `run` before them unless a command or help follows the global options."""
        given = (option for option in global_options(hidden=True) if isinstance(option, click.Option))
        values = {name: not (option.is_flag or option.count) for option in given for name in option.opts}
        first = 0
        while first < len(args) and args[first] in values:
            first += 1 + values[args[first]]
        named = first < len(args) and (args[first] in self.commands or args[first] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else ["run", *args])


@click.group(cls=EvalGroup, name="eval", section="Maintenance")
def eval_command() -> None:
    """Measure the quality of the answers, and tune the settings.

        memoriter eval
        memoriter eval ~/datasets --baselines
        memoriter eval tune

    Without the name of a command, it runs `memoriter eval run`.
    """


@eval_command.command(cls=Command, name="run")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--sets", metavar="A,B", help="Only these sets: names of files without .json, or of BEIR folders.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="The form of the sets; default: as they contain.")
@click.option(
    "--limit-paragraphs",
    type=click.IntRange(1),
    default=250,
    show_default=True,
    metavar="N",
    help="Use at most N documents of a set without groups.",
)
@click.option("--limit-questions", type=click.IntRange(1), metavar="N", help="Use at most N questions of a set.")
@click.option("--by-type", is_flag=True, help="Also print tables by language and by type of question.")
@click.option("--baselines", is_flag=True, help="Compare with grep, BM25, vectors alone, RRF and the classic ranking.")
@click.option(
    "--cache", type=click.Path(path_type=Path), metavar="DIR", help="The folder in which to keep the vectors of sets."
)
@question_options
@click.option(
    "--together",
    multiple=True,
    metavar="A,B",
    help="Also count the questions of these sets of notes together; may be repeated.",
)
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the report into this folder: report.md, results.json, and charts.",
)
def run(
    paths: tuple[Path, ...],
    sets: str | None,
    form: Any,
    limit_paragraphs: int,
    limit_questions: int | None,
    *,
    by_type: bool,
    baselines: bool,
    provider: str,
    cache: Path | None,
    questions: Path | None,
    unanswerable: Path | None,
    together: tuple[str, ...],
    report: Path | None,
    programs: ProgramsOf | None = None,
) -> None:
    """Measure how well searches find known answers.

        memoriter eval run
        memoriter eval run --questions questions.json --unanswerable none.json -w ~/notes
        memoriter eval run ~/datasets --sets locomo10_turns --by-type
        memoriter eval run ~/datasets/notes --baselines

    It asks the questions of eval.md in your folder of notes, or those of published sets: JSON files, or folders in the
    form of BEIR, in a folder and its subfolders. benchmarks/evaluation.md describes the forms. memoriter keeps the
    vectors, so that the second run is fast.
    Next: memoriter search --explain.
    """
    if paths and (questions or unanswerable):
        raise click.UsageError("Give sets, or questions about the workspace.", click.get_current_context())
    output = Report(report, perf_counter())
    compared = Compared(baselines, provider, programs)
    if not paths:
        result = _ask_workspace(questions, unanswerable, compared)
        lines = _show(result.lines(details=True))
        _finish(lines, [result], [], result.values(), output)
        return
    loaded = _load(paths, _names(sets or ""), form, limit_paragraphs, limit_questions)
    _measure_sets(loaded, [_names(each) for each in together], compared, cache, output, by_type=by_type)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _load(paths: Sequence[Path], names: Sequence[str], form: Any, paragraphs: int, questions: int | None) -> LoadedSets:
    """Return the sets, reduced to the limits, with a notice about files that are none. Raises UsageError."""
    from memoriter.extensions.evals.api import LoadedSets, load_sets

    loaded = load_sets(paths, names, form)
    if loaded.left_out:
        files = ", ".join(map(str, loaded.left_out))
        GlobalOptions.current().screen.note(((f"Left out, because they are no sets: {files}.", "yellow"),))
    return LoadedSets(
        tuple(each.cut(paragraphs, questions) for each in loaded.documents),
        tuple(each.cut(questions) for each in loaded.notes),
    )


def _measure_sets(
    sets: LoadedSets,
    together: Sequence[Sequence[str]],
    compared: Compared,
    cache: Path | None,
    output: Report,
    *,
    by_type: bool,
) -> None:
    """Measure all sets, and show them one by one, then together."""
    from memoriter.app import read_environment
    from memoriter.extensions.evals.api import documents_summary, notes_summary, pooled, values, with_foreign

    known = [each.name for each in sets.notes]
    if unknown := [name for names in together for name in names if name not in known]:
        raise UsageError(
            f"There is no set of notes {unknown[0]!r} to count with others.", remedy=f"Choose from: {', '.join(known)}."
        )
    folder = (cache or read_environment().home / "eval").absolute()
    lines: list[str] = []
    measured: list[DatasetResult] = []
    for each in sets.documents:
        measured.append(_measure(each, compared.provider, folder, baselines=compared.baselines))
        lines += _show(_dataset_lines(measured[-1], by_type=by_type))
    asked: list[WorkspaceResult] = []
    for each in with_foreign(sets.notes):
        asked.append(_ask_set(each, folder, compared))
        lines += _show(asked[-1].lines(details=by_type))
    found = {**values(measured), "workspaces": [each.values() for each in asked]}
    groups = [pooled([each for each in asked if each.name in names], ", ".join(names)) for names in together]
    if len(asked) > 1:
        everything = pooled(asked)
        lines += _show([line for each in (*groups, everything) for line in each.lines(details=by_type)])
        found |= {"together": everything.values(), "groups": [each.values() for each in groups]}
        asked += [*groups, everything]
    lines += _show(documents_summary(measured).lines()) if len(measured) > 1 else []
    lines += _show(notes_summary(asked).lines()) if len(asked) > 1 else []
    _finish(lines, asked, measured, found, output)


@dataclass(frozen=True, slots=True)
class Report:
    """Where the report goes, and when the run began."""

    folder: Path | None
    begun: float
    """Seconds of `perf_counter`."""

    @property
    def duration(self) -> str:
        """How long the run has taken, as a sentence."""
        return f"Measured in {perf_counter() - self.begun:.0f} s; memoriter itself used {process_time():.0f} s of it."


@dataclass(frozen=True, slots=True)
class Compared:
    """What is measured besides memoriter."""

    baselines: bool
    provider: str
    """Provider of the vectors, also for the endpoint that other programs use."""
    programs: ProgramsOf | None

    def prepare(self, scratch: str, config: Path | None, provider: str) -> OtherPrograms | None:
        """Return the other programs, or None if there are none."""
        if self.programs is None:
            return None
        folder = Path(scratch) / "programs"
        folder.mkdir()
        return self.programs(folder, config, provider)


def _ask_workspace(questions: Path | None, unanswerable: Path | None, compared: Compared) -> WorkspaceResult:
    options = GlobalOptions.current()
    with options.open_memory() as memory:
        options.show_egress_notice(memory)
        own = ask_about(memory, questions, unanswerable)
        return _ask(
            opener(options),
            memory.place.workspace.name,
            own,
            compared,
            config=memory.configuration.path,
            provider=memory.status().provider,
            left_out=own.left_out,
        )


def _ask_set(each: NotesSet, cache: Path, compared: Compared) -> WorkspaceResult:
    from memoriter.app import read_environment
    from memoriter.extensions.evals.api import notes_workspace

    GlobalOptions.current().screen.note(((f"{each.name}: {len(each.answerable)} questions", "dim"),))
    with notes_workspace(each, cache, compared.provider, read_environment()) as (open_memory, config):
        return _ask(open_memory, each.name, each, compared, config=config, provider=compared.provider)


def _ask(
    open_memory: OpenMemory,
    name: str,
    questions: OwnQuestions | NotesSet,
    compared: Compared,
    *,
    config: Path | None,
    provider: str,
    left_out: str | None = None,
) -> WorkspaceResult:
    """Ask the questions of all systems, and print which programs were not measured, and why."""
    from tempfile import TemporaryDirectory

    from memoriter.extensions.evals.api import measure_workspace

    screen = GlobalOptions.current().screen
    with TemporaryDirectory(prefix="memoriter-eval-") as scratch, screen.progress() as progress:
        result = measure_workspace(
            open_memory,
            name,
            questions.answerable,
            questions.unanswerable,
            baselines=compared.baselines,
            scratch=Path(scratch),
            programs=compared.prepare(scratch, config, provider),
            left_out=left_out,
            progress=progress,
        )
    screen.note(*[((program.fault, "yellow"),) for program in result.programs if program.fault])
    return result


def _measure(dataset: Dataset, provider: str, cache: Path, *, baselines: bool) -> DatasetResult:
    from tempfile import TemporaryDirectory

    from memoriter.app import read_environment
    from memoriter.extensions.evals.api import EvalRun, VectorStore

    env = read_environment()
    screen = GlobalOptions.current().screen
    store = VectorStore(provider, cache, env.home / "models")
    screen.note(((f"{dataset.name}: {len(dataset.documents)} documents, {len(dataset.needs)} questions", "dim"),))
    with TemporaryDirectory(prefix="memoriter-eval-") as scratch, screen.progress() as progress:
        return EvalRun(store, Path(scratch), env.wall, progress, baselines).measure(dataset)


def _dataset_lines(result: DatasetResult, *, by_type: bool) -> list[str]:
    from memoriter.extensions.evals.api import interval_table, kinds_table, system_table

    tables = [system_table(result), interval_table(result), kinds_table(result) if by_type else None]
    return [line for table in tables if table for line in table.lines()]


def _show(lines: list[str]) -> list[str]:
    """Print lines unless the output is JSON, and return them."""
    screen = GlobalOptions.current().screen
    if not screen.as_json:
        screen.show(plain(lines), wrapped=False)
    return lines


def _finish(
    lines: Sequence[str],
    asked: Sequence[WorkspaceResult],
    measured: Sequence[DatasetResult],
    found: Any,
    output: Report,
) -> None:
    """Print the JSON, and write the report into the folder if one is given. Raises WriteError."""
    from memoriter.extensions.evals.api import write_report

    screen = GlobalOptions.current().screen
    if screen.as_json:
        screen.json(found)
    if output.folder is None:
        return
    try:
        files = write_report(output.folder, asked, measured, [*lines, "", output.duration], found)
    except OSError as error:
        message = f"The report cannot be written: {sentence(error)}"
        raise WriteError(message, remedy="Name another folder.") from error
    screen.note(((f"The report is {files[0]}, with {len(files) - 2} charts.", "dim"),))


@eval_command.command(cls=Command, name="tune")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@question_options
@click.option("--write", is_flag=True, help="Write the settings into the folder's own file, .memoriter.json5.")
@click.pass_context
def tune(
    context: click.Context,
    paths: tuple[Path, ...],
    questions: Path | None,
    unanswerable: Path | None,
    *,
    provider: str,
    write: bool,
) -> None:
    """Search for settings that answer your questions better.

        memoriter eval tune
        memoriter eval tune --write -w ~/notes
        memoriter eval tune ~/datasets/notes

    It tries the weights of meaning and words, maxPerNote and minScore on the questions of eval.md, or of sets of notes.
    The gain is measured on questions that had no part in the choice. The exit code is 1 if answers become worse, or if
    --write refuses a gain that may be chance. Nothing is written without --write. Next: memoriter config show.
    """
    from memoriter.extensions.evals.api import tune as tune_settings

    screen = GlobalOptions.current().screen
    if paths and (questions or unanswerable or write):
        raise click.UsageError("Settings are written for a workspace and its questions, not for sets.", context)
    with ExitStack() as stack:
        cases, workspace = _tune_cases(stack, paths, questions, unanswerable, provider)
        progress = stack.enter_context(screen.progress())
        tuned = tune_settings(cases, progress, lambda text: screen.detail(f"Trying: {text}"))
    refused = tuned.regresses or (write and bool(tuned.change.values) and tuned.refusal is not None)
    written = _write_settings(tuned, workspace) if write and workspace and not tuned.refusal else None
    if screen.as_json:
        screen.json({**tuned.as_json(), "written": str(written) if written else None})
    else:
        screen.show(plain(tuned.lines()), wrapped=False)
        advice = "" if write or paths else " Write them with `memoriter eval tune --write`."
        verdict = tuned.refusal or (f"Written to {written}." if written else f"These settings are better.{advice}")
        screen.show([((verdict, "yellow" if tuned.refusal else "green"),)])
    if refused:
        context.exit(FAILED)


def _tune_cases(
    stack: ExitStack, paths: Sequence[Path], questions: Path | None, unanswerable: Path | None, provider: str
) -> tuple[list[TuneCase], Path | None]:
    """Return the workspaces with their questions, and the folder of notes if it is the owner's."""
    from memoriter.app import read_environment
    from memoriter.extensions.evals.api import TuneCase, load_sets, notes_workspace

    options = GlobalOptions.current()
    if not paths:
        memory = stack.enter_context(options.open_memory())
        options.show_egress_notice(memory)
        own = ask_about(memory, questions, unanswerable)
        return [TuneCase(opener(options), own.questions, own.left_out)], memory.place.workspace
    sets = load_sets(paths).notes
    if not sets:
        raise click.UsageError("There are no sets of notes: settings are tuned on notes.", click.get_current_context())
    env = read_environment()
    cases: list[TuneCase] = []
    for each in sets:
        open_memory, _ = stack.enter_context(notes_workspace(each, env.home / "eval", provider, env))
        cases.append(TuneCase(open_memory, (*each.answerable, *each.unanswerable)))
    return cases, None


def _write_settings(tuned: Tuned, workspace: Path) -> Path:
    """Write the settings into the folder's own file, and return it. Raises ConfigError and WriteError."""
    from memoriter.config import PROJECT_FILE
    from memoriter.settings_file import write_settings

    write_settings(workspace / PROJECT_FILE, tuned.change.values, workspace=workspace)
    return workspace / PROJECT_FILE


def ask_about(memory: Memory, questions: Path | None, unanswerable: Path | None) -> OwnQuestions:
    """Return the owner's questions, with a notice if their file is a note. Raises UsageError."""
    from memoriter.questions import questions_about

    own = questions_about(memory, questions, unanswerable)
    if own.left_out:
        line = f"{own.left_out} is itself a note, whose hits do not count here. Write its name into .memoryignore."
        GlobalOptions.current().screen.note(((line, "yellow"),))
    return own


def opener(options: GlobalOptions) -> OpenMemory:
    """Return what opens the selected memory with other settings."""
    from memoriter.app import assemble
    from memoriter.memory import Memory

    def open_memory(
        adjust: Callable[[MemorySearch], MemorySearch] | None = None, index_file: Path | None = None
    ) -> Memory:
        parts = assemble(
            options.workspace,
            config=options.config,
            agent=options.agent,
            by_person=True,
            adjust=adjust,
            index_file=index_file,
        )
        return Memory(parts)

    return open_memory


def plain(lines: Sequence[str]) -> list[Line]:
    return [((line, ""),) for line in lines]
