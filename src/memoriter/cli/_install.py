"""`memoriter install`, with whether conversations are recorded (`--capture`), and the settings for that."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import replace as with_values
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._installed import OpenedWorkspace, owners_values, program_version, record, workspace_of
from memoriter.cli._options import Command, GlobalOptions, read_environment
from memoriter.cli._render import is_interactive, pluralize
from memoriter.cli._serve import HOST, PORT, load_token
from memoriter.cli._trust import ask_to_trust, check_folder
from memoriter.errors import ConfigError, MemoriterError, UsageError
from memoriter.installation import CLIENT_TITLES, PROJECT_VARIABLES, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.cli._render import Line, Screen
    from memoriter.environment import Environment
    from memoriter.installation import ClientName, Launch, Outcome, Scope
    from memoriter.types import Estimate

TRUST_HOOKS = "Codex runs the hooks only after you accept them: start `codex` in a terminal, at `Hooks need review`."
CAPTURE_WITHOUT_HOOKS = (
    "The option --capture needs the hooks of Claude Code or Codex; it does not go with --no-hooks or --remove."
)
SHARED_SERVER = "The file names MEMORITER_TOKEN, not the token: give that variable, as memoriter token prints it."
ON_PATH = "Files of a project are shared, so they name `memoriter`: install it where the client finds it on its PATH."
HOME_OF_ONE = (
    "They do not name your folder {home} either: set MEMORITER_HOME for the client, too, or it uses another one."
)
HOOK_TOOL_VERSION = (2, 1, 118)
"""The first version of Claude Code that calls tools of MCP servers as hooks."""
VERSION_SECONDS = 10.0
"""Time limit of `claude --version`."""
STYLES = {"+": "green", "-": "red"}


@click.command(cls=Command, name="install")
@click.argument("client", type=click.Choice(list(CLIENT_TITLES)))
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
@click.option("--replace", is_flag=True, help="Replace what you have changed in the entry of memoriter.")
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
    replace: bool,
    remove: bool,
    dry_run: bool,
) -> None:
    """Add this memory to a client's configuration, or remove it.

        memoriter install claude-code --dry-run
        memoriter install codex -w ~/notes
        memoriter install cursor --scope project
        memoriter install claude-desktop --remove

    The command prints which workspace the client opens: that of -w, or else the folder in which you use the client if
    you trust it (memoriter trust), or your default one. With --scope project you trust the current folder, and the
    client opens it unless MEMORITER_WORKSPACE names another one. The rest of the file does not change; a copy of the
    old one stays beside it. Claude Code and Codex also get hooks, which recall notes, ask for new ones, and with
    --capture record conversations; Gemini CLI and opencode get those that recall.

    With --http the file contains the address and the token of the server, and only you can read it; with --scope
    project it contains the name of the variable MEMORITER_TOKEN instead. It needs the extra mcp, and with --http the
    extra serve. Next: restart the client.
    """
    if port is not None and not http:
        raise click.UsageError("The option --port needs --http.")
    from memoriter.installation import Machine, apply, can_capture, changes

    hooks = not (no_hooks or remove) and can_capture(client)
    shared = scope == "project" and not remove
    _check_needs(client, capture=capture and not hooks, http=http, remove=remove)
    options, env = _read_options(scope)
    screen = options.screen
    asks = not (remove or dry_run or options.workspace)
    if asks and scope == "user":  # this decides what is opened
        _settle_trust(env, screen, scope)
    place = None if remove or http else workspace_of(client, scope, options, env)
    token = _token(env, screen, create=not dry_run) if http and not remove else ""
    launch = _launch(client, scope, options, env, (port or PORT, token), remove=remove, pinned=place)
    captures, is_new = decide_capture(options, env, client, capture, dry_run=dry_run) if hooks else (False, False)
    machine = Machine(env.user_home, env.cwd, env.environ, sys.platform)
    remarks = owners_values(client, launch, machine, scope, env, remove=remove, refuse=not (replace or dry_run))
    planned = changes(client, launch, machine, scope=scope, install=not remove, hooks=not no_hooks, capture=captures)
    outcomes = apply(planned, dry_run=dry_run)
    if not dry_run:
        record(client, launch, machine, scope, env, remove=remove)
    if is_new and not dry_run:
        write_capture(options, env, client, scope, wanted=captures)
    if asks and scope == "project":
        _settle_trust(env, screen, scope)
    _show(client, outcomes, remarks, place, env.user_home, dry_run=dry_run)
    if not screen.as_json:
        changed = not dry_run and any(outcome.kind != "unchanged" for outcome in outcomes)
        screen.note(*_next_steps(client, env, http=http, changed=changed, hooks=hooks, shared=shared))
        if not (dry_run or remove):
            with suppress(MemoriterError):  # the client is configured; the command itself shows what is wrong
                _offer_index(options, env)


def _read_options(scope: Scope) -> tuple[GlobalOptions, Environment]:
    """Return the options and the environment.

    The options name the configuration of `MEMORITER_CONFIG`, too, because clients may not pass on the variable. Files
    of a project are shared, so they do not name a file of this machine.
    """
    options = GlobalOptions.current()
    env = read_environment()
    variable = env.environ.get("MEMORITER_CONFIG", "").strip()
    return with_values(options, config=options.config or variable or None) if scope == "user" else options, env


def _check_needs(client: ClientName, *, capture: bool | None, http: bool, remove: bool) -> None:
    """Raise click.UsageError for a capture without hooks, and MissingExtra if a package is not installed."""
    from memoriter.extras import require

    if capture:
        raise click.UsageError(CAPTURE_WITHOUT_HOOKS)
    if not remove or client == "codex":  # Codex has a TOML file, which takes a package to edit
        require("serve" if http else "mcp", f"The server that {CLIENT_TITLES[client]} is to use")


def _show(
    client: ClientName,
    outcomes: Sequence[Outcome],
    remarks: Sequence[str],
    place: OpenedWorkspace | None,
    user_home: Path,
    *,
    dry_run: bool,
) -> None:
    """Show the result of each file, what in it is the owner's, and what the client opens."""
    screen = GlobalOptions.current().screen
    if screen.as_json:
        screen.note(*(((line, "yellow"),) for line in remarks))
        opened = str(place.folder) if place else None
        files = [_json(outcome) for outcome in outcomes]
        screen.json({"client": client, "dryRun": dry_run, "workspace": opened, "files": files})
        return
    for outcome in outcomes:
        screen.show(list(_lines(outcome, user_home, dry_run=dry_run)), wrapped=False)
    screen.show([((line, "yellow"),) for line in remarks])
    screen.show([((place.sentence(client), ""),)] if place else [])


