"""Install memoriter in other programs: write the configuration of agents' clients, and remove it again."""

from typing import TYPE_CHECKING

from memoriter.installation._places import (
    CLIENT_TITLES,
    PINNED,
    PROJECT_VARIABLES,
    ClientName,
    Machine,
    Scope,
    can_capture,
    server_files,
    shown,
)
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.installation._apply import Outcome, apply
    from memoriter.installation._clients import (
        FileEdit,
        Installed,
        changes,
        edited_entries,
        foreign_entries,
        named_workspace,
        read_installed,
        record_installed,
        record_removed,
        written_entries,
    )
    from memoriter.installation._entries import HttpServer, Launch

__all__ = [
    "CLIENT_TITLES",
    "PINNED",
    "PROJECT_VARIABLES",
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
    "foreign_entries",
    "named_workspace",
    "read_installed",
    "record_installed",
    "record_removed",
    "server_files",
    "shown",
    "written_entries",
]


# Import what writes configurations on first use: every command reads the names of the clients.
__getattr__ = lazy_names(
    __name__,
    {
        "_apply": "Outcome apply",
        "_clients": (
            "FileEdit Installed changes edited_entries foreign_entries named_workspace read_installed record_installed "
            "record_removed written_entries"
        ),
        "_entries": "HttpServer Launch",
    },
)
