"""Whose long-term memories a note holds. The comment of an item names its principal: `principal=team%2Falpha`.

A folder of notes has the long-term memories of one principal. If the folder is also that of another one, their notes
of single statements are no memory there: no search, read or tool reaches them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from memoriter.errors import PathRefused
from memoriter.types import Skipped
from memoriter.workspace._confined import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.workspace._paths import ReadablePath
    from memoriter.workspace._scan import Scan

STATEMENTS = ("memory/long-term.md", "memory/inbox.md")
"""Ends of the paths of notes with single statements. The text of a statement cannot hold the mark: it is escaped."""
_OWNER = re.compile(rb"<!-- (?:memory|candidate): [^<>]*? principal=([^ <>]+)[^<>]*? -->")


def check_principal(content: bytes, path: str, principal: str) -> None:
    """Raise PathRefused if a note with single statements holds memories of another principal.

    Args:
        content: the note.
        path: its cited path, which ends like one of `STATEMENTS`.
        principal: the configured principal; empty: none.
    """
    foreign = _foreign(content, principal)
    if foreign is None:
        return
    here = f"this is {principal!r}" if principal else "no principal is configured here"
    message = f"The note {path!r} holds long-term memories of the principal {foreign!r}, and {here}."
    setting = "plugins.entries.memory-lancedb.config.principal"
    remedy = f"Name another folder of notes with -w DIR. If these memories are yours, set {setting} to {foreign!r}."
    raise PathRefused(message, remedy=remedy)


def without_foreign(scan: Scan, place_of: Callable[[str], ReadablePath], limit: int, principal: str) -> Scan:
    """Return a scan in which the notes with long-term memories of another principal are skipped."""
    skipped = list[Skipped]()
    for path in [source.path for source in scan.sources if source.path.endswith(STATEMENTS)]:
        with suppress(PathRefused, OSError):  # indexing reports what cannot be read
            if _foreign(read_bytes(place_of(path), limit)[0], principal) is not None:
                skipped.append(Skipped(path, "other_principal", "it holds long-term memories of another principal"))
    if not skipped:
        return scan
    names = {each.path for each in skipped}
    sources = tuple(source for source in scan.sources if source.path not in names)
    return replace(scan, sources=sources, skipped=tuple(sorted((*scan.skipped, *skipped), key=lambda each: each.path)))


def _foreign(content: bytes, principal: str) -> str | None:
    """Return another principal whose memories a note with single statements holds, or None."""
    owners = (unquote(owner.decode("ascii", "replace")) for owner in _OWNER.findall(content))
    return next((owner for owner in owners if owner != principal), None)
