"""The environment of a process: variables, folders and clocks. It is read once, and passed on as an argument.

Also times of an operation: its deadline, which every stage reads, and how long each stage takes.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.config import home_of
from memoriter.errors import ConfigError, UsageError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from threading import Event
    from typing import BinaryIO
    from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment variables, folders and clocks of a process."""

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


def variables() -> dict[str, str]:
    """Return the environment variables of this process."""
    return dict(os.environ)


def set_variable(name: str, value: str) -> None:
    """Set an environment variable of this process and of those that it starts."""
    os.environ[name] = value


@contextmanager
def own_stdin() -> Generator[BinaryIO]:
    """Yield a stream from stdin; meanwhile, whatever else reads stdin finds its end."""
    descriptor = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        yield os.fdopen(descriptor, "rb", closefd=False)  # a thread may still wait for it at the end
    finally:
        os.dup2(descriptor, 0)
        os.close(nothing)


@contextmanager
def own_stdout() -> Generator[BinaryIO]:
    """Yield a stream to stdout; meanwhile, whatever else writes to stdout writes to stderr."""
    sys.stdout.flush()
    descriptor = os.dup(1)
    try:
        os.dup2(2, 1)
        with os.fdopen(descriptor, "wb", closefd=False) as writing:
            yield writing
    finally:
        sys.stdout.flush()
        os.dup2(descriptor, 1)
        os.close(descriptor)


def open_closed_streams() -> None:
    """Open the standard streams that were closed before this process began, so that no other file gets their numbers.

    Input is empty, what goes to stderr is dropped, and writing to stdout is an error, as it is on a full disk.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if descriptor != number and not _is_open(number):
                os.dup2(descriptor, number)
                os.close(descriptor)
                descriptor = number
            setattr(sys, name, open(descriptor, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def expand_home(path: str | Path) -> Path:
    """Return a path of a person with the home folder for `~` or `~user`. Raises UsageError if that is not known."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        message = f"The home folder in {str(path)!r} is not known."
        raise UsageError(message, remedy="Give the whole path; `./~name` is a name that begins with `~`.") from error


def read_environment(home: str | Path | None = None) -> Environment:
    """Return the environment and the clocks of this process; `home` replaces `MEMORITER_HOME`.

    Raises:
        ConfigError: a variable has a value with which no command can work, or the current folder is gone.
    """
    environ = variables()
    if home is not None:
        environ["MEMORITER_HOME"] = str(home)
    _check_time_zone(environ.get("TZ", ""))
    return Environment(environ, _user_home(), _current_folder(), time.time, time.monotonic)


def switch(environ: Mapping[str, str], name: str) -> bool | None:
    """Return whether a variable says "on" or "off", or None if it is not set. Raises ConfigError."""
    value = environ.get(name, "").strip()
    if value not in {"", "on", "off"}:
        raise ConfigError(f'{name} is {value!r}. It can be "on" or "off".', remedy=f"Correct or unset {name}.")
    return value == "on" if value else None


def _check_time_zone(value: str) -> None:
    """Raise ConfigError if the system reads a time zone that Python cannot use, such as one 25 hours from UTC."""
    try:
        for moment in (0, 183 * 86_400):  # in winter and in summer
            datetime.fromtimestamp(moment, tz=UTC).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        message = f"TZ is {value!r}. It can be the name of a time zone that is less than 24 hours from UTC."
        raise ConfigError(message, remedy="Set TZ to a name such as Europe/Berlin, or unset it.") from error


def _user_home() -> Path:
    """Return the home folder of the user. Raises ConfigError."""
    name = "USERPROFILE" if os.name == "nt" else "HOME"
    with suppress(RuntimeError):  # HOME is `~`, or it is not set and the system does not know the user
        if (folder := Path.home()).is_absolute():
            return folder
    value = os.environ.get(name)
    wrong = f"{name} is not set" if value is None else f"{name} is {value!r}"
    raise ConfigError(f"{wrong}. It can be the absolute path of a folder.", remedy=f"Set {name} to your home folder.")


