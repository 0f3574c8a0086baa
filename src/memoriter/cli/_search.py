"""`memoriter search`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._answer import answer_lines
from memoriter.cli._days import read_day
from memoriter.cli._options import Command, GlobalOptions
from memoriter.filters import FILTERS, ON, search_arguments
from memoriter.tools import citations_on, result_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from memoriter.filters import Filter
    from memoriter.sync import Progress
    from memoriter.types import SearchResult


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


def _filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of all filters to a command."""
    options = [_filter_option(each) for each in FILTERS]
    until = [each.name for each in FILTERS].index("until")
    options.insert(until + 1, click.option(ON, **DAY, help="Only that day."))
    for option in reversed(options):
        function = option(function)
    return function


@click.command(cls=Command, name="search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--max-results", type=click.IntRange(1, 1000), metavar="N", help="At most N passages; as configured, 6."
)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="S", help="Leave out scores below S (0 to 1).")
@_filter_options
@click.option("--explain", is_flag=True, help="Say how each passage came by its score, and how long it took.")
@click.option(
    "--deadline-ms", type=click.IntRange(1, 86_400_000), metavar="MS", help="Answer by then, as well as it goes."
)
def command(
    *,
    query: tuple[str, ...],
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

    Ask in any language. The first search builds the index. Scores go from 0 to 1 and mean the same in every search;
    finding nothing is no failure. Quote a question with characters that your shell reads. Next: memoriter get PATH.
    """
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    since, until = _date_range(filters["since"], filters["until"], on)
    arguments = search_arguments({**filters, "since": since, "until": until})
    text = " ".join(query)
    with options.open_memory() as memory:
        with screen.progress(_first_line) as progress:
            result = options.show_egress_notice(memory).search(
                text,
                max_results=max_results,
                min_score=min_score,
                explain=explain,
                deadline_ms=deadline_ms,
                progress=progress,
                **arguments,
            )
        screen.detail(f"{memory.place.workspace} ({memory.place.reason}); {_provenance(result)}")
        mode = memory.configuration.settings.memory.citations
    if screen.as_json:
        screen.json(result_json(result, citations=citations_on(mode)))
        return
    narrowed = bool(min_score or any(arguments.values()))
    screen.show(answer_lines(result, text, marked=sys.stdout.isatty(), narrowed=narrowed))
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
