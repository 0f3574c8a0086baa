"""What answers behind the surfaces."""

from memoriter.backends._account import Account, Budget
from memoriter.backends._builtin import BuiltinBackend
from memoriter.backends._embedding import Embedding
from memoriter.backends._protocol import MemoryBackend
from memoriter.backends._settings import BackendSettings, Clocks
from memoriter.backends._watching import Watching

__all__ = ["Account", "BackendSettings", "Budget", "BuiltinBackend", "Clocks", "Embedding", "MemoryBackend", "Watching"]
