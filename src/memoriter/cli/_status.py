"""`memoriter status`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import error_json, status_json
from memoriter.cli._agents import agent_options, missing_folder, serve_agents
from memoriter.cli._options import STANDING, Command, GlobalOptions
from memoriter.cli._render import FAILED, pluralize
from memoriter.errors import WorkspaceNotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.cli._render import Line
    from memoriter.types import Status

LAYOUTS = {"notes": "all Markdown files of this folder", "openclaw": "MEMORY.md and memory/ of this folder"}
LISTED = 10
"""Maximum skipped paths that are shown without -v."""


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
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
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
            standing = [notice for notice in state.notices if notice.code in STANDING]
            screen.show_diagnostics([*standing, *state.health.reasons])
    if any(not canary.found for state in states for canary in state.canaries):
        click.get_current_context().exit(FAILED)


def _status(options: GlobalOptions, *, deep: bool, index: bool) -> Status:
    with options.open_memory() as memory:
        if index:
            with options.screen.progress() as progress:
                options.show_egress_notice(memory).sync(progress=progress)
        return (options.show_egress_notice(memory) if deep else memory).status(deep=deep)


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
        lost = f" (lost by the {' and the '.join(canary.lost)} leg)" if canary.lost else ""
        yield (("canary    ", "dim"), (word, style), (f" {canary.citation} by {canary.query!r}{lost}", ""))
    yield from _skipped_lines(state, everything=everything)


def status_rows(state: Status) -> Iterator[tuple[str, str]]:
    yield "agent", state.agent
    yield "workspace", f"{state.workspace} ({state.workspace_reason})"
    yield "memory", LAYOUTS.get(state.layout, state.layout)
    why = f"; {state.index_reason}" if state.index_reason else ""
    size = f"{state.index_bytes / 1e6:.1f} MB" if state.index_bytes else "none yet"
    yield "index", f"{state.index} ({size}{why})"
    counts = {each.kind: (each.files, each.chunks) for each in state.sources} or {"memory": (state.files, state.chunks)}
    stale = f"; {state.stale} not indexed as they are now" if state.stale else ""
    for kind, (files, chunks) in counts.items():
        name = {"memory": "notes", "sessions": "sessions"}[kind]
        yield name, f"{pluralize(files, 'file')}, {pluralize(chunks, 'chunk')}{stale}"
        stale = ""
    failed = f", {state.failed} failed" if state.failed else ""
    engine = f"{state.vector_engine} engine" if state.provider != "none" else "no provider"
    engine += f", {state.oversampling} compared for each found" if state.oversampling else ""
    yield "vectors", f"{state.vectors} ready, {state.pending} pending{failed} ({engine})"
    where = f"text is sent to {state.endpoint}" if state.leaves_machine else "nothing leaves this machine"
    model = f", {state.model}, {state.dimensions} dimensions" if state.model else ""
    key = f", key from {state.key_source}" if state.key_source else ""
    yield "provider", f"{state.provider}{model}{key}; {where}"
    if (attempt := state.last_attempt) is not None:
        at = datetime.fromtimestamp(attempt.at, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        yield "asked", f"{at}: {'it answered' if attempt.reason is None else attempt.reason.message}"
    yield "search", f"{state.backend}, {state.scoring} scores"


def _skipped_lines(state: Status, *, everything: bool) -> Iterator[Line]:
    if state.skipped:
        yield (("left out  ", "dim"), (pluralize(len(state.skipped), "path"), ""))
    visible = state.skipped if everything else state.skipped[:LISTED]
    for skipped in visible:
        yield ((f"  {skipped.path}", ""), (f"  {skipped.message}", "dim"))
    if len(visible) < len(state.skipped):
        yield ((f"  … and {len(state.skipped) - len(visible)} more: -v lists all", "dim"),)
