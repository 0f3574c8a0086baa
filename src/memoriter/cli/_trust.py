"""`memoriter trust`, and the questions and notices about folders that are not trusted."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from memoriter.cli._options import Command, GlobalOptions, read_environment
from memoriter.cli._render import FAILED, is_interactive
from memoriter.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from memoriter.cli._render import Line, Screen
    from memoriter.config import Place, TrustedFolder
    from memoriter.environment import Environment
    from memoriter.types import Diagnostic

REPOSITORY = "The folder is in a Git repository, so its notes may come from anybody."
STATES = {
    "trusted": "",
    "missing": "  not there any more",
    "replaced": "  not trusted: another folder has this path now",
}


@click.command(cls=Command, name="trust")
@click.argument("folders", nargs=-1, metavar="[DIR]...")
@click.option("--list", "listed", is_flag=True, help="List the trusted folders.")
@click.option("--remove", is_flag=True, help="Stop trusting these folders.")
@click.pass_context
def trust_command(context: click.Context, folders: tuple[str, ...], *, listed: bool, remove: bool) -> None:
    """Let agents use the notes of a folder that they work in.

        memoriter trust .
        memoriter trust --list
        memoriter trust --remove ~/projects/shop

    A repository may come from anybody, so an agent that works in it neither reads nor writes its notes until you
    trust the folder; it uses your own workspace. A folder that was deleted and cloned again must be trusted again. A
    server that runs refuses the folder as soon as you remove your trust. Next: memoriter status.
    """
    from memoriter.config import TrustStore
    from memoriter.environment import expand_home

    options = GlobalOptions.current()
    env = read_environment()
    store = TrustStore(env.home)
    named = [*folders, *([options.workspace] if options.workspace else [])]
    if listed and (folders or remove):
        raise click.UsageError("The option --list cannot be combined with folders or --remove.")
    if listed:
        _list(store.folders(), options.screen)
        return
    if not named:
        raise click.UsageError("Name a folder, such as `memoriter trust .`, or give --list.")
    rows: list[tuple[Path, bool]] = []
    for name in named:
        folder = Path(os.path.normpath(env.cwd / expand_home(name)))
        if not remove:
            check_folder(folder, env)
        rows.append((folder, store.remove(folder) if remove else store.add(folder)))
    state = ("not trusted any more" if remove else "trusted", "not trusted" if remove else "trusted already")
    if options.json:
        key = "removed" if remove else "trusted"
        options.screen.json([{"folder": str(folder), key: changed if remove else True} for folder, changed in rows])
    else:
        for folder, changed in rows:
            options.screen.show([((str(folder), "bold"), (f" is {state[0] if changed else state[1]}.", ""))])
    if remove and not all(changed for _, changed in rows):
        context.exit(FAILED)


def _list(folders: tuple[TrustedFolder, ...], screen: Screen) -> None:
    if screen.as_json:
        screen.json([{"folder": each.path, "state": each.state} for each in folders])
    else:
        lines: list[Line] = [((each.path, ""), (STATES[each.state], "yellow")) for each in folders]
        screen.show(lines or [(("No folder is trusted.", ""),)])


def check_folder(folder: Path, env: Environment) -> None:
    """Refuse a folder that is not there, or that would not be used although it is trusted. Raises UsageError."""
    from memoriter.config import distrust_reason
    from memoriter.permissions import owners_of

    if not folder.is_dir():
        raise UsageError(f"There is no folder {str(folder)!r}.", remedy="Give the path of a folder.")
    if reason := distrust_reason(folder, owners_of(env.environ)):
        message = f"The folder {str(folder)!r} cannot be trusted, because of {str(reason[0])!r}: {reason[1]}."
        raise UsageError(message, remedy="Change its owner and permissions, or name the folder with -w DIR.")


def ask_to_trust(place: Place, env: Environment, screen: Screen) -> bool:
    """Ask the person at the terminal whether to trust the folder that is not trusted; without a terminal, do nothing.

    Returns:
        Whether the folder is trusted now.
    """
    from memoriter.config import TrustStore

    folder = place.untrusted
    if folder is None or not is_interactive(screen):
        return False
    screen.note(((f"You have not trusted {folder}, so agents neither read nor write its notes.", "yellow"),))
    if not click.confirm("Do you trust this folder?", err=True):
        return False
    TrustStore(env.home).add(folder)
    return True


def check_trust(place: Place, screen: Screen) -> None:
    """Refuse to write into a repository that was only found, unless the owner trusts it. Raises UsageError.

    It may be anybody's, and an entry in it may be published with it.
    """
    from memoriter.config import in_repository

    if place.trust != "untrusted" or not in_repository(place.workspace):
        return
    if not ask_to_trust(place, read_environment(), screen):
        message = f"Nothing was written, because you have not trusted the repository {str(place.workspace)!r}."
        folder = quote(str(place.workspace))
        raise UsageError(message, remedy=f"Run `memoriter trust {folder}`, or name a folder with -w DIR.")


def untrusted_notice(place: Place, screen: Screen) -> tuple[Diagnostic, ...]:
    """Ask the person at the terminal to trust the folder that a command writes to; return a notice if they do not."""
    from memoriter.config import TrustStore, untrusted_diagnostic

    env = read_environment()
    if place.trust != "untrusted" or TrustStore(env.home).includes(place.workspace):
        return ()
    if ask_to_trust(place, env, screen):
        return ()
    return (untrusted_diagnostic(place.workspace),)


def trust_made_folder(folder: Path, env: Environment, screen: Screen) -> list[str]:
    """Trust a folder of notes that the person at the terminal has just named, and return what to tell them.

    In a Git repository the notes may come from anybody, so the person is asked first. Without a terminal a program may
    have run the command, such as an agent in a cloned repository: nothing is trusted. Raises ConfigError.
    """
    from memoriter.config import TrustStore, in_repository, untrusted_diagnostic

    folder = Path(os.path.normpath(folder))
    store = TrustStore(env.home)
    if store.includes(folder):
        return []
    try:
        check_folder(folder, env)
    except UsageError as error:
        return [f"{error.message} {error.remedy}"]
    trusted = is_interactive(screen) and (
        not in_repository(folder) or click.confirm(f"{REPOSITORY} Do you trust this folder?", err=True)
    )
    if trusted and store.add(folder):
        return [f"You trust {folder} now: agents that work there use its notes."]
    untrusted = untrusted_diagnostic(folder)
    return [f"{untrusted.message} {untrusted.remedy}"]


def offer_trust(options: GlobalOptions) -> None:
    """Ask at a terminal whether to trust the folder of notes around the current one. Raises ConfigError."""
    if is_interactive(options.screen):
        env = read_environment()
        place, _, _ = options.settle(env, by_person=False)
        ask_to_trust(place, env, options.screen)


def notice_of_untrusted(found: Place, options: GlobalOptions, env: Environment) -> str:
    """Return what the owner is told, once for each folder, if an agent works in one that is not trusted."""
    from memoriter.config import TrustStore

    store = TrustStore(env.home)
    if found.untrusted is None or store.was_announced(found.untrusted):
        return ""
    from memoriter.config import load, untrusted_diagnostic
    from memoriter.workspace import neutral

    try:
        settings = load(Path(options.config) if options.config else None, home=env.home, environ=env.environ)
        agent = options.agent or settings.default_agent
        place = settings.select_place(agent, None, environ=env.environ, cwd=env.cwd, home=env.home)
        if not store.announce(found.untrusted) or place.untrusted is None:
            return ""
    except (ConfigError, OSError):
        return ""
    diagnostic = untrusted_diagnostic(place.untrusted)
    uses = f"Memory is {str(place.workspace)!r} here."
    return neutral(f"memoriter: {diagnostic.message} {uses} {diagnostic.remedy}")
