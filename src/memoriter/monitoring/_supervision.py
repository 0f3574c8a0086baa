"""How a supervisor watches a server: the routes `/healthz`, `/readyz` and `/metrics`, and messages to systemd.

The protocol of systemd is that of the manual page sd_notify(3). Without systemd, nothing is sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from memoriter.access import caller_of, known_caller, problem_response
from memoriter.startup import StartedPart, part_json, part_names, try_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from memoriter.access import Run
    from memoriter.monitoring._metrics import ServerMetrics

    Routes = tuple[Sequence[Route], Sequence[str]]
    """Routes, and the paths that a log may name."""

HEALTHZ = "/healthz"
READYZ = "/readyz"
METRICS = "/metrics"
PROBES = (HEALTHZ, READYZ)
"""The paths that a supervisor reads without a token."""
FRESH_SECONDS = 5.0
"""Seconds for which the last result counts."""
WAIT_SECONDS = 5.0
"""Seconds after which a memory that does not answer counts as busy."""
SERVER = "server"
"""The name of the part that stands for all others if they could not be tried."""
BUSY = StartedPart(
    SERVER,
    works=False,
    message="The memory does not answer in time.",
    remedy="Wait until its work is done; `memoriter serve -v` logs it.",
    code="busy",
)


class Readiness:
    """The state of all parts of a memory."""

    def __init__(self, run: Run) -> None:
        """Try nothing yet."""
        self._run = run
        self._parts: tuple[StartedPart, ...] = ()
        self._tried_at: float | None = None
        self._trial: asyncio.Task[None] | None = None

    async def parts(self) -> tuple[StartedPart, ...]:
        """Return each part after it was tried, or `BUSY` if that takes too long. One trial runs at a time."""
        fresh = self._tried_at is not None and time.monotonic() - self._tried_at < FRESH_SECONDS
        if self._trial is None and not fresh:
            self._trial = asyncio.create_task(self._try())
        if self._trial is not None:
            done, _ = await asyncio.wait({self._trial}, timeout=WAIT_SECONDS)
            if not done:
                return (BUSY,)
        return self._parts

    async def _try(self) -> None:
        try:
            self._parts = await self._run(try_parts)
        except Exception as error:  # noqa: BLE001 - a probe reports whatever is wrong
            message = f"The parts cannot be tried: {type(error).__name__}."
            self._parts = (StartedPart(SERVER, works=False, message=message, remedy="See the log.", code="internal"),)
        finally:
            self._tried_at = time.monotonic()
            self._trial = None


def with_monitoring(more: Callable[[Run], Routes], metrics: ServerMetrics) -> Callable[[Run], Routes]:
    """Return a function that adds the routes for supervisors to those that `more` returns."""

    def both(run: Run) -> Routes:
        routes, paths = _monitoring_routes(run, metrics)
        others, other_paths = more(run)
        return [*routes, *others], [*paths, *other_paths]

    return both


def _monitoring_routes(run: Run, metrics: ServerMetrics) -> Routes:
    """Return the routes for supervisors, and their paths."""
    readiness = Readiness(run)
    names = part_names()

    async def healthz(_: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def readyz(request: Request) -> Response:
        excluded = request.query_params.getlist("exclude")
        if unknown := set(excluded).difference(names):
            message = f"There is no part {min(unknown)!r}."
            return problem_response(400, "usage", message, f"The parts are: {', '.join(names)}.")
        parts = await readiness.parts()
        broken = [part for part in parts if not part.works and part.name not in excluded]
        answer: dict[str, Any] = {"ready": not broken}
        if broken:
            answer["code"] = broken[0].code
        if known_caller(request.scope) is not None:
            answer["parts"] = [part_json(part) for part in parts]
        return _json(503 if broken else 200, answer)

    async def measured(request: Request) -> Response:
        accept = request.headers.get("accept", "")
        caller = caller_of(request.scope)
        text, media_type = await run(lambda memory: metrics.text(memory, accept), caller=caller)
        return Response(text, headers={"Content-Type": media_type})

    routes = [
        Route(HEALTHZ, healthz, methods=["GET"]),
        Route(READYZ, readyz, methods=["GET"]),
        Route(METRICS, measured, methods=["GET"]),
    ]
    return routes, [HEALTHZ, READYZ, METRICS]


def _json(status: int, value: dict[str, Any]) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


MICROSECONDS = 1e6
log = logging.getLogger(__name__)


class Supervisor:
    """The socket of the supervisor that has started this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read where messages go.

        Args:
            environ: the environment; `NOTIFY_SOCKET` names the socket, `WATCHDOG_USEC` the time within which a
                message must come (µs), and `WATCHDOG_PID` the process that must send it.
        """
        self._address = environ.get("NOTIFY_SOCKET", "")
        meant = environ.get("WATCHDOG_PID", "") in {"", str(os.getpid())}
        limit = environ.get("WATCHDOG_USEC", "")
        # Half of the time, as the manual recommends.
        self._beat_seconds = int(limit) / MICROSECONDS / 2 if meant and limit.isascii() and limit.isdecimal() else 0.0
        self._beat: asyncio.TimerHandle | None = None

    def started(self) -> None:
        """Report that requests are answered, and from now on that the event loop, in which this is called, runs."""
        self._send("READY=1")
        self._keep_alive()

    def stopping(self) -> None:
        """Report that the server ends."""
        self._send("STOPPING=1")

    def _keep_alive(self) -> None:
        if self._address and self._beat_seconds:
            self._send("WATCHDOG=1")
            self._beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._keep_alive)

    def _send(self, message: str) -> None:
        if not self._address.startswith(("/", "@")):
            return
        # A name that begins with @ stands for an abstract one, which begins with a zero byte.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as messages:
                messages.sendto(message.encode("ascii"), address)
        except OSError as error:
            log.warning("systemd was not told %s: %s", message, error.strerror)
