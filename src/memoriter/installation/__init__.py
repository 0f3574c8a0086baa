"""Install memoriter in other programs: write the configuration of agents' clients, and remove it again."""

from memoriter.installation._apply import Outcome, apply
from memoriter.installation._clients import FileEdit, changes, edited_entries, written_entries
from memoriter.installation._entries import HttpServer, Launch
from memoriter.installation._places import (
    CLIENT_TITLES,
    PINNED,
    ClientName,
    Machine,
    Scope,
    can_capture,
    server_files,
    shown,
)
from memoriter.installation._record import Installed, read_installed, record_installed, record_removed

__all__ = [
    "CLIENT_TITLES",
    "PINNED",
    "ClientName",
    "FileEdit",
    "HttpServer",
    "Installed",
    "Launch",
    "Machine",
    "Outcome",
    "Scope",
    "apply",
    "can_capture",
    "changes",
    "edited_entries",
    "read_installed",
    "record_installed",
    "record_removed",
    "server_files",
    "shown",
    "written_entries",
]
