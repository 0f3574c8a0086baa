"""The content of a JSON5 file: parsed with the position of each key, normalized and merged as plain dicts."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

from memoriter.config._section import dotted, fields_by_key, inner_section, is_list, is_table, section_of_extension
from memoriter.errors import ConfigError, sentence
from memoriter.json_text import members, outermost

if TYPE_CHECKING:
    from memoriter.config._section import Key, Section

_MISTAKE = re.compile(
    r'<string>:(?P<line>\d+) Unexpected (?:end of input|"(?P<character>.)") at column (?P<column>\d+)', re.DOTALL
)
"""The message of json5 about text that it cannot parse."""
Tree = dict[str, Any]

WHOLE = frozenset({"headers", "sessionPaths", "sources"})
"""Keys of tables and lists that an override replaces as a whole."""


class Name(str):
    """A key of an object, with its offset in the text in characters. It equals the plain string."""

    __slots__ = ("offset",)

    def __new__(cls, text: str, offset: int) -> Self:
        name = super().__new__(cls, text)
        name.offset = offset
        return name

    offset: int


class _Pairs(list[Any]):
    """The keys and values of an object, as the parser passes them."""


def position(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def parse(text: str, file: str) -> Any:
    """Parse a text. The keys of its objects are `Name`s; an empty text is an empty object.

    Several calls with one text return one tree, which must not be changed.

    Raises:
        ConfigError: The text is not JSON5; the message starts with `file:line:column`.
    """
    if not text.strip():
        return {}
    try:
        return _parse(text)
    except RecursionError as caught:
        raise ConfigError(f"{file}: The objects are nested too deeply.") from caught
    except ValueError as caught:
        mistake = _MISTAKE.fullmatch(str(caught))
        if mistake is None:
            raise ConfigError(f"{file}: This is not JSON5: {sentence(caught)}") from caught
        unexpected = repr(mistake["character"]) if mistake["character"] else "the end of the file"
        place = f"{file}:{mistake['line']}:{mistake['column']}"
        raise ConfigError(f"{place}: This is not JSON5: {unexpected} is not expected here.") from None


@lru_cache(maxsize=8)
def _parse(text: str) -> Any:
    """Return the tree of a text. The parser takes a while, so some are kept."""
    from json5 import loads

    return _with_names(loads(text, strict=False, object_pairs_hook=_Pairs), text, outermost(text))


def _with_names(value: Any, text: str, start: int) -> Any:
    """Return a parsed value, whose text starts at an offset, as dicts with a `Name` for each key, and lists."""
    if isinstance(value, _Pairs):
        pairs = cast("list[tuple[str, Any]]", value)
        return {
            Name(key, member.start): _with_names(below, text, member.value)
            for (key, below), member in zip(pairs, members(text, start), strict=True)
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_with_names(item, text, member.value) for item, member in zip(items, members(text, start), strict=True)]
    return value


def parse_value(text: str) -> Any:
    """Return the value that a text is in JSON5, or the text itself if it is no JSON5.

    >>> parse_value("10"), parse_value("[1, 'a']"), parse_value("~/notes"), parse_value("null")
    (10, [1, 'a'], '~/notes', 'null')
    """
    try:
        value = parse(f"{{value: {text}\n}}", "")["value"]
    except ConfigError:
        return text
    return text if value is None or not text.strip() else value


def table(value: Any) -> Tree:
    return cast("Tree", value) if isinstance(value, dict) else {}


def merge(base: Tree, over: Tree) -> Tree:
    """Merge two trees key by key; `over` takes precedence, except that `extraPaths` are joined."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, dict) and isinstance(value, dict) and key not in WHOLE:
            result[key] = merge(table(below), table(value))
        elif key == "extraPaths" and isinstance(below, list) and isinstance(value, list):
            result[key] = [*cast("list[Any]", below), *(item for item in cast("list[Any]", value) if item not in below)]
        else:
            result.pop(key, None)  # replaces the key too, because it holds its own position
            result[key] = value
    return result


def canonicalize(tree: Tree) -> Tree:
    """Move settings to their original keys: OpenClaw has moved some, and accepts two forms of others."""
    tree = dict(tree)
    agents = table(tree.get("agents"))
    memory = table(tree.get("memory"))
    searches = [tree.pop("memorySearch", None), memory.get("search")]
    if isinstance(memory.get("search"), dict):
        tree["memory"] = {key: value for key, value in memory.items() if key != "search"}
    for search in (table(value) for value in searches if isinstance(value, dict)):
        agents = merge({"defaults": {"memorySearch": search}}, agents)
        tree["agents"] = agents
    if agents:
        tree["agents"] = canonicalize_agents(agents)
    models = table(tree.get("models"))
    if isinstance(models.get("providers"), dict):
        providers = {key: inline_key_reference(entry) for key, entry in models["providers"].items()}
        tree["models"] = {**models, "providers": providers}
    return tree


