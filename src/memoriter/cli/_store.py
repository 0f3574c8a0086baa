"""`memoriter store`: the place of the index."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._options import (
    Command,
    CommandGroup,
    GlobalOptions,
    agent_options,
    missing_folder,
    read_environment,
    serve_agents,
)
from memoriter.cli._render import is_interactive, pluralize
from memoriter.entry_points import STORES, entry_points
from memoriter.errors import ConfigError, UsageError, WorkspaceNotFound

if TYPE_CHECKING:
    from collections.abc import Generator

    from memoriter.backends import BuiltinBackend, CopyReport
    from memoriter.cli._render import Line
    from memoriter.config import MemorySearch
    from memoriter.records import StoredIndex
    from memoriter.store import StoreDriver

DRIVERS = ["sqlite", *(point.name for point in entry_points(STORES))]
SETTING = "memorySearch.store.driver"


@click.group(cls=CommandGroup, name="store", invoke_without_command=True)
@click.pass_context
def store_command(context: click.Context) -> None:
    """Move the index to a server or back; list and delete indexes.

        memoriter store copy --to postgres --switch
        memoriter store list
        memoriter store drop old-notes/main

    The setting memorySearch.store.driver chooses between a file of SQLite and a server. Next: memoriter status.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())


@store_command.command(cls=Command, name="copy")
@click.option("--to", "driver", type=click.Choice(DRIVERS), required=True, help="The store that gets the copy.")
@click.option("--switch", is_flag=True, help="Then use the copy: set memorySearch.store.driver.")
@click.option("--replace", "replace_all", is_flag=True, help="Copy also into an index that is not empty.")
@click.option("--dry-run", is_flag=True, help="Only check both stores and count what would be copied.")
def copy(*, driver: str, switch: bool, replace_all: bool, dry_run: bool) -> None:
    """Copy the index into the other store, with its vectors.

        memoriter store copy --to postgres --dry-run
        memoriter store copy --to postgres --switch
        memoriter store copy --to sqlite --replace --switch

    No vector is computed and no service is called: text is read from the notes, vectors are copied. At the end, the
    counts of both stores are compared, and questions are asked of both. A copy that was interrupted continues. The
    old index stays as it is. Agents are chosen as by memoriter index. The server is that of
    memorySearch.store.postgres. Next: memoriter status.
    """
    if switch and dry_run:
        raise click.UsageError("The options --switch and --dry-run cannot be combined.")
    options = GlobalOptions.current()
    screen = options.screen
    results = serve_agents(
        agent_options(options, here=True),
        lambda agent: _copy(agent, driver, replace_all=replace_all, dry_run=dry_run),
    )
    file = _switch(options, driver) if switch else None
    if screen.as_json:
        values = [_json(agent, result, driver, file, dry_run=dry_run) for agent, result in results]
        screen.json(values[0] if len(values) == 1 else values)
        return
    for agent, result in results:
        if isinstance(result, WorkspaceNotFound):
            screen.show_diagnostics([missing_folder(agent, result)])
            continue
        if len(results) > 1:
            screen.show([((f"{agent.agent}", "bold"), (":", ""))])
        screen.show(_planned_lines(result) if dry_run else _report_lines(result))
    if file is not None:
        screen.show([((f"{SETTING} is set to {driver} in {file}.", ""),)])
    elif not dry_run:
        screen.show([((f"To use it: memoriter config set {SETTING} {driver}", ""),)])


def _copy(options: GlobalOptions, driver: str, *, replace_all: bool, dry_run: bool) -> CopyReport:
    """Copy the index of one memory. Raises UsageError if it is in that store already."""
    from memoriter.backends import copy_index, plan_copy

    with _both_sides(options, driver, inspect=True) as (source, target):
        planned = plan_copy(source, target, replace_all=replace_all)  # refuses before anything is created
    if dry_run:
        return planned
    with _both_sides(options, driver, inspect=False) as (source, target), options.screen.progress() as progress:
        return copy_index(source, target, replace_all=replace_all, progress=progress)


@contextmanager
def _both_sides(
    options: GlobalOptions, driver: str, *, inspect: bool
) -> Generator[tuple[BuiltinBackend, BuiltinBackend]]:
    """Open the memory in its store and in the other one. Raises UsageError if it is in that store already."""
    from tempfile import TemporaryDirectory

    from memoriter.app import assemble

    def with_driver(settings: MemorySearch) -> MemorySearch:
        return replace(settings, store=replace(settings.store, driver=driver))

    with ExitStack() as stack:
        named: Any = {"config": options.config, "agent": options.agent, "by_person": True}
        named["scratch"] = Path(stack.enter_context(TemporaryDirectory())) if inspect else None
        own = assemble(options.workspace, **named)
        if own.notes.settings.store.driver == driver:
            other = next((name for name in DRIVERS if name != driver), driver)
            raise UsageError(
                f"The setting {SETTING} is {driver} already, so there is nothing to move.",
                remedy=f"To go back, run `memoriter store copy --to {other}`.",
            )
        source = stack.enter_context(closing(own.builtin))
        target = stack.enter_context(closing(assemble(options.workspace, **named, adjust=with_driver).builtin))
        yield source, target


def _switch(options: GlobalOptions, driver: str) -> Path:
    """Write the setting into the user's file, and return the file. Raises ConfigError if another value is in force."""
    from memoriter.cli._config import FILE
    from memoriter.config import reference, setting_names
    from memoriter.settings_file import write_settings

    env = read_environment()
    _, configuration, _ = options.settle(env)
    file = configuration.path or env.home / FILE
    write_settings(file, {setting_names(SETTING, [row.key for row in reference()]): driver})
    _, configuration, agent = options.settle(env)
    if configuration.search_for(agent).store.driver != driver:
        raise ConfigError(
            f"The setting {SETTING} is {driver} in {file}, but another value is in force.",
            remedy=f"Run `memoriter config get {SETTING}`, which shows where that comes from, and remove it there.",
        )
    return file


