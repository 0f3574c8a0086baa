"""Limit the characters of search results that an agent receives at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.tools._citations import with_footer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.types import Hit


def clamped(hits: Sequence[Hit], budget: int, *, citations: bool) -> tuple[Hit, ...]:
    """Return the first hits whose texts together fit the budget; the text of the last one may be cut.

    Args:
        hits: best first.
        budget: characters, including the footers; 0 and less: no limit.
        citations: whether each text has a footer with its source; footers are never cut.
    """
    if budget <= 0:
        return tuple(hits)
    kept: list[Hit] = []
    for hit in hits:
        footer = len(with_footer("", hit.citation)) if citations else 0
        text = hit.snippet.strip() if citations else hit.snippet
        if budget <= footer:
            break
        kept.append(hit if len(text) + footer <= budget else replace(hit, snippet=text[: budget - footer].rstrip()))
        budget -= len(text) + footer
    return tuple(kept)
