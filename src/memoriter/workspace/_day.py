"""Which day it is for the owner of the notes: one rule for everything that writes or reads a daily log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo


def local_time(wall: float, zone: str | None) -> datetime:
    """A moment as a clock on the owner's wall shows it.

    Args:
        wall: seconds since 1970.
        zone: an IANA name such as `Asia/Seoul`; None, or one that is not known here: the process' own zone.
    """
    moment = datetime.fromtimestamp(wall, tz=UTC)
    timezone = _zone(zone) if zone else None
    return moment.astimezone(timezone)


def zone_is_known(zone: str) -> bool:
    """Whether this machine knows the time zone by that name."""
    return _zone(zone) is not None


def _zone(name: str) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name.strip())
    except (KeyError, ValueError, OSError):
        return None
