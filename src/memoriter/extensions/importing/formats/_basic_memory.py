"""basic-memory: the folder of a project, whose Markdown files are its memory. Observations and relations are text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.importing.formats._markdown import markdown_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files
    from memoriter.extensions.importing._records import Record


class BasicMemory:
    """The notes of basic-memory."""

    name = "basic-memory"
    read_as = "basic-memory 0.24.1"
    owned = True
    in_place = True
    local_ids = True
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        yield from markdown_pages(files, files.names, folder=files.title)
