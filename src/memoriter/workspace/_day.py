"""Compute the owner's local day: one rule for all code that writes or reads a daily log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo


def local_time(wall: float, zone: str | None) -> datetime:
    """Return a time in the owner's time zone.

    Args:
        wall: seconds since 1970.
        zone: an IANA name such as `Asia/Seoul`; for None or an unknown name, the process' own zone applies.
    """
    moment = datetime.fromtimestamp(wall, tz=UTC)
    timezone = _zone(zone) if zone else None
    return moment.astimezone(timezone)


def zone_is_known(zone: str) -> bool:
    """Return whether this machine has a time zone of that name."""
    return _zone(zone) is not None


def _zone(name: str) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name.strip())
    except (KeyError, ValueError, OSError):
        return None
