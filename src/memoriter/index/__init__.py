"""The disposable index: the only room that contains SQL. Everything in it can be rebuilt from the notes.

`_files` has the file, `_content` the chunks and words, `vectors` the vectors; `Index` composes them over one open file.
"""

from typing import TYPE_CHECKING

from memoriter.index._files import index_files, network_of, runs_in_background
from memoriter.index._index import Index, InspectedIndex
from memoriter.index._ledger import Ledger
from memoriter.index.vectors import ENGINES, EngineName
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.index._other_files import ForeignTables, drop_file, is_foreign, list_files

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


# Load on first use what looks at other files than the index of the memory.
__getattr__ = lazy_names(__name__, {"_other_files": "ForeignTables drop_file is_foreign list_files"})
