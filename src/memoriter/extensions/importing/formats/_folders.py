"""Programs whose memory is a folder of Markdown: basic-memory, memsearch, Obsidian and OpenClaw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.importing._records import Format, LeftOut, Record
from memoriter.extensions.importing.formats._markdown import is_day, markdown_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

_DURABLE = ("PROJECT.md", "USER.md")
"""Notes of memsearch beside those of days."""
_OPENCLAW_NOTE = re.compile(r"(?:(?P<workspace>.*)/)?(?:MEMORY\.md|memory\.md|memory/(?:.*/)?[^/]+\.(?:md|markdown))")
_OPENCLAW_DATABASE = re.compile(r"(?:.*/)?lancedb/.*")


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
