"""Which memory an id or the same words name, and which texts can be memories. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoriter.extensions.longterm._records import LongTermMemory

SHORTEST_ID = 8
"""Characters of the beginning of an id that are enough, as `ltm list` prints them of the memory that replaced one."""
LONGEST = 10_000
"""Characters of a memory at most. A memory is one statement; what is longer belongs into a note."""
_ENDS = ".!\u3002\uff01\uff0e"
"""Ends of sentences, which make no difference to what a statement says."""


def memory_named(identifier: str, memories: Iterable[LongTermMemory]) -> LongTermMemory:
    """Return the memory with an id, or the only one whose id begins so.

    Raises UsageError: there is none, or several; or the text is no beginning of an id.
    """
    if not is_beginning_of_id(identifier):
        message = f"{identifier!r} is not the id of a memory, nor its first {SHORTEST_ID} characters."
        raise UsageError(message, remedy="Give an id as `memoriter ltm list` prints it.")
    wanted = identifier.strip().lower()
    known = list(memories)
    found = [memory for memory in known if memory.id == wanted]
    if not found and len(wanted) >= SHORTEST_ID:
        found = [memory for memory in known if memory.id.startswith(wanted)]
    if len(found) > 1:
        message = f"{len(found)} memories have an id that begins with {wanted!r}."
        raise UsageError(message, remedy="Give more of the id: see `memoriter ltm list`.")
    if not found:
        raise UsageError(f"There is no memory with the id {identifier!r}.", remedy="See `memoriter ltm list`.")
    return found[0]


def is_beginning_of_id(text: str) -> bool:
    """Return whether a text may be an id or the beginning of one, of `SHORTEST_ID` characters or more."""
    form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
    given = text.strip().lower()
    return SHORTEST_ID <= len(given) <= len(form) and all(
        char == "-" if shape == "-" else char in "0123456789abcdef" for char, shape in zip(given, form, strict=False)
    )


def same_words(one: str, other: str) -> bool:
    """Return whether two statements differ at most in case, in white space and in the stop at the end."""
    return _words(one) == _words(other)


def check_statement(text: str, importance: float) -> None:
    """Raise UsageError if a text cannot be a memory: it is empty or too long, or its importance is out of range."""
    if not text:
        raise UsageError("There is nothing to remember: the text is empty.", remedy="Give a sentence.")
    if len(text) > LONGEST:
        message = f"The text has {len(text):,} characters, and a memory has at most {LONGEST:,}."
        raise UsageError(message, remedy="Store single statements, or write a note with `memoriter remember`.")
    if not 0.0 <= importance <= 1.0:
        raise UsageError(
            f"The importance is {importance}, and must be from 0 to 1.", remedy="Give a number such as 0.7."
        )


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(_ENDS)
