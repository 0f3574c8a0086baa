"""Addresses on this server: of pages, of sections of notes, and of pictures."""

from __future__ import annotations

import os
import re
from urllib.parse import quote


def address_of(path: str, anchor: str = "", /, **parameters: str) -> str:
    """Return an address on this server: path and anchor are quoted, and parameters that are empty are left out."""
    given = {name: quote(value, safe="/:,", errors="replace") for name, value in parameters.items() if value}
    query = "&".join(f"{name}={value}" for name, value in given.items())
    return quote(path, errors="replace") + (f"?{query}" if query else "") + (f"#{quote(anchor)}" if anchor else "")


PREFIX = "section-"
"""The beginning of the anchors of headings, so that none is that of another element of the page."""
_LINE = re.compile(r"L\d+")
_NO_WORD = re.compile(r"[^\w\- ]")


def section_anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it, after `PREFIX`.

    >>> section_anchor("What we do, and why")
    'section-what-we-do-and-why'
    """
    return PREFIX + _NO_WORD.sub("", heading.strip().lower()).replace(" ", "-")


def anchor_of(fragment: str) -> str:
    """Return the anchor on the page of a note to which the part of a link after `#` leads.

    >>> anchor_of("L3"), anchor_of("What we do")
    ('L3', 'section-what-we-do')
    """
    if not fragment or _LINE.fullmatch(fragment) or fragment.startswith(PREFIX):
        return fragment
    return section_anchor(fragment)


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
