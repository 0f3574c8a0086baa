"""Watching the notes: file-system events and timers start indexing runs of a backend."""

from memoriter.watch._watch import EVERYTHING, Schedule, Watch, WatchEvent, Watching, WatchRules

__all__ = ["EVERYTHING", "Schedule", "Watch", "WatchEvent", "WatchRules", "Watching"]
