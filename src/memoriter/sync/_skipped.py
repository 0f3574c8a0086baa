"""Diagnostics for notes that are skipped or cannot be decoded. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memoriter.types import Skipped

UNDECODED = "undecoded:"
"""The prefix of index keys that mark files with bytes other than UTF-8. The path follows it."""
LEFT_OUT = "notes_left_out"
_FAULTS = {"special", "unreadable", "too_large", "hard_link"}
"""Reasons that need attention. Other paths are skipped on purpose."""
_NAMED = 3


def left_out(skipped: Iterable[Skipped]) -> tuple[Diagnostic, ...]:
    """Return a diagnostic that names the notes which cannot be read, if there are any."""
    faulty = [skip for skip in skipped if skip.reason in _FAULTS]
    if not faulty:
        return ()
    named = "; ".join(f"{skip.path} ({skip.message})" for skip in faulty[:_NAMED])
    more = f"; and {len(faulty) - _NAMED} more" if len(faulty) > _NAMED else ""
    count = "1 path is" if len(faulty) == 1 else f"{len(faulty)} paths are"
    remedy = "Mend it, move it away, or name it in .memoryignore; `memoriter status -v` lists all."
    return (Diagnostic("notes_left_out", f"{count} left out: {named}{more}.", remedy),)


def undecoded(paths: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return a diagnostic that names the files with bytes other than UTF-8, if there are any."""
    if not paths:
        return ()
    named = ", ".join(sorted(paths)[:_NAMED]) + (", …" if len(paths) > _NAMED else "")
    message = f"Bytes that are not UTF-8 are read as U+FFFD in: {named}."
    return (Diagnostic("not_utf8", message, "Save it as UTF-8, in an editor or with iconv."),)
