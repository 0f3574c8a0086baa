"""What the operating system tells of changes in folders: watchfiles, one watch for each folder that may hold notes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from threading import Event
    from typing import Any

STEP_MS = 50
"""How soon an event, and the end, is noticed."""
HEARD_MS = 200
"""How long events are waited for at a time."""
TRY_AGAIN_SECONDS = 300.0
"""After the operating system refused, until it is asked again."""


class Events:
    """Hears of changes in folders, or knows that it does not."""

    def __init__(self, stop: Event, *, monotonic: Callable[[], float], remote: Callable[[str], bool]) -> None:
        """Hear nothing yet.

        Args:
            stop: ends every wait.
            monotonic: seconds.
            remote: whether a folder is on a file system that does not tell what other machines change.
        """
        self._stop = stop
        self._monotonic = monotonic
        self._remote = remote
        self._folders: dict[str, int] = {}
        self._heard: Generator[set[tuple[Any, str]]] | None = None
        self._refused_at: float | None = None
        self.problem: Diagnostic | None = None
        """Why there are no events."""

    @property
    def polled(self) -> bool:
        """Whether changes are only found by looking."""
        return self._heard is None

    @property
    def folders(self) -> int:
        """How many are watched."""
        return len(self._folders)

    def follow(self, folders: Mapping[str, int]) -> bool:
        """Watch these folders, by their inodes; True if all files must be looked at again, as events were missed."""
        now = self._monotonic()
        if self._refused_at is not None and now - self._refused_at < TRY_AGAIN_SECONDS:
            return False
        if self._heard is not None and self._folders == folders:
            return False
        self.close()
        self._folders = dict(folders)
        if any(self._remote(folder) for folder in _tops(folders)):
            message = "The notes are on a network file system, which does not tell of changes."
            self._refuse(Diagnostic("polling", message, "Nothing: the notes are looked at every few seconds."))
            return False
        try:
            self._open()
        except (OSError, RuntimeError) as error:  # RuntimeError: what watchfiles has no name for
            self.close()
            if isinstance(error, FileNotFoundError):
                return True
            self._refuse(_refusal(error))
            return False
        self._refused_at, self.problem = None, None
        return True

    def _open(self) -> None:
        from watchfiles import watch

        # inotify has no recursive watch: one for each folder, and none for node_modules, is as cheap as it gets.
        # FSEvents and ReadDirectoryChangesW watch a tree for the price of one folder.
        each = sys.platform.startswith("linux")
        self._heard = watch(
            *(folder for folder in (self._folders if each else _tops(self._folders)) if os.access(folder, os.R_OK)),
            watch_filter=None,
            debounce=HEARD_MS,
            step=STEP_MS,
            rust_timeout=HEARD_MS,
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=False,
            force_polling=False,
            recursive=not each,
            ignore_permission_denied=False,  # it would also ignore that the limit of watches is reached
        )
        next(self._heard, None)

    def wait(self, seconds: float) -> set[str]:
        """Paths that changed, after so many seconds at most, or a little more."""
        if self._heard is None:
            self._stop.wait(seconds)
            return set()
        try:
            found = next(self._heard, None)
        except (OSError, RuntimeError) as error:
            self.close()
            self._refuse(_refusal(error))
            return set()
        heard = {path for _, path in found or ()}
        for folder in heard & self._folders.keys():
            # Another folder may be there now, even with the same inode, and nobody would hear of it.
            self._folders[folder] = -1
        return heard

    def is_folder(self, path: str) -> bool:
        """Whether it is one of those that are watched, or were."""
        return path in self._folders

    def forget(self) -> None:
        """Watch nothing until `follow` is called."""
        self.close()
        self._folders = {}

    def close(self) -> None:
        if self._heard is not None:
            self._heard.close()
            self._heard = None

    def _refuse(self, problem: Diagnostic) -> None:
        self._refused_at, self.problem = self._monotonic(), problem


def _refusal(error: Exception) -> Diagnostic:
    message = f"The system does not tell of changes, so the notes are looked at every few seconds: {error}"
    remedy = "Raise its limits, on Linux: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"
    return Diagnostic("polling", message, remedy)


def _tops(folders: Mapping[str, int]) -> list[str]:
    """Those that lie in none of the others."""
    tops: list[str] = []
    for folder in sorted(folders, key=lambda path: path.replace(os.sep, "\0")):
        if not tops or not folder.startswith(tops[-1].rstrip(os.sep) + os.sep):
            tops.append(folder)
    return tops
