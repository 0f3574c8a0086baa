"""Pictures of the folder of notes, which come from inside of it alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response

from memoriter.errors import UsageError
from memoriter.pages._picture_links import KINDS, is_picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.pages._page import Visit

LARGEST = 20_000_000
"""Bytes of a picture at most."""
MOST_LOOKED_AT = 20_000
"""Files that are looked at for a picture that a link names without its folder."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=60",
}
"""A picture loads and runs nothing, also if it is opened on its own."""


async def picture(visit: Visit) -> Response:
    """Return a picture of the folder of notes. Raises UsageError if there is none of that name."""
    name = visit.parameter("name")
    beside = visit.parameter("from")

    def read(root: Path) -> tuple[bytes, str] | None:
        for file in _places_of(root, name, beside):
            if (content := _content_of(root, file)) is not None:
                return content, KINDS[file.suffix.lower()]
        return None

    found = None
    if is_picture(name):
        found = await visit.with_memory("read", lambda memory: read(memory.place.workspace))
    if found is None:
        raise UsageError(f"The notes have no picture {name!r}.", remedy="Check the link in the note.")
    return Response(found[0], media_type=found[1], headers=HEADERS)


def _places_of(root: Path, name: str, beside: str) -> Iterator[Path]:
    """Yield where a picture may be: beside the note, below the root, or anywhere if the link has only its name."""
    yield root / Path(beside).parent / name
    yield root / name.lstrip("/")
    if "/" in name:
        return
    left = MOST_LOOKED_AT
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        if name in files:
            yield Path(folder, name)
        left -= len(files)
        if left < 0:
            return


def _content_of(root: Path, file: Path) -> bytes | None:
    """Return a picture inside the root, of which no part of the path is hidden; None: it is no such file."""
    try:
        real = file.resolve(strict=True)
        inside = real.relative_to(root.resolve())
        is_open = real.is_file() and not any(part.startswith(".") for part in inside.parts)
        if not is_open or real.suffix.lower() not in KINDS or real.stat().st_size > LARGEST:
            return None
        return real.read_bytes()
    except (OSError, ValueError):
        return None
