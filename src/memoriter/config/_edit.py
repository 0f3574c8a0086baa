"""Edit a JSON5 text in place: set and remove settings, so that comments and all other text stay as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memoriter.config._document import parse, table
from memoriter.config._section import SEARCH, dotted
from memoriter.errors import ConfigError
from memoriter.json_text import find, has_value, members, put, remove, with_object

if TYPE_CHECKING:
    from collections.abc import Sequence

Names = tuple[str, ...]
"""The names that lead to a setting, from the outermost section inwards."""

RERANK = (*SEARCH, "query", "rerank")
"""Its settings are called as those of the embedding provider, which are meant by a name alone."""


def set_value(text: str, names: Names, value: Any, file: str) -> str:
    """Return the text with a value at a setting; missing sections are created.

    Raises:
        ConfigError: the text is not JSON5, or something other than a section is in the way.
    """
    text = with_object(text)
    names = _written_names(text, names, file)
    for depth in range(1, len(names)):
        section = find(text, names[:depth])
        if section is not None and text[section.value] != "{":
            raise ConfigError(
                f"{file}: The setting {dotted(names)} cannot be set, because {dotted(names[:depth])} is not a section.",
                remedy="Nothing was written. Correct the file first.",
            )
    return put(text, names, value, json5=not _is_json(text))


def remove_value(text: str, names: Names, file: str) -> str:
    """Return the text without a setting, and without sections that this empties; unchanged if it is not written.

    Raises:
        ConfigError: the text is not JSON5.
    """
    if not has_value(text):
        return text
    names = _written_names(text, names, file)
    if find(text, names) is None:
        return text
    text = remove(text, names)
    for depth in reversed(range(1, len(names))):
        section = find(text, names[:depth])
        if section is not None and not any(members(text, section.value)):
            text = remove(text, names[:depth])  # a section must not stay behind for its comments alone
    return text


def _written_names(text: str, names: Names, file: str) -> Names:
    """Return the names under which a file writes the setting: OpenClaw accepts the search settings in three places."""
    tree = parse(text, file)
    if not isinstance(tree, dict):
        raise ConfigError(f"{file}:1:1: A configuration is an object in braces.")
    if names[:3] != SEARCH:
        return names
    if names == (*RERANK, "provider") and isinstance(_value_at(tree, _written_names(text, RERANK, file)), str):
        return _written_names(text, RERANK, file)  # the name of the reranker, in place of a section
    for other in (SEARCH, ("memorySearch",), ("memory", "search")):
        if isinstance(_value_at(tree, other), dict):
            return (*other, *names[3:])
    return names


def _value_at(tree: Any, names: Names) -> Any:
    for name in names:
        tree = table(tree).get(name)
    return tree


def _is_json(text: str) -> bool:
    """Return whether the text is plain JSON, which must stay readable for programs without JSON5."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def setting_names(key: str, known: Sequence[str]) -> Names:
    """Return the names of the setting that a key means; the end of a dotted key is enough where it is unique.

    Args:
        key: the key as given, such as `query.maxResults` or `agents.defaults.memorySearch.query.maxResults`.
        known: the dotted keys of all settings; `<id>` stands for any name.

    Raises:
        ConfigError: no setting has this key, or several have.
    """
    from difflib import get_close_matches

    steps = tuple(step for step in key.strip().strip(".").split(".") if step)
    if steps and steps == RERANK[-len(steps) :]:  # a reranker may be written as its name alone
        steps = (*steps, "provider")
    exact = list[Names]()
    matching = list[Names]()
    for name in known:
        parts = tuple(name.split("."))
        if len(parts) < len(steps) or not steps:
            continue
        tail = parts[len(parts) - len(steps) :]
        fits = (
            part == step or (part == "<id>" and at > 0) for at, (part, step) in enumerate(zip(tail, steps, strict=True))
        )
        if all(fits):
            whole = (*parts[: len(parts) - len(steps)], *steps)
            if "<id>" not in whole:
                (exact if len(parts) == len(steps) else matching).append(whole)
    found = list(dict.fromkeys(exact or matching))
    if len(found) > 1:  # what a search setting is called counts more than what the same name means elsewhere
        found = [names for names in found if names[:3] == SEARCH] or found
        found = [names for names in found if names[: len(RERANK)] != RERANK] or found
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(dotted(names) for names in found)
        raise ConfigError(f"The key {key!r} is not unique: {shown}.", remedy="Give more of the key.")
    ends = {name.rpartition(".")[2]: name for name in reversed(known) if "<id>" not in name}  # the first one counts
    similar = get_close_matches(steps[-1] if steps else key, list(ends), n=1)
    hint = f"Perhaps you mean {ends[similar[0]]}. " if similar else ""
    raise ConfigError(f"There is no setting {key!r}.", remedy=f"{hint}See `memoriter config show`.")
