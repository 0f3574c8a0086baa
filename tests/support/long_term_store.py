"""A store of long-term memories that keeps nothing, to compare LanceDB with."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.extensions.longterm._results import Found, StoreState, is_current
from memoriter.search import analyse, query_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoriter.extensions.longterm._records import LongTermMemory, Origin
    from memoriter.extensions.longterm._results import Vector

    Rows = dict[tuple[str, str], tuple[LongTermMemory, Vector]]


class InMemoryStore:
    """The memories in this process. Stores with the same `tables` share them, as processes share a database."""

    def __init__(self, tables: dict[str, Rows] | None = None, *, model: str, trusted: Collection[Origin] = ()) -> None:
        self.model = model
        self._trusted = trusted
        self._tables = {} if tables is None else tables
        self._lock = threading.RLock()

    def store(self, memories: Sequence[LongTermMemory], vectors: Sequence[Vector]) -> None:
        with self._lock:
            pairs = zip(memories, vectors, strict=True)
            self._rows.update({(each.principal, each.id): (each, vector) for each, vector in pairs})

    def search(
        self, vector: Vector, *, principal: str, limit: int, floor: float = -1.0, trusted: bool = False, words: str = ""
    ) -> list[Found]:
        of_principal = self._of(principal, trusted=trusted)
        found = [Found(memory, min(max(float(vector @ own), -1.0), 1.0)) for memory, own in of_principal]
        found.sort(key=lambda each: (-each.similarity, each.memory.id))
        terms = set(query_terms(words))
        shared = [(len(terms.intersection(analyse(each.memory.text))), each) for each in found if terms]
        worded = [each for count, each in sorted(shared, key=lambda pair: -pair[0]) if count][:limit]
        near = [each for each in found[:limit] if each.similarity >= floor]
        return [each for each in found if each in near or each in worded]

    def delete(self, ids: Collection[str], *, principal: str) -> int:
        gone = set[str]()
        wanted = {each.lower() for each in ids}
        with self._lock:
            for rows in self._tables.values():
                for key in [key for key in rows if key[0] == principal and key[1] in wanted]:
                    del rows[key]
                    gone.add(key[1])
        return len(gone)

    def count(self, *, principal: str, trusted: bool = False) -> int:
        return len(self._of(principal, trusted=trusted))

    def get(self, ids: Collection[str], *, principal: str) -> list[LongTermMemory]:
        wanted = {each.lower() for each in ids}
        return [memory for memory in self.memories(principal=principal) if memory.id in wanted]

    def memories(self, *, principal: str) -> list[LongTermMemory]:
        memories = [memory for memory, _ in self._of(principal)]
        return sorted(memories, key=lambda each: (each.created_at, each.id))

    def vectors(self, ids: Sequence[str], *, principal: str) -> dict[str, Vector]:
        return {memory.id: vector for memory, vector in self._of(principal) if memory.id in ids}

    def change(self, memory: LongTermMemory) -> None:
        vectors = self.vectors([memory.id], principal=memory.principal)
        if memory.id in vectors:
            self.store([memory], [vectors[memory.id]])

    def other_models(self, *, principal: str) -> dict[str, int]:
        counts = {
            model: sum(memory.principal == principal for memory, _ in rows.values())
            for model, rows in self._tables.items()
            if model != self.model
        }
        return {model: count for model, count in counts.items() if count}

    def maintain(self, *, erase: bool = False) -> None:
        """Do nothing: what is deleted here is gone."""

    def state(self) -> StoreState:
        return StoreState(len(self._rows), 0, 0, 0)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    @property
    def _rows(self) -> Rows:
        return self._tables.setdefault(self.model, {})

    def _of(self, principal: str, *, trusted: bool = False) -> list[tuple[LongTermMemory, Vector]]:
        with self._lock:
            own = [row for row in self._rows.values() if row[0].principal == principal]
        known = [(replace(memory, author_trusted=memory.origin in self._trusted), vector) for memory, vector in own]
        return [row for row in known if not trusted or is_current(row[0])]