def _json(
    options: GlobalOptions,
    result: CopyReport | WorkspaceNotFound,
    driver: str,
    file: Path | None,
    *,
    dry_run: bool,
) -> dict[str, Any]:
    from memoriter.api_json import error_json

    if isinstance(result, WorkspaceNotFound):
        return {"agent": options.agent, **error_json(result.code, result.message, result.remedy)}
    switched = {"setting": SETTING, "value": driver, "switched": file is not None, "file": str(file) if file else None}
    return {
        "agent": options.agent,
        "dryRun": dry_run,
        **asdict(result),
        "different": list(result.different),
        **switched,
    }


def _planned_lines(report: CopyReport) -> list[Line]:
    return [
        (
            (f"{pluralize(report.files, 'file')}, {pluralize(report.chunks, 'chunk')}", "bold"),
            (f" and {pluralize(report.vectors, 'vector')} would be copied; none would be computed.", ""),
        )
    ]


def _report_lines(report: CopyReport) -> list[Line]:
    same = report.questions - len(report.different)
    waiting = f" {pluralize(report.waiting, 'text')} had no vector, and still has none." if report.waiting else ""
    lines: list[Line] = [
        (
            (f"{pluralize(report.files, 'file')}, {pluralize(report.chunks, 'chunk')}", "bold"),
            (f" and {pluralize(report.vectors, 'vector')} are in both; {report.copied} were copied, none computed", ""),
            (f"; {report.seconds:.1f} s.{waiting}", ""),
        ),
        ((f"{same} of {pluralize(report.questions, 'question')} have the same hits and scores in both.", ""),),
    ]
    return [*lines, *(((f"  different: {text}", "dim"),) for text in report.different)]


@store_command.command(cls=Command, name="list")
def list_stored_indexes() -> None:
    """List the memories of the server, or the index files beside the one of the settings.

        memoriter store list
        memoriter store list --json | jq '.[].name'

    With memorySearch.store.driver postgres, these are the memories of the schema that the user may read. Otherwise they
    are the files of memoriter in the folder of the index; those of other programs are left out. Vectors are those of
    all models, also the ones that no passage uses. Next: memoriter store drop NAME.
    """
    screen = GlobalOptions.current().screen
    stored = _driver().list_stored()
    if screen.as_json:
        screen.json([_stored_json(each) for each in stored])
        return
    screen.show([line for each in stored for line in _stored_lines(each)])
    if not stored:
        screen.show([(("There is no index.", ""),)])


@store_command.command(cls=Command, name="drop")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def drop(*, name: str, yes: bool) -> None:
    """Delete a memory of the server, or an index file. Notes stay as they are.

        memoriter store list
        memoriter store drop old-notes/main
        memoriter store drop old.sqlite --yes

    The name is one of memoriter store list. All of the index goes: passages, words and the vectors, which cost time or
    money to compute again. It is refused while another process indexes or watches that memory, and for a memory of a
    role of which the user is no member. A process that still searches it begins a new index. Next: memoriter store
    list.
    """
    screen = GlobalOptions.current().screen
    stores = _driver()
    found = next((each for each in stores.list_stored() if each.name == name), None)
    if found is not None and not yes:
        if not is_interactive(screen):
            raise UsageError("Confirmation is needed, and nobody can be asked here.", remedy="Add --yes to confirm.")
        screen.note(*_stored_lines(found))
        click.confirm("Delete this index for good?", abort=True, err=True)
    stores.drop_stored(name)
    if screen.as_json and found is not None:
        screen.json({"dropped": _stored_json(found)})
    else:
        screen.show([((f"{name} was deleted. No note was changed.", ""),)])


def _driver() -> StoreDriver:
    """Return the driver of the store that the settings name."""
    from memoriter.notes import place_of_index
    from memoriter.store_setup import StorePlace, load_driver

    options = GlobalOptions.current()
    env = read_environment()
    place, configuration, agent = options.settle(env)
    index = place_of_index(configuration, agent, place, env)
    settings = configuration.search_for(agent)
    return load_driver(settings.store.driver)(StorePlace(configuration, settings, env, index, place.workspace, agent))


def _stored_json(stored: StoredIndex) -> dict[str, Any]:
    from memoriter.api_json import iso_time

    return {
        "name": stored.name,
        "owner": stored.owner,
        "passages": stored.passages,
        "vectors": stored.vectors,
        "bytes": stored.size,
        "changedAt": None if stored.changed_at is None else iso_time(stored.changed_at),
    }


def _stored_lines(stored: StoredIndex) -> list[Line]:
    counts = "cannot be read now"
    if stored.passages is not None and stored.vectors is not None:
        counts = f"{pluralize(stored.passages, 'passage')}, {pluralize(stored.vectors, 'vector')}"
    size = "" if stored.size is None else f", {stored.size / 1e6:.1f} MB"
    changed = ""
    if stored.changed_at is not None:
        at = datetime.fromtimestamp(stored.changed_at, tz=UTC).astimezone()
        changed = f", indexed {at:%Y-%m-%d %H:%M}"
    owner = f", owner {stored.owner}" if stored.owner else ""
    return [((stored.name, "bold"), (f"  {counts}{size}{changed}{owner}", ""))]
