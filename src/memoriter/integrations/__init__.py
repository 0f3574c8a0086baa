"""Memoriter in other programs: the configuration of agents' clients, written and taken back."""

from memoriter.integrations._apply import Outcome, apply
from memoriter.integrations._clients import Change, ClientName, Launch, Machine, Remote, Scope, changes, shown

__all__ = ["Change", "ClientName", "Launch", "Machine", "Outcome", "Remote", "Scope", "apply", "changes", "shown"]
