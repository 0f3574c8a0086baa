"""Find one file on the disk by the rules of a scan."""
# ruff: noqa: PTH116, PTH118 - plain strings, as in a scan

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.types import Source
from memoriter.workspace._confined import changed_ns, stamp_of

if TYPE_CHECKING:
    from memoriter.workspace._areas import ReadablePath


def source_at(place: ReadablePath, max_bytes: int) -> Source | None:
    """Return the source at an admitted path: a plain file within the size limit, reached without a link, or None."""
    path = place.base
    try:
        status = os.stat(path)
        for depth, name in enumerate(place.names, 1):
            path = os.path.join(path, name)
            status = os.lstat(path)
            is_expected = stat.S_ISREG if depth == len(place.names) else stat.S_ISDIR
            if not is_expected(status.st_mode):
                return None
    except (OSError, ValueError):
        return None
    if status.st_size > max_bytes:
        return None
    return Source(place.cited, "memory", Path(path), status.st_size, changed_ns(status), stamp_of(status))
