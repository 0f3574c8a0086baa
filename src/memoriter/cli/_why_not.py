"""`memoriter why-not`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import why_not_json
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import is_interactive, pluralize
from memoriter.cli._search import NARROWING, search_options, search_values
from memoriter.errors import UsageError
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.cli._render import Line, Screen
    from memoriter.memory import Memory
    from memoriter.questions import SettingEffect
    from memoriter.types import StageStatus, WhyNot

MARKS: dict[StageStatus, tuple[str, str]] = {
    "passed": ("ok  ", "green"),
    "warned": ("note", "yellow"),
    "lost": ("LOST", "bold red"),
    "not_reached": ("-   ", "dim"),
}
SHOWN_QUESTIONS = 5
"""Questions that are named of those that a setting gains or loses."""


@click.command(cls=Command, name="why-not")
@click.argument("query", nargs=-1, metavar="QUERY...")
@click.argument("citation", metavar="PATH[#L5]")
@search_options(NARROWING, max_results="As in the search that missed the passage.", min_score="As in that search.")
@click.option(
    "--eval",
    "eval_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Your questions about the notes. Default: eval.md in the folder of notes.",
)
@click.option("--add", is_flag=True, help="Add the question to that file, with the passage as its answer.")
def why_not_command(
    query: tuple[str, ...],
    citation: str,
    *,
    eval_file: str | None,
    add: bool,
    **given: Any,
) -> None:
    """Explain why a search does not find a passage.

        memoriter why-not "which database" MEMORY.md#L12
        memoriter why-not "release train" memory/2026-02-10.md#L5-L9 --since 7d
        memoriter why-not "release train" memory/2026-02-10.md --add

    PATH is a citation, or a note for any passage of it. It follows the passage from the file to the hits, and names
    the stage that lost it. Then it looks for the smallest change of the settings that brings it back, tries that, and
    shows what it does to the questions in eval.md, if the folder of notes has that file. Only --add changes anything.
    Next: memoriter config set, or memoriter eval.
    """
    from memoriter.questions import EVAL_FILE

    if not query:
        raise click.UsageError("Give the question, and after it the PATH of the passage.")
    options = GlobalOptions.current()
    screen = options.screen
    arguments = search_values(**given)
    question = " ".join(query)
    if eval_file and not add and not Path(eval_file).is_file():
        raise UsageError(f"There is no file {eval_file!r}.", remedy="Give a file of questions, or add --add.")
    with options.open_memory() as memory:
        options.show_egress_notice(memory)
        if memory.settings.enabled and memory.settings.sync.on_search:
            with screen.progress() as progress:
                memory.backend.refresh(progress=progress)
        report = memory.why_not(question, options.note_path(memory, citation), operators=True, **arguments)
        file = Path(eval_file) if eval_file else memory.place.workspace / EVAL_FILE
        effect = _effect(memory, report, file, screen, is_given=eval_file is not None)
        if not screen.as_json:
            screen.show([*_report_lines(report), *_fix_lines(report), *_effect_lines(effect, file)])
        is_added = _is_to_be_added(report, file, screen, asked=add) and _add(memory, report, question, file, screen)
    if screen.as_json:
        screen.json(why_not_json(report) | _effect_json(effect, file) | ({"added": True} if is_added else {}))
    screen.show_diagnostics(report.reasons)


def _effect(memory: Memory, report: WhyNot, file: Path, screen: Screen, *, is_given: bool) -> SettingEffect | None:
    """Return what the fix does to the owner's questions; None without a fix of the settings, or without questions.

    Raises:
        UsageError: the file that was given cannot be used. For the one in the folder of notes, a notice is printed.
    """
    from memoriter.questions import questions_about, setting_effect

    fix = report.fix
    if fix is None or not fix.changes or not fix.verified or not file.is_file():
        return None
    try:
        own = questions_about(memory, file)
    except UsageError as error:
        if is_given:
            raise
        screen.show_diagnostics([Diagnostic.of(error)])
        return None
    changes = {change.key: change.value for change in fix.changes}
    return setting_effect(memory, changes, own.questions, left_out=own.left_out)


def _report_lines(report: WhyNot) -> Iterator[Line]:
    passage = report.passage or report.citation
    if report.found:
        yield (("Found: ", "green"), (passage, "bold"), (f" is hit {report.place} of {report.hits}.", ""))
    else:
        yield (("Not found: ", "yellow"), (passage, "bold"), (f" was lost at the stage {report.stage!r}.", ""))
    yield ()
    for stage in report.stages:
        mark, style = MARKS[stage.status]
        yield (
            (f"{mark}  ", style),
            (f"{stage.stage:<10}  ", "bold" if stage.status == "lost" else ""),
            (stage.message, ""),
        )
    yield ()


def _fix_lines(report: WhyNot) -> Iterator[Line]:
    """Yield the change that brings the passage back, or what to do instead."""
    fix = report.fix
    if report.remedy and fix is None:
        yield ((report.remedy, ""),)
    if fix is None:
        return
    parts = [f"leave out {option}" for option in fix.leave_out]
    parts += [
        f"set {change.key} to {json.dumps(change.value)} (now {json.dumps(change.now)}"
        f"{f'; {change.option}' if change.option else ''})"
        for change in fix.changes
    ]
    yield (("Smallest change: ", ""), (" and ".join(parts), "bold"), (".", ""))
    if fix.verified:
        yield ((f"Verified by a search with it: the passage is hit {fix.place}.", "green"),)
    else:
        yield (("A search with it did not find the passage: the memory changed meanwhile. Ask again.", "yellow"),)
    if report.remedy:
        yield ((f"Or without a setting: {report.remedy[0].lower()}{report.remedy[1:]}", ""),)


def _effect_lines(effect: SettingEffect | None, file: Path) -> Iterator[Line]:
    """Yield what the change does to the owner's questions."""
    if effect is None:
        return
    count = pluralize(effect.questions, "question")
    after = effect.answered + len(effect.gained) - len(effect.lost)
    yield ((f"Of {count} in {file.name}, {effect.answered} are answered now and {after} with it.", ""),)
    for name, style, questions in (("gained", "green", effect.gained), ("lost", "red", effect.lost)):
        shown = [question.text for question in questions[:SHOWN_QUESTIONS]]
        more = [f"and {len(questions) - SHOWN_QUESTIONS} more"] if len(questions) > SHOWN_QUESTIONS else []
        if shown:
            yield ((f"{len(questions)} {name}: ", style), ("; ".join([*shown, *more]), ""))


