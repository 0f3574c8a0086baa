"""Other programs that search notes, measured on the same notes and the same embedding endpoint, if they take one."""

from benchmarks.peers._endpoint import serve_embeddings
from benchmarks.peers._measure import PeerRun
from benchmarks.peers._programs import PEERS

__all__ = ["PEERS", "PeerRun", "serve_embeddings"]
