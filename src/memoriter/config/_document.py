"""A source of settings: a file, or values from the caller."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from memoriter.config._include import IncludedOffset, resolve_includes
from memoriter.config._json5 import parse, position
from memoriter.config._schema import Settings
from memoriter.config._secrets import env_variables
from memoriter.config._tree import canonicalize, locate, split_foreign, table
from memoriter.errors import ConfigError, sentence
from memoriter.plain_file import read_plain
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.config._section import Key
    from memoriter.config._tree import Tree

LONGEST = {"project": 1 << 16}
"""Maximum bytes of a workspace's own file, which is untrusted: the JSON5 parser is slow."""

LONGEST_OF_ALL = 1 << 20
"""Maximum bytes of any configuration file."""

OriginKind = Literal["default", "file", "project", "environment", "flag"]


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
    longest = LONGEST.get(kind, LONGEST_OF_ALL)
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
    return replace(make_document(kind, tree, path=path, text=text), variables=env_variables(tree))
