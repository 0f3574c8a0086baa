"""The commands that build and shrink the index: `memoriter index`, `watch` and `compact`."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import compact_json, error_json, estimate_json, sync_json, watch_json
from memoriter.cli._options import Command, GlobalOptions, agent_options, missing_folder, read_environment, serve_agents
from memoriter.cli._render import pluralize
from memoriter.errors import ConfigError, WorkspaceNotFound
from memoriter.types import Estimate, SyncReport

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from memoriter.cli._render import Line, Screen
    from memoriter.types import CompactReport
    from memoriter.watch import WatchEvent

LOOK_SECONDS = 0.1
"""Seconds within which a signal stops the command."""
STYLES = {"indexed": "green", "trouble": "yellow", "missing": "yellow", "polling": "yellow", "waiting": "yellow"}


@click.command(cls=Command, name="index")
@click.option("--force", is_flag=True, help="Rebuild the index, but keep the vectors of unchanged text.")
@click.option("--vectors", is_flag=True, help="Rebuild the index, and compute every vector again.")
@click.option("--dry-run", is_flag=True, help="Only estimate the work and its cost.")
@click.option("--background", is_flag=True, help="Run in the background, and return at once.")
@click.option("--detached", is_flag=True, hidden=True)
def index_command(*, force: bool, vectors: bool, dry_run: bool, background: bool, detached: bool) -> None:
    """Bring the index up to date with the notes.

        memoriter index
        memoriter index --dry-run
        memoriter index --background
        memoriter index --force -w ~/notes

    Each search also does this. Run it to compute all vectors at once, or after you change settings; if you interrupt
    it, the next run continues. With several agents in the configuration, it serves all, unless --agent, -w or the
    current folder selects one, and --json prints a list. Next: memoriter status.
    """
    options = GlobalOptions.current()
    screen = options.screen
    if detached:
        from memoriter.cli._background import run_detached

        run_detached(options)
        return
    if background:
        if force or vectors or dry_run:
            raise click.UsageError("The option --background cannot be combined with other options of this command.")
        _index_in_background(options)
        return
    if not dry_run:
        from memoriter.cli._config import ask_for_provider

        ask_for_provider(options, read_environment())
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


def _index_in_background(options: GlobalOptions) -> None:
    from memoriter.cli._background import LOG, start
    from memoriter.cli._config import ask_for_provider

    env = read_environment()
    ask_for_provider(options, env)
    with options.open_memory() as memory:
        run = options.show_egress_notice(memory).backend.background_run
        if run is None or run.ended is not None:
            started = start(options, env, memory, wanted=True)
            if not started:
                raise ConfigError(f"No process can be started, or {env.home / LOG} cannot be written.")
    if options.screen.as_json:
        options.screen.json({"started": run is None or run.ended is not None, "log": str(env.home / LOG)})
    else:
        message = "Indexing in the background; `memoriter status` shows the progress."
        options.screen.show([((message, ""),)])


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
    return [
        (
            (pluralize(estimate.files, "file"), "bold"),
            (f": {estimate.added} to add, {estimate.changed} to update, {estimate.removed} to remove.", ""),
        ),
        (
            (f"{pluralize(estimate.chunks, 'chunk')} to index, about ", ""),
            (f"{pluralize(estimate.tokens, 'token')} to embed: {_price(estimate)}.", ""),
        ),
        ((f"Left out: {pluralize(len(estimate.skipped), 'path')}; memoriter status lists them.", "dim"),),
    ]


@click.command(cls=Command, name="compact")
@click.option("--unused", is_flag=True, help="Also delete vectors of text that is in no note.")
@click.option("--damaged", is_flag=True, help="Also delete damaged indexes that were set aside.")
def compact_command(*, unused: bool, damaged: bool) -> None:
    """Make the index as small as possible, with the same answers.

        memoriter compact
        memoriter compact --unused
        memoriter compact --damaged --json

    Within memorySearch.cache, memoriter keeps the vectors of deleted and changed text, because computing them is the
    slowest step if the text returns. Searches work while this command runs. Next: memoriter status.
    """
    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        report = memory.compact(unused=unused, damaged=damaged)
    if screen.as_json:
        screen.json(compact_json(report))
        return
    screen.show(list(_compact_lines(report)))
    screen.show_diagnostics(report.reasons)


def _compact_lines(report: CompactReport) -> Iterator[Line]:
    sizes = f"{_megabytes(report.bytes_before)} before, {_megabytes(report.bytes_after)} now"
    yield ((sizes, "bold"), (f"; {report.seconds:.1f} s.", ""))
    yield ((f"{pluralize(report.vectors, 'unused vector')} dropped.", ""),)
    if report.unused:
        yield ((f"{pluralize(report.unused, 'unused vector')} kept; --unused drops them.", "dim"),)
    if report.damaged:
        count = f"{len(report.damaged)} damaged files ({_megabytes(report.damaged_bytes)})"
        fate = "removed." if report.damaged_removed else "kept; --damaged removes them."
        yield ((f"{count} {fate}", "" if report.damaged_removed else "dim"),)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


@click.command(cls=Command, name="watch")
def watch_command() -> None:
    """Index notes while they change, until Ctrl-C.

        memoriter watch
        memoriter watch --json | jq .kind
        memoriter watch -w ~/notes -q &

    It prints one line for each event, with --json one object. If another process watches the same notes, it waits, and
    continues when that process ends. Without file-system events, it reports that and scans the notes every few seconds.
    File-system events need the extra watch. Next: memoriter status.
    """
    from memoriter.cli._background import stopped_by_signals

    options = GlobalOptions.current()
    screen = options.screen
    stop = threading.Event()
    # The watcher runs in its own thread, so that a signal ends the command even while a service hangs.
    with (
        options.open_memory() as memory,
        stopped_by_signals(stop),
        options.show_egress_notice(memory).watching(lambda event: _show_event(screen, event)) as watching,
    ):
        while not stop.is_set() and not watching.ended(wait=LOOK_SECONDS):
            pass


def _show_event(screen: Screen, event: WatchEvent) -> None:
    if screen.as_json:
        screen.json_line(watch_json(event))
    elif not screen.quiet or event.kind in {"trouble", "missing"}:
        screen.show(list(watch_lines(event)))


def watch_lines(event: WatchEvent) -> Generator[Line]:
    """Yield one line for an event, and one for its remedy if there is one."""
    at = datetime.fromtimestamp(event.at, tz=UTC).astimezone().strftime("%H:%M:%S")
    yield ((f"{at}  ", "dim"), (_event_text(event), STYLES.get(event.kind, "")))
    if event.reason is not None and event.reason.remedy:
        yield ((f"          {event.reason.remedy}", ""),)


def _event_text(event: WatchEvent) -> str:
    if event.report is not None:
        return _report_text(event.report)
    if event.reason is not None:
        return event.reason.message
    match event.kind:
        case "watching":
            return f"Watching {pluralize(event.folders, 'folder')}."
        case "recovered":
            return "All is well again."
        case _:
            return "Stopped."


def _report_text(report: SyncReport) -> str:
    files = f"{report.added} added, {report.changed} changed, {report.removed} removed"
    vectors = f"{pluralize(report.embedded, 'vector')} computed, {report.cached} known"
    unread = f", {pluralize(report.unread, 'file')} left for the next run" if report.unread else ""
    pending = f", {report.pending} pending" if report.pending else ""
    return f"{files}; {vectors}{pending}{unread} ({report.seconds:.2f} s)."
