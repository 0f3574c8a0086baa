"""The memory backends behind the CLI, the servers and the library."""

from typing import TYPE_CHECKING

from memoriter.backends._builtin import BuiltinBackend
from memoriter.backends._context import BackendSettings, Clocks
from memoriter.backends._embedding import Embedding
from memoriter.backends._protocol import BackendSetup, MemoryBackend, WatchRun
from memoriter.backends._service_records import Budget, UsageMeter
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.backends._copies import drop_past
    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._git import commit_of_line, commits_of
    from memoriter.backends._ledger import Ledger
    from memoriter.backends._past import index_past, texts_in_past, write_past
    from memoriter.backends._reranking import TO_RERANK, Reranking
    from memoriter.backends._store_copy import CopyReport, copy_index, plan_copy

__all__ = [
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
    "commit_of_line",
    "commits_of",
    "copy_index",
    "drop_past",
    "index_past",
    "plan_copy",
    "texts_in_past",
    "write_past",
]


# Load what only some programs need on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "_reranking": "TO_RERANK Reranking",
        "_forget": "ForgetPlan ForgetRequest Forgotten",
        "_git": "commit_of_line commits_of",
        "_copies": "drop_past",
        "_past": "index_past texts_in_past write_past",
        "_ledger": "Ledger",
        "_store_copy": "CopyReport copy_index plan_copy",
    },
)
