"""Append to notes, replace and remove them, without losing what other programs write meanwhile."""

from memoriter.workspace.writing._entry import Addition, Appended, Entry, Existing, entry_of, log_form
from memoriter.workspace.writing._exchange import Unfinished, recover, unfinished
from memoriter.workspace.writing._write import Compose, Record, append, remove, replace

__all__ = [
    "Addition",
    "Appended",
    "Compose",
    "Entry",
    "Existing",
    "Record",
    "Unfinished",
    "append",
    "entry_of",
    "log_form",
    "recover",
    "remove",
    "replace",
    "unfinished",
]
