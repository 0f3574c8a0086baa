"""Wrap memory that is injected into a conversation, and remove it again where conversations are read."""

from __future__ import annotations

import re

TAG = "memoriter-recall"
_TAGS = (TAG, "relevant-memories")
"""memoriter's tag and OpenClaw's."""
_NAMES = "|".join(_TAGS)
_NAME = re.compile(rf"(?i)(<|&lt;)(?=\s*+/?\s*+(?:{_NAMES})\b)")
# Blanks are matched possessively: with two long runs of them, a backtracking search would try every division.
_EDGE = re.compile(
    rf"""(?ix)
    (?P<quote> ^[ \t>]*> [ \t]* | )                        # quoted back in Markdown
    (?: < | &lt; ) \s*+ (?P<close> /? ) \s*+ (?: {_NAMES} ) \b
    (?P<attributes> (?: "[^"]*" | '[^']*' | (?! &gt; ) [^>"'] )* )
    (?P<end> > | &gt; )?
    """,
    re.MULTILINE,
)


def injected(text: str) -> str:
    """Return the text in the wrapper for conversations; the wrapper's name inside the text is disarmed."""
    return f"<{TAG}>\n{_NAME.sub('‹', text)}\n</{TAG}>"


def without_injected(text: str) -> str:
    """Return a conversation's text without the blocks that were injected from memory.

    Blocks may be nested, quoted back, escaped, or have attributes. If a block has lost its end, all text after its
    beginning is removed; if it has lost its beginning, all text before its end. Other text is unchanged.
    """
    kept: list[str] = []
    depth, start = 0, 0
    for edge in _EDGE.finditer(text):
        if not edge["close"]:
            if depth == 0:
                kept.append(text[start : edge.start()])
            depth += 1
            if edge["end"] is None:
                return "".join(kept)
            continue
        if depth == 0:
            kept.clear()
        depth, start = max(0, depth - 1), edge.end()
    return "".join(kept) if depth else "".join((*kept, text[start:]))
