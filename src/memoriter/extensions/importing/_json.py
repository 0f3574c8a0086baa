"""Read the JSON and the databases of an export, one object or row at a time: any length needs little memory."""

from __future__ import annotations

import codecs
import json
import re
import shutil
import tempfile
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from memoriter.errors import UsageError, sentence
from memoriter.extras import require
from memoriter.index import ForeignTables

if TYPE_CHECKING:
    from collections.abc import Generator

    from memoriter.extensions.importing._files import Files

LONGEST_OBJECT = 256 << 20
"""Bytes of one object, such as a conversation."""
DEEPEST = 1_000
"""Levels of lists and objects inside each other."""
_PART = 1 << 16
# Possessive: a search that goes back would need time in proportion to the square of a string's length.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARK = re.compile(rb"[\[\]{}]")
_READ_AGAIN = "Export again, and give the whole file."


class _Guarded:
    """A file that refuses to read on if an object is too long or too deep.

    The parser needs time in proportion to the square of the depth.
    """

    def __init__(self, opened: BinaryIO, name: str) -> None:
        self._opened = opened
        self._name = name
        self.unused = 0
        """Bytes since the last complete object."""
        self._depth = 0
        self._in_string = False

    def read(self, size: int = -1) -> bytes:
        part = self._opened.read(size)
        while part.endswith(b"\\") and (following := self._opened.read(1)):
            part += following  # so that no part ends between a backslash and its character
        self.unused += len(part)
        if self.unused > LONGEST_OBJECT:
            raise self._refused(f"an object has more than {LONGEST_OBJECT >> 20} MiB")
        code = self._without_strings(part)
        if self._depth + code.count(b"[") + code.count(b"{") > DEEPEST:
            depth = self._depth
            for mark in _MARK.findall(code):
                depth += 1 if mark in b"[{" else -1
                if depth > DEEPEST:
                    raise self._refused(f"it is nested more than {DEEPEST:,} levels deep")
        self._depth += code.count(b"[") + code.count(b"{") - code.count(b"]") - code.count(b"}")
        return part

    def _without_strings(self, part: bytes) -> bytes:
        """Return the bytes that are in no string; strings may go on in the next part."""
        code = _STRING.sub(b"", b'"%b"' % part if self._in_string else b'%b"' % part)
        self._in_string = not code.endswith(b'"')  # the added quote ended a string
        return code

    def _refused(self, reason: str) -> UsageError:
        return UsageError(f"The file {self._name!r} is refused: {reason}, as in no export.", remedy=_READ_AGAIN)


def objects(files: Files, name: str, *prefixes: str) -> Generator[dict[str, Any]]:
    """Yield the JSON objects at places in a file, without reading the whole file into memory.

    `ijson` names the places, such as `item` for the elements of an outermost list; the file is read once for each.

    Raises:
        UsageError: the file is not JSON, or it ends early.
        MissingPackage: the extra `import` is not installed.
    """
    require("import", "Reading the JSON of an export")
    import ijson

    read: Any = ijson
    for prefix in prefixes:
        with open_text(files, name) as opened:
            guarded = _Guarded(opened, name)
            try:
                for found in read.items(guarded, prefix, buf_size=_PART, use_float=True):
                    guarded.unused = 0
                    if isinstance(found, dict):
                        yield cast("dict[str, Any]", found)
            except (read.JSONError, UnicodeDecodeError) as error:
                reason = sentence(str(error).partition("\n")[0][:200])
                raise UsageError(f"The file {name!r} is not valid JSON: {reason}", remedy=_READ_AGAIN) from error


def open_text(files: Files, name: str) -> BinaryIO:
    """Open a file of text as UTF-8 without a byte order mark; it may be in UTF-16. Raises UsageError."""
    with files.open(name) as opened:
        start = opened.read(4)
    opened = files.open(name)
    if start.startswith(codecs.BOM_UTF8):
        opened.read(len(codecs.BOM_UTF8))
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return cast("BinaryIO", BufferedReader(_Utf8(opened, "utf-16")))
    elif start[1:2] == b"\0" and start[:1] in b"[{":
        return cast("BinaryIO", BufferedReader(_Utf8(opened, "utf-16-le")))
    return opened


class _Utf8(RawIOBase):
    """A file of another encoding in UTF-8; what is invalid becomes U+FFFD."""

    def __init__(self, opened: BinaryIO, encoding: str) -> None:
        self._opened = opened
        self._ended = False
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast("bytearray", buffer))
        text = ""
        while not text and not self._ended:
            part = self._opened.read(max(1, len(view) // 4))
            self._ended = not part
            text = self._decoder.decode(part, final=self._ended)
        content = text.encode("utf-8", "replace")
        view[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._opened.close()
        super().close()


def parsed(text: str) -> object:
    """Return the value of a text in JSON, or None if it is not valid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_list(files: Files, name: str) -> bool:
    """Return whether the outermost value of a JSON file is a list."""
    with open_text(files, name) as opened:
        return opened.read(1024).lstrip().startswith(b"[")


def named(files: Files, *endings: str) -> list[str]:
    """Return the files whose path ends in one of the names, in any case of letters."""
    return [name for name in files.names if f"/{name.lower()}".endswith(tuple(f"/{end.lower()}" for end in endings))]


def lists(value: object) -> list[Any]:
    """Return a value if it is a list, and an empty list otherwise."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def mapping(value: object) -> dict[str, Any]:
    """Return a value if it is an object, and an empty object otherwise."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


@contextmanager
def open_database(files: Files, name: str) -> Generator[ForeignTables]:
    """Open a copy of a database, with what its write-ahead log holds.

    The copy is in a private temporary folder: to read a database where it is, SQLite may have to write beside it.
    Raises UsageError: it is not a database.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            if not suffix or f"{name}{suffix}" in files.names:
                with files.open(f"{name}{suffix}") as opened, Path(f"{copy}{suffix}").open("wb") as written:
                    shutil.copyfileobj(opened, written, 1 << 20)
        with ForeignTables.open(copy, name) as tables:
            yield tables
