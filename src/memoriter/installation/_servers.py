"""Memoriter's entry in the list of servers in a client's file: JSON, TOML or YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoriter import json_text
from memoriter.errors import ConfigError
from memoriter.installation import _toml_text, _yaml_text
from memoriter.installation._entries import (
    ENVIRONMENT_KEYS,
    SERVER_NAME,
    SERVERS_KEYS,
    foreign_variables,
    is_own_entry,
    superseded_keys,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.installation._places import ClientName

WITH_COMMENTS: frozenset[ClientName] = frozenset({"gemini", "opencode", "vscode", "zed", "amp"})
"""Clients whose JSON may have comments."""
OWNERS_KEYS = frozenset({"enabled", "timeout", "description"})
"""Keys of an entry that memoriter writes once and then leaves to the owner."""


def edit_server(text: str, name: str, entry: Mapping[str, Any] | None, *, client: ClientName) -> str:
    """Return the file of a client with memoriter's server as in `entry`, or without it if that is None.

    Raises ConfigError: the text is malformed.
    """
    key = SERVERS_KEYS.get(client, "mcpServers")
    superseded = frozenset[str]()
    if entry is None:
        if not is_own_entry(_servers(text, name, client).get(SERVER_NAME)):
            return text  # the owner's, or there is none
    else:
        current = current_entry(text, name, client)
        entry = with_owners_variables(without_owners_keys(entry, current), current)
        superseded = superseded_keys(entry, current)
    if client == "codex":
        if entry is None:
            return _toml_text.remove(text, name, (key, SERVER_NAME))
        return _toml_text.put(text, name, (key, SERVER_NAME), entry, without=superseded)
    if client == "goose":
        if entry is None:
            return _yaml_text.remove(text, name, (key, SERVER_NAME))
        return _yaml_text.put(text, name, (key, SERVER_NAME), {**dict.fromkeys(superseded), **entry})
    return _edit_json(text, name, entry, key=key, superseded=superseded, comments=client in WITH_COMMENTS)


def with_owners_variables(entry: Mapping[str, Any], current: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an entry that starts a server, with the environment variables that the owner has added to it."""
    if not entry.keys() & {"command", "cmd"}:
        return dict(entry)
    kept = dict[str, Any]()
    for key in ENVIRONMENT_KEYS & (current or {}).keys():
        if others := foreign_variables((current or {})[key]):
            kept[key] = {**others, **entry.get(key, {})}
    return {**entry, **kept}


def without_owners_keys(entry: Mapping[str, Any], current: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an entry without the keys that are the owner's once they are there."""
    return {key: value for key, value in entry.items() if key not in OWNERS_KEYS or key not in (current or {})}


def current_entry(text: str, name: str, client: ClientName) -> dict[str, Any] | None:
    """Return memoriter's entry in the file of a client, or None if there is none.

    Raises ConfigError: the text is malformed.
    """
    entry = _servers(text, name, client).get(SERVER_NAME)
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None


def holds_foreign_entry(text: str, name: str, client: ClientName) -> bool:
    """Return whether the file of a client has an entry with memoriter's name that memoriter did not write.

    Raises ConfigError: the text is malformed.
    """
    servers = _servers(text, name, client)
    return SERVER_NAME in servers and not is_own_entry(servers[SERVER_NAME])


def _servers(text: str, name: str, client: ClientName) -> dict[str, Any]:
    """Return the servers in the file of a client; none if their place holds another kind of value.

    Raises ConfigError: the text is malformed.
    """
    if not text.strip():
        return {}
    if client == "codex":
        content = _toml_text.read(text, name)
    elif client == "goose":
        content = _yaml_text.read(text, name)
    else:
        content = json_text.parse(text, name, comments=client in WITH_COMMENTS)
    servers = content.get(SERVERS_KEYS.get(client, "mcpServers"))
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _edit_json(
    text: str,
    name: str,
    entry: Mapping[str, Any] | None,
    *,
    key: str,
    superseded: frozenset[str],
    comments: bool,
) -> str:
    """Return the JSON with memoriter's server as in `entry`, or without it; `key` is that of the servers."""
    if entry is None:
        return json_text.remove(text, (key, SERVER_NAME))
    servers = object_at(json_text.parse(text, name, comments=comments) if text.strip() else {}, key, name)
    text = json_text.with_object(text)
    if SERVER_NAME not in servers:
        return json_text.put(text, (key, SERVER_NAME), dict(entry))
    current = object_at(servers, SERVER_NAME, name)
    for field_name, value in entry.items():  # other keys belong to the owner
        if field_name == "headers" and isinstance(current.get(field_name), dict):
            text = json_text.put(text, (key, SERVER_NAME, field_name, "Authorization"), value["Authorization"])
        else:
            text = json_text.put(text, (key, SERVER_NAME, field_name), value)
    for field_name in superseded & current.keys():
        text = json_text.remove(text, (key, SERVER_NAME, field_name))
    return text


def object_at(parent: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one if there is none, or null.

    Raises ConfigError: the value is not an object.
    """
    value = parent.get(key)
    value = dict[str, Any]() if value is None else value
    if not isinstance(value, dict):
        raise wrong_type_error(name, key, "an object")
    return cast("dict[str, Any]", value)


def wrong_type_error(name: str, key: str, kind: str) -> ConfigError:
    return ConfigError(f"{name}: {key} is not {kind}.", remedy="Nothing was written. Correct the file and retry.")
