"""Install memoriter in other programs: write the configuration of agents' clients, and remove it again."""

from memoriter.installation._apply import Outcome, apply
from memoriter.installation._clients import (
    ClientName,
    FileEdit,
    HttpServer,
    Launch,
    Machine,
    Scope,
    can_capture,
    changes,
    shown,
)

__all__ = [
    "ClientName",
    "FileEdit",
    "HttpServer",
    "Launch",
    "Machine",
    "Outcome",
    "Scope",
    "apply",
    "can_capture",
    "changes",
    "shown",
]
