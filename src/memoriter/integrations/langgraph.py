"""LangGraph: a store whose items are Markdown notes, one file each. langmem works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from memoriter.extras import require

require("langgraph", "The LangGraph adapter")

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from memoriter.api_json import health_json
from memoriter.integrations._notes import (
    Note,
    ParsedNotes,
    change,
    fields_text,
    file_name,
    json_value,
    read_fields,
    remove,
    stored,
)
from memoriter.memory import Memory
from memoriter.types import Health, Hit, Outcome, SearchResult
from memoriter.values import dataclass

AUTHOR = "agent (LangGraph)"
_MOST = 1000
"""The largest number of passages that one search returns."""
_PROPOSED = 200
"""The number of passages that words, and vectors, can each propose for one search; it may have left out others."""
_Place = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class _Record:
    """An item as its note holds it."""

    path: str
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created: datetime
    updated: datetime
    expires: datetime | None
    refreshes: bool
    """Whether reading begins its time to live again."""
    searched: bool
    """Whether searches with a query find it."""

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now

    def item(self) -> Item:
        """Return a copy for the framework."""
        return Item(
            value=deepcopy(self.value),
            key=self.key,
            namespace=self.namespace,
            created_at=self.created,
            updated_at=self.updated,
        )


class MemoriterItem(SearchItem):
    """A found item, with where it is noted and how far to trust the search."""

    __slots__ = ("citation", "health", "outcome")

    def __init__(
        self, item: Item, score: float | None, *, citation: str, outcome: Outcome, health: Mapping[str, Any]
    ) -> None:
        """Return an item with its note.

        Args:
            item: the item as it is stored.
            score: 0..1; None if it was not searched by meaning.
            citation: the passage that was found, or the path of the note.
            outcome: `match` or `weak`, as of `SearchResult`; `match` without a query, because the item is one of the
                namespace and as the filter wants it.
            health: the JSON of `Health`. Without a query no retriever is used, so it has none.
        """
        super().__init__(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
        self.citation = citation
        self.outcome = outcome
        self.health = health

    def dict(self) -> dict[str, Any]:
        """Return the JSON form of an item."""
        found = {"citation": self.citation, "outcome": self.outcome, "health": self.health}
        return {**cast("dict[str, Any]", Item.dict(self)), "score": self.score, **found}  # pyright: ignore[reportUnknownMemberType]


class MemoriterStore(BaseStore):
    """A `BaseStore` in a folder of notes: `memory/langgraph/NAMESPACE/KEY.md` for each item.

    Values are JSON, written as a list of fields; a value that JSON does not have is a UsageError before anything is
    written. Lines that the owner adds to a note stay there. `index=False` keeps an item out of searches with a query;
    a list of fields in `index` is not distinguished from all of them.
    """

    supports_ttl = True

    def __init__(self, memory: Memory, *, folder: str = "memory/langgraph", ttl: TTLConfig | None = None) -> None:
        """Open the store.

        Args:
            memory: the memory that holds the notes.
            folder: the folder of the items, as in citations.
            ttl: the default time to live, in minutes, and whether reading an item begins it again (True unless said
                otherwise). An expired item is never returned; `sweep_ttl` deletes its note.
        """
        self.memory = memory
        self.folder = folder.strip("/")
        self.ttl_config = ttl
        self._notes = ParsedNotes(memory, self._record)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: first what reads, in order, then what writes; of several writes to one key, the last one."""
        results = list[Result]()
        writes = dict[_Place, PutOp]()
        for op in ops:
            if isinstance(op, PutOp):
                writes[op.namespace, op.key] = op
                results.append(None)
            else:
                results.append(self._read(op))
        prepared = {place: (op, self._checked(op)) for place, op in writes.items()}
        for (namespace, key), (op, value) in prepared.items():
            path = self._path(namespace, key)
            if value is None:
                remove(self.memory, path)
            else:
                self._put(path, op, value)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete the notes of all expired items, and return how many there were."""
        now = self.memory.now()
        expired = 0
        for path, record in self._notes.below(self.folder).items():
            if record.expired(now):
                remove(self.memory, path)
                expired += 1
        return expired

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(self._path(op.namespace, op.key), refresh=op.refresh_ttl)
        if isinstance(op, SearchOp):
            return self._asked(op) if op.query else self._listed(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise TypeError(f"The operation {op!r} is unknown.")

    def _checked(self, op: PutOp) -> dict[str, Any] | None:
        if not op.namespace or not all(isinstance(label, str) and label for label in op.namespace):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidNamespaceError(f"The namespace {op.namespace!r} needs labels, which are non-empty text.")
        return None if op.value is None else json_value(op.value)

    def _put(self, path: str, op: PutOp, value: dict[str, Any]) -> None:
        now = self.memory.now()
        minutes = self._minutes(op)

        def edit(before: Note | None) -> Note:
            known: Mapping[str, Any] = {} if before is None or _expired(before, now) else before.properties
            properties: dict[str, Any] = {
                "namespace": list(op.namespace),
                "key": op.key,
                "created": known.get("created", now.isoformat()),
                "updated": now.isoformat(),
            }
            if minutes is not None:
                properties |= {"ttl": minutes, "expires": (now + timedelta(minutes=minutes)).isoformat()}
            if op.index is False:
                properties["index"] = False
            own = read_fields(before.body)[1] if before else ""
            return Note(properties, fields_text(value) + (f"\n{own}\n" if own else ""))

        change(self.memory, path, edit, author=AUTHOR)

    def _minutes(self, op: PutOp) -> float | None:
        given = cast("object", op.ttl)
        if isinstance(given, int | float):
            return float(given)
        return None if given is None else (self.ttl_config or {}).get("default_ttl")

    def _get(self, path: str, *, refresh: bool) -> Item | None:
        """Return the item of a note, unless it has expired, and begin its time to live again if that is wanted."""
        note = stored(self.memory, path)
        file = self.memory.file_of(path)
        if note is None or file is None:
            return None
        record = self._record(path, note, file.stat().st_mtime)
        if record.expired(self.memory.now()):
            return None
        if refresh:
            self._refresh(record)
        return record.item()

    def _refresh(self, record: _Record) -> None:
        """Begin the time to live of an item again, if it has one."""
        if not record.refreshes:
            return
        now = self.memory.now()

        def edit(note: Note | None) -> Note | None:
            if note is None or "ttl" not in note.properties:
                return None
            expires = (now + timedelta(minutes=note.properties["ttl"])).isoformat()
            return Note({**note.properties, "expires": expires}, note.body)

        change(self.memory, record.path, edit, author=AUTHOR)

    def _record(self, path: str, note: Note, changed: float) -> _Record:
        """Return what a note holds; the namespace and the key of a note that its owner has written are its path."""
        at = datetime.fromtimestamp(changed, self.memory.now().tzinfo)
        properties = note.properties
        namespace = properties.get("namespace")
        key = properties.get("key")
        if isinstance(namespace, list) and isinstance(key, str):
            labels = tuple(str(label) for label in cast("list[object]", namespace))
        else:
            *folders, key = path.removeprefix(f"{self.folder}/").removesuffix(".md").split("/")
            labels = tuple(folders)
        return _Record(
            path=path,
            namespace=labels,
            key=key,
            value=read_fields(note.body)[0],
            created=_moment(properties.get("created")) or at,
            updated=_moment(properties.get("updated")) or at,
            expires=_moment(properties.get("expires")),
            refreshes="ttl" in properties,
            searched=properties.get("index") is not False,
        )

    def _path(self, namespace: tuple[str, ...], key: str) -> str:
        return f"{self._folder(namespace)}/{file_name(key)}.md"

    def _folder(self, namespace: tuple[str, ...]) -> str:
        return "/".join((self.folder, *(file_name(label) for label in namespace)))

    def _records(self, op: SearchOp) -> dict[str, _Record]:
        """Return the items of a search's namespaces that have not expired and are as the filter wants them."""
        now = self.memory.now()
        return {
            path: record
            for path, record in self._notes.below(self._folder(op.namespace_prefix)).items()
            if not record.expired(now) and _matches(record.value, op.filter)
        }

    def _listed(self, op: SearchOp) -> list[SearchItem]:
        """Return the items of a search without a query, the latest change first."""
        found = sorted(self._records(op).values(), key=lambda record: record.updated, reverse=True)
        health = health_json(Health(legs={}))  # a note that cannot be read is an error
        return [
            MemoriterItem(item, None, citation=record.path, outcome="match", health=health)
            for record, item in self._returned(op, found[op.offset : op.offset + op.limit])
        ]

    def _returned(self, op: SearchOp, records: Sequence[_Record]) -> Iterator[tuple[_Record, Item]]:
        """Yield each record with its item, after its time to live has begun again if that is wanted."""
        refreshes = op.refresh_ttl and (self.ttl_config or {}).get("refresh_on_read", True)
        for record in records:
            if refreshes:
                self._refresh(record)
            yield record, record.item()

    def _asked(self, op: SearchOp) -> list[SearchItem]:
        """Return the items that answer a query, best first."""
        wanted = op.offset + op.limit
        passages = self._passages(op, self._folder(op.namespace_prefix), _MOST)
        left = {path: record for path, record in self._records(op).items() if record.searched}
        found = _taken(passages.hits, left, wanted)
        if len(found) < wanted and len(passages.hits) >= _PROPOSED:  # items without a passage among these may match too
            hits = [hit for path in left for hit in self._passages(op, path, 1).hits]
            hits.sort(key=lambda hit: hit.score, reverse=True)
            found += _taken(hits, left, wanted - len(found))
        page = found[op.offset :]
        health = health_json(passages.health)
        best = bool(found) and found[0][1] is passages.hits[0]
        outcome = "weak" if passages.outcome == "match" and not best else passages.outcome
        items = self._returned(op, [record for record, _ in page])
        return [
            MemoriterItem(item, hit.score, citation=hit.citation, outcome=outcome, health=health)
            for (_, item), (_, hit) in zip(items, page, strict=True)
        ]

    def _passages(self, op: SearchOp, path: str, most: int) -> SearchResult:
        assert op.query
        return self.memory.search(op.query, max_results=most, min_score=0, path=path, sources=["memory"])

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        now = self.memory.now()
        places = {record.namespace for record in self._notes.below(self.folder).values() if not record.expired(now)}
        kept = {place[: op.max_depth] for place in places if all(_fits(place, each) for each in conditions)}
        return sorted(kept)[op.offset : op.offset + op.limit]


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _taken(hits: Sequence[Hit], left: dict[str, _Record], most: int) -> list[tuple[_Record, Hit]]:
    """Take the items of hits out of those that are left, in the order of the hits, at most so many."""
    found = list[tuple[_Record, Hit]]()
    for hit in hits:
        if len(found) == most:
            break
        if record := left.pop(hit.path, None):
            found.append((record, hit))
    return found


