"""The questions about a workspace for `memoriter eval`, and `memoriter eval tune`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoriter.cli import FAILED, Command, GlobalOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.cli import Line
    from memoriter.config import MemorySearch
    from memoriter.extensions.evals.api import TuneCase, Tuned
    from memoriter.memory import Memory
    from memoriter.questions import OwnQuestions

READABLE = click.Path(exists=True, dir_okay=False, path_type=Path)


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


@click.command(cls=Command, name="tune")
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


def opener(options: GlobalOptions) -> Callable[..., Memory]:
    """Return what opens the selected memory with other settings."""
    from memoriter.app import assemble
    from memoriter.memory import Memory

    def open_memory(
        adjust: Callable[[MemorySearch], MemorySearch] | None = None, index_file: Path | None = None
    ) -> Memory:
        place = options.workspace, options.config, options.agent
        workspace, config, agent = place
        return Memory(
            assemble(workspace, config=config, agent=agent, by_person=True, adjust=adjust, index_file=index_file)
        )

    return open_memory


def plain(lines: Sequence[str]) -> list[Line]:
    """Return lines of text for the screen."""
    return [((line, ""),) for line in lines]
