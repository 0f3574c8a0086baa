"""Files, their chunks and their words, as they are stored and read."""

from memoriter.index.files._files import Counts, StoredChange

__all__ = ["Counts", "StoredChange"]
