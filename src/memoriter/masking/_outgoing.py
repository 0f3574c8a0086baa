"""What a service may read of a text: the text without its secrets, and without pieces of secrets."""

from __future__ import annotations

import re

from memoriter.masking._find import MASK, mask
from memoriter.masking._looks import is_mixed

_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{48,}+={0,2}(?:\s{1,20}[A-Za-z0-9+/]{1,80}={1,2}(?![^\s]))?")
"""A line of base64, with the short one at the end of a key, if it says by its `=` that it is one."""
_TAIL = re.compile(r"(?P<last>[^\n]{0,120})\n-----END [A-Z0-9 ]{0,48}PRIVATE KEY")


def mask_outgoing(text: str) -> str:
    """Return the text as a service may read it; the same object if nothing in it is secret.

    Notes are cut into passages before they are embedded. A passage may begin in the middle of a private key, whose
    first line is in the passage before it, so every long run of base64 is masked too: in a vector it means nothing.
    """
    masked = mask(text)
    if len(masked) < 48:
        return masked
    without = _RUN.sub(lambda run: MASK if is_mixed(run[0]) else run[0], masked)
    without = _TAIL.sub(lambda tail: tail[0].replace(tail["last"], MASK, 1) if tail["last"] else tail[0], without)
    return masked if without == masked else without
