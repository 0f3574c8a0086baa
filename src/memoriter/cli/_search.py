"""`memoriter search`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._options import STANDING, Command, GlobalOptions, ask_server, egress_line
from memoriter.cli._render import diagnostic_lines
from memoriter.filters import DAY_FORMS, FILTERS, ON, parse_day, search_arguments
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.cli._render import Line, Screen
    from memoriter.filters import Filter
    from memoriter.memory import Memory
    from memoriter.sync import Progress
    from memoriter.types import Diagnostic, SearchResult

PATH = "/command/search"
ANSWER_SECONDS = 5.0
"""Seconds within which a server that has begun must answer; then this process searches."""

FEW = 20
"""The most new or changed files, or chunks without a vector, that a server indexes before it answers another process.

With more of them the process works itself, and shows its progress.
"""


def read_day(context: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    """Parse a day from the command line, relative to the local day. Raises click's usage error."""
    if value is None:
        return None
    day = parse_day(value, local_day())
    if day is None:
        raise click.BadParameter(f"{value!r} is no day. Write {DAY_FORMS}.", context, parameter)
    return day


def local_day() -> date:
    """Return the current day in the local time zone."""
    from memoriter.environment import read_environment

    return datetime.fromtimestamp(read_environment().wall(), tz=UTC).astimezone().date()


DAY: dict[str, Any] = {"callback": read_day, "metavar": "DAY"}


def _filter_option(each: Filter) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator that adds the option of a filter."""
    match each.kind:
        case "source":
            return click.option(each.option, type=click.Choice(["memory", "sessions"]), multiple=True, help=each.help)
        case "day":
            return click.option(each.option, **DAY, help=each.help)
        case "text":
            return click.option(each.option, metavar=each.parameter.upper(), help=each.help)
        case "tags":
            return click.option(each.option, metavar=each.parameter.upper(), multiple=True, help=each.help)


def _filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of all filters to a command."""
    options = [_filter_option(each) for each in FILTERS]
    until = [each.name for each in FILTERS].index("until")
    options.insert(until + 1, click.option(ON, **DAY, help="Only passages of this day."))
    for option in reversed(options):
        function = option(function)
    return function


@click.command(cls=Command, name="search")
@click.argument("query", nargs=-1)
@click.option("--query", "query_option", metavar="TEXT", help="The question, in place of QUERY.")
@click.option(
    "-n",
    "--max-results",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="At most N passages. Default: the setting, 6.",
)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="S", help="Omit passages with a score below S.")
@_filter_options
@click.option("--explain", is_flag=True, help="Show how each score was computed, and the time of each stage.")
@click.option(
    "--deadline-ms", type=click.IntRange(1, 86_400_000), metavar="MS", help="Return the best answer within this time."
)
def search_command(
    *,
    query: tuple[str, ...],
    query_option: str | None,
    max_results: int | None,
    min_score: float | None,
    explain: bool,
    deadline_ms: int | None,
    on: date | None,
    **filters: Any,
) -> None:
    """Find the passages of your notes that answer a question.

        memoriter search which database did we choose
        memoriter search "release train" --since 7d -n 3
        memoriter search ER605 --path memory/home --explain --json
        memoriter search 'router "VLAN 10" -guest tag:home since:30d'

    In the question, a "phrase in quotes" must occur as it is, -word must not occur, and tag:NAME, path:FOLDER,
    since:DAY and until:DAY restrict the search. All else is plain text.

    Ask in any language. The first search builds the index. Scores go from 0 to 1 and mean the same in every search. A
    search without results also succeeds. Quote a question that contains special characters of your shell.
    Next: memoriter get PATH.
    """
    options = GlobalOptions.current()
    since, until = _date_range(filters["since"], filters["until"], on)
    arguments = search_arguments({**filters, "since": since, "until": until})
    request = SearchRequest(
        text=_query_text(query, query_option),
        max_results=max_results,
        min_score=min_score,
        filters={name: value.isoformat() if isinstance(value, date) else value for name, value in arguments.items()},
        explain=explain,
        deadline_ms=deadline_ms,
        as_json=options.json,
        quiet=options.quiet,
        marked=sys.stdout.isatty(),
    )
    if not _show_answer_of_server(options, request):
        _search_here(options, request)


