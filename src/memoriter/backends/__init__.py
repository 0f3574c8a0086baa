"""The memory backends behind the CLI, the servers and the library."""

from typing import TYPE_CHECKING, Any

from memoriter.backends._builtin import BuiltinBackend
from memoriter.backends._context import BackendSettings, Clocks
from memoriter.backends._embedding import Embedding
from memoriter.backends._protocol import BackendSetup, MemoryBackend, WatchRun
from memoriter.backends._service_records import Budget, UsageMeter

if TYPE_CHECKING:
    from memoriter.backends._about import changes_about
    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._git import commit_of_line, commits_of
    from memoriter.backends._ledger import Ledger
    from memoriter.backends._past import PAST_NOTES, index_past, keep_states, make_state, state_name, texts_in_past
    from memoriter.backends._reranking import TO_RERANK, Reranking
    from memoriter.backends._store_copy import CopyReport, copy_index, plan_copy

__all__ = [
    "PAST_NOTES",
    "TO_RERANK",
    "BackendSettings",
    "BackendSetup",
    "Budget",
    "BuiltinBackend",
    "Clocks",
    "CopyReport",
    "Embedding",
    "ForgetPlan",
    "ForgetRequest",
    "Forgotten",
    "Ledger",
    "MemoryBackend",
    "Reranking",
    "UsageMeter",
    "WatchRun",
    "changes_about",
    "commit_of_line",
    "commits_of",
    "copy_index",
    "index_past",
    "keep_states",
    "make_state",
    "plan_copy",
    "state_name",
    "texts_in_past",
]


def __getattr__(name: str) -> Any:
    """Load what only some programs need on first use."""
    if name in {"TO_RERANK", "Reranking"}:
        from memoriter.backends import _reranking

        return getattr(_reranking, name)
    if name in {"ForgetPlan", "ForgetRequest", "Forgotten"}:
        from memoriter.backends import _forget

        return getattr(_forget, name)
    if name == "changes_about":
        from memoriter.backends import _about

        return _about.changes_about
    if name in {"commit_of_line", "commits_of"}:
        from memoriter.backends import _git

        return getattr(_git, name)
    if name in {"PAST_NOTES", "index_past", "keep_states", "make_state", "state_name", "texts_in_past"}:
        from memoriter.backends import _past

        return getattr(_past, name)
    if name == "Ledger":
        from memoriter.backends import _ledger

        return _ledger.Ledger
    if name in {"CopyReport", "copy_index", "plan_copy"}:
        from memoriter.backends import _store_copy

        return getattr(_store_copy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
