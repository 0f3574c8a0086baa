"""LangGraph: a store whose items are Markdown notes, one file each. langmem works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
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
    change,
    fields_text,
    file_name,
    json_value,
    read_fields,
    remove,
    stored,
)
from memoriter.memory import Memory
from memoriter.types import Hit, SearchResult

AUTHOR = "agent (LangGraph)"
_MOST = 1000
"""The largest number of passages that one search returns."""
_Place = tuple[tuple[str, ...], str]


class MemoriterItem(SearchItem):
    """A found item, with where it is noted and how far to trust the search."""

    __slots__ = ("citation", "health", "outcome")

    def __init__(
        self, item: Item, score: float | None, *, citation: str, outcome: str | None, health: Mapping[str, Any] | None
    ) -> None:
        """Return an item with its note.

        Args:
            item: the item as it is stored.
            score: 0..1; None if it was not searched by meaning.
            citation: the passage that was found, or the path of the note.
            outcome: `match`, `weak` or `none`, as of `SearchResult`; None without a query.
            health: the JSON of `Health`; None without a query.
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

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: first what reads, in order, then what writes; of several writes to one key, the last one."""
        results, writes = list[Result](), dict[_Place, PutOp]()
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
        now, expired = self.memory.now(), 0
        for path in self._paths(self.folder):
            note = stored(self.memory, path)
            if note is not None and _expired(note, now):
                remove(self.memory, path)
                expired += 1
        return expired

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            found = self._item(self._path(op.namespace, op.key), refresh=op.refresh_ttl)
            return found[0] if found else None
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
        now, minutes = self.memory.now(), self._minutes(op)

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

    def _item(self, path: str, *, refresh: bool) -> tuple[Item, Note] | None:
        """Return the item of a note, unless it has expired, and begin its time to live again if that is wanted."""
        note = stored(self.memory, path)
        now = self.memory.now()
        if note is None or _expired(note, now):
            return None
        properties = note.properties
        if refresh and "ttl" in properties:
            expires = (now + timedelta(minutes=properties["ttl"])).isoformat()
            change(
                self.memory,
                path,
                lambda old: old and Note({**old.properties, "expires": expires}, old.body),
                author=AUTHOR,
            )
        namespace, key = self._place(path, note)
        file = self.memory.file_of(path)
        changed = datetime.fromtimestamp(file.stat().st_mtime, now.tzinfo) if file else now
        created = _moment(properties.get("created")) or changed
        value = read_fields(note.body)[0]
        return Item(
            value=value, key=key, namespace=namespace, created_at=created, updated_at=_updated(note) or changed
        ), note

    def _place(self, path: str, note: Note) -> _Place:
        """Return the namespace and the key of a note; those of a note that its owner has written are its path."""
        namespace, key = note.properties.get("namespace"), note.properties.get("key")
        if isinstance(namespace, list) and isinstance(key, str):
            return tuple(str(label) for label in cast("list[object]", namespace)), key
        *folders, name = path.removeprefix(f"{self.folder}/").removesuffix(".md").split("/")
        return tuple(folders), name

    def _path(self, namespace: tuple[str, ...], key: str) -> str:
        return f"{self._folder(namespace)}/{file_name(key)}.md"

    def _folder(self, namespace: tuple[str, ...]) -> str:
        return "/".join((self.folder, *(file_name(label) for label in namespace)))

    def _paths(self, folder: str) -> list[str]:
        return [source.path for source in self.memory.sources() if source.path.startswith(f"{folder}/")]

    def _refreshes(self, op: SearchOp) -> bool:
        return op.refresh_ttl and (self.ttl_config or {}).get("refresh_on_read", True)

    def _listed(self, op: SearchOp) -> list[SearchItem]:
        """Return the items of a search without a query, the latest change first."""
        found = list[tuple[str, Item]]()
        for path in self._paths(self._folder(op.namespace_prefix)):
            item = self._item(path, refresh=False)
            if item is not None and _matches(item[0].value, op.filter):
                found.append((path, item[0]))
        found.sort(key=lambda each: each[1].updated_at, reverse=True)
        page = found[op.offset : op.offset + op.limit]
        if self._refreshes(op):
            for path, _ in page:
                self._item(path, refresh=True)
        return [MemoriterItem(item, None, citation=path, outcome=None, health=None) for path, item in page]

    def _asked(self, op: SearchOp) -> list[SearchItem]:
        """Return the items that answer a query, best first."""
        folder, wanted = self._folder(op.namespace_prefix), op.offset + op.limit
        passages, seen = self._passages(op, folder, _MOST), set[str]()
        found = self._items_of(op, passages.hits, passages, seen, wanted)
        if len(found) < wanted and len(passages.hits) >= _MOST:  # items without a passage among these may match too
            rest = [path for path in self._paths(folder) if path not in seen and self._allowed(op, path)]
            searches = [self._passages(op, path, 1) for path in rest]
            hits = [hit for search in searches for hit in search.hits]
            hits.sort(key=lambda hit: hit.score, reverse=True)
            found += self._items_of(op, hits, passages, seen, wanted - len(found))
        page = found[op.offset :]
        if self._refreshes(op):
            for item in page:
                self._item(self._path(item.namespace, item.key), refresh=True)
        return page

    def _passages(self, op: SearchOp, path: str, most: int) -> SearchResult:
        assert op.query
        return self.memory.search(op.query, max_results=most, min_score=0, path=path, sources=["memory"])

    def _allowed(self, op: SearchOp, path: str) -> Item | None:
        """Return the item of a note if it has not expired, may be searched, and is as the filter wants it."""
        item = self._item(path, refresh=False)
        if item is None or item[1].properties.get("index") is False or not _matches(item[0].value, op.filter):
            return None
        return item[0]

    def _items_of(
        self, op: SearchOp, hits: Sequence[Hit], result: SearchResult, seen: set[str], most: int
    ) -> list[SearchItem]:
        """Return the items of the notes of hits, at most so many; each note once."""
        health, found = health_json(result.health), list[SearchItem]()
        for hit in hits:
            if len(found) == most:
                break
            if hit.path in seen or not hit.path.startswith(f"{self._folder(op.namespace_prefix)}/"):
                continue
            seen.add(hit.path)
            if item := self._allowed(op, hit.path):
                found.append(
                    MemoriterItem(item, hit.score, citation=hit.citation, outcome=result.outcome, health=health)
                )
        return found

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        places = {item[0].namespace for path in self._paths(self.folder) if (item := self._item(path, refresh=False))}
        kept = {place[: op.max_depth] for place in places if all(_fits(place, each) for each in conditions)}
        return sorted(kept)[op.offset : op.offset + op.limit]


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _updated(note: Note) -> datetime | None:
    return _moment(note.properties.get("updated"))


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
