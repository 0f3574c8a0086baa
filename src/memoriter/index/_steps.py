"""Logs of the steps that change or check an index file, with their durations."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

log = logging.getLogger(__name__)


@contextmanager
def logged(step: str) -> Generator[None]:
    """Log the duration of a step, or that it failed. The index has only a wall clock, which cannot measure."""
    started = time.perf_counter()
    try:
        yield
    except Exception as error:
        log.debug("%s: %s after %.1f ms", step, type(error).__name__, (time.perf_counter() - started) * 1000)
        raise
    log.debug("%s: %.1f ms", step, (time.perf_counter() - started) * 1000)
