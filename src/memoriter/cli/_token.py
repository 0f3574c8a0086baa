"""`memoriter token`: the tokens of clients over HTTP."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import iso_time
from memoriter.cli._options import Command, CommandGroup, GlobalOptions, read_environment
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memoriter.discovery import Scope, ScopedToken
    from memoriter.environment import Environment


@click.group(cls=CommandGroup, name="token", invoke_without_command=True)
@click.option("--renew", is_flag=True, help="Make a new token; servers refuse the old one at once.")
@click.pass_context
def token_command(context: click.Context, *, renew: bool) -> None:
    """Print the token for a server over HTTP, or manage others.

        memoriter token
        curl -H "Authorization: Bearer $(memoriter token)" http://127.0.0.1:8377/health
        memoriter token --renew
        memoriter token create dashboard --scope read

    memoriter serve and memoriter mcp --http require it. Anyone who has it can read and write the notes while a server
    runs. It is in the file token of memoriter's home, which only you can read; the environment variable
    MEMORITER_TOKEN comes first. After --renew, give the new token to the clients, for example with memoriter install
    --http. Next: memoriter serve.
    """
    if context.invoked_subcommand is not None:
        if renew:
            raise click.UsageError("The option --renew cannot be combined with a command.")
        return
    from memoriter.discovery import renewed_token, token_for

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
@click.option("--also", metavar="FOLDER", multiple=True, help="With -w: accepted for this workspace too.")
@click.option("--principal", metavar="NAME", default="", help="Accepted only by servers with this one's memories.")
@click.option("--expires", metavar="DAY", default="", help="The last day on which servers accept it, or 30d from now.")
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
def create(
    *,
    name: str,
    scope: Scope,
    also: tuple[str, ...],
    principal: str,
    expires: str,
    per_second: float,
    at_once: int,
    mb_per_minute: int,
) -> None:
    """Make a token for one client, and print it once.

        memoriter token create dashboard
        memoriter token create alice --scope write -w ~/team/notes --expires 90d
        memoriter token create importer --scope write --per-second 5 --at-once 2
        memoriter token create prometheus --scope metrics

    Only its hash is kept. Servers that run accept it at once. What comes with the scope write is marked with the
    name. With -w, only the server of that folder accepts it; --also names further folders of a server that has
    several. Over a limit, a server answers with 429 and the time to wait. The scope metrics reads /metrics, and no
    notes. Next: memoriter token list.
    """
    from memoriter.discovery import Limits, TokenFile

    options = GlobalOptions.current()
    env = read_environment()
    limits = Limits(per_second, at_once, mb_per_minute << 20)
    if also and not options.workspace:
        raise click.UsageError("Give -w with --also: a token names all its workspaces.")
    named = (options.workspace, *also) if options.workspace else ()
    workspaces = [_existing_folder(each, env.user_home) for each in named]
    tokens = TokenFile(env.home)
    now = env.wall()
    ends = _end_of(expires, env) if expires else 0.0
    value = tokens.create(name, scope, now=now, principal=principal, workspaces=workspaces, limits=limits, expires=ends)
    if options.screen.as_json:
        of_workspace = _workspaces_json(workspaces)
        until = {"expiresAt": iso_time(ends)} if ends else {}
        options.screen.json(
            {"name": name, "scope": scope, "principal": principal, **of_workspace, **until, "token": value}
        )
    else:
        options.screen.text(value)


def _end_of(expires: str, env: Environment) -> float:
    """Return the end of a day, in seconds since 1970. Raises UsageError if it is none, or in the past."""
    from datetime import date, timedelta

    from memoriter.environment import local_time

    now = local_time(env.wall(), None)
    days = expires.removesuffix("d")
    try:
        is_number = days != expires and days.isascii() and days.isdigit()
        last = now.date() + timedelta(days=int(days)) if is_number else date.fromisoformat(expires)
        end = now.replace(year=last.year, month=last.month, day=last.day, hour=23, minute=59, second=59, microsecond=0)
    except (ValueError, OverflowError) as error:
        message = f"{expires!r} is no day on which a token can end."
        raise UsageError(message, remedy="Give a day as YYYY-MM-DD, or a number of days such as 30d.") from error
    if end <= now:
        raise UsageError(f"The day {expires} is in the past.", remedy="Give a later day.")
    return end.timestamp()


def _existing_folder(named: str, user_home: Path) -> str:
    """Return the absolute path of a workspace, with symbolic links resolved. Raises UsageError if it is no folder."""
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

    screen = GlobalOptions.current().screen
    env = read_environment()
    file = TokenFile(env.home)
    tokens = file.tokens()
    uses = file.last_uses()
    if screen.as_json:
        screen.json([_token_json(each, uses.get(each.digest)) for each in tokens])
        return
    name_width = max((len(each.name) for each in tokens), default=0)
    scope_width = max((len(each.scope) for each in tokens), default=0)
    for each in tokens:
        used = f"last used {iso_time(uses[each.digest])[:10]}" if each.digest in uses else "never used"
        about = [f"since {iso_time(each.created)[:10]}", used]
        if each.expires:
            word = "expired" if each.has_expired(env.wall()) else "expires"
            about.append(f"{word} {iso_time(each.expires)[:10]}")
        about += [f"for {each.principal}"] if each.principal else []
        about += each.workspaces
        name = each.name.ljust(name_width)
        screen.show([((name, "bold"), (f"  {each.scope.ljust(scope_width)}  {'  '.join(about)}", ""))])
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

    screen = GlobalOptions.current().screen
    removed = TokenFile(read_environment().home).revoke(name)
    if screen.as_json:
        screen.json({"revoked": _token_json(removed)})
    else:
        screen.show([(("Revoked: ", ""), (removed.name, "bold"))])


def _workspaces_json(workspaces: Sequence[str]) -> dict[str, Any]:
    """Return the workspaces of a token: the first, and further ones if there are any."""
    first = {"workspace": workspaces[0]} if workspaces else {}
    return first | ({"also": [*workspaces[1:]]} if len(workspaces) > 1 else {})


def _token_json(token: ScopedToken, used: float | None = None) -> dict[str, Any]:
    """Return a token without anything that could be sent to a server; `used` is its last use, if one is known."""
    limits = token.limits
    return {
        "name": token.name,
        "scope": token.scope,
        "createdAt": iso_time(token.created),
        **({"expiresAt": iso_time(token.expires)} if token.expires else {}),
        **({"lastUsedAt": iso_time(used)} if used is not None else {}),
        **({"principal": token.principal} if token.principal else {}),
        **_workspaces_json(token.workspaces),
        "perSecond": limits.per_second,
        "atOnce": limits.at_once,
        "bytesPerMinute": limits.bytes_per_minute,
    }
