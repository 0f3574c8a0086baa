"""Delegation of the work of a command to a running server of the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from memoriter.cli._options import GlobalOptions
    from memoriter.discovery import Call, Reply
    from memoriter.environment import Environment

VARIABLE = "MEMORITER_SERVER"
"""The environment variable that turns delegation off."""


def ask_server(options: GlobalOptions, env: Environment, call: Call, *, exact: bool) -> Reply | None:
    """Return the reply of a server that has done the work, or None if this process must do it.

    Args:
        options: the global options, which select the memory.
        env: the environment of this process.
        call: the work.
        exact: whether the server must also be the same program with the same environment variables.

    Raises:
        Unanswered: a server has begun the work, and its result is unknown.
        ConfigError: the configuration does not exist, or the variable has another value than "on" and "off".
    """
    from memoriter.discovery import delegate, folder_of, resolve_target

    folder = folder_of(env.home)
    if not _is_allowed(env) or not folder.is_dir():
        return None
    target = resolve_target(options.workspace, options.config, options.agent, env, exact=exact)
    return delegate(target, folder, call)


def _is_allowed(env: Environment) -> bool:
    value = env.environ.get(VARIABLE, "").strip()
    if value not in {"", "on", "off"}:
        raise ConfigError(f'{VARIABLE} is {value!r}. It can be "on" or "off".', remedy=f"Correct or unset {VARIABLE}.")
    return value != "off"
