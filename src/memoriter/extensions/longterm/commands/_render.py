"""What the commands about long-term memories share: the opened memory, and the lines that show a memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoriter.cli import GlobalOptions, Line, Screen
    from memoriter.extensions.longterm.api import LongTermForgotten, LongTermHit, LongTermMemory
    from memoriter.memory import Memory


SHORT_ID = 8
"""Characters of the id of a memory that another line names."""


def open_long_term(options: GlobalOptions) -> Memory:
    """Open the selected memory. Raises MissingPackage if the extra is not installed."""
    require("longterm", "The command `memoriter ltm`")
    return options.open_memory()


def count_memories(number: int) -> str:
    """Return a number of memories in words."""
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def memory_line(memory: LongTermMemory, replaced: Mapping[str, str] | None = None, mark: str = "") -> Line:
    """Return a memory as one line that ends with its id.

    Args:
        memory: the memory.
        replaced: the ids of what replaced superseded memories, by the ids of these.
        mark: what else there is to say about it; empty: nothing.
    """
    newer = (replaced or {}).get(memory.id, "")[:SHORT_ID]
    superseded = [f"superseded by {newer}" if newer else "superseded"] if memory.status == "superseded" else []
    day = datetime.fromtimestamp(memory.created_at, tz=UTC).date().isoformat()
    marks = [day, *([memory.origin] if memory.origin != "owner" else [])]
    marks += ["approved"] * memory.approved + superseded + [mark] * bool(mark)
    text = " ".join(memory.text.split())
    return (f"[{memory.category}] ", "bold"), (text, ""), (f"  ({', '.join(marks)})  ", "dim"), (memory.id, "dim")


def restored_lines(receipt: LongTermForgotten) -> Iterator[Line]:
    """Yield a line for each memory that is current again, because what had replaced it was forgotten."""
    for memory in receipt.restored:
        yield (("Current again: ", ""), *memory_line(memory))


def show_hits(
    hits: Sequence[LongTermHit],
    screen: Screen,
    replaced: Mapping[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
) -> None:
    """Print the memories that a search found, numbered, with their scores; `marks`: what else to say, by their ids."""
    for number, hit in enumerate(hits, 1):
        mark = (marks or {}).get(hit.memory.id, "")
        screen.show([((f"{number}. {hit.score:.2f} ", ""), *memory_line(hit.memory, replaced, mark))])
