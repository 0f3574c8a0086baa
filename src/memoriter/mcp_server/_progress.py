"""Progress of an index as one number that never decreases, as MCP requires for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.sync import Progress

TOTAL = 100.0
LAST_STAGE = "embed"
STAGE_TEXTS = {"read": "Reading notes", "embed": "Computing vectors", "download": "Downloading the model"}
STEP = 1.0
"""Smallest increase, on the scale of 0 to `TOTAL`, that is reported."""


class ProgressScale:
    """The stages of one run on a scale of 0 to 100.

    Each stage takes half of the remaining scale; the last stage takes all of it.
    """

    def __init__(self) -> None:
        self._stage = ""
        self._start = 0.0
        self._reported = 0.0

    def update(self, progress: Progress) -> tuple[float, str] | None:
        """Return the number and the text to report, or None if the change is too small."""
        if progress.stage != self._stage:
            self._stage, self._start = progress.stage, self._reported
        share = min(progress.done / progress.total, 1.0) if progress.total else 1.0
        reach = TOTAL - self._start if progress.stage == LAST_STAGE else (TOTAL - self._start) / 2
        now = self._start + share * reach
        if now < self._reported + STEP and not (share == 1.0 and now > self._reported):
            return None
        self._reported = now
        return now, f"{STAGE_TEXTS[progress.stage]}: {progress.done} of {progress.total}"
