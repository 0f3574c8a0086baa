"""Notes in Markdown as they are, and programs with a folder of them: basic-memory, memsearch, Obsidian and OpenClaw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memoriter.errors import UsageError
from memoriter.extensions.importing._notes import clean_path
from memoriter.extensions.importing._records import Format, LeftOut, Page, Record
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
_DURABLE = ("PROJECT.md", "USER.md")
"""Notes of memsearch beside those of days."""
_OPENCLAW_NOTE = re.compile(r"(?:(?P<workspace>.*)/)?(?:MEMORY\.md|memory\.md|memory/(?:.*/)?[^/]+\.(?:md|markdown))")
_OPENCLAW_DATABASE = re.compile(r"(?:.*/)?lancedb/.*")


def markdown_pages(
    files: Files,
    names: Iterable[str],
    *,
    folder: str = "",
    change: Callable[[str, str], tuple[str, str, str]] | None = None,
    written: Callable[[str], datetime | None] | None = None,
) -> Iterator[Record]:
    """Yield the Markdown files of an export as pages that keep their place and their front matter.

    They go below `folder`; files that are not Markdown are left out. `change` returns the path, the title and the text
    of a note for its name and its text. `written` returns its time for its text; None: it is the time of the file.
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


class Obsidian(Format):
    """A vault. Folders, links, aliases and tags stay as they are; only Markdown is copied."""

    name = "obsidian"
    read_as = "Obsidian 1.x"
    owned = True
    in_place = True
    local_ids = True

    def read(self, files: Files) -> Iterator[Record]:
        return markdown_pages(files, files.names, folder=files.title)


class BasicMemory(Obsidian):
    """The folder of a project of basic-memory. Observations and relations are text."""

    name = "basic-memory"
    read_as = "basic-memory 0.24.1"


class MemSearch(Format):
    """The notes of `.memsearch/memory/` of a project, one for each day."""

    name = "memsearch"
    read_as = "memsearch 0.4.23"
    in_place = True
    local_ids = True

    def read(self, files: Files) -> Iterator[Record]:
        names = [name for name in files.names if name.endswith(".md") and (is_day(name) or name.endswith(_DURABLE))]
        if not names:
            message = f"The folder {files.title!r} has no daily notes of memsearch."
            raise UsageError(message, remedy="Give the folder .memsearch of a project, or its folder memory.")
        return markdown_pages(files, names, folder=files.title)


class OpenClaw(Format):
    """OpenClaw's home, such as `~/.openclaw`, or one workspace: `MEMORY.md` and the notes of `memory/`.

    The long-term memories of its plugin are in a database, which `memoriter ltm import` reads.
    """

    name = "openclaw"
    read_as = "OpenClaw 2026.2.26"
    owned = True
    in_place = True
    local_ids = True

    def read(self, files: Files) -> Iterator[Record]:
        in_database = {name for name in files.names if _OPENCLAW_DATABASE.fullmatch(name)}
        notes = [name for name in files.names if _OPENCLAW_NOTE.fullmatch(name) and name not in in_database]
        if not notes:
            message = f"The folder {files.title!r} has neither MEMORY.md nor notes in memory/."
            raise UsageError(message, remedy="Give OpenClaw's home, such as ~/.openclaw, or a workspace.")
        if in_database:
            yield LeftOut("memory/lancedb", "`memoriter ltm import` copies the memories of OpenClaw's database")
        yield from markdown_pages(files, notes, folder=files.title)
