"""How others watch a server: probes, metrics for Prometheus, and messages for systemd."""

from memoriter.monitoring._metrics import ServerMetrics
from memoriter.monitoring._probes import PROBES
from memoriter.monitoring._routes import with_monitoring
from memoriter.monitoring._supervisor import Supervisor

__all__ = ["PROBES", "ServerMetrics", "Supervisor", "with_monitoring"]
