"""A table that an earlier version of memoriter wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import lancedb
import numpy as np

from memoriter.extensions.longterm.api import LanceStore, LongTermMemory

if TYPE_CHECKING:
    from pathlib import Path

TEA = LongTermMemory(
    id="00000000-0000-0000-0000-000000000001", text="Ann drinks tea.", principal="ann", origin="owner", created_at=1.0
)


def test_a_table_without_a_column_of_words_gets_one_and_keeps_its_memories(tmp_path: Path) -> None:
    vector = np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32)
    LanceStore(str(tmp_path), model="first", dimensions=4).store([TEA], [vector])
    table = cast("Any", lancedb.connect(tmp_path)).open_table("memories_first")
    table.drop_columns(["terms"])
    store = LanceStore(str(tmp_path), model="first", dimensions=4)
    (found,) = store.search(-vector, principal="ann", limit=1, floor=0.9, words="Who drinks tea?")
    assert (found.memory, found.similarity) == (TEA, -1.0)
    store.store([TEA], [vector])
    assert store.memories(principal="ann") == [TEA]


def test_a_table_with_the_words_of_an_earlier_version_gets_those_of_this_one_once(tmp_path: Path) -> None:
    vector = np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32)
    LanceStore(str(tmp_path), model="first", dimensions=4).store([TEA], [vector])
    database = lancedb.connect(tmp_path)
    rows = cast("Any", database.open_table("memories_first")).to_arrow()
    terms = rows.schema.get_field_index("terms")
    older = rows.set_column(terms, rows.schema.field(terms), [["other words"]])
    database.create_table("memories_first", older.replace_schema_metadata({"memoriter": "first"}), mode="overwrite")
    for _ in range(2):
        store = LanceStore(str(tmp_path), model="first", dimensions=4)
        (found,) = store.search(-vector, principal="ann", limit=1, floor=0.9, words="Who drinks tea?")
        assert found.memory == TEA
    versions = store.state().versions
    LanceStore(str(tmp_path), model="first", dimensions=4).count(principal="ann")
    assert store.state().versions == versions