def _expired(note: Note, now: datetime) -> bool:
    expires = _moment(note.properties.get("expires"))
    return expires is not None and expires <= now


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends with a path, in which `*` stands for any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    kind: Literal["prefix", "suffix"] = condition.match_type
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_equals(value.get(name), expected) for name, expected in (wanted or {}).items())


def _equals(value: object, expected: object) -> bool:
    """Return whether a value is as a filter wants it: operators, the named parts of a dict, or the same value."""
    if isinstance(expected, dict):
        rules = cast("dict[str, Any]", expected)
        if any(name.startswith("$") for name in rules):
            return all(_holds(value, operator, limit) for operator, limit in rules.items())
        parts = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        return parts is not None and all(_equals(parts.get(name), part) for name, part in rules.items())
    if isinstance(expected, list | tuple):
        wanted = cast("list[object]", expected)
        given = cast("list[object]", value) if isinstance(value, list | tuple) else None
        return given is not None and len(given) == len(wanted) and all(map(_equals, given, wanted))
    return value == expected


def _holds(value: object, operator: str, limit: object) -> bool:
    match operator:
        case "$eq":
            return value == limit
        case "$ne":
            return value != limit
        case "$gt" | "$gte" | "$lt" | "$lte":
            return _ordered(value, operator, limit)
        case _:
            raise ValueError(f"The filter operator {operator!r} is unknown; use $eq, $ne, $gt, $gte, $lt or $lte.")


def _ordered(value: object, operator: str, limit: object) -> bool:
    """Compare numbers as numbers and texts as texts; values of other kinds are in no order."""
    texts = isinstance(value, str) and isinstance(limit, str)
    numbers = isinstance(value, int | float) and isinstance(limit, int | float)
    if not texts and not numbers:
        return False
    place = (cast("Any", value) > limit) - (cast("Any", value) < limit)
    return {"$gt": place > 0, "$gte": place >= 0, "$lt": place < 0, "$lte": place <= 0}[operator]
