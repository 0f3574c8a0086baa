"""Memoriter's hooks in the settings of clients that start a program at their events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from memoriter import json_text
from memoriter.coding_hooks import GEMINI_HOOKS, HOOK_TOOL, HOOKS, TIMEOUTS, HookEvent
from memoriter.installation._entries import SERVER_NAME
from memoriter.installation._servers import object_at, wrong_type_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.installation._entries import Launch
    from memoriter.installation._places import ClientName, Machine

HOOKS_OF: dict[ClientName, dict[str, HookEvent]] = {
    "claude-code": HOOKS,
    "codex": HOOKS,
    "gemini": {event: word for event, word in GEMINI_HOOKS.items() if word != "stop"},
}
"""The events at which a client runs memoriter. At `AfterAgent`, Gemini CLI would wait for plugins only: a flush would
change the output of `gemini -p`, which a hook cannot tell from a conversation."""
MILLISECONDS: frozenset[ClientName] = frozenset({"gemini"})
"""Clients that count the time limits of hooks in milliseconds."""
OWN_HOOK = re.compile(
    rf"(?:^|[\s'\"/\\])memoriter(?:\.exe)?['\"]?\s(?:.*\s)?hook (?:{'|'.join(HOOKS.values())})\s*\Z", re.DOTALL
)
"""A command line that runs the program memoriter with a hook as its last words."""


def hook(client: ClientName, launch: Launch, machine: Machine, event: str) -> dict[str, Any]:
    """Return the entry of a hook in the settings of a client."""
    word = HOOKS_OF[client][event]
    timeout = TIMEOUTS[word] * (1_000 if client in MILLISECONDS else 1)
    if launch.hook_tool and client == "claude-code" and word == "user-prompt":
        # Claude Code fills in what it would write to the stdin of a program.
        filled = {name: f"${{{name}}}" for name in ("session_id", "cwd", "prompt", "hook_event_name")}
        call = {"server": SERVER_NAME, "tool": HOOK_TOOL, "input": {"event": word, **filled}}
        return {"type": "mcp_tool", **call, "timeout": timeout}
    command = launch.hook(word, windows=machine.platform == "win32")
    return {"type": "command", "command": command, "timeout": timeout}


def edit_hooks(
    text: str, name: str, events: Sequence[str], wanted: Mapping[str, dict[str, Any]], *, comments: bool
) -> str:
    """Return the settings with memoriter's hook for each event as in `wanted`, or without any of them."""
    json_text.parse(text if text.strip() else "{}", name, comments=comments)
    if not wanted and not json_text.has_value(text):
        return text
    text = json_text.with_object(text)
    for event in events:
        groups = object_at(json_text.parse(text, name, comments=comments), "hooks", name).get(event)
        groups = list[Any]() if groups is None else groups
        if not isinstance(groups, list):
            raise wrong_type_error(name, f"hooks.{event}", "a list")
        own_hooks = _find_own_hooks(cast("list[Any]", groups))
        hook = wanted.get(event)
        if hook is None:
            for group, number, alone in reversed(own_hooks):
                inside = ("hooks", event, group)
                text = json_text.remove(text, inside if alone else (*inside, "hooks", number))
        elif own_hooks:
            group, number, _ = own_hooks[0]
            current = cast("list[Any]", groups)[group]["hooks"][number]
            text = _update_hook(text, ("hooks", event, group, "hooks", number), current, hook)
        else:
            text = json_text.append(text, ("hooks", event), {"hooks": [hook]})
    return text


def _update_hook(text: str, place: tuple[str | int, ...], current: dict[str, Any], hook: dict[str, Any]) -> str:
    """Return the settings with a hook of memoriter brought up to date; a timeout that is there stays as it is."""
    for key, value in hook.items():
        if key not in current or (key != "timeout" and current[key] != value):
            text = json_text.put(text, (*place, key), value)
    for key in ({"command", "server", "tool", "input"} & current.keys()) - hook.keys():
        text = json_text.remove(text, (*place, key))
    return text


def _find_own_hooks(groups: list[Any]) -> list[tuple[int, int, bool]]:
    """Return the positions of memoriter's hooks: the group, the number in it, and whether it is the only hook there."""
    positions: list[tuple[int, int, bool]] = []
    for group, content in enumerate(groups):
        inner = _list_at(content, "hooks")
        positions += [(group, number, len(inner) == 1) for number, hook in enumerate(inner) if _is_own_hook(hook)]
    return positions


def _is_own_hook(hook: Any) -> bool:
    """Return whether a hook runs memoriter."""
    if not isinstance(hook, dict):
        return False
    fields = cast("dict[str, Any]", hook)
    command = fields.get("command")
    by_tool = fields.get("server") == SERVER_NAME and fields.get("tool") == HOOK_TOOL
    return by_tool or (isinstance(command, str) and OWN_HOOK.search(command) is not None)


def _list_at(value: Any, key: str) -> list[Any]:
    """Return the list under a key of an object, or an empty one."""
    inner = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("list[Any]", inner) if isinstance(inner, list) else []
