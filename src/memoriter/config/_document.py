"""A source of settings: a file, or values from the caller, with `$include` and environment variables resolved.

The rules of `$include` are OpenClaw's: an object with it becomes the content of one file, or of several, merged in
order; its other keys override that; lists are joined. Files are named relative to the file that includes them and must
be in the folder of the configuration.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.config._places import LONGEST_FILE
from memoriter.config._schema import Settings
from memoriter.config._section import doc_of
from memoriter.config._tree import Name, canonicalize, locate, parse, position, split_foreign, table
from memoriter.errors import ConfigError, sentence
from memoriter.plain_file import read_plain
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

    from memoriter.config._section import Key
    from memoriter.config._tree import Tree

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
