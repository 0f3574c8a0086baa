"""JSON Lines: one object for each text, with `text` and, as known, `id`, `date`, `title`, `path`, `tags`, `group`.

An object with a `title` or a `path` becomes a note, another one an entry of the note of its day. Other keys are
ignored, so the `notes.jsonl` of `memoriter export` can be imported as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import UsageError, sentence
from memoriter.extensions.importing._json import lists, open_text
from memoriter.extensions.importing._records import Entry, Format, LeftOut, Page, Record, id_of, moment, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

LONGEST_LINE = 64 << 20
"""Bytes of a line."""
_DATES = ("date", "created_at", "createdAt", "timestamp", "time")


class JsonLines(Format):
    """Texts in JSON Lines."""

    name = "jsonl"
    read_as = "one JSON object in each line"
    local_ids = True

    def read(self, files: Files) -> Iterator[Record]:
        names = [name for name in files.names if name.lower().endswith((".jsonl", ".ndjson"))]
        names = names or [name for name in files.names if len(files.names) == 1]
        if not names:
            raise UsageError(f"The export {files.title!r} has no file that ends in .jsonl.")
        for name in names:
            for number, found in json_lines(files, name):
                yield _record(found, f"line {number} of {name}")


def json_lines(files: Files, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty. Raises UsageError."""
    with open_text(files, name) as opened:
        number = 0
        while line := opened.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise _no_object(number, name, f"it has more than {LONGEST_LINE >> 20} MiB")
            plain = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not plain:
                continue
            try:
                found = json.loads(plain)
            except (ValueError, RecursionError) as error:
                raise _no_object(number, name, str(error)[:200]) from error
            if not isinstance(found, dict):
                raise _no_object(number, name, "it is no object")
            yield number, cast("dict[str, Any]", found)


def _no_object(number: int, name: str, reason: str) -> UsageError:
    message = f"Line {number} of {name!r} is no JSON object: {sentence(reason)}"
    return UsageError(message, remedy="Correct the line; nothing was imported.")


def _record(found: dict[str, Any], place: str) -> Record:
    text = text_of(found.get("text")).strip()
    if not text:
        return LeftOut(place, "it has no text")
    dates = (moment(found.get(key)) for key in _DATES)
    at = next(filter(None, dates), None)
    title = text_of(found.get("title")).strip()
    path = text_of(found.get("path")).strip()
    identifier = id_of(found.get("id"), text, title, path, at)
    if not title and not path:
        return Entry(identifier, text, at, text_of(found.get("group")))
    tags = tuple(filter(None, (text_of(tag) for tag in lists(found.get("tags")))))
    aliases = tuple(filter(None, (text_of(alias) for alias in lists(found.get("aliases")))))
    return Page(identifier, title, text, at, path.removesuffix(".md"), tags=tags, aliases=aliases)
