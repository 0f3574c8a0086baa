"""mem0: the JSON of `get_all()` or of the platform's export, or the file `history.db` of an own installation.

`history.db` has every change of each memory; the last one counts, and deleted memories are left out. The folder of a
local Qdrant has the memories as pickled Python objects. To read those is to run what they say, so it is refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import is_list, lists, mapping, objects, open_database
from memoriter.extensions.importing._records import Entry, Format, LeftOut, Record, id_of, moment, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files
    from memoriter.index import ForeignTables

QDRANT = "storage.sqlite"
"""The file of each collection of a local Qdrant."""
_REMEDY = "Save what get_all() returns as JSON with json.dump(), or give the file ~/.mem0/history.db."
_COLUMNS = ("memory_id", "new_memory", "event", "created_at", "is_deleted")


class Mem0(Format):
    """The memories of mem0."""

    name = "mem0"
    read_as = "mem0ai 2.2.1"

    def read(self, files: Files) -> Iterator[Record]:
        if any(name.rpartition("/")[2] == QDRANT for name in files.names) and "history.db" not in files.names:
            message = f"The folder {files.title!r} is a local Qdrant: its memories are pickled Python objects."
            raise UsageError(f"{message} Reading them would run code of the file.", remedy=_REMEDY)
        if "history.db" in files.names or (len(files.names) == 1 and files.names[0].endswith((".db", ".sqlite"))):
            name = "history.db" if "history.db" in files.names else files.names[0]
            yield from _history(files, name)
            return
        names = [name for name in files.names if name.lower().endswith(".json")]
        if not names:
            message = f"The export {files.title!r} has neither a JSON file nor history.db."
            raise UsageError(message, remedy=_REMEDY)
        for name in names:
            prefixes = ("item",) if is_list(files, name) else ("results.item", "memories.item")
            for found in objects(files, name, *prefixes):
                yield _entry(found)
            if prefixes != ("item",):
                for found in objects(files, name, "relations.item"):
                    yield _relation(found)


def _entry(found: dict[str, Any]) -> Record:
    texts = (text_of(found.get(key)).strip() for key in ("memory", "text", "data"))
    text = next(filter(None, texts), "")
    identifier = id_of(found.get("id"), text, found.get("created_at"))
    if not text:
        return LeftOut(identifier, "it has no text")
    owners = (text_of(found.get(key)) for key in ("user_id", "agent_id", "run_id"))
    owner = next(filter(None, owners), "")
    metadata = mapping(found.get("metadata"))
    group = owner or text_of(metadata.get("user_id"))
    said = {key: value for key, value in metadata.items() if key != "user_id"}
    said |= {"categories": found["categories"]} if lists(found.get("categories")) else {}
    values = [f"{key}: {_shown(value)}" for key, value in said.items() if value not in (None, "", [], {})]
    text += f"\n\n({'; '.join(values)})" if values else ""
    return Entry(identifier, text, moment(found.get("created_at")), group.replace("/", " "))


def _shown(value: object) -> str:
    """Return a value of the metadata as text."""
    if values := lists(value):
        return ", ".join(map(_shown, values))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _relation(found: dict[str, Any]) -> Record:
    """Return a relation of mem0's graph as a sentence."""
    target = text_of(found.get("target")) or text_of(found.get("destination"))
    words = [text_of(found.get("source")), text_of(found.get("relationship")).replace("_", " "), target]
    text = " ".join(word.replace("_", " ").strip() for word in words)
    if not all(words):
        return LeftOut(text.strip() or "a relation", "it does not name two things and their relation")
    return Entry(id_of(None, "relation", *words), text, None, "relations")


def _history(files: Files, name: str) -> Iterator[Record]:
    with open_database(files, name) as database:
        for row in _last_rows(database):
            identifier = id_of(row["memory_id"], row["new_memory"])
            text = text_of(row["new_memory"]).strip()
            if row["is_deleted"] or row["event"] == "DELETE" or not text:
                yield LeftOut(identifier, "it was deleted")
            else:
                yield Entry(identifier, text, moment(row["created_at"]))


def _last_rows(database: ForeignTables) -> Iterator[dict[str, Any]]:
    """Yield the last row of the history of each memory, with the time of the first one. Raises UsageError."""
    if "history" not in database.names:
        raise UsageError("The database has no table 'history'.", remedy="Give the file history.db of mem0.")
    first = dict[Any, Any]()
    last = dict[Any, dict[str, Any]]()
    for row in database.rows("history", _COLUMNS):
        first.setdefault(row["memory_id"], row.get("created_at"))
        last.pop(row["memory_id"], None)
        last[row["memory_id"]] = row
    for key, row in last.items():
        yield row | {"created_at": first[key] or row.get("created_at")}
