"""`memoriter install`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoriter.cli._mcp import HOST, PORT, load_token
from memoriter.cli._options import Command, GlobalOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.cli._render import Line, Screen
    from memoriter.environment import Environment
    from memoriter.integrations import ClientName, Outcome, Scope

CLIENTS: dict[ClientName, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "cursor": "Cursor",
    "claude-desktop": "Claude Desktop",
}
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
@click.option("--remove", is_flag=True, help="Remove this memory from the configuration.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def install_command(
    client: ClientName, scope: Scope, *, http: bool, port: int | None, no_hooks: bool, remove: bool, dry_run: bool
) -> None:
    """Add this memory to a client's configuration, or remove it.

        memoriter install claude-code --dry-run
        memoriter install codex -w ~/notes
        memoriter install cursor --scope project
        memoriter install claude-desktop --remove

    The client starts this installation of memoriter. With -w it always opens that workspace, otherwise the one that
    contains the folder in which you use the client. The rest of the file does not change, and a copy of the old file
    stays beside it. Claude Code and Codex also get hooks, which recall notes and ask the agent to write new ones.

    With --http the file contains the address and the token of the server, and only you can read it. With --scope
    project it contains the name of the variable MEMORITER_TOKEN instead of the token. It needs
    pip install "memoriter[mcp]", and with --http pip install "memoriter[serve]". Next: restart the client.
    """
    if port is not None and not http:
        raise click.UsageError("The option --port goes with --http.")
    from memoriter.app import read_environment
    from memoriter.extras import require
    from memoriter.integrations import HttpServer, Launch, Machine, apply, changes

    if not remove or client == "codex":  # Codex has a TOML file, which takes a package to edit
        require("serve" if http else "mcp", f"The server that {CLIENTS[client]} is to use")
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    env = read_environment()
    machine = Machine(env.user_home, env.cwd, env.environ, sys.platform)
    remote = None
    if http and not remove:
        remote = HttpServer(f"http://{HOST}:{port or PORT}/mcp", _token(env, screen, create=not dry_run))
    launch = Launch(_program(), _options(options), _variables(env, options), remote)
    planned = changes(client, launch, machine, scope=scope, install=not remove, hooks=not no_hooks)
    outcomes = apply(planned, dry_run=dry_run)
    if screen.as_json:
        screen.json({"client": client, "dryRun": dry_run, "files": [_json(outcome) for outcome in outcomes]})
        return
    for outcome in outcomes:
        screen.show(list(_lines(outcome, env.user_home, dry_run=dry_run)))
    if http and scope == "project" and not remove:
        notice = "The file names MEMORITER_TOKEN, not the token: give that variable, as memoriter token prints it."
        screen.note(((notice, ""),))
    if not dry_run and any(outcome.kind != "unchanged" for outcome in outcomes):
        screen.note(((f"Start {CLIENTS[client]} anew to make it so.", ""),))


def _program() -> tuple[str, ...]:
    """Return the command that starts this program: its own file, or the Python that runs it."""
    script = Path(sys.argv[0])
    executable = Path(sys.executable).with_name("memoriter.exe" if sys.platform == "win32" else "memoriter")
    if script.stem == "memoriter" and script.is_file():
        return (str(script.absolute()),)
    return (str(executable),) if executable.is_file() else (sys.executable, "-m", "memoriter")


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
    from memoriter.integrations import shown

    file = shown(outcome.file, user_home)
    if outcome.kind == "unchanged":
        yield ((f"{file} is as it should be.", ""),)
    elif dry_run:
        yield ((f"{file} would be {outcome.kind}:", "bold"),)
        for line in outcome.diff.splitlines()[2:]:
            yield ((line, STYLES.get(line[:1], "dim")),)
    else:
        backup = f" As it was before: {outcome.backup.name}" if outcome.backup else ""
        yield ((f"{file} was {outcome.kind}.", ""), (backup, "dim"))
    if outcome.holds_token and not dry_run:
        yield (("It holds the token of the server, so only you can read it; do not pass it on.", "yellow"),)
