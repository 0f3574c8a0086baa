"""Search by a program beside memoriter that may fail: what it answers and to whom, and what answers instead."""

from memoriter.sidecar._acquire import QmdBackend, qmd_backend, read_file
from memoriter.sidecar._breaker import Breaker
from memoriter.sidecar._cache import ProgramCache, cache_key
from memoriter.sidecar._fallback import FallbackBackend, Lease, SearchProgram
from memoriter.sidecar._results import interleaved, to_result
from memoriter.sidecar._scope import SessionScope, scope_allows, scope_denied, session_scope

__all__ = [
    "Breaker",
    "FallbackBackend",
    "Lease",
    "ProgramCache",
    "QmdBackend",
    "SearchProgram",
    "SessionScope",
    "cache_key",
    "interleaved",
    "qmd_backend",
    "read_file",
    "scope_allows",
    "scope_denied",
    "session_scope",
    "to_result",
]
