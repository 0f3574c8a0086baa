"""A few calls at a time, in threads that keep no process from ending."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_T = TypeVar("_T")
_R = TypeVar("_R")


def in_threads(act: Callable[[_T], _R], items: Sequence[_T], most: int) -> list[_R]:
    """Return what `act` gives for each item, in order, with at most so many at work at once.

    Unlike those of `concurrent.futures`, the threads are not waited for when the process ends: a service that hangs
    must not hold it. After a failure no further item is begun, and the first failure in order is raised.
    """
    results: dict[int, _R] = {}
    errors: dict[int, BaseException] = {}
    waiting = iter(range(len(items)))
    gate = threading.Lock()

    def work() -> None:
        while True:
            with gate:
                place = None if errors else next(waiting, None)
            if place is None:
                return
            try:
                results[place] = act(items[place])
            except BaseException as error:  # noqa: BLE001 - raised below, where the caller is
                errors[place] = error

    threads = [threading.Thread(target=work, name="memoriter-remote", daemon=True) for _ in range(most)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[place] for place in range(len(items))]
