"""The disposable index: the only room that contains SQL. Everything in it can be rebuilt from the notes.

`store` has the file, `files` the chunks and words, `vectors` the vectors; `Index` composes them over one open file.
"""

from memoriter.index._catalog import drop_file, list_files
from memoriter.index._foreign_tables import ForeignTables
from memoriter.index._index import Index, InspectedIndex
from memoriter.index._ledger import Ledger
from memoriter.index.store._files import index_files, network_of, runs_in_background
from memoriter.index.store._foreign import is_foreign
from memoriter.index.vectors import ENGINES, EngineName

__all__ = [
    "ENGINES",
    "EngineName",
    "ForeignTables",
    "Index",
    "InspectedIndex",
    "Ledger",
    "drop_file",
    "index_files",
    "is_foreign",
    "list_files",
    "network_of",
    "runs_in_background",
]
