"""memsearch: the notes of `.memsearch/memory/` of a project, one for each day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.importing.formats._markdown import is_day, markdown_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files
    from memoriter.extensions.importing._records import Record

_DURABLE = ("PROJECT.md", "USER.md")


class MemSearch:
    """The daily notes of memsearch."""

    name = "memsearch"
    read_as = "memsearch 0.4.23"
    owned = False
    in_place = True
    local_ids = True
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        names = [name for name in files.names if name.endswith(".md") and (is_day(name) or name.endswith(_DURABLE))]
        if not names:
            message = f"The folder {files.title!r} has no daily notes of memsearch."
            raise UsageError(message, remedy="Give the folder .memsearch of a project, or its folder memory.")
        yield from markdown_pages(files, names, folder=files.title)
