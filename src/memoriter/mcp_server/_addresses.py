"""`memory://` URIs of notes, and error texts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memoriter.errors import sentence

if TYPE_CHECKING:
    from memoriter.errors import MemoriterError

NOTES = "memory://notes/"
TODAY = "memory://today"
TEMPLATE = f"{NOTES}{{+path}}"


def note_uri(path: str) -> str:
    """Return the URI of a note; `path` is the path as cited."""
    return NOTES + quote(path, safe="/", errors="surrogatepass")


def note_path(address: str) -> str | None:
    """Return the path of the note that a URI names, as cited, or None if it is not the URI of a note."""
    name = unquote(address.removeprefix(NOTES), errors="surrogatepass") if address.startswith(NOTES) else ""
    return name or None


def error_text(error: MemoriterError) -> str:
    """Return the message of an error and its remedy as one text."""
    return f"{sentence(error.message)} {error.remedy}"


# IMPORTfrom memoriter.errors import sentence
