"""The disposable index: the only room that contains SQL. Everything in it can be rebuilt from the notes."""

from memoriter.index._engines import ENGINES, EngineName
from memoriter.index._foreign import is_foreign
from memoriter.index._index import Index
from memoriter.index._index_files import index_files
from memoriter.index._inspection import InspectedIndex
from memoriter.index._ledger import Ledger
from memoriter.index._network import network_of
from memoriter.index._values import ChunkRecord, Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk

__all__ = [
    "ENGINES",
    "ChunkRecord",
    "Corpus",
    "EngineName",
    "Index",
    "IndexedFile",
    "InspectedIndex",
    "KindCount",
    "Ledger",
    "ScoringRow",
    "StoredChunk",
    "index_files",
    "is_foreign",
    "network_of",
]