def _query_text(words: tuple[str, ...], option: str | None) -> str:
    """Return the question, from the arguments or from --query. Raises click.UsageError unless there is one of both."""
    if words and option is not None:
        raise click.UsageError(
            "The question is given twice: as QUERY and with --query. Give one.", click.get_current_context()
        )
    if not words and option is None:
        raise click.UsageError("Missing argument 'QUERY...'.", click.get_current_context())
    return " ".join(words) if option is None else option


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """All that the output of a search depends on, besides the memory. The values are those of JSON."""

    text: str
    max_results: int | None
    min_score: float | None
    filters: Mapping[str, Any]
    """By name; a day as in `2026-02-10`."""
    explain: bool
    deadline_ms: int | None
    as_json: bool
    quiet: bool
    marked: bool
    """Whether to highlight the query's words in the text."""

    def search(self, memory: Memory, progress: Callable[[Progress], None]) -> SearchResult:
        """Search a memory. Raises MemoriterError."""
        days = {each.name for each in FILTERS if each.kind == "day"}
        filters: dict[str, Any] = {
            name: date.fromisoformat(value) if value and name in days else value for name, value in self.filters.items()
        }
        return memory.search(
            self.text,
            max_results=self.max_results,
            min_score=self.min_score,
            explain=self.explain,
            deadline_ms=self.deadline_ms,
            operators=True,
            progress=progress,
            **filters,
        )

    def answer(self, memory: Memory, result: SearchResult) -> Any:
        """Return what is printed on stdout: with `as_json` a JSON value, else lines."""
        if self.as_json:
            from memoriter.api_json import result_json
            from memoriter.tools import citations_on

            return result_json(result, citations=citations_on(memory.configuration.settings.memory.citations))
        from memoriter.cli._answer import answer_lines

        narrowed = bool(self.min_score or any(self.filters.values()))
        query = result.understood["text"] if result.understood else self.text
        return answer_lines(result, query, marked=self.marked, narrowed=narrowed)

    def show(self, screen: Screen, answer: Any) -> None:
        """Print the answer on stdout."""
        if self.as_json:
            screen.json(answer)
        else:
            screen.show(answer)


def search_for_other(memory: Memory, body: bytes, notices: Callable[[], Sequence[Diagnostic]]) -> bytes:
    """Return the reply to a search of another process that is the same program.

    Args:
        memory: the memory of this server.
        body: the request, as JSON.
        notices: returns the notices of a command that opens the memory now.

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
    return json.dumps({"notes": [*notes, *first_lines], "answer": answer}).encode("ascii")


def _show_answer_of_server(options: GlobalOptions, request: SearchRequest) -> bool:
    """Print the answer of a server with this memory; return False if there is none."""
    from memoriter.discovery import Call, Unanswered
    from memoriter.environment import read_environment

    if options.verbose:  # the server does not log for others
        return False
    call = Call(PATH, json.dumps(asdict(request)).encode("ascii"), ANSWER_SECONDS)
    try:
        reply = ask_server(options, read_environment(), call, exact=True)
        if reply is None:
            return False
        received = json.loads(reply.body)
        notes = _parse_lines(received["notes"])
        answer = received["answer"] if request.as_json else _parse_lines(received["answer"])
    except (Unanswered, ValueError, TypeError, LookupError):
        return False  # a search can be repeated
    options.screen.note(*notes)
    request.show(options.screen, answer)
    return True


def _parse_lines(lines: Any) -> list[Line]:
    """Return lines that were sent as JSON. Raises ValueError and TypeError."""
    return [tuple((str(text), str(style)) for text, style in line) for line in lines]


def _search_here(options: GlobalOptions, request: SearchRequest) -> None:
    screen = options.screen
    with options.open_memory() as memory:
        with screen.progress(_first_line) as progress:
            result = request.search(options.show_egress_notice(memory), progress)
        screen.detail(f"{memory.place.workspace} ({memory.place.reason}); {_provenance(result)}")
        answer = request.answer(memory, result)
    request.show(screen, answer)
    if not request.as_json:
        screen.show_diagnostics(result.health.reasons)


def _date_range(since: date | None, until: date | None, on: date | None) -> tuple[date | None, date | None]:
    if on is not None and (since or until):
        raise click.UsageError(
            "The option --on is one day: it does not go with --since or --until.", click.get_current_context()
        )
    first, last = on or since, on or until
    if first and last and first > last:
        raise click.UsageError(
            f"The day of --since, {first}, is later than that of --until, {last}.", click.get_current_context()
        )
    return first, last


def _first_line(progress: Progress) -> str:
    if progress.stage == "download":
        return f"Downloading the model first, {progress.total / 1e6:,.0f} MB."
    if progress.stage == "embed":
        return "Computing the vectors that are missing in the index first."
    notes = "1 new or changed file" if progress.total == 1 else f"{progress.total} new or changed files"
    return f"Indexing {notes} first."


def _provenance(result: SearchResult) -> str:
    return f"{result.mode} search, {result.provider} {result.model}, generation {result.health.generation}"
