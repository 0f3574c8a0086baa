"""How others watch a server: probes, metrics for Prometheus, and messages for systemd."""

from memoriter.monitoring._metrics import ServerMetrics
from memoriter.monitoring._supervision import PROBES, Supervisor, with_monitoring

__all__ = ["PROBES", "ServerMetrics", "Supervisor", "with_monitoring"]
