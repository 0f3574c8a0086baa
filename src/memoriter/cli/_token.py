"""`memoriter token`: the tokens of clients over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import iso_time
from memoriter.cli._options import Command, CommandGroup, GlobalOptions

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.discovery import Scope, ScopedToken


@click.group(cls=CommandGroup, name="token", invoke_without_command=True)
@click.option("--renew", is_flag=True, help="Make a new token; servers refuse the old one at once.")
@click.pass_context
def token_command(context: click.Context, *, renew: bool) -> None:
    """Print the token for a server over HTTP, or manage others.

        memoriter token
        curl -H "Authorization: Bearer $(memoriter token)" http://127.0.0.1:8377/health
        memoriter token --renew
        memoriter token create dashboard --scope read

    memoriter serve and memoriter mcp --http require it. It is in the file token of memoriter's home, which only you can
    read, and changes only with --renew. The environment variable MEMORITER_TOKEN takes precedence. Anyone with the
    token can read and write the notes while a server runs. After --renew, give the new token to the clients, for
    example with memoriter install --http. Next: memoriter serve.
    """
    if context.invoked_subcommand is not None:
        if renew:
            raise click.UsageError("The option --renew cannot be combined with a command.")
        return
    from memoriter.discovery import renewed_token, token_for
    from memoriter.environment import read_environment
    from memoriter.errors import UsageError

    screen = GlobalOptions.current().screen
    env = read_environment()
    if renew and env.environ.get("MEMORITER_TOKEN", "").strip():
        raise UsageError("The token comes from MEMORITER_TOKEN.", remedy="Change that variable, or unset it first.")
    token = renewed_token(env.home) if renew else token_for(env.home, env.environ)
    if token.notice:
        screen.note(((token.notice, "yellow"),))
    if screen.as_json:
        screen.json({"token": token.value, "file": str(token.file) if token.file else None})
    else:
        screen.text(token.value)


@token_command.command(cls=Command, name="create")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["metrics", "read", "write", "admin"]),
    default="read",
    show_default=True,
    help="metrics; read; write, which includes read; or admin, which allows all that you may do.",
)
@click.option("--principal", metavar="NAME", default="", help="Accepted only by servers with this one's memories.")
@click.option(
    "--per-second",
    metavar="N",
    type=click.FloatRange(0.01, 10_000),
    default=100.0,
    show_default=True,
    help="Requests per second over a longer time; ten times as many at once after a pause.",
)
@click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(1, 512),
    default=64,
    show_default=True,
    help="Requests that run at the same time.",
)
@click.option(
    "--mb-per-minute",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=256,
    show_default=True,
    help="Megabytes (2^20 bytes) of requests and answers per minute.",
)
def create(*, name: str, scope: Scope, principal: str, per_second: float, at_once: int, mb_per_minute: int) -> None:
    """Make a token for one client, and print it once.

        memoriter token create dashboard
        memoriter token create alice --scope write -w ~/team/notes
        memoriter token create importer --scope write --per-second 5 --at-once 2
        memoriter token create prometheus --scope metrics

    memoriter stores only its hash, so it cannot be printed again. Servers that run accept it at once. What a client
    with the scope write adds to the notes is marked with the name. With -w, only the server of that folder accepts it,
    and with --principal only servers whose plugins.entries.memory-lancedb.config.principal is the same. Over a limit,
    a server answers with 429 and the time to wait. The scope metrics reads /metrics, and no notes.
    Next: memoriter token list.
    """
    from memoriter.discovery import Limits, TokenFile
    from memoriter.environment import read_environment

    options = GlobalOptions.current()
    env = read_environment()
    limits = Limits(per_second, at_once, mb_per_minute << 20)
    workspace = _existing_folder(options.workspace, env.user_home) if options.workspace else ""
    tokens = TokenFile(env.home)
    now = env.wall()
    value = tokens.create(name, scope, now=now, principal=principal, workspace=workspace, limits=limits)
    if options.screen.as_json:
        of_workspace = {"workspace": workspace} if workspace else {}
        options.screen.json({"name": name, "scope": scope, "principal": principal, **of_workspace, "token": value})
    else:
        options.screen.text(value)


def _existing_folder(named: str, user_home: Path) -> str:
    """Return the absolute path of a workspace, with symbolic links resolved. Raises UsageError if it is no folder."""
    import os

    from memoriter.errors import UsageError

    text = str(user_home / named[2:]) if named.startswith("~/") else named
    path = os.path.realpath(text)
    if not os.path.isdir(path):  # noqa: PTH112 - a path that `realpath` returned
        raise UsageError(f"There is no folder {named!r}.", remedy="Name the workspace of a server with -w.")
    return path


@token_command.command(cls=Command, name="list")
def list_() -> None:
    """List the tokens of clients, the newest last.

        memoriter token list
        memoriter token list --json

    Your own token, which memoriter token prints, is not among them. Next: memoriter token revoke NAME.
    """
    from memoriter.discovery import TokenFile
    from memoriter.environment import read_environment

    screen = GlobalOptions.current().screen
    tokens = TokenFile(read_environment().home).tokens()
    if screen.as_json:
        screen.json([_token_json(each) for each in tokens])
        return
    for each in tokens:
        principal = f"  for {each.principal}" if each.principal else ""
        where = f"  {each.workspace}" if each.workspace else ""
        since = f"since {iso_time(each.created)[:10]}"
        screen.show([((each.name, "bold"), (f"  {each.scope}{principal}  {since}{where}", ""))])
    if not tokens:
        screen.note((("There are no tokens of clients; `memoriter token create NAME` makes one.", ""),))


@token_command.command(cls=Command, name="revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke the token of a client; servers refuse it at once.

        memoriter token revoke dashboard
        memoriter token revoke dashboard --json

    Next: memoriter token list.
    """
    from memoriter.discovery import TokenFile
    from memoriter.environment import read_environment

    screen = GlobalOptions.current().screen
    removed = TokenFile(read_environment().home).revoke(name)
    if screen.as_json:
        screen.json({"revoked": _token_json(removed)})
    else:
        screen.show([(("Revoked: ", ""), (removed.name, "bold"))])


def _token_json(token: ScopedToken) -> dict[str, Any]:
    """Return a token without anything that could be sent to a server."""
    limits = token.limits
    return {
        "name": token.name,
        "scope": token.scope,
        "createdAt": iso_time(token.created),
        **({"principal": token.principal} if token.principal else {}),
        **({"workspace": token.workspace} if token.workspace else {}),
        "perSecond": limits.per_second,
        "atOnce": limits.at_once,
        "bytesPerMinute": limits.bytes_per_minute,
    }
