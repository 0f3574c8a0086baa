"""A group of commands that imports each command on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from memoriter.cli._options import global_options, with_examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LazyGroup(click.Group):
    """A group whose command `why-not` is `command` in `memoriter.cli._why_not`; `sections` are those of the help."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Sequence[str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.help = with_examples(self.help)
        self.params.extend(global_options(hidden=False))
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*(name for names in self.sections.values() for name in names), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if any(cmd_name in names for names in self.sections.values()):
            module = import_module(f"memoriter.cli._{cmd_name.replace('-', '_')}")
            return cast("click.Command", module.command)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and not name.startswith("-"):
            ctx.fail(unknown_command_message(name, self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in self.sections.items():
            commands = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            width = formatter.width - 6 - max((len(name) for name, _ in commands), default=0)
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(width)) for name, command in commands])


def unknown_command_message(name: str, names: Sequence[str]) -> str:
    """Return the message for an unknown command, with similar names."""
    import difflib

    similar = difflib.get_close_matches(name, names, n=2)
    return f"There is no command {name!r}." + (f" Perhaps you mean {' or '.join(similar)}." if similar else "")
