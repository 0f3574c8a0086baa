"""Export transcripts as Markdown, so that QMD can index them: messages only, masked as everywhere in memoriter."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, QmdFailure, sentence
from memoriter.permissions import make_private_folder, replace_private

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.workspace import Transcripts

DAY_NS = 24 * 60 * 60 * 1_000_000_000
MOST_CHARS = 4_000_000
"""Characters of one exported transcript; the earliest messages of a longer one are left out."""


def session_markdown(name: str, content: str) -> str:
    """Return the text of an exported transcript, whose messages are one per line."""
    return f"# Session {name}\n\n{content.strip() or '(empty)'}\n"


def export_sessions(
    transcripts: Transcripts, folder: Path, exported: Mapping[str, int], *, retention_days: int | None, now: float
) -> dict[str, int]:
    """Write each new or changed transcript into a folder, and remove what is gone or too old.

    Args:
        transcripts: the transcripts of the agent.
        folder: where the Markdown files go; files of others there are left alone.
        exported: what was exported before, with the time of the last change in nanoseconds.
        retention_days: days since the last change after which a transcript is no longer exported; None: for ever.
        now: seconds since 1970.

    Returns:
        What is exported now, in the form of `exported`.

    Raises:
        QmdFailure: the folder cannot be written.
    """
    oldest = 0 if retention_days is None else int(now * 1e9) - retention_days * DAY_NS
    wanted = {_file_name(source.path): source for source in transcripts.scan().sources if source.mtime_ns >= oldest}
    current: dict[str, int] = {}
    try:
        make_private_folder(folder)
        for name, source in wanted.items():
            file = folder / name
            if exported.get(name) == source.mtime_ns and file.is_file():
                current[name] = source.mtime_ns
                continue
            if name not in exported and os.path.lexists(file):
                continue  # a file of somebody else
            try:
                with transcripts.opened(source) as transcript:
                    lines = [row.parsed.rendered for row in transcript.lines() if row.parsed.rendered]
            except PathRefused:
                continue
            make_private_folder(file.parent)
            text = session_markdown(PurePosixPath(source.path).stem, "\n".join(lines)[-MOST_CHARS:])
            replace_private(file, text.encode("utf-8", "replace"))
            with suppress(OSError):
                os.utime(file, ns=(source.mtime_ns, source.mtime_ns))
            current[name] = source.mtime_ns
        for name in exported.keys() - current.keys():
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise QmdFailure(
            f"Transcripts cannot be exported to {str(folder)!r}: {sentence(error.strerror or error)}",
            remedy="Correct memory.qmd.sessions.exportDir.",
        ) from error
    return current


def _file_name(path: str) -> str:
    """Return the relative path of the exported file for the cited path of a transcript, `sessions/…`."""
    names = PurePosixPath(path.removeprefix("sessions/")).with_suffix(".md").parts
    return "/".join(name.lstrip(".") or "_" for name in names if name not in {"..", "/"})
