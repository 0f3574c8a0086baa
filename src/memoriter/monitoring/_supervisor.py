"""Messages to systemd (`sd_notify`): that the server answers, that it is alive, and that it ends.

Source of the protocol: the manual page sd_notify(3). Without systemd, nothing is sent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MICROSECONDS = 1e6
log = logging.getLogger(__name__)


class Supervisor:
    """The socket of the supervisor that has started this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read where messages go.

        Args:
            environ: the environment; `NOTIFY_SOCKET` names the socket, `WATCHDOG_USEC` the time within which a
                message must come (µs), and `WATCHDOG_PID` the process that must send it.
        """
        self._address = environ.get("NOTIFY_SOCKET", "")
        meant = environ.get("WATCHDOG_PID", "") in {"", str(os.getpid())}
        limit = environ.get("WATCHDOG_USEC", "")
        # Half of the time, as the manual recommends.
        self._beat_seconds = int(limit) / MICROSECONDS / 2 if meant and limit.isascii() and limit.isdecimal() else 0.0
        self._beat: asyncio.TimerHandle | None = None

    def started(self) -> None:
        """Report that requests are answered, and from now on that the event loop, in which this is called, runs."""
        self._send("READY=1")
        self._keep_alive()

    def stopping(self) -> None:
        """Report that the server ends."""
        self._send("STOPPING=1")

    def _keep_alive(self) -> None:
        if self._address and self._beat_seconds:
            self._send("WATCHDOG=1")
            self._beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._keep_alive)

    def _send(self, message: str) -> None:
        if not self._address.startswith(("/", "@")):
            return
        # A name that begins with @ stands for an abstract one, which begins with a zero byte.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as messages:
                messages.sendto(message.encode("ascii"), address)
        except OSError as error:
            log.warning("systemd was not told %s: %s", message, error.strerror)
