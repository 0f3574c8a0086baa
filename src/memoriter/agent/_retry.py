"""Retry a write that conflicts with another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memoriter.errors import WriteConflict

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ATTEMPTS = 100
"""A conflict that lasts longer is not caused by another process."""
_T = TypeVar("_T")


def retry_on_conflict(act: Callable[[], _T]) -> _T:
    """Run `act`, and repeat it on a write conflict, up to 100 times.

    Raises:
        WriteConflict: every attempt was in conflict.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return act()
        except WriteConflict:
            continue
    return act()
