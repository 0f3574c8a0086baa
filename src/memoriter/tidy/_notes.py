"""Read the statements of all notes of a workspace."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.layout import LONG_TERM
from memoriter.tidy._statements import statements_in
from memoriter.times import path_date
from memoriter.workspace import STATEMENTS, is_client_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from memoriter.tidy._statements import Statement
    from memoriter.workspace import Workspace


def all_statements(workspace: Workspace, daily_note: str) -> Iterator[Statement]:
    """Yield the statements of the notes that memoriter may change, in the order of their paths.

    Args:
        workspace: the notes.
        daily_note: the pattern of the path of a day's note.
    """
    for source in sorted(workspace.scan().sources, key=lambda source: source.path):
        path = source.path
        own = source.kind == "memory" and not path.startswith(("/", "../")) and not is_client_memory(path)
        if not own or path.endswith(STATEMENTS):
            continue
        with suppress(PathRefused):
            lines = (workspace.content(path) or b"").decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
            authors = workspace.authors(path, lines)
            if path in LONG_TERM:
                yield from statements_in(path, lines, authors, place="long-term", day=None, name="")
                continue
            day = _day_of(path, daily_note)
            if day is not None:
                yield from statements_in(path, lines, authors, place="daily", day=day, name="")
            else:
                name = PurePosixPath(path).stem
                yield from statements_in(path, lines, authors, place="note", day=path_date(path), name=name)


def _day_of(path: str, daily_note: str) -> date | None:
    """Return the day of a daily note, or None."""
    for pattern, text in ((daily_note, path), ("%Y-%m-%d", PurePosixPath(path).stem)):
        with suppress(ValueError):
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 (a day, without a time)
    return None
