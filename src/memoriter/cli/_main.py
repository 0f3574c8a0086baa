"""The program `memoriter`, which runs a command and reports every failure as a message."""

from __future__ import annotations

import atexit
import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.cli._failure import DONE, describe_failure
from memoriter.cli._options import GlobalOptions
from memoriter.cli._table import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

SECTIONS = {
    "Find": ("search", "get"),
    "Keep": ("remember", "index", "watch", "forget"),
    "For agents": ("mcp", "serve", "token", "install", "hook", "chat"),
    "Look after it": ("status", "doctor", "cost", "compact", "config", "eval"),
}

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
        parsed: dict[str, Any] = {}
        name, run = prog_name or "memoriter", cast("Callable[..., Any]", super().main)
        try:
            with _rare_garbage_collection():
                code = run(args, name, complete_var, False, windows_expand_args, **{**extra, "obj": parsed})
        except Exception as error:  # noqa: BLE001 - a person gets a message, and a trace only with -v
            failure = describe_failure(error)
            GlobalOptions.read(parsed, sys.argv[1:] if args is None else args).screen.show_failure(failure, error)
            code = failure.exit_code
        code = code if isinstance(code, int) else DONE
        if not standalone_mode:
            return code
        sys.exit(code)


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

    The notes are MEMORY.md and memory/*.md in a folder of yours; the index builds itself and may be deleted at any
    time. To begin, run a search in a folder of notes, or remember something.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())
