"""Every earlier schema opens as the present one, with nothing lost. A new schema adds `v<N>.sql` here."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest

from memoriter.index import Index
from memoriter.index.store._connection import connect
from memoriter.index.store._migrations import MIGRATIONS, Migration, create, migrate
from memoriter.index.store._schema import VERSION
from memoriter.types import Chunk, ModelSpec, Source

RELEASED = sorted(Path(__file__).parent.glob("v*.sql"))


def laid_down(text: str, path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(text).fetchall()
    connection.close()


def structure(path: Path) -> dict[str, object]:
    """Return the columns of each table, the columns of each index, and the text of virtual tables."""
    connection = apsw.Connection(str(path))
    found = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    columns = {
        str(name): connection.execute(f"SELECT * FROM pragma_{kind}_xinfo(?)", (name,)).fetchall()
        for kind, name, _ in found
    }
    options = connection.execute("SELECT name, type, wr, strict FROM pragma_table_list ORDER BY name").fetchall()
    virtual = [" ".join(str(sql).split()) for _, _, sql in found if str(sql).startswith("CREATE VIRTUAL")]
    connection.close()
    return {"columns": columns, "options": options, "virtual": virtual}


def test_every_schema_up_to_the_present_one_is_kept_here():
    assert [file.stem for file in RELEASED] == [f"v{number}" for number in range(1, VERSION + 1)]
    assert [step.version for step in MIGRATIONS] == list(range(2, VERSION + 1))


@pytest.mark.parametrize("released", RELEASED, ids=lambda file: file.stem)
def test_a_released_index_opens_with_the_present_tables_and_all_its_content(released, tmp_path):
    path = tmp_path / "old" / "main.sqlite"
    new = tmp_path / "new" / "main.sqlite"
    path.parent.mkdir()
    laid_down(released.read_text(encoding="utf-8"), path)
    with Index.open(path, clock=lambda: 0.0) as index:
        index.use_vectors(ModelSpec("fake", "tiny", 2))
        assert index.notices == ()
        assert index.get_meta("settings") == "kept"
        assert set(index.files()) == {"MEMORY.md"}
        assert [row.chunk for row in index.rows([1, 2]).values()] == [
            Chunk(1, 1, "We chose PostgreSQL"),
            Chunk(3, 4, "and SQLite", ("Later",)),
        ]
        assert [id_ for id_, _ in index.keyword_search(["sqlite"], limit=5)] == [2]
        for engine in ("exact", "codes", "sqlite-vec"):
            index.choose_engine(engine)
            assert index.vector_search(np.array([1, 0], dtype=np.float32), limit=5) == [(1, 1.0)]
        assert index.pending() == 1
        index.choose_engine("exact")
        with index._file.writing() as connection:
            connection.execute("DROP TABLE IF EXISTS chunks_vec_1")
    Index.open(new, clock=lambda: 0.0).close()
    assert structure(path) == structure(new)


STEPS = (
    Migration(VERSION + 1, "add a column", "ALTER TABLE files ADD COLUMN note TEXT"),
    Migration(VERSION + 2, "add a table", "CREATE TABLE notes(id INTEGER PRIMARY KEY) STRICT"),
)


@pytest.fixture
def connection(tmp_path):
    connection = connect(tmp_path / "main.sqlite", network=False, create=True)
    create(connection, now=1.0)
    yield connection
    connection.close()


def test_missing_steps_are_applied_once_in_order_and_recorded(connection):
    assert migrate(connection, now=2.0, steps=STEPS) == ["add a column", "add a table"]
    assert migrate(connection, now=3.0, steps=STEPS) == []
    assert connection.pragma("user_version") == VERSION + 2
    recorded = connection.execute("SELECT version, name, applied_at FROM migrations").fetchall()
    assert recorded == [(VERSION, "created", 1.0), *((step.version, step.name, 2.0) for step in STEPS)]


def test_a_step_that_fails_leaves_the_schema_before_it(connection):
    broken = Migration(VERSION + 2, "broken", "CREATE TABLE half(id); SELECT nonsense")
    with pytest.raises(apsw.SQLError):
        migrate(connection, now=2.0, steps=(STEPS[0], broken))
    assert connection.pragma("user_version") == VERSION + 1
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0
    assert migrate(connection, now=3.0, steps=STEPS) == ["add a table"]


def test_a_table_with_a_column_that_nobody_knows_still_works(tmp_path):
    from memoriter.records import ChunkRecord

    with Index.open(tmp_path / "main.sqlite", clock=lambda: 0.0) as index:
        with index._file.writing() as connection:
            for table in ("meta", "counters", "files", "chunks", "sets", "embedding_cache", "failures", "migrations"):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN unknown TEXT DEFAULT 'x'")
        index.use_vectors(ModelSpec("fake", "tiny", 2))
        entries = [ChunkRecord(Chunk(1, 1, text), text.encode() * 16, text, 1, b"", 1) for text in "ab"]
        index.put_file(Source("a.md", "memory", tmp_path, 1, 1), "h", entries)
        index.set_meta("k", "v")
        index.put_failure(b"a" * 16, "refused")
        index.put_vectors([b"b" * 16], np.array([[1, 0]], dtype=np.float32))
        with index.rebuild() as fresh:
            fresh.put_file(Source("a.md", "memory", tmp_path, 1, 1), "h", entries)
        assert (len(index.rows(index.all_ids())), index.vectors(), index.pending()) == (2, 1, 1)
