"""Masking of text that is sent to a service: no secrets, and no pieces of secrets."""

from __future__ import annotations

import re

from memoriter.masking._find import MASK, PUBLIC_VALUES, mask
from memoriter.masking._looks import is_mixed, is_text_in_base64

_LINE = re.compile(r"(?<!\S)[A-Za-z0-9+/]{60,76}+={0,2}(?!\S)")
"""A line as wide as the lines of a private key."""
_LAST = re.compile(r"(?P<line>[A-Za-z0-9+/]{1,76}={0,2})(?=\s{1,4}-----END [A-Z0-9 ]{0,48}PRIVATE KEY)")


def mask_outgoing(text: str) -> str:
    """Return the text that a service may read. A text without secrets is returned as the same object.

    Notes are cut into chunks before they are embedded. A chunk may begin in the middle of a private key whose first
    line is in the previous chunk. Lines that may belong to a private key are therefore masked too; they would add no
    meaning to a vector.
    """
    masked = mask(text)
    if len(masked) < 60:
        return masked
    public_spans = (
        [public_value.span() for public_value in PUBLIC_VALUES.finditer(masked)] if _LINE.search(masked) else []
    )

    def mask_line(line: re.Match[str]) -> str:
        is_public = any(start <= line.start() < end for start, end in public_spans)
        return line[0] if is_public or not is_mixed(line[0]) or is_text_in_base64(line[0]) else MASK

    outgoing = _LINE.sub(mask_line, masked)
    outgoing = _LAST.sub(MASK, outgoing) if "PRIVATE KEY" in outgoing else outgoing
    return masked if outgoing == masked else outgoing
