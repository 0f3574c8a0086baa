"""Expansion of environment variables in values, and masking of secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from memoriter.config._section import doc_of
from memoriter.config._tree import table
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

MASK = "***"
REFERENCE = re.compile(r"\$\{([^}]+)\}")
NO_SECRET = re.compile(r"((bearer|basic|token)\s+)?\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.IGNORECASE)
"""A reference to an environment variable without any other secret text."""


def expand(value: str, environ: Mapping[str, str]) -> str:
    """Replace each `${NAME}` by the value of the variable.

    Raises:
        ConfigError: A variable is not set, or is empty.
    """

    def look_up(match: re.Match[str]) -> str:
        variable = environ.get(match[1])
        if not variable:
            raise ConfigError(
                f"Environment variable {match[1]} is not set.",
                remedy=f"Set {match[1]}, or write the value itself into the configuration file.",
            )
        return variable

    return REFERENCE.sub(look_up, value)


def env_variables(tree: Any) -> dict[str, str]:
    """Return the variables of the section `env` of a configuration: those in `vars`, and its other texts."""
    env = table(table(tree).get("env"))
    values = {**{name: value for name, value in env.items() if name != "vars"}, **table(env.get("vars"))}
    return {str(name): value.strip() for name, value in values.items() if isinstance(value, str) and value.strip()}


def mask(text: str) -> str:
    """Return `***`, unless the text is empty or only names an environment variable."""
    return text if not text or NO_SECRET.fullmatch(text) else MASK


def display_value(item: Field[Any], value: Any) -> Any:
    """Return a value in a form that may be printed."""
    if doc_of(item).secret and isinstance(value, str):
        return mask(value)
    if doc_of(item).secret and value is not None:
        return {name: mask(text) for name, text in cast("Mapping[str, str]", value).items()}
    return strip_credentials(value) if doc_of(item).address and isinstance(value, str) else value


def strip_credentials(address: str) -> str:
    """Return an address without user, password, query and fragment, or `***` if it cannot be parsed."""
    from urllib.parse import urlsplit, urlunsplit

    try:
        parts = urlsplit(address)
    except ValueError:
        return MASK
    if not parts.netloc:
        return MASK if set(address) & set("@?#") else address
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{MASK if user else ''}{at}{host}", parts.path, MASK if parts.query else "", ""))
