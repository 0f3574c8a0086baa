"""Find file names that look the same but differ in bytes: `é` may be one character or two."""
# ruff: noqa: PTH118, PTH208 - plain strings throughout

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.ids import normalize

if TYPE_CHECKING:
    from memoriter.workspace._areas import ReadablePath


def find_normalized(place: ReadablePath) -> str | None:
    """Return the absolute path of the only file whose name is canonically equivalent to the requested one, or None.

    Only names are compared; the caller must admit the path before it opens the file.
    """
    path = place.base
    for name in place.names:
        if os.path.lexists(os.path.join(path, name)):
            path = os.path.join(path, name)
            continue
        try:
            names = os.listdir(path)
        except OSError:
            return None
        normalized = normalize("NFC", name)
        matches = [entry for entry in names if normalize("NFC", entry) == normalized]
        if len(matches) != 1:
            return None
        path = os.path.join(path, matches[0])
    return path
