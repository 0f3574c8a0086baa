"""The memory backends behind the CLI, the servers and the library."""

from typing import TYPE_CHECKING

from memoriter.backends._builtin import BuiltinBackend
from memoriter.backends._context import BackendSettings, Clocks
from memoriter.backends._embedding import Embedding
from memoriter.backends._indexing import WatchRun
from memoriter.backends._service_records import Budget, Ledger, UsageMeter
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.backends._about import changes_about
    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._git import commit_of_line, commits_of
    from memoriter.backends._language_model import TO_COMPARE, LanguageModel
    from memoriter.backends._past import (
        PAST_NOTES,
        forgotten_meanwhile,
        index_past,
        keep_states,
        make_state,
        state_name,
        texts_in_past,
    )
    from memoriter.backends._protocol import BackendSetup, MemoryBackend
    from memoriter.backends._reranking import TO_RERANK, Reranking
    from memoriter.backends._store_copy import CopyReport, copy_index, plan_copy

__all__ = [
    "PAST_NOTES",
    "TO_COMPARE",
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
    "LanguageModel",
    "Ledger",
    "MemoryBackend",
    "Reranking",
    "UsageMeter",
    "WatchRun",
    "changes_about",
    "commit_of_line",
    "commits_of",
    "copy_index",
    "forgotten_meanwhile",
    "index_past",
    "keep_states",
    "make_state",
    "plan_copy",
    "state_name",
    "texts_in_past",
]


# Load what only some programs need on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "_protocol": "BackendSetup MemoryBackend",
        "_reranking": "TO_RERANK Reranking",
        "_forget": "ForgetPlan ForgetRequest Forgotten",
        "_about": "changes_about",
        "_git": "commit_of_line commits_of",
        "_past": "PAST_NOTES forgotten_meanwhile index_past keep_states make_state state_name texts_in_past",
        "_language_model": "TO_COMPARE LanguageModel",
        "_store_copy": "CopyReport copy_index plan_copy",
    },
)
