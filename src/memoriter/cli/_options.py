"""The global options, and the memories that they select.

A command is delegated to a running server of the memory, or serves every agent of the configuration.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from memoriter.cli._render import Screen
from memoriter.errors import ConfigError, WorkspaceNotFound, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from memoriter.cli._render import Line
    from memoriter.config import Configuration, Place
    from memoriter.discovery import Call, Reply
    from memoriter.environment import Environment
    from memoriter.memory import Memory
    from memoriter.notes import Notes
    from memoriter.types import Argument, Diagnostic, Kind

_T = TypeVar("_T")

STANDING = {
    "home_open",
    "index_foreign",
    "key_unused",
    "notes_outside",
    "settings_without_effect",
    "workspace_untrusted",
}
"""Codes of notices about permanent conditions; only `status` and `doctor` show them."""
GLOBAL_HELP = (
    "-w/--workspace, -C, --config, --openclaw, --agent, --json, -q and -v work here too: see memoriter --help."
)
SERVER_VARIABLE = "MEMORITER_SERVER"
"""The environment variable that turns delegation off."""


def read_environment() -> Environment:
    """Return the environment of this process. Raises ConfigError."""
    from memoriter import environment  # no page of help needs it

    return environment.read_environment()


def option_of(argument: Argument, **more: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator that adds the option of an argument, with more of `click.option` for its kind."""
    kinds: dict[Kind, dict[str, Any]] = {
        "whole": {"type": click.IntRange(argument.low, argument.high)},
        "number": {"type": click.FloatRange(argument.low, argument.high)},
        "flag": {"is_flag": True, "metavar": None},
        "choice": {"type": click.Choice(argument.choices), "show_default": True, "metavar": None},
        "choices": {"type": click.Choice(argument.choices), "multiple": True, "metavar": None},
        "names": {"multiple": True},
    }
    names = [*filter(None, [argument.short]), argument.option, argument.name]
    how: dict[str, Any] = {
        "metavar": argument.metavar or argument.option.removeprefix("--").upper(),
        "default": argument.default,
        "help": argument.help,
        **kinds.get(argument.kind, {}),
        **more,
    }
    return click.option(*names, **how)


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The values of the global options."""

    workspace: str | None = None
    config: str | None = None
    openclaw: bool = False
    agent: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: int = 0
    """How often `-v` was given."""
    log_format: str = ""
    """How a server logs its requests: `json`, `text`, or empty: only with `verbose`."""
    installed_for: str | None = None
    """The client whose configuration contains this command line, `@`, and the version of memoriter that wrote it."""
    alone: bool = False
    """Whether the process runs nothing but this command."""

    @classmethod
    def current(cls) -> GlobalOptions:
        """Return the options of the running command."""
        options = cls.read(parsed_options(click.get_current_context()), ())
        return options.with_openclaw() if options.openclaw else options

    def with_openclaw(self) -> GlobalOptions:
        """Return the options with OpenClaw's configuration. Raises ConfigError and click.UsageError."""
        from memoriter.config import openclaw_file

        if self.config is not None:
            raise click.UsageError("The options --openclaw and --config each name a configuration: give one of them.")
        env = read_environment()
        return replace(self, config=str(openclaw_file(env.environ, env.user_home)), openclaw=False)

    @classmethod
    def read(cls, parsed: Mapping[str, Any], words: Sequence[str]) -> GlobalOptions:
        """Return the parsed options, completed by the flags in the unparsed words if parsing failed.

        The parsed ones take precedence, and words after `--` do not count.
        """
        flags = set(words[: words.index("--")] if "--" in words else words)
        as_json = "--json" in flags or "--format=json" in flags or ("--format", "json") in pairwise(words)
        fallback: dict[str, Any] = {"json": as_json, "verbose": int(bool({"-v", "-vv", "--verbose"} & flags))}
        return cls(**(fallback | dict(parsed)))

    @property
    def screen(self) -> Screen:
        return Screen(as_json=self.json, quiet=self.quiet, verbosity=self.verbose, log_format=self.log_format)

    def settle(self, env: Environment | None = None, *, by_person: bool = True) -> tuple[Place, Configuration, str]:
        """Return the selected workspace, its configuration and the agent, as `notes.settle`. Raises ConfigError."""
        from memoriter.notes import settle

        return settle(env or read_environment(), self.workspace, self.config, self.agent, by_person=by_person)

    def open_memory(self, *, spare: bool = True, by_person: bool = True, attended: bool = True) -> Memory:
        """Open the selected memory and print its notices. Raises ConfigError and WorkspaceNotFound."""
        memory = self.open_silently(spare=spare, by_person=by_person, attended=attended)
        hidden = STANDING if by_person else STANDING - {"workspace_untrusted"}
        self.screen.show_diagnostics([notice for notice in memory.notices if notice.code not in hidden])
        return memory

    def open_notes(self) -> Notes | Memory:
        """Open the selected notes and print their notices; the whole memory, if writing to them needs the index.

        Raises ConfigError and WorkspaceNotFound.
        """
        from memoriter.notes import open_notes

        notes = open_notes(self.workspace, config=self.config, agent=self.agent, by_person=True)
        if notes.needs_index:
            return self.open_memory()
        self.screen.show_diagnostics([notice for notice in notes.find_notices() if notice.code not in STANDING])
        return notes

    @staticmethod
    def note_path(notes: Notes | Memory, path: str) -> str:
        """Return the path of a note, or a citation, that a person typed, as memoriter takes it.

        It is relative to the folder of notes or, as a shell completes it, to the current folder.
        """
        from memoriter.workspace import split_citation

        plain = split_citation(path)[0]
        here = os.path.abspath(plain)  # noqa: PTH100 - resolving would follow links
        # A name that no file can have, such as one that is too long, exists nowhere.
        if os.path.exists(notes.place.workspace / plain) or not os.path.isfile(here):  # noqa: PTH110, PTH113
            return path
        return path.replace(plain, here, 1)

    def open_silently(
        self, *, spare: bool = True, scratch: Path | None = None, by_person: bool = False, attended: bool = True
    ) -> Memory:
        """Open the selected memory without notices.

        Args:
            spare: whether to use few threads and load no judge, as suits a process that ends soon.
            scratch: what models store goes to this folder, and nothing else is written; None: the memory may write.
            by_person: whether a person who stands in the current folder typed a command; agents need trust.
            attended: whether a person sees notices; if not, text is sent only to services that one was informed about.

        Raises:
            ConfigError: the configuration is invalid.
            WorkspaceNotFound: the workspace does not exist.
        """
        from memoriter.app import assemble
        from memoriter.environment import spare_threads
        from memoriter.memory import Memory

        if spare:
            spare_threads()
        return Memory(
            assemble(
                self.workspace,
                config=self.config,
                agent=self.agent,
                scratch=scratch,
                by_person=by_person,
                attended=attended,
                brief=spare,
            )
        )

    def show_egress_notice(self, memory: Memory, *, tidy: bool = False) -> Memory:
        """Print a notice if text of the notes is about to leave the machine, and return the same memory."""
        if not self.quiet and (destination := memory.egress_notice(tidy=tidy)):
            self.screen.note(egress_line(destination))
        return memory