def _launch(
    client: ClientName,
    scope: Scope,
    options: GlobalOptions,
    env: Environment,
    server: tuple[int, str],
    *,
    remove: bool,
    pinned: OpenedWorkspace | None,
) -> Launch:
    """Return how a client starts memoriter, or connects to the server with this port and token, if there is a token."""
    from memoriter.installation import HttpServer, Launch

    port, token = server
    remote = HttpServer(f"http://{HOST}:{port}/mcp", token) if token else None
    hook_tool = client == "claude-code" and scope == "user" and not remove and _calls_tools_as_hooks(env)
    if pinned and pinned.when == "always" and scope == "user":
        options = with_values(options, workspace=str(pinned.folder))
    words = _options(options)
    if scope == "user" and not remote:  # files of a project are shared by people with several versions
        words = ("--installed-for", f"{client}@{program_version()}", *words)
    if scope == "project" and not options.workspace and client in PROJECT_VARIABLES:
        words = ("--directory", PROJECT_VARIABLES[client], *words)
    return Launch(_program(scope), words, _variables(env, options, scope), remote, hook_tool)


def _next_steps(
    client: ClientName, env: Environment, *, shared: bool, http: bool, changed: bool, hooks: bool
) -> Iterator[Line]:
    """Yield what remains to be done by the person, and by the others who use the files of a project."""
    if shared and http:
        yield ((SHARED_SERVER, ""),)
    if shared:
        yield ((ON_PATH, ""),)
    if shared and _has_own_home(env):
        yield ((HOME_OF_ONE.format(home=env.home), "yellow"),)
    if changed:
        yield ((f"Restart {CLIENT_TITLES[client]}, so that it reads the change.", ""),)
    if changed and client == "codex" and hooks:
        yield ((TRUST_HOOKS, ""),)


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
    from memoriter.environment import expand_home

    return str(expand_home(path).absolute()) if path else None


