"""A source of settings: a file, or values from the caller, with `$include` and environment variables resolved.

JSON5 is parsed with the position of each key, brought into one form and merged as plain dicts.

The rules of `$include` are OpenClaw's: an object with it becomes the content of one file, or of several, merged in
order; its other keys override that; lists are joined. Files are named relative to the file that includes them and must
be in the folder of the configuration.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from memoriter.config._places import LONGEST_FILE
from memoriter.config._schema import Settings
from memoriter.config._section import (
    doc_of,
    dotted,
    fields_by_key,
    inner_section,
    is_list,
    is_table,
    section_of_extension,
)
from memoriter.errors import ConfigError, sentence
from memoriter.json_text import members, outermost
from memoriter.plain_file import read_plain
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

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


LONGEST = {"project": 1 << 16}
"""Maximum bytes of a workspace's own file, which is untrusted: the JSON5 parser is slow."""

OriginKind = Literal["default", "file", "project", "environment", "flag"]
KEY = "$include"
DEEPEST = 10
"""The number of files that may include each other in a row."""
LONGEST_INCLUDED = 2 << 20
"""Maximum bytes of an included file."""
MASK = "***"
REFERENCE = re.compile(r"\$\{([^}]+)\}")
NO_SECRET = re.compile(r"((bearer|basic|token)\s+)?\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.IGNORECASE)
"""A reference to an environment variable without any other secret text."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place where a value is written."""

    kind: OriginKind
    path: Path | None = None
    line: int | None = None
    """Line of the key, from 1."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path and self.line else str(self.path or self.kind)


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    kind: OriginKind
    tree: Tree = field(repr=False)
    path: Path | None = None
    text: str = field(default="", repr=False)
    ignored: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables in OpenClaw's section `env`."""

    def line(self, offset: int | None) -> int | None:
        return None if offset is None or not self.text else position(self.text, offset)[0]

    def origin(self, offset: int | None) -> Origin:
        """Return the place of a key at an offset, which may be in an included file."""
        if isinstance(offset, IncludedOffset):
            return Origin(self.kind, offset.path, offset.line)
        return Origin(self.kind, self.path, self.line(offset))

    def location(self, key: Key) -> str:
        """Return `file:line:column` of a key, as far as known."""
        _, offset = locate(self.tree, key)
        if isinstance(offset, IncludedOffset):
            return f"{offset.path}:{offset.line}:{offset.column}"
        file = str(self.path or f"Given by {self.kind}")
        if offset is None or not self.text:
            return file
        line, column = position(self.text, offset)
        return f"{file}:{line}:{column}"


def make_document(kind: OriginKind, raw: object, *, path: Path | None = None, text: str = "") -> ConfigDocument:
    """Return the document of a parsed value, with only memoriter's own keys. Raises ConfigError."""
    if not isinstance(raw, dict):
        raise ConfigError(f"{path or kind.capitalize()}:1:1: A configuration is an object in braces.")
    tree, ignored = split_foreign(canonicalize(table(raw)), Settings)
    return ConfigDocument(kind, tree, path, text, tuple(ignored))


def read_document(kind: OriginKind, path: Path) -> ConfigDocument:
    """Read a configuration file.

    Raises:
        ConfigError: The file cannot be read, is no plain file, is too long, or is not JSON5, or so is an included one.
    """
    longest = LONGEST.get(kind, LONGEST_FILE)
    try:
        # The user's own file may be a symbolic link; a link in an untrusted workspace could point anywhere.
        content = read_plain(path, longest, follow=kind != "project")
    except OSError as caught:
        if caught.errno == errno.EFBIG:
            raise ConfigError(f"{path} is longer than {longest} bytes: that is no configuration file.") from None
        raise ConfigError(f"{path} cannot be read: {sentence(caught.strerror or caught)}") from caught
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as caught:
        raise ConfigError(
            f"{path} is not UTF-8 text: byte {caught.start} does not belong to any character."
        ) from caught
    tree = parse(text, str(path))
    if kind == "file" and isinstance(tree, dict):
        tree = resolve_includes(tree, path)
    document = make_document(kind, tree, path=path, text=text)
    return replace(document, ignored=(*document.ignored, *env_without_effect(tree)), variables=env_variables(tree))


class IncludedOffset(int):
    """The offset of a key in the text of an included file."""

    path: Path
    line: int
    column: int

    @classmethod
    def at(cls, offset: int, path: Path, text: str) -> IncludedOffset:
        """Return the offset, with the line and column in the text of the file."""
        place = cls(offset)
        place.path = path
        place.line, place.column = position(text, offset)
        return place


@dataclass(frozen=True, slots=True)
class Includes:
    """Resolves the directives of one file."""

    file: Path
    root: Path
    """The folder that no included file may leave."""
    chain: tuple[Path, ...]
    """The files that include each other, down to this one."""

    def resolve(self, value: Any) -> Any:
        """Return a value of the file with all directives replaced. Raises ConfigError."""
        if isinstance(value, list):
            return [self.resolve(item) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        tree = cast("Tree", value)
        own = {key: self.resolve(item) for key, item in tree.items() if key != KEY}
        if KEY not in tree:
            return own
        content = self._content(tree[KEY])
        if not own:
            return content
        if not isinstance(content, dict):
            raise self._error("next to other keys, the included file must hold an object in braces")
        return join(content, own)

    def _content(self, names: Any) -> Any:
        if isinstance(names, str):
            return self._load(names)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
            raise self._error("its value must be the path of a file, or a list of paths")
        content: Any = {}
        for name in cast("list[str]", names):
            content = join(content, self._load(name))
        return content

    def _load(self, name: str) -> Any:
        try:
            path = Path(os.path.normpath(self.file.parent / name))
            is_inside = path.is_relative_to(self.root) and path.resolve().is_relative_to(self.root.resolve())
        except (OSError, ValueError, RuntimeError) as error:
            raise self._error(f"{name!r} is not the path of a file") from error
        if not is_inside:
            raise self._error(f"{name!r} is outside the folder of the configuration, {str(self.root)!r}")
        if path in self.chain:
            raise self._error(f"{name!r} leads back to {str(path)!r}, which includes this file")
        if len(self.chain) > DEEPEST:
            raise self._error(f"{name!r} is more than {DEEPEST} files deep")
        try:
            text = read_plain(path, LONGEST_INCLUDED, follow=True).decode("utf-8-sig").replace("\r\n", "\n")
        except FileNotFoundError as error:
            raise self._error(f"there is no file {str(path)!r}") from error
        except (OSError, UnicodeDecodeError) as error:
            reason = "it is too long" if isinstance(error, OSError) and error.errno == errno.EFBIG else None
            reason = reason or (error.strerror if isinstance(error, OSError) else None) or "it is not UTF-8 text"
            raise self._error(f"{str(path)!r} cannot be read: {reason}") from error
        return Includes(path, self.root, (*self.chain, path)).resolve(_with_places(parse(text, str(path)), path, text))

    def _error(self, reason: str) -> ConfigError:
        return ConfigError(
            f"{self.file}: The directive {KEY!r} cannot be followed: {sentence(reason)}",
            remedy="Correct the path in the file, or write the settings there themselves.",
        )


def resolve_includes(tree: Any, file: Path) -> Any:
    """Return the content of a configuration file with all its directives replaced. Raises ConfigError."""
    file = Path(os.path.abspath(file))  # noqa: PTH100 (links are compared separately)
    return Includes(file, file.parent, (file,)).resolve(tree)


def join(base: Any, over: Any) -> Any:
    """Merge two values as OpenClaw merges files: objects key by key, lists one after the other, else the second."""
    if isinstance(base, list) and isinstance(over, list):
        return [*cast("list[Any]", base), *cast("list[Any]", over)]
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    result = dict(cast("Tree", base))
    for key, value in cast("Tree", over).items():
        merged = join(result.pop(key), value) if key in result else value
        result[key] = merged  # with the position of the later key
    return result


def _with_places(value: Any, path: Path, text: str) -> Any:
    """Return a parsed value whose keys know their file and line."""
    if isinstance(value, list):
        return [_with_places(item, path, text) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    return {
        Name(key, IncludedOffset.at(key.offset, path, text)) if isinstance(key, Name) else key: _with_places(
            item, path, text
        )
        for key, item in cast("Tree", value).items()
    }


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


def env_without_effect(tree: Any) -> tuple[str, ...]:
    """Return the dotted keys of the section `env` that hold no variables, such as `env.shellEnv`."""
    env = table(table(tree).get("env"))
    return tuple(f"env.{name}" for name, value in env.items() if name != "vars" and not isinstance(value, str))


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