def canonicalize_agents(agents: Tree) -> Tree:
    agents = dict(agents)
    entries = agents.pop("entries", None)
    agent_list: Any = agents.get("list", [])
    if isinstance(entries, dict) and isinstance(agent_list, list):
        more = [{**table(value), "id": str(name)} for name, value in table(entries).items()]
        agents["list"] = [*cast("list[Any]", agent_list), *more]
    if isinstance(agents.get("list"), list):
        agents["list"] = [canonicalize_agent(entry) for entry in agents["list"]]
    if isinstance(agents.get("defaults"), dict):
        agents["defaults"] = canonicalize_agent(agents["defaults"])
    return agents


def canonicalize_agent(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    entry = dict(table(entry))
    search = table(entry.get("memory")).get("search")
    if isinstance(search, dict):
        entry["memorySearch"] = merge(table(search), table(entry.get("memorySearch")))
        entry["memory"] = {key: value for key, value in table(entry["memory"]).items() if key != "search"} or None
    if isinstance(entry.get("memorySearch"), dict):
        entry["memorySearch"] = canonicalize_search(entry["memorySearch"])
    return entry


def canonicalize_search(search: Tree) -> Tree:
    search = dict(search)
    if isinstance(search.get("extraPaths"), list):
        entries: list[Any] = [{"path": item} if isinstance(item, str) else item for item in search["extraPaths"]]
        search["extraPaths"] = [item for item in entries if str(table(item).get("path", "?")).strip()]
    if isinstance(search.get("remote"), dict):
        search["remote"] = inline_key_reference(search["remote"])
    query = table(search.get("query"))
    if isinstance(query.get("rerank"), str):
        search["query"] = {**query, "rerank": {"provider": query["rerank"]}}
    return search


def inline_key_reference(entry: Any) -> Any:
    """Replace OpenClaw's reference to a key, `{source: "env", id: "NAME"}`, by `${NAME}`."""
    reference = table(table(entry).get("apiKey"))
    if "source" not in reference:
        return entry
    named_variable = reference.get("source") == "env" and isinstance(reference.get("id"), str)
    rest = {key: value for key, value in table(entry).items() if key != "apiKey"}
    return {**rest, "apiKey": f"${{{reference['id']}}}"} if named_variable else rest


def split_foreign(tree: Tree, section: type[Section], at: Key = ()) -> tuple[Tree, list[str]]:
    """Split a tree into memoriter's own keys and the dotted names of keys that only OpenClaw uses.

    A key that is almost one of memoriter's is kept, so that it is reported. `null` counts as not written.
    """
    fields = fields_by_key(section)
    own: Tree = {}
    foreign: list[str] = []
    for key, value in tree.items():
        if value is None:
            continue
        extension = None if key in fields else section_of_extension((*at, key))
        if key in fields or extension:
            own[key], foreign_below = split_value(value, extension or fields[key].type, (*at, key))
            foreign += foreign_below
        elif is_foreign(key, section):
            foreign.append(dotted((*at, key)))
        else:
            own[key] = value
    return own, foreign


def split_value(value: Any, annotation: Any, at: Key) -> tuple[Any, list[str]]:
    section = inner_section(annotation)
    foreign: list[str] = []

    def cut(item: Any, key: Key) -> Any:
        if section is None or not isinstance(item, dict):
            return item
        own, foreign_below = split_foreign(table(item), section, key)
        foreign.extend(foreign_below)
        return own

    if is_list(annotation) and isinstance(value, list):
        return [cut(item, (*at, index)) for index, item in enumerate(cast("list[Any]", value))], foreign
    if is_table(annotation) and isinstance(value, dict):
        return {name: cut(item, (*at, name)) for name, item in table(value).items()}, foreign
    return cut(value, at), foreign


def is_foreign(key: str, section: type[Section]) -> bool:
    if key in section.ignored_keys:
        return True
    # OpenClaw has `model` and `models`, `reserveTokens` and `reserveTokensFloor`: only very similar names are mistakes.
    mistaken = get_close_matches(key.casefold(), [name.casefold() for name in fields_by_key(section)], n=1, cutoff=0.92)
    return "*" in section.ignored_keys and not mistaken


def locate(tree: object, key: Key) -> tuple[bool, int | None]:
    """Return whether a value is written, and the offset of the innermost key on its path that has an offset."""
    offset: int | None = None
    for step in key:
        if isinstance(tree, dict):
            names = table(tree)
            stored_key = next((name for name in names if name == step), None)
            if stored_key is None:
                return False, offset
            offset = stored_key.offset if isinstance(stored_key, Name) else offset
            tree = names[stored_key]
            continue
        items = cast("list[object]", tree) if isinstance(tree, list) else []
        if not isinstance(step, int) or step >= len(items):
            return False, offset
        tree = items[step]
    return True, offset


def remove_key(tree: Tree, key: Key) -> Tree:
    """Return the tree without the value at a key, or without the list that contains the value."""
    if not key or key[0] not in tree:
        return tree
    below = tree[key[0]]
    rest = {name: value for name, value in tree.items() if name != key[0]}
    return {**rest, key[0]: remove_key(table(below), key[1:])} if len(key) > 1 and isinstance(below, dict) else rest
