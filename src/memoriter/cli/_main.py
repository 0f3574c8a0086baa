"""The program `memoriter`, which runs a command and reports every failure as a message."""

from __future__ import annotations

import atexit
import gc
import sys
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.cli._options import GlobalOptions, global_options, with_examples
from memoriter.cli._render import DONE, FAILED, USAGE, OutputFailed, describe_failure
from memoriter.entry_points import EntryPoint, entry_points
from memoriter.errors import MemoriterError, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

SECTIONS = {
    "Find": {"search": "_search", "day": "_search", "recent": "_search", "get": "_notes", "why-not": "_why_not"},
    "Keep": {
        "remember": "_notes",
        "index": "_index",
        "watch": "_index",
        "capture": "_notes",
        "forget": "_notes",
        "tidy": "_history",
    },
    "Take back": {
        "history": "_history",
        "diff": "_history",
        "review": "_history",
        "undo": "_history",
        "rollback": "_history",
    },
    "For agents": {
        "mcp": "_serve",
        "serve": "_serve",
        "token": "_token",
        "install": "_install",
        "trust": "_trust",
        "hook": "_hook",
    },
    "Move": {"store": "_store"},
    "Maintenance": {
        "status": "_status",
        "doctor": "_doctor",
        "cost": "_status",
        "compact": "_index",
        "config": "_config",
        "init": "_config",
    },
}
"""The sections of the help: each command with the module of its function, `NAME_command` with `_` for `-`."""
EXTENSION_COMMANDS = "memoriter.commands"
"""The group of entry points whose objects are commands of click; they may name a `section` of the help."""
OTHER_SECTION = "More"


WHOLE_SENTENCE = 200
"""Characters of the description of a command in an overview; on a narrow terminal, it is wrapped."""


class LazyGroup(click.Group):
    """A group that imports the module of a command on first use, and commands of installed packages."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Mapping[str, str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.help = with_examples(self.help)
        self.params.extend(global_options(hidden=False))
        self.sections = sections
        self.modules = {name: module for commands in sections.values() for name, module in commands.items()}

    @cached_property
    def added(self) -> dict[str, EntryPoint]:
        """The commands of installed packages; none has the name of an own command."""
        return {point.name: point for point in entry_points(EXTENSION_COMMANDS) if point.name not in self.modules}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.modules, *self.added, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if module := self.modules.get(cmd_name):
            return cast(
                "click.Command",
                getattr(import_module(f"memoriter.cli.{module}"), f"{cmd_name.replace('-', '_')}_command"),
            )
        if point := self.added.get(cmd_name):
            return _loaded(point)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and not name.startswith("-"):
            ctx.fail(_unknown_command_message(name, self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = {title: list(names) for title, names in self.sections.items()}
        for name in self.added:
            section = getattr(self.get_command(ctx, name), "section", OTHER_SECTION)
            sections.setdefault(section, []).append(name)
        for title, names in sections.items():
            commands = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(WHOLE_SENTENCE)) for name, command in commands])


def _loaded(point: EntryPoint) -> click.Command:
    """Return the command of an installed package; one that cannot be loaded says so when it is run."""
    try:
        command = point.load()
        if isinstance(command, click.Command):
            return command
        reason = f"{point.place} is no command of click"
    except Exception as error:  # noqa: BLE001 - third-party code
        reason = f"{type(error).__name__}: {error}"

    def refuse(_: tuple[str, ...]) -> None:
        message = f"The command {point.name!r} of an installed package cannot be loaded: {sentence(reason)}"
        raise MemoriterError(message, remedy="Update the package, or remove it.")

    words = click.Argument(["_"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return click.Command(point.name, settings, refuse, [words], help="Cannot be loaded.")


def _unknown_command_message(name: str, names: Sequence[str]) -> str:
    """Return the message for an unknown command, with similar names."""
    import difflib

    similar = difflib.get_close_matches(name, names, n=2)
    return f"There is no command {name!r}." + (f" Perhaps you mean {' or '.join(similar)}." if similar else "")


YOUNG_OBJECTS = 100_000
"""New objects after which Python collects garbage; `memoriter search` creates half as many in all."""


class Program(LazyGroup):
    """The whole command line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program and exit with a code: 0 done, 1 failed, 2 the request must change, 130 interrupted."""
        if None in (sys.stdin, sys.stdout, sys.stderr):
            from memoriter.environment import open_closed_streams

            open_closed_streams()
        parsed: dict[str, Any] = {"alone": args is None}
        name = prog_name or "memoriter"
        run = cast("Callable[..., Any]", super().main)
        try:
            with _rare_garbage_collection():
                code = run(args, name, complete_var, False, windows_expand_args, **{**extra, "obj": parsed})
        except Exception as error:  # noqa: BLE001 - a person gets a message, and a trace only with -v
            failure = describe_failure(error)
            with suppress(OutputFailed):  # the exit code is all that can be said then
                GlobalOptions.read(parsed, sys.argv[1:] if args is None else args).screen.show_failure(failure, error)
            code = failure.exit_code
        code = code if isinstance(code, int) else DONE
        if code == USAGE and _is_hook(sys.argv[1:] if args is None else args):
            code = FAILED  # the code of a wrong request would block the prompt in Claude Code
        if not standalone_mode:
            return code
        sys.exit(code)


def _is_hook(words: Sequence[str]) -> bool:
    """Return whether a command line, which may be wrong, means `memoriter hook`."""
    options = (option for option in global_options(hidden=True) if isinstance(option, click.Option))
    values = {name for option in options if not (option.is_flag or option.count) for name in option.opts}
    before = [word for word, last in zip(words, ["", *words], strict=False) if last not in values]
    return next((word for word in before if not word.startswith("-")), "") == "hook"


@contextmanager
def _rare_garbage_collection() -> Generator[None]:
    """Collect garbage rarely while a command runs, and not when the process ends: together a seventh of a search."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)  # the interpreter collects what is not frozen when it ends
    usual = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@click.command(
    cls=Program,
    name="memoriter",
    sections=SECTIONS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="memoriter", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """A memory for AI agents that you can read: Markdown notes, searched by meaning and by word, offline.

        memoriter remember "We chose PostgreSQL for the ledger."
        memoriter search which database did we choose
        memoriter -w ~/notes status

    The notes are the Markdown files of a folder that you choose; in an OpenClaw workspace, MEMORY.md and memory/*.md.
    Commands build the index automatically, and you can delete it at any time. To begin, run a search in a folder of
    notes, or remember something.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())
