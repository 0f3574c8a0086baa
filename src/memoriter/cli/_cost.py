"""`memoriter cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoriter.api_json import cost_json
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.cli._render import Line
    from memoriter.config import DayBudget
    from memoriter.types import Spending


@click.command(cls=Command, name="cost")
@click.option(
    "--days", metavar="N", type=click.IntRange(1, 3660), default=30, show_default=True, help="The number of days."
)
def cost_command(*, days: int) -> None:
    """Show what you spent on embedding services.

        memoriter cost
        memoriter cost --days 7 --json

    It lists tokens and dollars by day and model. The services count the tokens; the dollars come from a dated table of
    prices, without discounts or free tiers. Days begin at midnight UTC. Models on this machine cost nothing and are not
    listed. The setting memorySearch.remote.budget is the daily limit. Next: memoriter index --dry-run.
    """
    from memoriter.app import read_environment, settle
    from memoriter.embedding_setup import ledger_of

    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    env = read_environment()
    _, configuration, agent = settle(env, options.workspace, options.config, options.agent, any_notes=True)
    budget, ledger = configuration.search_for(agent).remote.budget, ledger_of(env)
    try:
        rows, today = ledger.rows(days=days), ledger.today()
    finally:
        ledger.close()
    if screen.as_json:
        screen.json(cost_json(rows, today, budget))
        return
    screen.show(list(_lines(rows, days)))
    limits = " and ".join(_limit_texts(budget)) or "no limit"
    screen.note(((f"Today {today.tokens:,} tokens, ${today.dollars:.4f}; a day may take {limits}.", "dim"),))


def _lines(rows: Sequence[Spending], days: int) -> Iterator[Line]:
    if not rows:
        yield ((f"Nothing was spent at a service in {pluralize(days, 'day')}.", ""),)
        return
    for row in rows:
        price = f"${row.dollars:.4f}" + (f" and {row.unpriced:,} tokens without a price" if row.unpriced else "")
        took = f"  {pluralize(row.tokens, 'token')} in {pluralize(row.calls, 'call')}, {price}"
        yield ((f"{row.day}  ", "dim"), (f"{row.provider} {row.model}", "bold"), (took, ""))
    total, unpriced = sum(row.dollars for row in rows), sum(row.unpriced for row in rows)
    more = f", and {unpriced:,} tokens whose price is not known" if unpriced else ""
    yield ((f"${total:.4f} in all{more}.", "bold"),)


def _limit_texts(budget: DayBudget) -> Iterator[str]:
    if budget.dollars_per_day:
        yield f"${budget.dollars_per_day:g}"
    if budget.tokens_per_day:
        yield f"{budget.tokens_per_day:,} tokens"
