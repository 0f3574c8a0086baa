"""Notes as `memory://` addresses, and failures in words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from memoriter.errors import MemoriterError

NOTES = "memory://notes/"
TODAY = "memory://today"
TEMPLATE = f"{NOTES}{{+path}}"


def address_of(path: str) -> str:
    """The address of a note; `path` as it is cited."""
    return NOTES + quote(path, safe="/", errors="surrogatepass")


def path_of(address: str) -> str | None:
    """The path that an address names, as cited; None where it is not the address of a note."""
    name = unquote(address.removeprefix(NOTES), errors="surrogatepass") if address.startswith(NOTES) else ""
    return name or None


def words_of(error: MemoriterError) -> str:
    """What went wrong and what helps, in one text."""
    return f"{error.message.rstrip('.')}. {error.remedy}".strip()
