"""The commands that search: `memoriter search`, and `day` and `recent`, which ask for nothing but days."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._answer import SearchRequest, find_editor, open_hit
from memoriter.cli._options import (
    STANDING,
    Command,
    GlobalOptions,
    ask_server,
    egress_line,
    option_of,
    parsed_options,
    read_environment,
)
from memoriter.cli._render import diagnostic_lines
from memoriter.filters import ANY, day_range, parse_days
from memoriter.types import DAY_FORMS, search_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from memoriter.cli._render import Line
    from memoriter.memory import Memory
    from memoriter.sync import Progress
    from memoriter.times import Days
    from memoriter.types import Diagnostic, SearchResult

PATH = "/command/search"
LONGEST_INPUT = 100_000
"""Bytes of a question that are read from stdin; more than a search uses."""
ANSWER_SECONDS = 5.0
"""Seconds within which a server that has begun must answer; then this process searches."""

UNFINISHED = {"files_pending", "index_outdated", "vectors_pending"}
"""Codes of diagnostics about work that a process in the background does."""
AT_WORK = "A background process does this now; `memoriter status` shows its progress."
FEW = 20
"""The most new or changed files, or chunks without a vector, that a server indexes before it answers another process.

With more of them the process works itself, and shows its progress.
"""


def read_days(context: click.Context, parameter: click.Parameter, value: str | None) -> Days | None:
    """Parse a day, or several, from the command line, relative to the local day. Raises click's usage error."""
    if value is None:
        return None
    days = parse_days(value, local_day())
    if days is None:
        raise click.BadParameter(f"{value!r} is not a day. Write {DAY_FORMS}.", context, parameter)
    return days


def local_day() -> date:
    """Return the current day in the local time zone."""
    return datetime.fromtimestamp(read_environment().wall(), tz=UTC).astimezone().date()


