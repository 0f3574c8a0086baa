"""The conversation on disk, as lines in OpenClaw's format, so that memoriter can search it like other transcripts."""

from __future__ import annotations

import json
from datetime import UTC
from typing import TYPE_CHECKING, Any

from memoriter.permissions import make_private_folder, open_private
from memoriter.workspace import without_injected

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from memoriter.agent import Message

VERSION = 3


class Transcript:
    """One file, created with its first line; it contains no text from the memory."""

    def __init__(self, file: Path, now: Callable[[], datetime], cwd: str) -> None:
        self.file = file
        self._now = now
        self._cwd = cwd
        self._count = 0
        self._last: str | None = None

    def append_message(self, message: Message, at: datetime) -> None:
        """Append a message and its time.

        Raises:
            OSError: the file could not be written.
        """
        text = without_injected(message.text).strip()
        content = {"role": message.role, "content": [{"type": "text", "text": text}]}
        self._append("message", at, message=content)

    def append_compaction(self, summary: str, tokens: int) -> None:
        """Append a record that a summary replaced the conversation so far.

        Raises:
            OSError: the file could not be written.
        """
        self._append("compaction", self._now(), summary=summary, tokensBefore=tokens)

    def _append(self, kind: str, at: datetime, **fields: Any) -> None:
        timestamp = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        rows = list[dict[str, Any]]()
        if self._last is None and not self.file.exists():
            rows.append(
                {
                    "type": "session",
                    "version": VERSION,
                    "id": self.file.stem,
                    "timestamp": timestamp,
                    "cwd": self._cwd,
                }
            )
        name = f"{self._count + 1:08x}"
        rows.append({"type": kind, "id": name, "parentId": self._last, "timestamp": timestamp, **fields})
        make_private_folder(self.file.parent)
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        with open(self.file, "ab", opener=open_private) as opened:
            opened.write(text.encode("utf-8", "replace"))
        self._count, self._last = self._count + 1, name
