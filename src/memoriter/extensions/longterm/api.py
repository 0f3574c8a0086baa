"""Long-term memories: single statements with vectors, which an agent stores, recalls and forgets."""

from memoriter.extensions.longterm._exchange import export_markdown, export_rows, import_text
from memoriter.extensions.longterm._inbox import (
    Inbox,
    InboxFile,
    candidate_of_json,
    inbox_of,
    put_back,
    withdraw_approval,
)
from memoriter.extensions.longterm._json import (
    candidate_json,
    forgotten_memories_json,
    hit_json,
    memory_json,
    rebuilt_json,
    stats_json,
    stored_json,
)
from memoriter.extensions.longterm._lance import LanceStore
from memoriter.extensions.longterm._memories import LongTermMemories
from memoriter.extensions.longterm._note import PATH
from memoriter.extensions.longterm._openclaw import import_openclaw, openclaw_memories, search_openclaw
from memoriter.extensions.longterm._parts import LongTermParts
from memoriter.extensions.longterm._rebuild import rebuild, stats, withheld_memories
from memoriter.extensions.longterm._recall import LongTermRecall
from memoriter.extensions.longterm._records import (
    CATEGORIES,
    ORIGINS,
    AsOf,
    Candidate,
    Category,
    LongTermMemory,
    Origin,
    Span,
    Speaker,
    Status,
    is_beginning_of_id,
    is_memory_id,
    least_trusted,
)
from memoriter.extensions.longterm._results import (
    NEAREST,
    Found,
    Imported,
    LongTermAnswer,
    LongTermForgotten,
    LongTermHit,
    LongTermStats,
    LongTermStore,
    OpenClawState,
    Rebuilt,
    Stored,
    StoreState,
)
from memoriter.extensions.longterm.plugin import LongTermPlugin

__all__ = [
    "CATEGORIES",
    "NEAREST",
    "ORIGINS",
    "PATH",
    "AsOf",
    "Candidate",
    "Category",
    "Found",
    "Imported",
    "Inbox",
    "InboxFile",
    "LanceStore",
    "LongTermAnswer",
    "LongTermForgotten",
    "LongTermHit",
    "LongTermMemories",
    "LongTermMemory",
    "LongTermParts",
    "LongTermPlugin",
    "LongTermRecall",
    "LongTermStats",
    "LongTermStore",
    "OpenClawState",
    "Origin",
    "Rebuilt",
    "Span",
    "Speaker",
    "Status",
    "StoreState",
    "Stored",
    "candidate_json",
    "candidate_of_json",
    "export_markdown",
    "export_rows",
    "forgotten_memories_json",
    "hit_json",
    "import_openclaw",
    "import_text",
    "inbox_of",
    "is_beginning_of_id",
    "is_memory_id",
    "least_trusted",
    "memory_json",
    "openclaw_memories",
    "put_back",
    "rebuild",
    "rebuilt_json",
    "search_openclaw",
    "stats",
    "stats_json",
    "stored_json",
    "withdraw_approval",
    "withheld_memories",
]
