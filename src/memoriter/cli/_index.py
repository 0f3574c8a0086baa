"""`memoriter index`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._agents import agent_options, missing_folder, serve_agents
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import pluralize
from memoriter.errors import WorkspaceNotFound
from memoriter.tools import error_json, estimate_json, sync_json
from memoriter.types import Estimate, SyncReport

if TYPE_CHECKING:
    from memoriter.cli._render import Line


@click.command(cls=Command, name="index")
@click.option("--force", is_flag=True, help="Build it anew; vectors of unchanged text are kept.")
@click.option("--vectors", is_flag=True, help="Build it anew, and compute every vector again, too.")
@click.option("--dry-run", is_flag=True, help="Only count what would be done, and what it would cost.")
def command(*, force: bool, vectors: bool, dry_run: bool) -> None:
    """Bring the index up to date with the notes.

        memoriter index
        memoriter index --dry-run
        memoriter index --force -w ~/notes

    Searching does this by itself; run it to have all vectors at once, or after changing settings. It may be
    interrupted at any time and goes on where it was. It serves every agent of the configuration, unless --agent, -w or
    the current folder selects one memory; with several agents --json is a list. Next: memoriter status.
    """
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    agents = agent_options(options, here=True)

    def work(agent: GlobalOptions) -> Estimate | SyncReport:
        with agent.open_memory() as memory:
            if dry_run:
                return memory.estimate()
            with screen.progress() as progress:
                return agent.show_egress_notice(memory).sync(force=force, vectors=vectors, progress=progress)

    results = serve_agents(agents, work)
    if screen.as_json:
        if len(agents) == 1:
            screen.json(_result_json(results[0][1]))
        else:
            screen.json([{"agent": agent.agent, **_result_json(result)} for agent, result in results])
        return
    for agent, result in results:
        if isinstance(result, WorkspaceNotFound):
            screen.show_diagnostics([missing_folder(agent, result)])
            continue
        if len(agents) > 1:
            screen.show([((f"{agent.agent}", "bold"), (":", ""))])
        screen.show(_estimate_lines(result) if isinstance(result, Estimate) else _report_lines(result))
        if isinstance(result, SyncReport):
            screen.show_diagnostics(result.reasons)


def _result_json(result: Estimate | SyncReport | WorkspaceNotFound) -> dict[str, Any]:
    match result:
        case Estimate():
            return estimate_json(result)
        case SyncReport():
            return sync_json(result)
        case WorkspaceNotFound():
            return error_json(result.code, result.message, result.remedy)


def _report_lines(report: SyncReport) -> list[Line]:
    return [
        (
            (f"{pluralize(report.files, 'file')}, {pluralize(report.chunks, 'chunk')}", "bold"),
            (f": {report.added} added, {report.changed} changed, {report.removed} removed.", ""),
        ),
        (
            (f"{pluralize(report.embedded, 'vector')} computed, {report.cached} known, {report.pending} pending, ", ""),
            (f"{report.failed} failed", "red" if report.failed else ""),
            (f"; {report.seconds:.1f} s.", ""),
        ),
    ]


def _price(estimate: Estimate) -> str:
    if not estimate.tokens:
        return "nothing to pay"
    if estimate.price is None:
        return "their price is not known here"
    as_of = f", by the prices of {estimate.price_seen}" if estimate.price_seen else ""
    return f"about ${estimate.price:.4f}{as_of}" if estimate.price else "free"


def _estimate_lines(estimate: Estimate) -> list[Line]:
    price = _price(estimate)
    return [
        (
            (pluralize(estimate.files, "file"), "bold"),
            (f": {estimate.added} to add, {estimate.changed} to update, {estimate.removed} to remove.", ""),
        ),
        (
            (f"{pluralize(estimate.chunks, 'chunk')} to index, about ", ""),
            (f"{pluralize(estimate.tokens, 'token')} to embed: {price}.", ""),
        ),
        ((f"Left out: {pluralize(len(estimate.skipped), 'path')}; memoriter status lists them.", "dim"),),
    ]