def search_options(names: Iterable[str], **helps: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator that adds the options of arguments of a search, with other help texts for some."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        for name in reversed([*names]):
            argument = search_arguments()[name]
            of_days = {"callback": read_days, "metavar": "DAY"} if argument.kind == "day" else {}
            function = option_of(replace(argument, help=helps.get(name, argument.help)), **of_days)(function)
        return function

    return add


NARROWING = tuple(name for name, argument in search_arguments().items() if argument.help and argument.narrows)
"""The arguments with an option that decide which passages are hits."""
OTHERS = tuple(name for name, argument in search_arguments().items() if argument.help and not argument.narrows)
"""The other arguments with an option."""


def search_values(*, on: Days | None = None, **options: Any) -> dict[str, Any]:
    """Return the arguments of `Memory.search` for the values of options, with dates for days. Raises UsageError."""
    since = options.get("since")
    until = options.get("until")
    days = day_range(since, until, on, prefix="--")
    any_day = (since or until or on) is not None and days.first is days.last is None
    given = {
        name: value for name, value in options.items() if value != ()
    }  # an option that may be repeated, and was not
    return {**given, "since": ANY if any_day else days.first, "until": days.last}


def _store_form(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Let failures be JSON too where the answer is."""
    if value == "json":
        parsed_options(context)["json"] = True
    return value


class SearchCommand(Command):
    """A command whose option `--open` may stand without a number, before a word of the question too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Complete `--open` before anything but a number to `--open=1`."""
        end = args.index("--") if "--" in args else len(args)
        for at, (word, following) in enumerate(zip(args[:end], [*args[1:], ""], strict=False)):
            if word == "--open" and not following.isdecimal():
                args[at] = "--open=1"
        return super().parse_args(ctx, args)


@click.command(cls=SearchCommand, name="search")
@click.argument("query", nargs=-1)
@click.option("--query", "query_option", metavar="TEXT", help="The question, instead of QUERY.")
@search_options(NARROWING)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "lines"]),
    is_eager=True,
    callback=_store_form,
    help="text (default), json (as --json), or lines: path:line:text for editors, as grep prints it.",
)
@click.option(
    "--open",
    "opened",
    type=click.IntRange(1),
    metavar="[N]",
    help="Open hit N, or the first, at its line in the editor that VISUAL or EDITOR names.",
)
@search_options(OTHERS)
def search_command(
    *,
    query: tuple[str, ...],
    query_option: str | None,
    form: str | None,
    opened: int | None,
    **given: Any,
) -> None:
    """Find the passages of your notes that answer a question.

        memoriter search which database did we choose
        memoriter search "release train" --since 7d -n 3
        memoriter search ER605 --path memory/home --explain --json
        memoriter search 'router "VLAN 10" -guest tag:home since:30d'
        memoriter search what did I do last week
        memoriter search "release train" --open

    In the question, a "phrase in quotes" must occur as it is, -word must not occur, and tag:NAME, path:FOLDER,
    since:DAY and until:DAY restrict the search. Passages of a time that it names, such as "last week", come first.
    Several lines that begin with lex: (words), vec: (a question) or hyde: (a supposed answer) are searched one by one
    and fused. QUERY `-` reads stdin.

    Ask in any language, and quote characters that your shell would read. The first search builds the index. Scores go
    from 0 to 1 and mean the same in every search. Next: memoriter get PATH.
    """
    options = GlobalOptions.current()
    arguments = search_values(**given)
    has_days = arguments["since"] not in {None, ANY} or arguments["until"] is not None
    text = "" if has_days and not query and query_option is None else _query_text(query, query_option)
    form = _form_of(options, form, explain=arguments["explain"], opened=bool(opened))
    request = SearchRequest.of(options, text, arguments, form)
    if opened:
        _open_hit(options, request, opened)
    else:
        answer_request(options, request)


def answer_request(options: GlobalOptions, request: SearchRequest) -> None:
    """Print the answer to a search: that of a server with this memory, or of this process. Raises MemoriterError."""
    if not _show_answer_of_server(options, request):
        _search_here(options, request)


def _query_text(words: tuple[str, ...], option: str | None) -> str:
    """Return the question, from the arguments, stdin (`-`) or --query.

    Raises click.UsageError unless there is exactly one of them.
    """
    if words and option is not None:
        raise click.UsageError(
            "The question is given twice: as QUERY and with --query. Give one.", click.get_current_context()
        )
    if not words and option is None:
        raise click.UsageError("Missing argument 'QUERY...'.", click.get_current_context())
    if words == ("-",):
        return sys.stdin.buffer.read(LONGEST_INPUT).decode("utf-8", "replace")
    return " ".join(words) if option is None else option


def search_for_other(memory: Memory, body: bytes, notices: Callable[[], Sequence[Diagnostic]]) -> bytes:
    """Return the reply to a search of another process that is the same program.

    Raises:
        Declined: many notes must be indexed first, or something is wrong, which the other process may see otherwise.
        MemoriterError: the search failed.
    """
    from memoriter.mcp_server import Declined

    first_lines: list[Line] = []

    def report(progress: Progress) -> None:
        if progress.total > FEW:
            raise Declined
        if not first_lines:
            first_lines.append(((_first_line(progress), ""),))

    request = SearchRequest(**json.loads(body))
    result = request.search(memory, report)
    if result.health.reasons or result.fallback:
        raise Declined
    answer = request.answer(memory, result)
    notes = diagnostic_lines([notice for notice in notices() if notice.code not in STANDING])
    if not request.quiet and (destination := memory.egress_notice()):
        notes.append(egress_line(destination))
    remarks = [] if request.quiet else request.remarks(result)
    return json.dumps({"notes": [*notes, *first_lines, *remarks], "answer": answer}).encode("ascii")


def _show_answer_of_server(options: GlobalOptions, request: SearchRequest) -> bool:
    """Print the answer of a server with this memory; return False if there is none."""
    from memoriter.discovery import Call, Unanswered

    if options.verbose:  # the server does not log for others
        return False
    call = Call(PATH, json.dumps(asdict(request), default=str).encode("ascii"), ANSWER_SECONDS)
    try:
        reply = ask_server(options, read_environment(), call, exact=True)
        if reply is None:
            return False
        received = json.loads(reply.body)
        notes = _parse_lines(received["notes"])
        answer = received["answer"] if request.form == "json" else _parse_lines(received["answer"])
    except (Unanswered, ValueError, TypeError, LookupError):
        return False  # a search can be repeated
    options.screen.note(*notes)
    request.show(options.screen, answer)
    return True


def _parse_lines(lines: Any) -> list[Line]:
    """Return lines that were sent as JSON. Raises ValueError and TypeError."""
    return [tuple((str(text), str(style)) for text, style in line) for line in lines]


def _search_here(options: GlobalOptions, request: SearchRequest, number: int = 0) -> tuple[SearchResult, Path | None]:
    """Search in this process and print the answer. Return the result, and the file of the hit with a number."""
    screen = options.screen
    with options.open_memory() as memory:
        with screen.progress(_first_line) as progress:
            result = request.search(options.show_egress_notice(memory), progress)
        made_by = f"{result.mode} search, {result.provider} {result.model}, generation {result.health.generation}"
        screen.detail(f"{memory.place.workspace} ({memory.place.reason}); {made_by}")
        answer = request.answer(memory, result)
        file = memory.file_of(result.hits[number - 1].path) if 0 < number <= len(result.hits) else None
        request.show(screen, answer)
        sys.stdout.flush()
        reasons = _go_on_in_background(options, memory, result)
    screen.note(*request.remarks(result))
    if request.form != "json":
        screen.show_diagnostics(reasons)
    return result, file


def _go_on_in_background(options: GlobalOptions, memory: Memory, result: SearchResult) -> list[Diagnostic]:
    """Let a process of its own finish what the search did not; return the diagnostics of the search accordingly."""
    reasons = list(result.health.reasons)
    unfinished = {reason.code for reason in reasons} & UNFINISHED
    if not unfinished or memory.backend.problems:
        return reasons
    from memoriter.cli._background import start_if_allowed

    if not start_if_allowed(options, read_environment(), memory):
        return reasons
    return [replace(reason, remedy=AT_WORK) if reason.code in unfinished else reason for reason in reasons]


def _open_hit(options: GlobalOptions, request: SearchRequest, number: int) -> None:
    """Search, print the answer and open one of the hits. Raises UsageError if there is no such hit or no editor."""
    editor = find_editor(read_environment().environ)
    result, file = _search_here(options, request, number)
    open_hit(editor, result, number, file, request.query_of(result))


def _form_of(options: GlobalOptions, form: str | None, *, explain: bool, opened: bool) -> str:
    """Return the form of the answer. Raises click.UsageError if options contradict it."""
    context = click.get_current_context()
    if options.json and form not in {"json", None}:
        raise click.UsageError(
            f"The option --json is --format json: it cannot be combined with --format {form}.", context
        )
    form = form or ("json" if options.json else "text")
    if opened and form != "text":
        raise click.UsageError(f"The option --open cannot be combined with --format {form}.", context)
    if explain and form == "lines":
        raise click.UsageError("The option --explain cannot be combined with --format lines.", context)
    return form


def _first_line(progress: Progress) -> str:
    if progress.stage == "download":
        return f"Downloading the model first, {progress.total / 1e6:,.0f} MB."
    if progress.stage == "embed":
        return "Computing the vectors that are missing in the index first."
    notes = "1 new or changed file" if progress.total == 1 else f"{progress.total} new or changed files"
    return f"Indexing {notes} first."


MOST_OF_A_DAY = 100
MOST_RECENT = 10
CHANGED = click.option(
    "--changed", is_flag=True, default=None, help="Also notes without a day, by the last change of their files."
)


def _most(number: int) -> Any:
    return click.option(
        "-n",
        "--max-results",
        type=click.IntRange(1, 1000),
        default=number,
        show_default=True,
        metavar="N",
        help="At most N passages.",
    )


@click.command(cls=Command, name="day")
@click.argument("day", nargs=-1, metavar="[DAY]")
@_most(MOST_OF_A_DAY)
@CHANGED
def day_command(day: tuple[str, ...], max_results: int, *, changed: bool | None) -> None:
    """Show what is dated a day, a week, a month or a year.

        memoriter day
        memoriter day yesterday
        memoriter day last week -n 20
        memoriter day 2026-02-10 --json

    Without DAY, it is today. The newest day comes first, and each day in the order of its notes. If there is no place
    for all passages, those at the beginning of each note come in. The day of a note is the one in its front matter, or
    else in its path. Next: memoriter get PATH.
    """
    text = " ".join(day) or "today"
    days = parse_days(text, local_day())
    if days is None or text.lower() == ANY:
        raise click.BadParameter(f"{text!r} is not a day. Write {DAY_FORMS}.", param_hint="'DAY'")
    _list_newest(max_results, on=days, changed=changed)


@click.command(cls=Command, name="recent")
@_most(MOST_RECENT)
@CHANGED
def recent_command(max_results: int, *, changed: bool | None) -> None:
    """Show the newest notes, by their days.

        memoriter recent
        memoriter recent -n 30
        memoriter recent --changed

    Each note comes in with its beginning, and with more of it if there are fewer than N notes. The day of a note is the
    one in its front matter, or else in its path, up to today. Next: memoriter day DAY.
    """
    from memoriter.times import Days

    _list_newest(max_results, until=Days(last=local_day()), changed=changed)


def _list_newest(max_results: int, *, on: Days | None = None, until: Days | None = None, changed: bool | None) -> None:
    """Print the newest passages of some days, or until one."""
    options = GlobalOptions.current()
    values = search_values(on=on, until=until, sources=("memory",), changed=changed, max_results=max_results)
    answer_request(options, SearchRequest.of(options, "", values, "json" if options.json else "text"))
