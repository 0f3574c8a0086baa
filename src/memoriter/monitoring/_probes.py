"""Whether a server can do its work: each part is tried, at most once in a few seconds, whoever asks."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from memoriter.startup import StartedPart, try_parts

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoriter.access import Run


HEALTHZ = "/healthz"
READYZ = "/readyz"
METRICS = "/metrics"
PROBES = (HEALTHZ, READYZ)
"""The paths that a supervisor reads without a token."""
FRESH_SECONDS = 5.0
"""Seconds for which the last result counts."""
WAIT_SECONDS = 5.0
"""Seconds after which a memory that does not answer counts as busy."""
SERVER = "server"
"""The name of the part that stands for all others if they could not be tried."""
BUSY = StartedPart(
    SERVER,
    works=False,
    message="The memory does not answer in time.",
    remedy="Wait until its work is done; `memoriter serve -v` logs it.",
    code="busy",
)


class Readiness:
    """The state of all parts of a memory."""

    def __init__(self, run: Run) -> None:
        """Try nothing yet."""
        self._run = run
        self._parts: tuple[StartedPart, ...] = ()
        self._tried_at: float | None = None
        self._trial: asyncio.Task[None] | None = None

    async def parts(self) -> tuple[StartedPart, ...]:
        """Return each part after it was tried, or `BUSY` if that takes too long. One trial runs at a time."""
        fresh = self._tried_at is not None and time.monotonic() - self._tried_at < FRESH_SECONDS
        if self._trial is None and not fresh:
            self._trial = asyncio.create_task(self._try())
        if self._trial is not None:
            done, _ = await asyncio.wait({self._trial}, timeout=WAIT_SECONDS)
            if not done:
                return (BUSY,)
        return self._parts

    async def _try(self) -> None:
        try:
            self._parts = await self._run(try_parts)
        except Exception as error:  # noqa: BLE001 - a probe reports whatever is wrong
            message = f"The parts cannot be tried: {type(error).__name__}."
            self._parts = (StartedPart(SERVER, works=False, message=message, remedy="See the log.", code="internal"),)
        finally:
            self._tried_at = time.monotonic()
            self._trial = None


def broken_parts(parts: Collection[StartedPart], excluded: Collection[str]) -> list[StartedPart]:
    """Return the parts that do not work, without those that do not count."""
    return [part for part in parts if not part.works and part.name not in excluded]
