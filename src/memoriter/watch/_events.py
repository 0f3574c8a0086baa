"""File-system events from watchfiles, with one watch for each folder that may hold notes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memoriter.errors import sentence
from memoriter.extras import install_command
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from threading import Event
    from typing import Any

STEP_MS = 50
"""The longest delay until an event, or the end, is noticed."""
WAIT_MS = 200
"""How long one wait for events lasts."""
TRY_AGAIN_SECONDS = 300.0
"""The time until a new try after the operating system refused to watch."""


class Events:
    """The source of file-system events, or of the reason why there are none."""

    def __init__(self, stop: Event, *, monotonic: Callable[[], float], remote: Callable[[str], bool]) -> None:
        """Start without watched folders.

        Args:
            stop: ends every wait.
            monotonic: seconds.
            remote: returns whether a folder is on a file system that does not report changes of other machines.
        """
        self._stop = stop
        self._monotonic = monotonic
        self._remote = remote
        self._folders: dict[str, int] = {}
        self._watch: Generator[set[tuple[Any, str]]] | None = None
        self._refused_at: float | None = None
        self.problem: Diagnostic | None = None
        """Why there are no events."""

    @property
    def polled(self) -> bool:
        """Whether only scans find changes, because there are no events."""
        return self._watch is None

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return len(self._folders)

    def follow(self, folders: Mapping[str, int]) -> bool:
        """Watch these folders.

        Args:
            folders: the folders, with their inodes.

        Returns:
            True if events may have been missed, so that all files must be scanned again.
        """
        now = self._monotonic()
        if self._refused_at is not None and now - self._refused_at < TRY_AGAIN_SECONDS:
            return False
        if self._watch is not None and self._folders == folders:
            return False
        self.close()
        self._folders = dict(folders)
        if any(self._remote(folder) for folder in _outermost(folders)):
            message = "The notes are on a network file system, which does not tell of changes."
            self._refuse(Diagnostic("polling", message, "Nothing: the notes are looked at every few seconds."))
            return False
        try:
            self._open()
        except ImportError:
            self.close()
            message = "The package watchfiles is not installed, so the notes are looked at every few seconds."
            self._refuse(Diagnostic("polling", message, f"To index changes at once, run `{install_command('watch')}`."))
            return False
        except (OSError, RuntimeError) as error:  # watchfiles raises RuntimeError for other errors
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
        self._watch = watch(
            *(
                folder
                for folder in (self._folders if each else _outermost(self._folders))
                if os.access(folder, os.R_OK)
            ),
            watch_filter=None,
            debounce=WAIT_MS,
            step=STEP_MS,
            rust_timeout=WAIT_MS,
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=False,
            force_polling=False,
            recursive=not each,
            ignore_permission_denied=False,  # it would also ignore that the limit of watches is reached
        )
        next(self._watch, None)

    def wait(self, seconds: float) -> set[str]:
        """Wait about `seconds` for events and return the paths that changed."""
        if self._watch is None:
            self._stop.wait(seconds)
            return set()
        try:
            events = next(self._watch, None)
        except (OSError, RuntimeError) as error:
            self.close()
            self._refuse(_refusal(error))
            return set()
        paths = {path for _, path in events or ()}
        for folder in paths & self._folders.keys():
            # A new folder may have replaced it, even with the same inode, and it would not be watched.
            self._folders[folder] = -1
        return paths

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder that is watched, or was."""
        return path in self._folders

    def forget(self) -> None:
        """Stop watching until `follow` is called."""
        self.close()
        self._folders = {}

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _refuse(self, problem: Diagnostic) -> None:
        self._refused_at, self.problem = self._monotonic(), problem


def _refusal(error: Exception) -> Diagnostic:
    message = f"The system does not tell of changes, so the notes are looked at every few seconds: {sentence(error)}"
    remedy = (
        "Raise its limits, on Linux with `sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512`."
    )
    return Diagnostic("polling", message, remedy)


def _outermost(folders: Mapping[str, int]) -> list[str]:
    """Return the folders that lie in none of the others."""
    outermost: list[str] = []
    for folder in sorted(folders, key=lambda path: path.replace(os.sep, "\0")):
        if not outermost or not folder.startswith(outermost[-1].rstrip(os.sep) + os.sep):
            outermost.append(folder)
    return outermost
