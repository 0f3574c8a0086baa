"""Which links lead to pictures that a page may show, and their address."""

from __future__ import annotations

import os

PICTURES = "/notes/picture"
"""The address of pictures of the folder of notes. Others are not shown, because they would be loaded from elsewhere."""
KINDS = {
    ".avif": "image/avif",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
"""Types of pictures by their suffixes. SVG is none of them, because it may hold scripts."""


def is_picture(path: str) -> bool:
    """Return whether a path names a picture that may be shown."""
    return os.path.splitext(path.lower())[1] in KINDS  # noqa: PTH122 (a link, not a path of this system)
