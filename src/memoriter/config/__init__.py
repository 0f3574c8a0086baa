"""The settings: OpenClaw's keys and defaults, read from JSON5, each with the place it comes from."""

from typing import TYPE_CHECKING, Any

from memoriter.config._check import as_file
from memoriter.config._configuration import Configuration
from memoriter.config._document import Origin, OriginKind
from memoriter.config._index_place import IndexPlace, cache_of, place_index
from memoriter.config._load import load, with_values
from memoriter.config._places import (
    Place,
    agent_name,
    find_workspace,
    home_of,
    in_home,
    index_path,
    user_home_of,
)
from memoriter.config._qmd import QmdMatch, QmdRule, QmdScope, QmdSettings
from memoriter.config._schema import (
    AgentDefaults,
    AgentSettings,
    Citations,
    Compaction,
    LongTerm,
    LongTermEmbedding,
    MemoryFlush,
    MemorySettings,
    ModelProvider,
    Settings,
)
from memoriter.config._search import (
    Batch,
    Cache,
    Chunking,
    DayBudget,
    Engine,
    Experimental,
    ExtraPathSetting,
    Hybrid,
    Local,
    MemorySearch,
    Mmr,
    QuerySettings,
    Remote,
    Scoring,
    SessionSync,
    Store,
    Strategy,
    Sync,
    TemporalDecay,
    VectorStore,
)
from memoriter.config._secrets import expand

if TYPE_CHECKING:
    from memoriter.config._qmd_plan import Collection, QmdPlan, plan_qmd, qmd_limits
    from memoriter.config._reference import Entry, reference

__all__ = [
    "AgentDefaults",
    "AgentSettings",
    "Batch",
    "Cache",
    "Chunking",
    "Citations",
    "Collection",
    "Compaction",
    "Configuration",
    "DayBudget",
    "Engine",
    "Entry",
    "Experimental",
    "ExtraPathSetting",
    "Hybrid",
    "IndexPlace",
    "Local",
    "LongTerm",
    "LongTermEmbedding",
    "MemoryFlush",
    "MemorySearch",
    "MemorySettings",
    "Mmr",
    "ModelProvider",
    "Origin",
    "OriginKind",
    "Place",
    "QmdMatch",
    "QmdPlan",
    "QmdRule",
    "QmdScope",
    "QmdSettings",
    "QuerySettings",
    "Remote",
    "Scoring",
    "SessionSync",
    "Settings",
    "Store",
    "Strategy",
    "Sync",
    "TemporalDecay",
    "VectorStore",
    "agent_name",
    "as_file",
    "cache_of",
    "expand",
    "find_workspace",
    "home_of",
    "in_home",
    "index_path",
    "load",
    "place_index",
    "plan_qmd",
    "qmd_limits",
    "reference",
    "user_home_of",
    "with_values",
]


def __getattr__(name: str) -> Any:
    """Load when it is first asked for what no search needs."""
    if name in {"Collection", "QmdPlan", "plan_qmd", "qmd_limits"}:
        from memoriter.config import _qmd_plan

        return getattr(_qmd_plan, name)
    if name in {"Entry", "reference"}:
        from memoriter.config import _reference

        return getattr(_reference, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
