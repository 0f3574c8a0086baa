"""The disposable index: the only room that speaks SQL. Everything in it can be made again from the notes."""

from memoriter.index._engines import ENGINES, EngineName
from memoriter.index._home import index_files
from memoriter.index._index import Index
from memoriter.index._ledger import Ledger
from memoriter.index._network import network_of
from memoriter.index._values import Brief, Corpus, Entry, IndexedFile, KindCount, Row

__all__ = [
    "ENGINES",
    "Brief",
    "Corpus",
    "EngineName",
    "Entry",
    "Index",
    "IndexedFile",
    "KindCount",
    "Ledger",
    "Row",
    "index_files",
    "network_of",
]