def egress_line(destination: str) -> Line:
    """Return the line for the first time that text of the notes leaves the machine."""
    from memoriter.backends import TO_COMPARE, TO_RERANK

    off = {TO_RERANK: 'memorySearch.query.rerank to "off"', TO_COMPARE: 'memory.tidy.model to ""'}
    settings = dict.fromkeys(
        next(
            (setting for purpose, setting in off.items() if part.endswith(purpose)),
            'memorySearch.provider to "bundled"',
        )
        for part in destination.split(" and to ")
    )
    remedy = f"To stay on this machine, set {' and '.join(settings)} (memoriter config path)."
    return ((f"Note text will be sent to {destination}. {remedy}", "yellow"),)


def parsed_options(context: click.Context) -> dict[str, Any]:
    """Return the dictionary of global options parsed so far, shared by the whole command line."""
    return cast("dict[str, Any]", context.ensure_object(dict))


def _store(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Store the value of an option; the last one wins, counts add up, and an absent option changes nothing."""
    if value and parameter.name:
        options = parsed_options(context)
        options[parameter.name] = options.get("verbose", 0) + value if parameter.name == "verbose" else value
    return value


def _set_variables(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    """Set environment variables of this process, before anything reads them: many clients cannot set any for hooks."""
    if not values:
        return
    from memoriter.environment import set_variable

    for value in values:
        name, separator, content = value.partition("=")
        if not name or not separator:
            raise click.BadParameter("This is not NAME=VALUE.", param=parameter)
        set_variable(name, content)


def _enter(_context: click.Context, _parameter: click.Parameter, folder: str | None) -> None:
    """Make a folder the current one, before anything reads it."""
    if folder is None:
        return
    from memoriter.environment import expand_home

    try:
        os.chdir(expand_home(folder))
    except OSError as error:
        message = (
            f"The folder {folder!r} of --directory cannot be entered: {sentence(error.strerror or 'unknown error')}"
        )
        raise ConfigError(message, remedy="Give the path of an existing folder.") from error


def global_options(*, hidden: bool) -> list[click.Parameter]:
    """Return the global options for one command."""

    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(names, expose_value=False, is_eager=True, callback=_store, hidden=hidden, **settings)

    return [
        option(
            "-w",
            "--workspace",
            metavar="DIR",
            help="The folder of notes. Default: the one around the current folder, else your default one.",
        ),
        click.Option(
            ["-C", "--directory"],
            metavar="DIR",
            expose_value=False,
            is_eager=True,
            callback=_enter,
            hidden=hidden,
            help="Run as if started in this folder.",
        ),
        option("--config", metavar="FILE", help="The settings, a JSON5 file; default: ~/.memoriter/memoriter.json5."),
        option(
            "--openclaw", is_flag=True, help="Use OpenClaw's configuration and workspaces; nothing of it is changed."
        ),
        option("--agent", metavar="ID", help="The agent whose memory to use; default: the default agent."),
        option("--json", is_flag=True, help="Print JSON, also for errors."),
        click.Option(["--installed-for"], expose_value=False, is_eager=True, callback=_store, hidden=True),
        click.Option(
            ["--env"],
            metavar="NAME=VALUE",
            multiple=True,
            expose_value=False,
            is_eager=True,
            callback=_set_variables,
            hidden=True,
        ),
        option("-q", "--quiet", is_flag=True, help="Print only the answer."),
        option(
            "-v", "--verbose", count=True, help="Print details, logs and the traceback of a failure; -vv: more logs."
        ),
    ]


def with_examples(text: str | None) -> str | None:
    """Mark the indented paragraphs of a help text so that click keeps their lines."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(f"\b\n{part}" if part.startswith(" ") else part for part in paragraphs) or None


class _WithGlobalOptions(click.Command):
    """A command or a group with the global options."""

    def __init__(self, *arguments: Any, section: str = "", **settings: Any) -> None:
        """Create a command; `section` is its part of the help, for the command of an installed package."""
        self.section = section
        settings.setdefault("epilog", GLOBAL_HELP)
        super().__init__(*arguments, **settings)
        self.help = with_examples(self.help)
        self.params.extend(global_options(hidden=True))


class Command(_WithGlobalOptions):
    """A command with the global options."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with logs as the options say."""
        GlobalOptions.current().screen.configure_logging()
        return super().invoke(ctx)


class CommandGroup(_WithGlobalOptions, click.Group):
    """A group of subcommands with the global options."""


def ask_server(
    options: GlobalOptions, env: Environment, call: Call, *, exact: bool, place: Place | None = None
) -> Reply | None:
    """Return the reply of a server that has done the work, or None if this process must do it.

    If `exact`, the server must also be the same program with the same environment variables. `place` is the workspace
    without the configuration, if the caller has found it.

    Raises:
        Unanswered: a server has begun the work, and its result is unknown.
        ConfigError: the configuration does not exist, or the variable has another value than "on" and "off".
    """
    from memoriter.discovery import delegate, folder_of, resolve_target
    from memoriter.environment import switch

    folder = folder_of(env.home)
    if switch(env.environ, SERVER_VARIABLE) is False or not folder.is_dir():
        return None
    target = resolve_target(options.workspace, options.config, options.agent, env, exact=exact, place=place)
    return delegate(target, folder, call)


def agent_options(options: GlobalOptions, *, here: bool) -> list[GlobalOptions]:
    """Return the options for each agent that a command serves.

    --agent or -w selects one agent, and if `here`, a folder of notes around the current one does, too.
    """
    if options.agent or options.workspace:
        return [options]
    place, configuration, chosen = options.settle()
    agents = [agent.id for agent in configuration.settings.agents.list] or [chosen]
    if here and configuration.state is None and place.reason not in {"configured", "default"}:
        return [options]
    return [replace(options, agent=agent) for agent in agents]


def serve_agents(
    agents: Sequence[GlobalOptions], work: Callable[[GlobalOptions], _T]
) -> list[tuple[GlobalOptions, _T | WorkspaceNotFound]]:
    """Return the result of the work for each agent; for an agent without a folder, the error.

    Raises:
        WorkspaceNotFound: no agent has a folder.
    """
    results: list[tuple[GlobalOptions, _T | WorkspaceNotFound]] = []
    for options in agents:
        try:
            results.append((options, work(options)))
        except WorkspaceNotFound as error:
            results.append((options, error))
    errors = [result for _, result in results if isinstance(result, WorkspaceNotFound)]
    if len(errors) == len(results) and errors:
        raise errors[0]
    return results


def missing_folder(options: GlobalOptions, error: WorkspaceNotFound) -> Diagnostic:
    """Return the diagnostic for an agent without a folder."""
    from memoriter.types import Diagnostic

    return Diagnostic(error.code, f"The agent {options.agent!r} is left out. {error.message}", error.remedy)
