"""Indexing in the background: the start of a process of its own that nobody waits for, and its work."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.environment import switch
from memoriter.errors import IndexBusy
from memoriter.permissions import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from memoriter.cli._options import GlobalOptions
    from memoriter.environment import Environment
    from memoriter.memory import Memory

VARIABLE = "MEMORITER_BACKGROUND"
"""The environment variable that turns runs in the background on or off, whatever the settings say."""
LOG = "background.log"
"""The name of the log in memoriter's home."""
LONGEST_LOG = 1 << 20
"""Bytes of the log; a longer one is started again."""
RESTART_SECONDS = 10.0
"""No run begins so soon after another one has ended, so that one that cannot finish is not repeated all the time."""
LOW_PRIORITY = 10
"""How nice the process is: it has about a tenth of the time of a processor that others want."""
log = logging.getLogger(__name__)


def is_allowed(env: Environment, *, setting: bool) -> bool:
    """Return whether commands may leave a process behind: not in CI, unless the variable says so. Raises ConfigError.

    `setting` is `memorySearch.sync.background`.
    """
    in_ci = env.environ.get("CI", "").strip().lower() not in {"", "0", "false"}
    wanted = switch(env.environ, VARIABLE)
    return setting and not in_ci if wanted is None else wanted


def start_if_allowed(options: GlobalOptions, env: Environment, memory: Memory) -> bool:
    """Start a run for an open memory if the settings allow it; return whether one is at work. Raises ConfigError."""
    run = memory.backend.background_run
    if run is not None and run.ended is None:
        return True
    if not is_allowed(env, setting=memory.settings.sync.background):
        return False
    if run is not None and run.ended is not None and abs(env.wall() - run.ended) < RESTART_SECONDS:
        return False
    return start(options, env, memory)


def start(options: GlobalOptions, env: Environment, memory: Memory | None = None, *, wanted: bool = False) -> bool:
    """Start a process that indexes and ends when everything is done; return whether it was started.

    The process has a session of its own, a low priority, and a log in memoriter's home. It ends at once if another one
    is at work. Without a memory, which could not be opened in time, the options alone select it. `wanted`: a person
    wants the run, whatever the settings say.
    """
    workspace = options.workspace if memory is None else str(memory.place.workspace)
    # -P: a folder that an agent works in must not hold modules of this program.
    command = [sys.executable, "-P", "-m", "memoriter", "-v"]
    chosen = {"--workspace": workspace, "--config": options.config, "--agent": options.agent}
    command += [word for option, value in chosen.items() if value for word in (option, value)]
    try:
        descriptor = _open_log(env.home)
    except OSError:
        return False
    import subprocess

    try:
        process = subprocess.Popen(  # noqa: S603 - this program itself
            [*command, "index", "--detached"],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            env={**env.environ, **({VARIABLE: "on"} if wanted else {})},
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
        )
    except OSError:
        return False
    finally:
        os.close(descriptor)
    # A server lives longer than the run, and must take note of its end.
    threading.Thread(target=process.wait, name="memoriter-background", daemon=True).start()
    return True


def _open_log(home: Path) -> int:
    """Open the private log for appending. Raises OSError."""
    make_private_folder(home)
    file = home / LOG
    with suppress(FileNotFoundError):
        if file.lstat().st_size > LONGEST_LOG:
            file.unlink()
    return open_private(str(file), os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))


def run_detached(options: GlobalOptions) -> None:
    """Do the work of a process that `start` has started."""
    from memoriter.app import assemble

    _lower_priority()
    stop = threading.Event()
    with stopped_by_signals(stop):
        assembly = assemble(options.workspace, config=options.config, agent=options.agent, attended=False)
        if not is_allowed(assembly.notes.env, setting=assembly.notes.settings.sync.background):
            return
        threading.Thread(target=lambda: stop.wait() and assembly.backend.stop(), daemon=True).start()
        try:
            report = assembly.backend.finish(stop)
        except IndexBusy as error:
            log.info("%s", error.message)
            return
        finally:
            assembly.backend.close()
        outcome = "stopped; what was finished is kept" if stop.is_set() else "done"
        log.info("%s: %d files, %d chunks, %d pending", outcome, report.files, report.chunks, report.pending)
        for reason in report.reasons:
            log.info("%s: %s %s", reason.code, reason.message, reason.remedy)


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Generator[None]:
    """Stop the work gracefully at the first SIGINT or SIGTERM, and at once at the second."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _lower_priority() -> None:
    """Let every other process go first."""
    with suppress(OSError, AttributeError):
        os.nice(LOW_PRIORITY)
    # Linux may share the processor between sessions first: there, the priority of the session counts. It changes only
    # if the session is this process's own.
    with suppress(OSError, AttributeError):
        if os.getsid(0) == os.getpid():
            Path("/proc/self/autogroup").write_text(str(LOW_PRIORITY), encoding="ascii")