def _variables(env: Environment, options: GlobalOptions, scope: Scope) -> dict[str, str]:
    """Return the variables to set for the program, because clients do not pass on their whole environment.

    The home is one of them if it is not the usual one. Files of a project are shared, so they do not name it.
    """
    from memoriter.config import state_of
    from memoriter.environment import expand_home

    names = ["OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"]
    is_openclaw = options.config and state_of(Path(options.config), env.environ, env.user_home)
    values = {name: env.environ.get(name, "").strip() for name in names if is_openclaw}
    home = {"MEMORITER_HOME": str(env.home)} if scope == "user" and _has_own_home(env) else {}
    return home | {name: str(expand_home(value).absolute()) for name, value in values.items() if value}


def _has_own_home(env: Environment) -> bool:
    """Return whether memoriter's home is another one than it would be without `MEMORITER_HOME`."""
    from memoriter.config import home_of

    return env.home != home_of({}, env.user_home)


def _json(outcome: Outcome) -> dict[str, str | bool | None]:
    backup = str(outcome.backup) if outcome.backup else None
    value = {"file": str(outcome.file), "outcome": outcome.kind, "diff": outcome.diff, "backup": backup}
    return value | ({"holdsToken": True} if outcome.holds_token else {})


def _lines(outcome: Outcome, user_home: Path, *, dry_run: bool) -> Iterator[Line]:
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


CAPTURE_NOTICE = (
    (
        "Conversations can be recorded in the day's note: the summary when {client} compacts one, and what you asked "
        "in one that ends. `memoriter capture list` shows the records, and `memoriter capture undo ID` removes "
        "one."
    ),
    "Searches then also find passages of past conversations. With an embedding service, it receives their text.",
)
CAPTURE_QUESTION = "Record conversations, and search past ones?"
SEARCH = ("agents", "defaults", "memorySearch")


def decide_capture(
    options: GlobalOptions, env: Environment, client: ClientName, wanted: bool | None, *, dry_run: bool
) -> tuple[bool, bool]:
    """Return whether a client with hooks is to record conversations, and whether the settings must be changed for it.

    `wanted` is the answer on the command line; None: the settings decide, or the person at the terminal, who is asked
    nothing in a dry run.

    Raises:
        ConfigError: an answer was given, and the settings cannot be read.
        UsageError: an answer was given, and the settings are those of OpenClaw.
    """
    screen = options.screen
    try:
        _, configuration, _ = options.settle(env, by_person=False)
    except ConfigError:
        if wanted is None:
            return False, False  # the hooks report what is wrong
        raise
    current = configuration.settings.memory.capture
    if configuration.state and wanted:
        message = "The settings in use are those of OpenClaw, which knows no memory.capture."
        raise UsageError(message, remedy="Leave out --capture, or use a configuration of memoriter's own.")
    if wanted is None and not (current or dry_run or configuration.state) and is_interactive(screen):
        screen.note(*(((line.format(client=CLIENT_TITLES[client]), ""),) for line in CAPTURE_NOTICE))
        wanted = click.confirm(CAPTURE_QUESTION, default=False, err=True)
    if wanted is None:
        return current, False
    return wanted, wanted or current


def write_capture(options: GlobalOptions, env: Environment, client: ClientName, scope: Scope, *, wanted: bool) -> None:
    """Write into the settings whether conversations are recorded; if so, searches find the client's transcripts, too.

    Raises:
        ConfigError: the settings cannot be read.
        WriteError: the settings cannot be written.
    """
    from memoriter.settings_file import write_settings

    screen = options.screen
    _, configuration, _ = options.settle(env, by_person=False)
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
