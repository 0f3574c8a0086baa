"""`memoriter search`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._days import FORMS, read_day
from memoriter.cli._delegation import ask_server
from memoriter.cli._options import STANDING, Command, GlobalOptions, egress_line
from memoriter.cli._render import diagnostic_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from memoriter.cli._render import Line, Screen
    from memoriter.memory import Memory
    from memoriter.sync import Progress
    from memoriter.types import Diagnostic, SearchResult, SourceKind

PATH = "/command/search"
ANSWER_SECONDS = 5.0
"""Seconds within which a server that has begun must answer; then this process searches."""

FEW = 20
"""The most new or changed files, or chunks without a vector, that a server indexes before it answers another process.

With more of them the process works itself, and shows its progress.
"""


@click.command(cls=Command, name="search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--max-results", type=click.IntRange(1, 1000), metavar="N", help="At most N passages; as configured, 6."
)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="S", help="Leave out scores below S (0 to 1).")
@click.option(
    "--source", type=click.Choice(["memory", "sessions"]), multiple=True, help="Only notes, or conversations."
)
@click.option("--since", callback=read_day, metavar="DAY", help=f"Only what is dated then or later: {FORMS}.")
@click.option("--until", callback=read_day, metavar="DAY", help="Only what is dated then or earlier.")
@click.option("--on", callback=read_day, metavar="DAY", help="Only that day.")
@click.option("--path", metavar="PATH", help="Only this file, folder or pattern, such as 'memory/work/*'.")
@click.option("--explain", is_flag=True, help="Say for each passage how it came by its score.")
@click.option(
    "--deadline-ms", type=click.IntRange(1, 86_400_000), metavar="MS", help="Answer by then, as well as it goes."
)
def command(
    *,
    query: tuple[str, ...],
    max_results: int | None,
    min_score: float | None,
    source: tuple[SourceKind, ...],
    since: date | None,
    until: date | None,
    on: date | None,
    path: str | None,
    explain: bool,
    deadline_ms: int | None,
) -> None:
    """Find the passages of your notes that answer a question.

        memoriter search which database did we choose
        memoriter search "release train" --since 7d -n 3
        memoriter search ER605 --path memory/home --explain --json

    Ask in any language. The first search builds the index. Scores go from 0 to 1 and mean the same in every search;
    finding nothing is no failure. Quote a question with characters that your shell reads. Next: memoriter get PATH.
    """
    options = GlobalOptions.current()
    since, until = _date_range(since, until, on)
    request = SearchRequest(
        text=" ".join(query),
        max_results=max_results,
        min_score=min_score,
        sources=source,
        since=since and since.isoformat(),
        until=until and until.isoformat(),
        path=path,
        explain=explain,
        deadline_ms=deadline_ms,
        as_json=options.json,
        quiet=options.quiet,
        marked=sys.stdout.isatty(),
    )
    if not _show_answer_of_server(options, request):
        _search_here(options, request)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """All that the output of a search depends on, besides the memory. The values are those of JSON."""

    text: str
    max_results: int | None
    min_score: float | None
    sources: Sequence[SourceKind]
    since: str | None
    """As in `2026-02-10`."""
    until: str | None
    path: str | None
    explain: bool
    deadline_ms: int | None
    as_json: bool
    quiet: bool
    marked: bool
    """Whether to highlight the query's words in the text."""

    def search(self, memory: Memory, progress: Callable[[Progress], None]) -> SearchResult:
        """Search a memory. Raises MemoriterError."""
        from datetime import date

        return memory.search(
            self.text,
            max_results=self.max_results,
            min_score=self.min_score,
            sources=self.sources or None,
            since=date.fromisoformat(self.since) if self.since else None,
            until=date.fromisoformat(self.until) if self.until else None,
            path=self.path,
            explain=self.explain,
            deadline_ms=self.deadline_ms,
            progress=progress,
        )

    def answer(self, memory: Memory, result: SearchResult) -> Any:
        """Return what is printed on stdout: with `as_json` a JSON value, else lines."""
        if self.as_json:
            from memoriter.tools import citations_on, result_json

            return result_json(result, citations=citations_on(memory.configuration.settings.memory.citations))
        from memoriter.cli._answer import answer_lines

        narrowed = bool(self.min_score or self.sources or self.since or self.until or self.path)
        return answer_lines(result, self.text, marked=self.marked, narrowed=narrowed)

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
        raise click.UsageError("--on is one day: it does not go with --since or --until.", click.get_current_context())
    first, last = on or since, on or until
    if first and last and first > last:
        raise click.UsageError(f"--since {first} is later than --until {last}.", click.get_current_context())
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
