"""What memoriter puts into a conversation is marked, so that it is never taken for something that was said."""

from __future__ import annotations

import re

TAG = "memoriter-recall"
_NAME = re.compile(rf"(?i)(?:<|&lt;)(?=\s*/?\s*{TAG}\b)")
_BLOCK = re.compile(rf"(?is)<{TAG}\b[^>]*>.*?(?:</{TAG}>|\Z)")


def injected(text: str) -> str:
    """The text in its wrapper; the wrapper's name inside of it is made harmless."""
    return f"<{TAG}>\n{_NAME.sub('‹', text)}\n</{TAG}>"


def without_injected(text: str) -> str:
    """The text without what was injected."""
    return _BLOCK.sub("", text)
