"""`memoriter token`."""

from __future__ import annotations

import click

from memoriter.cli._options import Command, GlobalOptions


@click.command(cls=Command, name="token")
@click.option("--renew", is_flag=True, help="Make a new one; servers refuse the old one at once.")
def command(*, renew: bool) -> None:
    """Print the token that clients send to a server over HTTP.

        memoriter token
        curl -H "Authorization: Bearer $(memoriter token)" http://127.0.0.1:8377/health
        memoriter token --renew

    Both memoriter serve and memoriter mcp --http require it. It stays the same, in the file token of memoriter's home,
    which only you can read; MEMORITER_TOKEN in the environment comes first. Whoever knows it can read and write the
    notes while a server runs. After --renew, give the new token to the clients: memoriter install --http does.
    Next: memoriter serve.
    """
    from memoriter.discovery import renewed_token, token_for
    from memoriter.environment import read_environment
    from memoriter.errors import UsageError

    screen, env = GlobalOptions.current().screen, read_environment()
    if renew and env.environ.get("MEMORITER_TOKEN", "").strip():
        raise UsageError("The token comes from MEMORITER_TOKEN.", remedy="Change that variable, or unset it first.")
    token = renewed_token(env.home) if renew else token_for(env.home, env.environ)
    if token.notice:
        screen.note(((token.notice, "yellow"),))
    if screen.as_json:
        screen.json({"token": token.value, "file": str(token.file) if token.file else None})
    else:
        screen.text(token.value)
