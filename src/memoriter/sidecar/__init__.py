"""Search by a program beside memoriter that may fail: what it answers and to whom, and what answers instead."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memoriter.sidecar._choice import choose_backend, read_file, sidecar_problems

if TYPE_CHECKING:
    from memoriter.sidecar._acquire import QmdBackend
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
    "choose_backend",
    "interleaved",
    "read_file",
    "scope_allows",
    "scope_denied",
    "session_scope",
    "sidecar_problems",
    "to_result",
]


def __getattr__(name: str) -> Any:
    """Import a name on first use: a program that uses the builtin engine alone imports nothing of QMD."""
    late = {
        "_acquire": "QmdBackend",
        "_breaker": "Breaker",
        "_cache": "ProgramCache cache_key",
        "_fallback": "FallbackBackend Lease SearchProgram",
        "_results": "interleaved to_result",
        "_scope": "SessionScope scope_allows scope_denied session_scope",
    }
    for module, names in late.items():
        if name in names.split():
            return getattr(import_module(f"memoriter.sidecar.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
