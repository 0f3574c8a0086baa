"""Characters that are invisible, or that change how others are displayed."""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_NOT_TEXT = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
HIDDEN = re.compile(f"[{_CONTROL}{_BIDI}{_INVISIBLE}{_NOT_TEXT}]")
"""Characters that are invisible, or that change how others are displayed; tab and line feed are not included."""
RUN = re.compile(f"[{_CONTROL}{_BIDI}{_INVISIBLE}{_NOT_TEXT}]+")
TERMINAL = re.compile(f"[{_CONTROL}{_BIDI}\u2028\u2029\u200b\u2060-\u206f\ufeff{_NOT_TEXT}\U000e0000-\U000e0fff]")
"""Characters that could move a cursor, repaint a screen, reverse a line or hide in it."""
