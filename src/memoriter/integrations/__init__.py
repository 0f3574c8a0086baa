"""Memoriter in other programs: the configuration of agents' clients, written and taken back."""

from memoriter.integrations._apply import Outcome, apply
from memoriter.integrations._clients import ClientName, FileEdit, HttpServer, Launch, Machine, Scope, changes, shown

__all__ = ["ClientName", "FileEdit", "HttpServer", "Launch", "Machine", "Outcome", "Scope", "apply", "changes", "shown"]
