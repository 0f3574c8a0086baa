"""The index file: connections, schema, its generations on disk, and the right to write it."""

from memoriter.index.store._connection import Database
from memoriter.index.store._generations import IndexFiles

__all__ = ["Database", "IndexFiles"]
