"""`memoriter watch`."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from memoriter.api_json import watch_json
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import pluralize

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from memoriter.cli._render import Line, Screen
    from memoriter.types import SyncReport
    from memoriter.watch import WatchEvent

LOOK_SECONDS = 0.1
"""Seconds within which a signal stops the command."""
STYLES = {"indexed": "green", "trouble": "yellow", "missing": "yellow", "polling": "yellow", "waiting": "yellow"}


@click.command(cls=Command, name="watch")
def watch_command() -> None:
    """Index notes while they change, until Ctrl-C.

        memoriter watch
        memoriter watch --json | jq .kind
        memoriter watch -w ~/notes -q &

    It prints one line for each event, with --json one object. If another process watches the same notes, it waits, and
    continues when that process ends. Without file-system events, it reports that and scans the notes every few seconds.
    File-system events need pip install "memoriter[watch]". Next: memoriter status.
    """
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    stop = threading.Event()
    # The watcher runs in its own thread, so that a signal ends the command even while a service hangs.
    with (
        options.open_memory() as memory,
        _stopped_by_signals(stop),
        options.show_egress_notice(memory).watching(lambda event: _show_event(screen, event)) as watching,
    ):
        while not stop.is_set() and not watching.ended(wait=LOOK_SECONDS):
            pass


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Generator[None]:
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


def _show_event(screen: Screen, event: WatchEvent) -> None:
    if screen.as_json:
        screen.json_line(watch_json(event))
    elif not screen.quiet or event.kind in {"trouble", "missing"}:
        screen.show(list(watch_lines(event)))


def watch_lines(event: WatchEvent) -> Generator[Line]:
    """Yield one line for an event, and one for its remedy if there is one."""
    at = datetime.fromtimestamp(event.at, tz=UTC).astimezone().strftime("%H:%M:%S")
    yield ((f"{at}  ", "dim"), (_event_text(event), STYLES.get(event.kind, "")))
    if event.reason is not None and event.reason.remedy:
        yield ((f"          {event.reason.remedy}", ""),)


def _event_text(event: WatchEvent) -> str:
    if event.report is not None:
        return _report_text(event.report)
    if event.reason is not None:
        return event.reason.message
    match event.kind:
        case "watching":
            return f"Watching {pluralize(event.folders, 'folder')}."
        case "recovered":
            return "All is well again."
        case _:
            return "Stopped."


def _report_text(report: SyncReport) -> str:
    files = f"{report.added} added, {report.changed} changed, {report.removed} removed"
    vectors = f"{pluralize(report.embedded, 'vector')} computed, {report.cached} known"
    unread = f", {pluralize(report.unread, 'file')} left for the next run" if report.unread else ""
    pending = f", {report.pending} pending" if report.pending else ""
    return f"{files}; {vectors}{pending}{unread} ({report.seconds:.2f} s)."
