"""What the extension adds to the pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.extensions.longterm.pages import _memories as memories
from memoriter.pages import Action, PageSet

if TYPE_CHECKING:
    from collections.abc import Mapping


def _report(answer: Mapping[str, Any]) -> str:
    return f"Rebuilt: {answer['memories']:,} long-term memories."


PAGES = PageSet(
    pages=(memories.PAGE,),
    folder=Path(__file__).parent,
    actions=(
        Action(
            "ltm-rebuild", "Rebuild long-term memories", "memoriter ltm rebuild", "rebuildMemories", "admin", _report
        ),
    ),
    day_items="day_items.html",
)
