"""`memoriter install`."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._mcp import HOST, PORT, load_token
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import is_interactive, pluralize
from memoriter.cli._trust import ask_to_trust, check_folder
from memoriter.errors import ConfigError, MemoriterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.cli._render import Line, Screen
    from memoriter.environment import Environment
    from memoriter.installation import ClientName, Launch, Outcome, Scope
    from memoriter.types import Estimate

CLIENTS: dict[ClientName, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "cursor": "Cursor",
    "claude-desktop": "Claude Desktop",
}
TRUST_HOOKS = "Codex runs the hooks only after you accept them: start `codex` in a terminal, at `Hooks need review`."
CAPTURE_NOTICE = (
    (
        "Conversations can be recorded in the day's note: the summary when {client} compacts one, and what you asked "
        "in one that ends. `memoriter capture list` shows the records, and `memoriter capture undo ID` removes "
        "one."
    ),
    "Searches then also find passages of past conversations. With an embedding service, it receives their text.",
)
CAPTURE_WITHOUT_HOOKS = (
    "The option --capture needs the hooks of Claude Code or Codex; it does not go with --no-hooks or --remove."
)
CAPTURE_QUESTION = "Record conversations, and search past ones?"
SEARCH = ("agents", "defaults", "memorySearch")
SHARED_SERVER = "The file names MEMORITER_TOKEN, not the token: give that variable, as memoriter token prints it."
ON_PATH = "Files of a project are shared, so they name `memoriter`: install it where the client finds it on its PATH."
HOOK_TOOL_VERSION = (2, 1, 118)
"""The first version of Claude Code that calls tools of MCP servers as hooks."""
VERSION_SECONDS = 10.0
"""Time limit of `claude --version`."""
STYLES = {"+": "green", "-": "red"}


@click.command(cls=Command, name="install")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For all your work in the client, or for the current folder.",
)
@click.option("--http", is_flag=True, help="Connect to memoriter serve, instead of starting a server for each client.")
@click.option(
    "--port", metavar="N", type=click.IntRange(1, 65535), help="The port of the server, with --http. Default: 8377."
)
@click.option("--no-hooks", is_flag=True, help="Only the tools: no hooks.")
@click.option(
    "--capture/--no-capture",
    default=None,
    help="Record each conversation in the day's note, and search past conversations, or turn the records off.",
)
@click.option("--remove", is_flag=True, help="Remove this memory from the configuration.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def install_command(
    client: ClientName,
    scope: Scope,
    *,
    http: bool,
    port: int | None,
    no_hooks: bool,
    capture: bool | None,
    remove: bool,
    dry_run: bool,
) -> None:
    """Add this memory to a client's configuration, or remove it.

        memoriter install claude-code --dry-run
        memoriter install codex -w ~/notes
        memoriter install cursor --scope project
        memoriter install claude-desktop --remove

    The client starts this installation of memoriter. With -w it always opens that workspace, otherwise your default
    one, or the folder in which you use the client if you trust it (memoriter trust). With --scope project you trust the
    current folder. The rest of the file does not change, and a copy of the old file stays beside it. Claude Code and
    Codex also get hooks, which recall notes, ask the agent to write new ones, and with --capture record conversations;
    Gemini CLI and opencode get those that recall.

    With --http the file contains the address and the token of the server, and only you can read it. With --scope
    project it contains the name of the variable MEMORITER_TOKEN instead of the token. It needs
    pip install "memoriter[mcp]", and with --http pip install "memoriter[serve]". Next: restart the client.
    """
    if port is not None and not http:
        raise click.UsageError("The option --port needs --http.")
    from memoriter.app import read_environment
    from memoriter.extras import require
    from memoriter.installation import Machine, apply, can_capture, changes

    hooks, shared = not (no_hooks or remove) and can_capture(client), scope == "project" and not remove
    if capture and not hooks:
        raise click.UsageError(CAPTURE_WITHOUT_HOOKS)
    if not remove or client == "codex":  # Codex has a TOML file, which takes a package to edit
        require("serve" if http else "mcp", f"The server that {CLIENTS[client]} is to use")
    options, screen, env = GlobalOptions.current(), GlobalOptions.current().screen, read_environment()
    token = _token(env, screen, create=not dry_run) if http and not remove else ""
    launch = _launch(client, scope, options, env, (port or PORT, token), remove=remove)
    captures, is_new = _decide_capture(options, env, client, capture, dry_run=dry_run) if hooks else (False, False)
    machine = Machine(env.user_home, env.cwd, env.environ, sys.platform)
    planned = changes(client, launch, machine, scope=scope, install=not remove, hooks=not no_hooks, capture=captures)
    outcomes = apply(planned, dry_run=dry_run)
    if is_new and not dry_run:
        _write_capture(options, env, client, scope, wanted=captures)
    if not (remove or dry_run or options.workspace):
        _settle_trust(env, screen, scope)
    if screen.as_json:
        screen.json({"client": client, "dryRun": dry_run, "files": [_json(outcome) for outcome in outcomes]})
        return
    for outcome in outcomes:
        screen.show(list(_lines(outcome, env.user_home, dry_run=dry_run)), wrapped=False)
    changed = not dry_run and any(outcome.kind != "unchanged" for outcome in outcomes)
    screen.note(*_next_steps(client, http=http, changed=changed, hooks=hooks, shared=shared))
    if not dry_run and not remove:
        with suppress(MemoriterError):  # the client is configured; the command itself shows what is wrong
            _offer_index(options, env)


def _launch(
    client: ClientName,
    scope: Scope,
    options: GlobalOptions,
    env: Environment,
    server: tuple[int, str],
    *,
    remove: bool,
) -> Launch:
    """Return how a client starts memoriter, or connects to the server with this port and token, if there is a token."""
    from memoriter.installation import HttpServer, Launch

    port, token = server
    remote = HttpServer(f"http://{HOST}:{port}/mcp", token) if token else None
    hook_tool = client == "claude-code" and scope == "user" and not remove and _calls_tools_as_hooks(env)
    return Launch(_program(scope), _options(options), _variables(env, options), remote, hook_tool)


def _next_steps(client: ClientName, *, shared: bool, http: bool, changed: bool, hooks: bool) -> Iterator[Line]:
    """Yield what remains to be done by the person, and by the others who use the files of a project."""
    if shared and http:
        yield ((SHARED_SERVER, ""),)
    if shared:
        yield ((ON_PATH, ""),)
    if changed:
        yield ((f"Restart {CLIENTS[client]}, so that it reads the change.", ""),)
    if changed and client == "codex" and hooks:
        yield ((TRUST_HOOKS, ""),)


def _decide_capture(
    options: GlobalOptions, env: Environment, client: ClientName, wanted: bool | None, *, dry_run: bool
) -> tuple[bool, bool]:
    """Return whether a client with hooks is to record conversations, and whether the settings must be changed for it.

    Args:
        options: the global options.
        env: the environment.
        client: the client.
        wanted: the answer, from the command line; None: the settings decide, or the person at the terminal.
        dry_run: whether to ask nothing.

    Raises:
        ConfigError: an answer was given, and the settings cannot be read.
        UsageError: an answer was given, and the settings are those of OpenClaw.
    """
    from memoriter.app import settle

    screen = options.screen
    try:
        _, configuration, _ = settle(env, options.workspace, options.config, options.agent)
    except ConfigError:
        if wanted is None:
            return False, False  # the hooks report what is wrong
        raise
    current = configuration.settings.memory.capture
    if configuration.state and wanted:
        message = "The settings in use are those of OpenClaw, which knows no memory.capture."
        raise UsageError(message, remedy="Leave out --capture, or use a configuration of memoriter's own.")
    if wanted is None and not (current or dry_run or configuration.state) and is_interactive(screen):
        screen.note(*(((line.format(client=CLIENTS[client]), ""),) for line in CAPTURE_NOTICE))
        wanted = click.confirm(CAPTURE_QUESTION, default=False, err=True)
    if wanted is None:
        return current, False
    return wanted, wanted or current


def _write_capture(options: GlobalOptions, env: Environment, client: ClientName, scope: Scope, *, wanted: bool) -> None:
    """Write into the settings whether conversations are recorded; if so, searches find the client's transcripts, too.

    Raises:
        ConfigError: the settings cannot be read.
        WriteError: the settings cannot be written.
    """
    from memoriter.app import settle
    from memoriter.settings_file import write_settings

    screen = options.screen
    _, configuration, _ = settle(env, options.workspace, options.config, options.agent)
    search = configuration.settings.agents.defaults.memory_search
    values: dict[tuple[str, ...], Any] = {("memory", "capture"): wanted}
    if wanted:
        keyword = client if scope == "project" else f"{client}:all"
        values |= {
            (*SEARCH, "sources"): list(dict.fromkeys(("memory", *search.sources, "sessions"))),
            (*SEARCH, "experimental", "sessionMemory"): True,
            (*SEARCH, "sessionPaths"): _with_transcripts(search.session_paths, client, keyword),
        }
    file = configuration.path or env.home / "memoriter.json5"
    if not write_settings(file, values):
        return
    if wanted:
        message = f"Conversations are recorded in the day's note, and searches find past ones: {file} was changed."
        screen.note(((message, ""),))
        return
    screen.note(((f"Conversations are not recorded any more: {file} was changed.", ""),))
    if "sessions" in search.sources:
        remedy = "`memoriter config unset memorySearch.sources` ends that."
        screen.note(((f"Searches still find passages of past conversations. {remedy}", ""),))


def _with_transcripts(paths: Sequence[str], client: ClientName, keyword: str) -> list[str]:
    """Return the paths of transcripts with those of a client; the transcripts of all folders include the others."""
    if f"{client}:all" in paths:
        return list(paths)
    return [*(path for path in paths if path != client), keyword]


def _settle_trust(env: Environment, screen: Screen, scope: Scope) -> None:
    """Trust the folder of a project in which memoriter was installed; for a user, ask about it or name the command."""
    from memoriter.config import TrustStore, find_workspace, untrusted_diagnostic

    if scope == "project":
        try:
            check_folder(env.cwd, env)
        except UsageError as error:
            screen.note(((error.message, "yellow"),))
            return
        if TrustStore(env.home).add(env.cwd):
            screen.note(((f"You trust {env.cwd} now: agents that work there use its notes.", ""),))
        return
    place = find_workspace(None, environ=env.environ, cwd=env.cwd, configured=None, home=env.home)
    if place.untrusted is not None and not ask_to_trust(place, env, screen):
        screen.show_diagnostics([untrusted_diagnostic(place.untrusted)])


def _offer_index(options: GlobalOptions, env: Environment) -> None:
    """Show how much there is to index, and offer to do it. Raises MemoriterError."""
    from memoriter.cli._background import start

    screen = options.screen
    with options.open_silently() as memory:
        estimate = options.show_egress_notice(memory).backend.estimate(measured=True)
        if not estimate.chunks and not estimate.tokens:
            return
        screen.show([((_work_left(estimate), ""),)])
        question = "Index them now, in the background?"
        if is_interactive(screen) and click.confirm(question, default=True, err=True):
            if start(options, env, memory, wanted=True):
                screen.show([(("`memoriter status` shows the progress.", ""),)])
            return
    screen.show([((f"To index them now: {shlex.join(['memoriter', *_options(options), 'index'])}", ""),)])


def _work_left(estimate: Estimate) -> str:
    """Return one sentence about what is not indexed yet, and how long it takes."""
    files = pluralize(estimate.added + estimate.changed, "file")
    passages = f" with {pluralize(estimate.chunks, 'passage')}" if estimate.chunks else ""
    tokens = f"about {pluralize(estimate.tokens, 'token')} to embed" if estimate.tokens else "no vectors to compute"
    price = f", about ${estimate.price:.2f}" if estimate.price else ""
    if estimate.seconds is not None:
        minutes = estimate.seconds / 60
        price += f", about {pluralize(max(1, round(minutes)), 'minute')} on this machine as busy as it is now"
    return f"Not indexed yet: {files}{passages}; {tokens}{price}."


def _program(scope: Scope) -> tuple[str, ...]:
    """Return the command that starts this program: its own file, or the Python that runs it; for a project its name."""
    if scope == "project":
        return ("memoriter",)
    script = Path(sys.argv[0])
    executable = Path(sys.executable).with_name("memoriter.exe" if sys.platform == "win32" else "memoriter")
    if script.stem == "memoriter" and script.is_file():
        return (str(script.absolute()),)
    return (str(executable),) if executable.is_file() else (sys.executable, "-m", "memoriter")


def _calls_tools_as_hooks(env: Environment) -> bool:
    """Return whether the Claude Code of this person takes hooks of the type `mcp_tool`.

    An older one ignores all hooks of a file with such an entry, those of its owner included.
    """
    program = shutil.which("claude", path=env.environ.get("PATH"))
    if program is None:
        return False
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the client that is configured
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.match(rb"(\d+)\.(\d+)\.(\d+)\b", done.stdout)
    return version is not None and tuple(int(part) for part in version.groups()) >= HOOK_TOOL_VERSION


def _token(env: Environment, screen: Screen, *, create: bool) -> str:
    """Return the token of the servers; create one if there is none and `create`, else return a placeholder."""
    available = create or (env.home / "token").exists() or env.environ.get("MEMORITER_TOKEN", "").strip()
    return load_token(env, screen, None).value if available else "not-made-yet"


def _options(options: GlobalOptions) -> tuple[str, ...]:
    """Return the global options of this run, which apply to every run of the client."""
    values = {
        "--workspace": _absolute(options.workspace),
        "--config": _absolute(options.config),
        "--agent": options.agent,
    }
    return tuple(word for option, value in values.items() if value for word in (option, value))


def _absolute(path: str | None) -> str | None:
    return str(Path(path).expanduser().absolute()) if path else None


def _variables(env: Environment, options: GlobalOptions) -> dict[str, str]:
    """Return the variables to set for the program, because clients do not pass on their whole environment."""
    from memoriter.config import state_of

    names = ["MEMORITER_HOME"]
    if options.config and state_of(Path(options.config), env.environ, env.user_home):
        names += ["OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"]
    values = {name: env.environ.get(name, "").strip() for name in names}
    return {name: str(Path(value).expanduser().absolute()) for name, value in values.items() if value}


def _json(outcome: Outcome) -> dict[str, str | bool | None]:
    backup = str(outcome.backup) if outcome.backup else None
    value = {"file": str(outcome.file), "outcome": outcome.kind, "diff": outcome.diff, "backup": backup}
    return value | ({"holdsToken": True} if outcome.holds_token else {})


def _lines(outcome: Outcome, user_home: Path, *, dry_run: bool) -> Iterator[Line]:
    from memoriter.installation import shown

    file = shown(outcome.file, user_home)
    if outcome.kind == "unchanged":
        yield ((f"{file} is up to date.", ""),)
    elif dry_run:
        yield ((f"{file} would be {outcome.kind}:", "bold"),)
        for line in outcome.diff.splitlines()[2:]:
            yield ((line, STYLES.get(line[:1], "dim")),)
    else:
        backup = f" As it was before: {outcome.backup.name}" if outcome.backup else ""
        yield ((f"{file} was {outcome.kind}.", ""), (backup, "dim"))
    if outcome.holds_token and not dry_run:
        yield (("It contains the token of the server, so only you can read it. Do not share it.", "yellow"),)
