"""What answers behind the surfaces."""

from memoriter.backends._builtin import BackendSettings, BuiltinBackend, Clocks
from memoriter.backends._embedding import Embedding
from memoriter.backends._protocol import MemoryBackend

__all__ = ["BackendSettings", "BuiltinBackend", "Clocks", "Embedding", "MemoryBackend"]
