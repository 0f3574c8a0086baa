"""Long-term memories: single statements with vectors, which an agent stores, recalls and forgets."""

from memoriter.longterm._in_memory import InMemoryStore
from memoriter.longterm._lance import LanceStore
from memoriter.longterm._records import (
    CATEGORIES,
    ORIGINS,
    Category,
    LongTermMemory,
    Origin,
    Span,
    Speaker,
    Status,
    is_memory_id,
    least_trusted,
)
from memoriter.longterm._store import Found, LongTermStore, StoreState

__all__ = [
    "CATEGORIES",
    "ORIGINS",
    "Category",
    "Found",
    "InMemoryStore",
    "LanceStore",
    "LongTermMemory",
    "LongTermStore",
    "Origin",
    "Span",
    "Speaker",
    "Status",
    "StoreState",
    "is_memory_id",
    "least_trusted",
]
