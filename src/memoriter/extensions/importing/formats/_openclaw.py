"""OpenClaw: its home, such as `~/.openclaw`, or one workspace: `MEMORY.md` and the notes of `memory/`.

The long-term memories of its plugin are in a database, which `memoriter ltm import` reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.importing._records import LeftOut, Record
from memoriter.extensions.importing.formats._markdown import markdown_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

_NOTE = re.compile(r"(?:(?P<workspace>.*)/)?(?:MEMORY\.md|memory\.md|memory/(?:.*/)?[^/]+\.(?:md|markdown))")
_DATABASE = re.compile(r"(?:.*/)?lancedb/.*")


class OpenClaw:
    """The notes of OpenClaw's workspaces."""

    name = "openclaw"
    read_as = "OpenClaw 2026.2.26"
    owned = True
    in_place = True
    local_ids = True
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        notes = [name for name in files.names if _NOTE.fullmatch(name) and not _DATABASE.fullmatch(name)]
        if not notes:
            message = f"The folder {files.title!r} has neither MEMORY.md nor notes in memory/."
            raise UsageError(message, remedy="Give OpenClaw's home, such as ~/.openclaw, or a workspace.")
        if any(_DATABASE.fullmatch(name) for name in files.names):
            yield LeftOut("memory/lancedb", "`memoriter ltm import` copies the memories of OpenClaw's database")
        yield from markdown_pages(files, notes, folder=files.title)
