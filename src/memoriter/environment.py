"""What a process is told by the machine: environment, folders, clocks. Read once, and given as an argument."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.config import home_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Environment:
    """What a process is told by the machine."""

    environ: Mapping[str, str]
    user_home: Path
    cwd: Path
    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    mounts: Path = Path("/proc/mounts")
    """The list of mounted file systems."""

    @property
    def home(self) -> Path:
        """Memoriter's own folder."""
        return home_of(self.environ, self.user_home)


def read_environment(home: str | Path | None = None) -> Environment:
    """This process' environment and clocks; `home` stands in for `MEMORITER_HOME`."""
    environ = dict(os.environ)
    if home is not None:
        environ["MEMORITER_HOME"] = str(home)
    return Environment(environ, Path.home(), Path.cwd(), time.time, time.monotonic)
