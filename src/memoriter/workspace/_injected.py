"""What was put into a conversation out of memory: made here, and known again wherever a conversation is read."""

from __future__ import annotations

import re

TAG = "memoriter-recall"
_TAGS = (TAG, "relevant-memories")
"""Ours and OpenClaw's."""
_NAMES = "|".join(_TAGS)
_NAME = re.compile(rf"(?i)(<|&lt;)(?=\s*+/?\s*+(?:{_NAMES})\b)")
# Blanks are taken possessively: between two runs of them that may both be long, a search would try every division.
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
    """The text as it is put into a conversation; the wrapper's name inside of it is made harmless."""
    return f"<{TAG}>\n{_NAME.sub('‹', text)}\n</{TAG}>"


def without_injected(text: str) -> str:
    """A conversation's text without what came out of memory.

    Blocks may be nested, quoted back, escaped, or carry attributes. Of a block that has lost its end, all that follows
    goes; of one that has lost its beginning, all before. Other text stays as it is.
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
