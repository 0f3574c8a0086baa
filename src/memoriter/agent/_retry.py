"""Repeating a write that another process' write came between."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memoriter.errors import WriteConflict

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 100
"""Tries; what is still in the way then is no other process."""
_T = TypeVar("_T")


def retry_on_conflict(act: Callable[[], _T]) -> _T:
    """What `act` gives once nothing comes between its reading and its writing. Raises WriteConflict: it always does."""
    for _ in range(MOST - 1):
        try:
            return act()
        except WriteConflict:
            continue
    return act()
