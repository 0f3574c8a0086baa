"""The commands about days: `memoriter day` and `memoriter recent`. Both are searches that ask for nothing but days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._answer import SearchRequest
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._search import answer_request, local_day, search_values
from memoriter.filters import ANY, parse_days
from memoriter.types import DAY_FORMS

if TYPE_CHECKING:
    from memoriter.times import Days

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
