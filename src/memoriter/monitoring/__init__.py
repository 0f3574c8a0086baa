"""How others watch a server: probes, metrics for Prometheus, and messages for systemd."""

from memoriter.monitoring._monitoring import PROBES, ServerMetrics, Supervisor, with_monitoring

__all__ = ["PROBES", "ServerMetrics", "Supervisor", "with_monitoring"]
