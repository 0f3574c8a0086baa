"""Other programs that search notes, measured on the same notes and the same embedding endpoint, if they take one."""

from memoriter.extensions.evals.peers._endpoint import serve_embeddings
from memoriter.extensions.evals.peers._measure import PeerRun, ProgramFigures, ProgramResult
from memoriter.extensions.evals.peers._programs import PEERS

__all__ = ["PEERS", "PeerRun", "ProgramFigures", "ProgramResult", "serve_embeddings"]
