"""The directive `$include` of OpenClaw: parts of a configuration in files of their own.

The rules are OpenClaw's: an object with `$include` becomes the content of one file, or of several, merged in order;
its other keys override that; lists are joined. Files are named relative to the file that includes them and must be in
the folder of the configuration.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.config._json5 import Name, parse, position
from memoriter.errors import ConfigError, sentence
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.config._tree import Tree

KEY = "$include"
DEEPEST = 10
"""The number of files that may include each other in a row."""
LONGEST = 2 << 20
"""Maximum bytes of an included file."""


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
            text = read_plain(path, LONGEST, follow=True).decode("utf-8-sig").replace("\r\n", "\n")
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
