"""The index file: connections, schema, how it is replaced, and the right to write it."""

from memoriter.index.store._connection import Database
from memoriter.index.store._files import IndexFiles

__all__ = ["Database", "IndexFiles"]
