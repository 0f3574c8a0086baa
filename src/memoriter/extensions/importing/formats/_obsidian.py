"""Obsidian: a vault. Folders, links, aliases and tags stay as they are; only Markdown is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.importing.formats._markdown import markdown_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files
    from memoriter.extensions.importing._records import Record


class Obsidian:
    """The notes of a vault."""

    name = "obsidian"
    read_as = "Obsidian 1.x"
    owned = True
    in_place = True
    local_ids = True
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        yield from markdown_pages(files, files.names, folder=files.title)
