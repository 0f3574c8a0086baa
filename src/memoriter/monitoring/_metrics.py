"""What a server measures, in the format of Prometheus. No name of a caller, no path of a note and no text is in it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from memoriter.embedding_setup import ledger_of
from memoriter.errors import MemoriterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client import Metric

    from memoriter.access import RequestRecord
    from memoriter.memory import Memory
    from memoriter.types import SearchResult, Spending, Status

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
        shown.register(
            _Measured([*_memory_metrics(memory), _gauge("memoriter_event_streams", _STREAMS, self._streams())])
        )
        encode, media_type = choose_encoder(accept)
        return encode(shown), media_type


_STREAMS = "Clients that follow the events of the server."


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
