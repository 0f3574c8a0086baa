"""How others watch a server: the routes `/healthz`, `/readyz` and `/metrics`, and messages to systemd.

Metrics have the format of Prometheus. No name of a caller, no path of a note and no text is in them. The protocol of
systemd is that of the manual page sd_notify(3). Without systemd, nothing is sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response
from starlette.routing import Route

from memoriter.access import caller_of, known_caller, problem_response
from memoriter.embedding_setup import ledger_of
from memoriter.errors import MemoriterError
from memoriter.startup import StartedPart, part_json, part_names, try_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prometheus_client import Metric
    from starlette.requests import Request

    from memoriter.access import RequestRecord, Run
    from memoriter.memory import Memory
    from memoriter.types import SearchResult, Spending, Status

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


SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the buckets of durations, in seconds."""
ALL_DAYS = 36_500
"""More days than any record of spending has."""
GAUGES: Mapping[str, tuple[str, Callable[[Status], float]]] = {
    "memoriter_index_files": ("Notes and transcripts that are indexed.", lambda status: status.files),
    "memoriter_index_passages": ("Passages that are indexed.", lambda status: status.chunks),
    "memoriter_index_vectors": ("Vectors that are stored.", lambda status: status.vectors),
    "memoriter_index_waiting_passages": ("Passages that have no vector yet.", lambda status: status.pending),
    "memoriter_index_failed_passages": ("Passages whose vector failed.", lambda status: status.failed),
    "memoriter_index_stale_files": ("Notes that changed since they were indexed.", lambda status: status.stale),
    "memoriter_index_bytes": ("Bytes of the index on disk.", lambda status: status.index_bytes),
    "memoriter_healthy": ("1 if the memory reports no problem, else 0.", lambda status: status.health.ok),
}
"""The measurements of a memory: the name, the help and the value."""
SPENDING: Mapping[str, tuple[str, Callable[[Spending], float]]] = {
    "memoriter_service_calls": ("Calls of embedding and reranking services.", lambda row: row.calls),
    "memoriter_service_tokens": ("Tokens that those services counted.", lambda row: row.tokens),
    "memoriter_service_dollars": ("US dollars that those calls cost, as `memoriter cost`.", lambda row: row.dollars),
}
"""What services cost: the name, the help and the value of one row of the record that all processes share."""


class ServerMetrics:
    """The measurements of one server. Any thread may report to it."""

    def __init__(self, *, streams: Callable[[], int] = lambda: 0) -> None:
        """Start at zero."""
        disable_created_metrics()  # the time of the first request of each operation is of no use
        self._registry = CollectorRegistry()
        self._streams = streams
        self._requests = Counter(
            "memoriter_requests", "Requests that were answered.", ("operation", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "memoriter_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("operation",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._bytes = Counter(
            "memoriter_request_bytes", "Bytes of bodies.", ("operation", "direction"), registry=self._registry
        )
        self._searches = Counter(
            "memoriter_searches", "Searches, also those before a turn.", ("outcome",), registry=self._registry
        )
        self._hits = Counter("memoriter_search_hits", "Passages that searches returned.", registry=self._registry)
        for outcome in ("match", "weak", "none"):
            self._searches.labels(outcome)
        ProcessCollector(registry=self._registry)

    def request_answered(self, record: RequestRecord) -> None:
        """Count a request."""
        self._requests.labels(record.operation, str(record.status)).inc()
        self._seconds.labels(record.operation).observe(record.seconds)
        self._bytes.labels(record.operation, "received").inc(record.received)
        self._bytes.labels(record.operation, "sent").inc(record.sent)

    def searched(self, result: SearchResult) -> None:
        """Count a search by its outcome."""
        self._searches.labels(result.outcome).inc()
        self._hits.inc(len(result.hits))

    def text(self, memory: Memory, accept: str = "") -> tuple[bytes, str]:
        """Return all measurements with those of a memory, and the media type that the client accepts."""
        shown = CollectorRegistry()
        shown.register(_Measured(list(self._registry.collect())))
        streams = _gauge("memoriter_event_streams", "Clients that follow the events of the server.", self._streams())
        shown.register(_Measured([*_memory_metrics(memory), streams]))
        encode, media_type = choose_encoder(accept)
        return encode(shown), media_type


class _Measured:
    """Measurements that are already there, as a collector."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Yield the measurements."""
        yield from self._metrics


def _memory_metrics(memory: Memory) -> Iterator[Metric]:
    """Yield the measurements of a memory; if its index cannot be read, only that."""
    try:
        status = memory.status()
    except (MemoriterError, OSError):
        yield _gauge("memoriter_index_readable", _READABLE, 0)
    else:
        yield _gauge("memoriter_index_readable", _READABLE, 1)
        for name, (text, value) in GAUGES.items():
            yield _gauge(name, text, value(status))
        reasons = GaugeMetricFamily("memoriter_problem", "1 for the code of each problem.", labels=("code",))
        for code in sorted({reason.code for reason in status.health.reasons}):
            reasons.add_metric((code,), 1)
        yield reasons
    yield from _service_metrics(memory)


_READABLE = "1 if the index can be read, else 0."


def _service_metrics(memory: Memory) -> Iterator[Metric]:
    """Yield what services cost since the record began; nothing if it cannot be read."""
    ledger = ledger_of(memory.environment)
    try:
        rows = ledger.rows(days=ALL_DAYS)
    except MemoriterError:
        return
    finally:
        ledger.close()
    for name, (text, value) in SPENDING.items():
        totals: defaultdict[tuple[str, str], float] = defaultdict(float)
        for row in rows:
            totals[row.provider, row.model] += value(row)
        family = CounterMetricFamily(name, text, labels=("provider", "model"))
        for labels, total in sorted(totals.items()):
            family.add_metric(labels, total)
        yield family


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))
