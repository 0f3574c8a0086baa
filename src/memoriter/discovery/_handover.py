"""Delegation of a piece of work to a server, so that it is done once even if the server fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.discovery._announcement import announced
from memoriter.discovery._channel import NOT_OURS, connect
from memoriter.discovery._claims import create_ticket, is_available, take_ticket

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.discovery._channel import Call, Channel, Reply
    from memoriter.discovery._target import TargetMemory

TAKEN_SECONDS = 1.0
"""Seconds within which a server must prove itself, and then begin the work."""
DONE = {200, 204}


class Unanswered(Exception):
    """A server has taken the work and did not report its result."""


def delegate(target: TargetMemory, folder: Path, call: Call) -> Reply | None:
    """Delegate the work of a command to a server of this memory.

    Returns:
        The reply of the server, or None if no server has done the work or will do it.

    Raises:
        Unanswered: a server has begun the work, and its result is unknown.
        ConfigError: the configuration does not exist.
    """
    for server in announced(folder):
        if not target.matches(server):
            continue
        channel = connect(server, folder, target.env.monotonic, TAKEN_SECONDS)
        if channel is None:
            continue
        with channel:
            try:
                ticket = create_ticket(folder)
            except OSError:
                return None
            reply = _send(channel, folder, call, ticket)
        if reply is not None and reply.status in DONE:
            take_ticket(folder, ticket)
            return reply
        if not take_ticket(folder, ticket):
            raise Unanswered
    return None


def _send(channel: Channel, folder: Path, call: Call, ticket: str) -> Reply | None:
    try:
        channel.set_deadline(TAKEN_SECONDS)
        channel.send(call, ticket)
        if not channel.answers_within(TAKEN_SECONDS) and is_available(folder, ticket):
            return None
        channel.set_deadline(call.answer_seconds)
        return channel.receive()
    except (OSError, *NOT_OURS):
        return None
