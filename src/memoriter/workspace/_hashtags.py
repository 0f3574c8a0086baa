"""Tags in the text of a note, by Obsidian's rule: `#` and letters, digits, `_`, `-` or `/`, and not digits alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.ids import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
_CODE = re.compile(r"(`+)(?!`).{1,1000}?(?<!`)\1(?!`)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
LONGEST = 200
"""Most characters of a tag."""
MOST = 500
"""Most tags of one note."""


def tags_in(lines: Iterable[str]) -> Iterator[str]:
    """Yield the tags in lines of Markdown, without `#`; code has none."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif match:
            fence = match[1]
        elif "#" in line:
            plain = _CODE.sub(" ` ", line) if "`" in line else line
            yield from (tag[1].strip("/") for tag in _TAG.finditer(plain) if len(tag[1]) <= LONGEST)


def fold_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags in the form in which they are compared, each once."""
    folded = (normalize("NFC", tag).casefold() for tag in tags)
    return tuple(dict.fromkeys(tag for tag in folded if tag))[:MOST]