def _effect_json(effect: SettingEffect | None, file: Path) -> dict[str, Any]:
    if effect is None:
        return {}
    gained, lost = ([question.text for question in each] for each in (effect.gained, effect.lost))
    counts = {"questions": effect.questions, "answered": effect.answered}
    return {"eval": {"file": str(file), **counts, "gained": gained, "lost": lost}}


def _is_to_be_added(report: WhyNot, file: Path, screen: Screen, *, asked: bool) -> bool:
    """Return whether to add the question: if it was asked for, or if a person at the terminal says so."""
    is_memory = report.stage not in {"written", "scanned"}
    if asked and not is_memory:
        raise UsageError(
            f"The question was not added, because {report.citation!r} is not in the memory.",
            remedy="Give lines of a note.",
        )
    if asked or not is_memory or report.found or not is_interactive(screen):
        return asked
    return click.confirm(f"Add the question to {file.name}, with {report.citation} as its answer?", err=True)


def _add(memory: Memory, report: WhyNot, question: str, file: Path, screen: Screen) -> bool:
    """Add the question to the owner's questions; return whether it was not there. Raises UsageError, WriteError."""
    from memoriter.questions import LAST_LINE, AnswerLines, append_question
    from memoriter.workspace import split_citation

    path, first, count = split_citation(report.citation)
    last = LAST_LINE if first is None or count is None else first + count - 1
    added = append_question(file, question, [AnswerLines(path, first or 1, last)])
    state = "Added to" if added else "Already in"
    lines: list[Line] = [((f"{state} {file}: ", ""), (question, "bold"))]
    if any(source.file == file.absolute() for source in memory.sources()):
        lines.append(
            ((f"{file.name} is itself a note here. To keep it out, write its name into .memoryignore.", "yellow"),)
        )
    screen.note(*lines)
    return added
