"""The commands that show a state: `memoriter status` and `cost`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import cost_json, error_json, status_json
from memoriter.cli._options import (
    STANDING,
    Command,
    GlobalOptions,
    agent_options,
    missing_folder,
    read_environment,
    serve_agents,
)
from memoriter.cli._render import FAILED, WORK, pluralize
from memoriter.errors import MemoriterError, WorkspaceNotFound
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.cli._render import Line
    from memoriter.config import DayBudget
    from memoriter.memory import Memory
    from memoriter.types import SidecarStatus, Spending, Status

LAYOUTS = {"notes": "all notes of this folder", "openclaw": "MEMORY.md and memory/ of this folder"}
LISTED = 10
"""Maximum skipped paths that are shown without -v."""
LONG_TERM = "memory-lancedb"


@click.command(cls=Command, name="status")
@click.option("--deep", is_flag=True, help="Also search for known passages.")
@click.option("--index", is_flag=True, help="Update the index first.")
def status_command(*, deep: bool, index: bool) -> None:
    """Show what is indexed, and whether everything works.

        memoriter status
        memoriter status --deep
        memoriter status --json | jq '.[0].health'

    Without --agent or -w it shows every agent of the configuration, so --json prints a list; an agent without a folder
    is named, and the others are shown. -v lists every skipped path. Only --index and --deep change files: both update
    the index, and --deep then selects eight random passages and searches for each by its rarest words; the exit code
    is 1 if one is not found. Next: memoriter doctor, if something is wrong.
    """
    options = GlobalOptions.current()
    screen = options.screen
    results = serve_agents(agent_options(options, here=False), lambda agent: _status(agent, deep=deep, index=index))
    states = [state for _, state in results if not isinstance(state, WorkspaceNotFound)]
    if screen.as_json:
        screen.json([_status_or_error_json(agent, result) for agent, result in results])
    else:
        for agent, result in results:
            if isinstance(result, WorkspaceNotFound):
                screen.show_diagnostics([missing_folder(agent, result)])
        for number, state in enumerate(states):
            screen.show([*([()] if number else []), *_lines(state, everything=screen.verbose)])
            standing = [notice for notice in state.notices if notice.code in STANDING or notice.code == "config"]
            screen.show_diagnostics([*standing, *state.health.reasons])
    if any(not canary.found for state in states for canary in state.canaries):
        click.get_current_context().exit(FAILED)


def _status(options: GlobalOptions, *, deep: bool, index: bool) -> Status:
    with options.open_memory() as memory:
        if index:
            with options.screen.progress() as progress:
                options.show_egress_notice(memory).sync(progress=progress)
        status = (options.show_egress_notice(memory) if deep else memory).status(deep=deep)
        return _with_long_term(status, memory)


def _with_long_term(status: Status, memory: Memory) -> Status:
    """Return a status with the number of long-term memories, or with a notice about why they cannot be counted."""
    if LONG_TERM not in memory.configuration.settings.plugins.slots.names:
        return status
    try:
        return replace(status, long_term_memories=len(memory.long_term.entries()))
    except MemoriterError as error:
        notice = Diagnostic.of(error)
        return replace(status, notices=(*status.notices, notice))


def _status_or_error_json(options: GlobalOptions, result: Status | WorkspaceNotFound) -> dict[str, Any]:
    if isinstance(result, WorkspaceNotFound):
        return {"agent": options.agent, **error_json(result.code, result.message, result.remedy)}
    return status_json(result)


def _lines(state: Status, *, everything: bool) -> Iterator[Line]:
    for name, value in status_rows(state):
        yield ((f"{name:<10}", "dim"), (value, ""))
    retrievers = ", ".join(
        f"{retriever} {'works' if serves else 'is off'}" for retriever, serves in state.health.legs.items()
    )
    is_healthy = state.health.ok
    yield (
        ("health    ", "dim"),
        ("good" if is_healthy else "not all is well", "green" if is_healthy else "yellow"),
        (f": {retrievers}", ""),
    )
    for canary in state.canaries:
        word, style = ("found", "green") if canary.found else ("NOT FOUND", "bold red")
        lost = f" (lost by the {' and the '.join(canary.lost)} retriever)" if canary.lost else ""
        yield (("canary    ", "dim"), (word, style), (f" {canary.citation} by {canary.query!r}{lost}", ""))
    yield from _skipped_lines(state, everything=everything)


def status_rows(state: Status) -> Iterator[tuple[str, str]]:
    yield "agent", state.agent
    yield "workspace", f"{state.workspace} ({state.workspace_reason})"
    if state.trust == "trusted":
        yield "trust", "agents that work in this folder read and write it"
    elif state.trust == "untrusted":
        yield (
            "trust",
            f"agents neither read nor write this folder; if you trust it: memoriter trust {quote(state.workspace)}",
        )
    yield "memory", LAYOUTS.get(state.layout, state.layout)
    why = f"; {state.index_reason}" if state.index_reason else ""
    size = f"{state.index_bytes / 1e6:.1f} MB" if state.index_bytes else "none yet"
    yield "index", f"{state.index} ({size}{why})"
    counts = {each.kind: (each.files, each.chunks) for each in state.sources} or {"memory": (state.files, state.chunks)}
    stale = f"; {state.stale} changed and not indexed yet" if state.stale else ""
    for kind, (files, chunks) in counts.items():
        name = {"memory": "notes", "sessions": "sessions"}[kind]
        yield name, f"{pluralize(files, 'file')}, {pluralize(chunks, 'chunk')}{stale}"
        stale = ""
    failed = f", {state.failed} failed" if state.failed else ""
    engine = f"{state.vector_engine} engine" if state.provider != "none" else "no provider"
    engine += f", {state.oversampling} compared for each found" if state.oversampling else ""
    engine += f", recall {state.recall:.3f}" if state.recall is not None else ""
    yield "vectors", f"{state.vectors} ready, {state.pending} pending{failed} ({engine})"
    where = f"text is sent to {state.endpoint}" if state.leaves_machine else "nothing leaves this machine"
    model = f", {state.model}, {state.dimensions} dimensions" if state.model else ""
    key = f", key from {state.key_source}" if state.key_source else ""
    yield "provider", f"{state.provider}{model}{key}; {where}"
    if (run := state.indexing) is not None:
        since = datetime.fromtimestamp(run.since, tz=UTC).strftime("%H:%M:%S UTC")
        far = f"; {WORK[run.stage].lower()}: {run.done:,} of {run.total:,}" if run.stage in WORK else ""
        yield "indexing", f"in the background since {since} (process {run.pid}){far}"
    if (attempt := state.last_attempt) is not None:
        yield "asked", f"{_time(attempt.at)}: {'it answered' if attempt.reason is None else attempt.reason.message}"
    if (reranker := state.reranker) is not None:
        where = f"hits are sent to {reranker.endpoint}" if reranker.leaves_machine else "nothing leaves this machine"
        model = f", {reranker.model}" if reranker.model else ""
        key = f", key from {reranker.key_source}" if reranker.key_source else ""
        yield "reranker", f"{reranker.provider}{model}{key}; {where}"
    yield "search", f"{state.backend}, {state.scoring} scores"
    if state.sidecar is not None:
        yield from _sidecar_rows(state.sidecar)
    if (count := state.long_term_memories) is not None:
        yield "long-term", f"{count:,} {'memory' if count == 1 else 'memories'}: memoriter ltm stats"


def _sidecar_rows(state: SidecarStatus) -> Iterator[tuple[str, str]]:
    """Yield which engine answers, and what is known of the program beside memoriter."""
    again = f"; {state.name} is asked again in {state.seconds_left:.0f} s" if state.seconds_left else ""
    yield "answers", f"{state.answering}{again}"
    version = f" {state.version}" if state.version else ""
    yield state.name, f"{state.binary or 'not installed'}{version}, mode {state.mode}, transport {state.transport}"
    for each in state.collections:
        count = "never indexed" if each.files is None else pluralize(each.files, "file")
        missing = "; the folder does not exist" if each.missing else ""
        yield "indexed", f"{each.name}: {count} of {each.pattern} in {each.path}{missing}"
    updated = f"updated {_time(state.last_update)}" if state.last_update is not None else "never updated"
    vectors = f", {state.vectors:,} vectors, {state.pending or 0:,} pending" if state.vectors else ""
    documents = f", {pluralize(state.documents, 'document')}" if state.documents is not None else ""
    yield f"{state.name} index", f"{updated}{documents}{vectors}"
    if state.last_error is not None:
        at = f"{_time(state.last_error_at)}: " if state.last_error_at is not None else ""
        yield "last error", f"{at}{state.last_error.message}"


def _time(seconds: float) -> str:
    """Return seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _skipped_lines(state: Status, *, everything: bool) -> Iterator[Line]:
    if state.skipped:
        yield (("left out  ", "dim"), (pluralize(len(state.skipped), "path"), ""))
    visible = state.skipped if everything else state.skipped[:LISTED]
    for skipped in visible:
        yield ((f"  {skipped.path}", ""), (f"  {skipped.message}", "dim"))
    if len(visible) < len(state.skipped):
        yield ((f"  … and {len(state.skipped) - len(visible)} more: -v lists all", "dim"),)


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
    from memoriter.embedding_setup import ledger_of

    options = GlobalOptions.current()
    screen = options.screen
    env = read_environment()
    _, configuration, agent = options.settle(env)
    budget = configuration.search_for(agent).remote.budget
    ledger = ledger_of(env)
    try:
        rows = ledger.rows(days=days)
        today = ledger.today()
    finally:
        ledger.close()
    if screen.as_json:
        screen.json(cost_json(rows, today, budget))
        return
    screen.show(list(_cost_lines(rows, days)), wrapped=False)
    limits = " and ".join(_limit_texts(budget)) or "no limit"
    screen.note(((f"Today {today.tokens:,} tokens, ${today.dollars:.4f}; daily limit: {limits}.", "dim"),))


def _cost_lines(rows: Sequence[Spending], days: int) -> Iterator[Line]:
    if not rows:
        yield ((f"Nothing was spent at a service in {pluralize(days, 'day')}.", ""),)
        return
    for row in rows:
        price = f"${row.dollars:.4f}" + (f" and {row.unpriced:,} tokens without a price" if row.unpriced else "")
        took = f"  {pluralize(row.tokens, 'token')} in {pluralize(row.calls, 'call')}, {price}"
        yield ((f"{row.day}  ", "dim"), (f"{row.provider} {row.model}", "bold"), (took, ""))
    total = sum(row.dollars for row in rows)
    unpriced = sum(row.unpriced for row in rows)
    more = f", and {unpriced:,} tokens whose price is not known" if unpriced else ""
    yield ((f"${total:.4f} in all{more}.", "bold"),)


def _limit_texts(budget: DayBudget) -> Iterator[str]:
    if budget.dollars_per_day:
        yield f"${budget.dollars_per_day:g}"
    if budget.tokens_per_day:
        yield f"{budget.tokens_per_day:,} tokens"
