"""Follows changes of the indexed content by any process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Generator
    from threading import Event

    from memoriter.backends._context import BackendContext

log = logging.getLogger(__name__)
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
"""Seconds until an index that cannot be read, or was replaced, is asked again; each pause is twice as long as the one
before."""


def content_changes(context: BackendContext, stop: Event) -> Generator[str]:
    """Yield the name of the content now, and soon after each change, until `stop` is set."""
    seen = ""
    pause = FIRST_PAUSE
    while not stop.is_set():
        try:
            for version in context.current_index().changes(stop):
                pause = FIRST_PAUSE
                if version != seen:
                    seen = version
                    yield version
        except IndexUnavailable as error:
            log.debug("changes of the index cannot be followed now: %s", error)
        stop.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
