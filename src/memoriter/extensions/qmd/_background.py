"""Update and embed in a thread at the intervals of the settings."""

from __future__ import annotations

import logging
from threading import Condition, Thread
from typing import TYPE_CHECKING

from memoriter.errors import QmdFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.extensions.qmd._home import QmdHome
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.extensions.qmd._updates import Updates

LONGEST_SLEEP = 3_600.0
BLOCKED_SLEEP = 1.0
LOG = logging.getLogger(__name__)


class Background:
    """A thread that keeps QMD's index and vectors up to date until it is stopped."""

    def __init__(self, plan: QmdPlan, updates: Updates, home: QmdHome, wall: Callable[[], float]) -> None:
        self._plan = plan
        self._updates = updates
        self._home = home
        self._wall = wall
        self._changed = Condition()
        self._requested = 0
        """The number of requests for an update; `_done` is the last one that an update covers."""
        self._done = 0
        self._urgent = False
        self._blocked = False
        """Whether the last update that was due did not run, such as during that of another process."""
        self._stopped = False
        self._thread: Thread | None = None

    def start(self, *, boot: bool) -> None:
        """Start the thread; with `boot` its first act is an update."""
        if boot:
            self._requested += 1
            self._urgent = True
        self._thread = Thread(target=self._run, name="qmd", daemon=True)
        self._thread.start()

    def request(self, *, urgent: bool) -> None:
        """Ask for an update: after the debounce interval, or at once if it is urgent."""
        with self._changed:
            self._requested += 1
            self._urgent = self._urgent or urgent
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Return whether every requested update is done, after waiting for that."""
        with self._changed:
            wanted = self._requested
            return self._changed.wait_for(lambda: self._done >= wanted or self._stopped, seconds)

    def stop(self) -> None:
        """End the thread after its current run, which the driver kills."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(5.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                known = self._requested
                self._changed.wait_for(
                    lambda known=known: self._stopped or self._urgent or self._requested != known, self._sleep()
                )
                if self._stopped:
                    return
                if self._requested != known and not self._urgent:
                    continue  # its debounce interval begins
                requested = self._requested
                urgent = self._urgent
                self._urgent = False
            self._update(requested, force=urgent)
            if self._stopped:
                return
            self._guarded("embed", lambda: self._updates.embed(force=False))

    def _sleep(self) -> float:
        """Return the seconds until something is due."""
        from memoriter.extensions.qmd._updates import pause_after, seconds_until_embed, seconds_until_update

        state = self._home.state()
        now = self._wall()
        due = [seconds_until_update(state, self._plan, now), seconds_until_embed(state, self._plan, now), LONGEST_SLEEP]
        if self._requested > self._done:
            begun = state.last_update if state.last_update is not None else now
            asked = max(0.0, begun + self._plan.schedule.debounce_ms / 1000 - now)
            if state.update_failed_at is not None:
                asked = max(asked, state.update_failed_at + pause_after(state.update_failures) - now)
            due.append(asked)
        return max(BLOCKED_SLEEP if self._blocked else 0.05, min(due))

    def _update(self, requested: int, *, force: bool) -> None:
        from memoriter.extensions.qmd._updates import seconds_until_update

        is_due = seconds_until_update(self._home.state(), self._plan, self._wall()) == 0
        if force or is_due or self._requested > self._done:
            ran = self._guarded("update", lambda: self._updates.update(force=force).ran or force)
            self._blocked = not ran
            with self._changed:
                if ran:
                    self._done = max(self._done, requested)
                self._changed.notify_all()

    def _guarded(self, name: str, act: Callable[[], bool]) -> bool:
        """Return what `act` returned; a failure is logged, remembered in the state, and tried again later."""
        try:
            return act()
        except QmdFailure as error:
            if not self._stopped:
                LOG.warning("qmd %s failed: %s %s", name, error.message, error.remedy)
        except Exception:
            LOG.exception("qmd %s failed.", name)
        return False
