"""Notes in Markdown as they are, with their folders, front matter and links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.importing._records import LeftOut, Page, Record
from memoriter.workspace import MAX_BYTES, read_front_matter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from memoriter.importing._files import Files

SUFFIXES = (".md", ".markdown")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_OTHERS = "it is not Markdown"


def markdown_pages(
    files: Files,
    names: Iterable[str],
    *,
    folder: str = "",
    change: Callable[[str, str], tuple[str, str, str]] | None = None,
    written: Callable[[str], datetime | None] | None = None,
) -> Iterator[Record]:
    """Yield the Markdown files of an export as pages that keep their place and their front matter.

    Args:
        files: the export.
        names: the files; those that are not Markdown are left out.
        folder: the folder below which they go.
        change: returns the path, the title and the text of a note for its name and its text.
        written: returns the time of a note for its text; None: it is the time of the file.
    """
    for name in names:
        if not name.lower().endswith(SUFFIXES):
            yield LeftOut(name, _OTHERS)
            continue
        with files.open(name) as opened:
            content = opened.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            yield LeftOut(name, f"it has more than {MAX_BYTES >> 20} MiB")
            continue
        whole = content.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
        front, text = split_front(whole)
        path, title = name.rpartition(".")[0], ""
        if change is not None:
            path, title, text = change(name, text)
        if not text.strip() and not front.strip():
            yield LeftOut(name, "it is empty")
            continue
        identifier, place = ("/".join(filter(None, [folder, each])) for each in (name, path))
        yield Page(identifier, title, text, written(text) if written else files.changed(name), place, front)


def split_front(text: str) -> tuple[str, str]:
    """Return the lines of the front matter of a note, without the marks around them, and the rest of the note."""
    front = read_front_matter(text)
    if front is None:
        return "", text
    lines = text.split("\n")
    return "\n".join(line.rstrip("\r") for line in lines[1 : front.lines - 1]), "\n".join(lines[front.lines :])


def is_day(name: str) -> bool:
    """Return whether a file name begins with a day, as that of a daily note does."""
    return _DAY.match(name.rpartition("/")[2]) is not None
