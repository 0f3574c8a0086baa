"""Append to notes, replace and remove them, without losing what other programs write meanwhile."""

from memoriter.workspace.writing._entry import entry_of
from memoriter.workspace.writing._write import Appended, append, remove, replace

__all__ = ["Appended", "append", "entry_of", "remove", "replace"]
