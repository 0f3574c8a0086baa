"""Notes in Markdown as they are, with their folders, front matter and links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memoriter.extensions.importing._notes import clean_path
from memoriter.extensions.importing._records import LeftOut, Page, Record
from memoriter.workspace import MAX_BYTES, read_front_matter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from memoriter.extensions.importing._files import Files

SUFFIXES = (".md", ".markdown")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_OTHERS = "it is not Markdown"
_WIKI_LINK = re.compile(r"\[\[([^\[\]|#^\n]+)")
_MARKDOWN_LINK = re.compile(r"\]\((?!\w+:)([^()\s#]+)(\.md|\.markdown)(#[^()\s]*)?\)")


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
    names = list(names)
    links = RenamedLinks(names)
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
        path = name.rpartition(".")[0]
        title = ""
        if change is not None:
            path, title, text = change(name, text)
        else:
            text = links.follow(text)
        if not text.strip() and not front.strip():
            yield LeftOut(name, "it is empty")
            continue
        identifier, place = ("/".join(filter(None, [folder, each])) for each in (name, path))
        yield Page(identifier, title, text, written(text) if written else files.changed(name), place, front)


class RenamedLinks:
    """Lets links follow notes whose name in the export is too long or not allowed everywhere."""

    def __init__(self, names: Iterable[str]) -> None:
        """Find the notes that get another name among the files of an export."""
        paths = [name.rpartition(".")[0] for name in names if name.lower().endswith(SUFFIXES)]
        renamed = [path for path in paths if clean_path(path) != path]
        self._ends = {end.casefold() for path in renamed for end in _ends(path)}

    def follow(self, text: str) -> str:
        """Return a text with links to the new names."""
        if not self._ends:
            return text
        return _MARKDOWN_LINK.sub(self._link, _WIKI_LINK.sub(self._wiki_link, text))

    def _wiki_link(self, match: re.Match[str]) -> str:
        target = match[1].strip()
        stem = target[: -len(SUFFIXES[0])] if target.lower().endswith(SUFFIXES[0]) else target
        return f"[[{clean_path(stem)}" if stem.strip("/").casefold() in self._ends else match[0]

    def _link(self, match: re.Match[str]) -> str:
        target = unquote(match[1])
        parts = [part for part in target.split("/") if part not in {"", ".", ".."}]
        if "/".join(parts).casefold() not in self._ends:
            return match[0]
        return f"]({quote(clean_path(target))}{match[2]}{match[3] or ''})"


def _ends(path: str) -> Iterator[str]:
    """Yield the path and each of its ends, by which a link may name it."""
    parts = path.split("/")
    yield from ("/".join(parts[start:]) for start in range(len(parts)))


def split_front(text: str) -> tuple[str, str]:
    """Return the lines of the front matter of a note, without the marks around them, and the rest of the note."""
    front = read_front_matter(text)
    if front is None:
        return "", text
    rest = (line for at, line in enumerate(text.split("\n")) if at not in front.lines)
    return front.yaml.replace("\r\n", "\n").removesuffix("\n"), "\n".join(rest)


def is_day(name: str) -> bool:
    """Return whether a file name begins with a day, as that of a daily note does."""
    return _DAY.match(name.rpartition("/")[2]) is not None
