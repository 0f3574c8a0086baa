"""What a service may read of a text: the text without its secrets, and without pieces of secrets."""

from __future__ import annotations

import re

from memoriter.masking._find import MASK, PUBLIC_VALUES, mask
from memoriter.masking._looks import is_mixed, is_text_in_base64

_LINE = re.compile(r"(?<!\S)[A-Za-z0-9+/]{60,76}+={0,2}(?!\S)")
"""As wide as the lines of a private key are."""
_LAST = re.compile(r"(?P<line>[A-Za-z0-9+/]{1,76}={0,2})(?=\s{1,4}-----END [A-Z0-9 ]{0,48}PRIVATE KEY)")


def mask_outgoing(text: str) -> str:
    """Return the text as a service may read it; the same object if nothing in it is secret.

    Notes are cut into passages before they are embedded. A passage may begin in the middle of a private key, whose
    first line is in the passage before it, so lines that could be of one are masked too: in a vector they mean nothing.
    """
    masked = mask(text)
    if len(masked) < 60:
        return masked
    shown = [open_key.span() for open_key in PUBLIC_VALUES.finditer(masked)] if _LINE.search(masked) else []

    def without(line: re.Match[str]) -> str:
        public = any(start <= line.start() < end for start, end in shown)
        return line[0] if public or not is_mixed(line[0]) or is_text_in_base64(line[0]) else MASK

    rest = _LINE.sub(without, masked)
    rest = _LAST.sub(MASK, rest) if "PRIVATE KEY" in rest else rest
    return masked if rest == masked else rest
