"""Run a few calls at a time, in threads that do not keep the process alive."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_T = TypeVar("_T")
_R = TypeVar("_R")


def in_threads(act: Callable[[_T], _R], items: Sequence[_T], most: int) -> list[_R]:
    """Return the result of `act` for each item, in order, with at most `most` calls at once.

    Unlike those of `concurrent.futures`, the threads do not delay the end of the process, even if a service hangs.
    After a failure no further item is started, and the first failure in order is raised.
    """
    results: dict[int, _R] = {}
    errors: dict[int, BaseException] = {}
    positions = iter(range(len(items)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                position = None if errors else next(positions, None)
            if position is None:
                return
            try:
                results[position] = act(items[position])
            except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
                errors[position] = error

    threads = [threading.Thread(target=work, name="memoriter-remote", daemon=True) for _ in range(most)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[position] for position in range(len(items))]
