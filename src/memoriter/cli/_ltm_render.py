"""What the commands about long-term memories share: the opened memory, and the lines that show a memory."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

import click

from memoriter.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.cli._options import GlobalOptions
    from memoriter.cli._render import Line, Screen
    from memoriter.longterm import LongTermHit, LongTermMemory
    from memoriter.memory import Memory


def open_long_term(options: GlobalOptions) -> Memory:
    """Open the selected memory. Raises MissingPackage if the extra is not installed."""
    require("longterm", "The command `memoriter ltm`")
    return options.open_memory()


def end_of_day(text: str) -> float:
    """Return the last millisecond of a day in UTC, in seconds since 1970. Raises click.UsageError."""
    try:
        day = datetime.combine(datetime.fromisoformat(text).date(), time(), UTC)
        return (day + timedelta(days=1)).timestamp() - 0.001
    except (ValueError, OverflowError) as error:
        raise click.UsageError(f"{text!r} is not a day such as 2026-02-10.") from error


def count_memories(number: int) -> str:
    """Return a number of memories in words."""
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def memory_line(memory: LongTermMemory) -> Line:
    """Return a memory as one line that ends with its id."""
    day = datetime.fromtimestamp(memory.created_at, tz=UTC).date().isoformat()
    marks = [day, *([memory.origin] if memory.origin != "owner" else [])]
    marks += ["approved"] * memory.approved + ["superseded"] * (memory.status == "superseded")
    text = " ".join(memory.text.split())
    return (f"[{memory.category}] ", "bold"), (text, ""), (f"  ({', '.join(marks)})  ", "dim"), (memory.id, "dim")


def show_hits(hits: Sequence[LongTermHit], screen: Screen) -> None:
    """Print the memories that a search found, numbered, with their scores."""
    for number, hit in enumerate(hits, 1):
        screen.show([((f"{number}. {hit.score:.2f} ", ""), *memory_line(hit.memory))])