def _current_folder() -> Path:
    """Return the folder in which the process runs. Raises ConfigError."""
    try:
        return Path.cwd()
    except OSError as error:
        message = "The current folder does not exist any more, or cannot be read."
        raise ConfigError(message, remedy="Change to another folder and run the command again.") from error


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock (seconds)."""

    clock: Callable[[], float]
    at: float

    @classmethod
    def within(cls, milliseconds: float, clock: Callable[[], float]) -> Deadline:
        """Return a deadline that many milliseconds from now."""
        return cls(clock, clock() + milliseconds / 1000)

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0; 0 as soon as the work was cancelled."""
        cancellation = _CANCELLATION.get()
        if cancellation is not None and cancellation.is_set():
            return 0.0
        return max(self.at - self.clock(), 0.0)

    @property
    def passed(self) -> bool:
        """True from the deadline on, or as soon as the work was cancelled."""
        return self.left == 0.0


_CANCELLATION: ContextVar[Event | None] = ContextVar("cancellation", default=None)


@contextmanager
def cancelled_by(event: Event) -> Generator[None]:
    """Let an event, which any thread may set, cancel the work of this thread: its deadlines count as passed then."""
    token = _CANCELLATION.set(event)
    try:
        yield
    finally:
        _CANCELLATION.reset(token)


_WORK_DEADLINE: ContextVar[Deadline | None] = ContextVar("work_deadline", default=None)


@contextmanager
def work_until(deadline: Deadline) -> Generator[None]:
    """Let what this thread waits for know until when a caller needs an answer."""
    token = _WORK_DEADLINE.set(deadline)
    try:
        yield
    finally:
        _WORK_DEADLINE.reset(token)


def work_deadline() -> Deadline | None:
    """Return the deadline of the operation of this thread, or None if it may take as long as it needs."""
    return _WORK_DEADLINE.get()


class Stopwatch:
    """Adds up the time of named stages, for one thread. A stage inside another one counts for itself alone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start. `clock` returns monotonic seconds."""
        self._clock = clock
        self._began = self._mark = clock()
        self._stack: list[str] = []
        self._seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Count the time inside for this stage."""
        self._switch()
        self._stack.append(name)
        try:
            yield
        finally:
            self._switch()
            self._stack.pop()

    @property
    def milliseconds(self) -> float:
        """The time since the start."""
        return (self._clock() - self._began) * 1000

    def timings(self) -> dict[str, float]:
        """Return the milliseconds of each stage that was entered, and of the whole as `total`, to a hundredth."""
        stages = {name: round(seconds * 1000, 2) for name, seconds in self._seconds.items()}
        return {**stages, "total": round((self._clock() - self._began) * 1000, 2)}

    def _switch(self) -> None:
        """Count the time since the last switch for the innermost stage."""
        now = self._clock()
        if self._stack:
            name = self._stack[-1]
            self._seconds[name] = self._seconds.get(name, 0.0) + now - self._mark
        self._mark = now


@dataclass(frozen=True, slots=True)
class Listed:
    """Timings whose text is made only if a log shows it.

    >>> str(Listed({"rank": 1.26, "total": 3.0}))
    'rank 1.3 ms, total 3.0 ms'
    """

    timings: Mapping[str, float]

    def __str__(self) -> str:
        return ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in self.timings.items())


def local_time(wall: float, zone: str | None) -> datetime:
    """Return a time in the owner's time zone, an IANA name; if that is None or unknown, in the process' own."""
    moment = datetime.fromtimestamp(wall, tz=UTC)
    timezone = _zone(zone) if zone else None
    return moment.astimezone(timezone)


def zone_is_known(zone: str) -> bool:
    """Return whether this machine has a time zone of that name."""
    return _zone(zone) is not None


def _zone(name: str) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name.strip())
    except (KeyError, ValueError, OSError):
        return None


def spare_threads() -> None:
    """Let NumPy start without a thread for each core, in a process that runs one query: saves .04 CPU-seconds.

    Only for our own program: a program that imports memoriter keeps its number of threads.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def host_name() -> str:
    """Return the name of the machine; inside a container, the container's own name."""
    import platform

    return os.uname().nodename if hasattr(os, "uname") else platform.node()


def program_name() -> str:
    """Return the name of the program, without its arguments, which may be private."""
    started = Path(sys.argv[0] if sys.argv else "")
    return (started.parent.name if started.name == "__main__.py" else started.name).strip("-") or "python"
