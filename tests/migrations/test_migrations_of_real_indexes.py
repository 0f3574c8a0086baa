"""Indexes that the program made, in every earlier schema: the same answers, and nothing is embedded again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest

from memoriter import Memory
from memoriter.embed import _fake
from memoriter.index.store._connection import connect
from memoriter.index.store._migrations import EVERYTHING, Migration, migrate
from memoriter.index.store._schema import VERSION
from memoriter.index.vectors._stored_vectors import decode, vector_sums
from transcript_lines import openclaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.index.store._connection import Database
    from memoriter.types import Hit, SourceKind

NOTES = {
    "MEMORY.md": "# Decisions\n\nWe chose PostgreSQL for the ledger.\n\n# Coffee\n\nFlat white, no sugar.\n",
    "memory/2026-02-10.md": "# Network\n\nThe router is an Omada ER605, VLAN 10 is for IoT devices.\n",
}
QUESTIONS = ("which database for the ledger", "Omada router", "when does the train leave")
SETTINGS = """{agents: {defaults: {memorySearch: {
  provider: "fake", sources: ["memory", "sessions"], experimental: {sessionMemory: true}, query: {minScore: 0},
}}}}"""
UNDO = {
    7: ("DELETE FROM counters WHERE name = 'long_items'",),
    6: (
        "ALTER TABLE chunks RENAME COLUMN term_counts TO bag",
        "DELETE FROM embedding_cache WHERE key IN (SELECT key FROM items)",
        "DELETE FROM counters WHERE name GLOB 'items:*'",
        "DROP TABLE items",
        "DROP TABLE names",
    ),
    5: ("DROP TABLE tags",),
    4: (
        "ALTER TABLE files DROP COLUMN stamp",
        "ALTER TABLE embedding_cache DROP COLUMN sum",
        "ALTER TABLE code_segments DROP COLUMN sum",
    ),
    3: ("ALTER TABLE files DROP COLUMN tail",),
    2: ("DROP TABLE code_tombs", "DROP TABLE code_segments", "DROP TABLE code_sets"),
}
"""Statements that turn the schema of this number into the one before."""


class Workspace:
    """Notes, a transcript, and the index of both."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.home = folder / "home"
        transcript = self.home / "agents" / "main" / "sessions" / "trip.jsonl"
        files = {self.notes / name: text for name, text in NOTES.items()}
        files[transcript] = openclaw("user", "The train to Lisbon leaves at nine.")
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        (self.home / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")

    def open(self) -> Memory:
        return Memory.open(self.notes, home=self.home)

    def answers(self) -> list[tuple[Hit, ...]]:
        with self.open() as memory:
            return [memory.search(question).hits for question in QUESTIONS]

    def index_file(self) -> Path:
        with self.open() as memory:
            return Path(memory.status().index).resolve()

    def downgrade(self, version: int) -> dict[str, list[tuple[object, ...]]]:
        """Turn the index into one with an earlier schema, and return its columns by table."""
        connection = connect(self.index_file(), network=False)
        for number in range(VERSION, version, -1):
            for statement in UNDO[number]:
                connection.execute(statement).fetchall()
        connection.execute("UPDATE migrations SET version = ?", (version,))
        connection.pragma("user_version", version)
        tables = columns(connection)
        connection.close()
        return tables

    def apply(self, step: Migration) -> None:
        """Apply a step of the next version, without its number, so that this version still opens the file."""
        connection = connect(self.index_file(), network=False)
        assert migrate(connection, now=1.0, steps=(step,)) == [step.name]
        connection.pragma("user_version", VERSION)
        connection.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    with workspace.open() as memory:
        report = memory.sync()
    assert (report.files, report.embedded) == (3, 4)
    return workspace


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every document that is embedded."""
    texts: list[str] = []
    embed = _fake.FakeProvider.embed

    def record(self: _fake.FakeProvider, batch: Sequence[str], *, role: str) -> object:
        texts.extend(batch if role == "document" else ())
        return embed(self, batch, role=role)  # type: ignore[arg-type]

    monkeypatch.setattr(_fake.FakeProvider, "embed", record)
    return texts


def columns(connection: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {
        name: connection.execute(
            'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', (name,)
        ).fetchall()
        for name in names
        if not name.startswith("chunks_fts_")
    }


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_an_index_of_an_earlier_schema_answers_the_same_and_embeds_nothing(
    workspace: Workspace, embedded: list[str], version: int
) -> None:
    before = workspace.answers()
    assert all(before)
    recorded = apsw.Connection(":memory:")
    recorded.execute((Path(__file__).parent / f"v{version}.sql").read_text(encoding="utf-8")).fetchall()
    assert workspace.downgrade(version) == columns(recorded)
    assert workspace.answers() == before
    with workspace.open() as memory:
        assert memory.sync().embedded == 0
        assert embedded == []
        status = memory.status(deep=True)  # this embeds passages, to compare them with their stored vectors
    assert (status.pending, status.health.ok, len(status.canaries)) == (0, True, 4)
    assert all(canary.found for canary in status.canaries)


def test_an_index_without_items_serves_as_it_is_until_only_the_items_are_embedded(
    workspace: Workspace, embedded: list[str]
) -> None:
    log = workspace.notes / "memory" / "2026-02-11.md"
    log.write_text("- Paid the dentist in cash.\n- The bike needs a new chain.\n", encoding="utf-8")
    with workspace.open() as memory:
        memory.sync()
    embedded.clear()
    workspace.downgrade(5)
    with workspace.open() as memory:
        before = memory.search("dentist", update=False)
        assert (before.hits[0].path, embedded) == ("memory/2026-02-11.md", [])
        report = memory.sync()
        assert (report.embedded, report.pending) == (2, 0)
        assert memory.search("dentist").hits[0].path == "memory/2026-02-11.md"
    assert embedded == ["Paid the dentist in cash.", "The bike needs a new chain."]


@pytest.mark.parametrize(
    ("kinds", "changed"), [(EVERYTHING, 3), (("memory",), 2), (("sessions",), 1)], ids=["all", "notes", "transcripts"]
)
def test_a_step_can_have_files_read_again_without_embedding_them_again(
    workspace: Workspace, embedded: list[str], kinds: tuple[SourceKind, ...], changed: int
) -> None:
    before = workspace.answers()
    workspace.apply(Migration(VERSION + 1, "read again", reread=kinds))
    with workspace.open() as memory:
        report = memory.sync()
        again = memory.sync()
    assert (report.changed, report.added, report.removed, report.embedded, report.pending) == (changed, 0, 0, 0, 0)
    assert again.changed == 0
    assert workspace.answers() == before
    assert embedded == []


def test_a_search_reads_the_files_again_that_a_step_has_marked(workspace: Workspace) -> None:
    before = workspace.answers()
    workspace.apply(
        Migration(VERSION + 1, "lose a column", "UPDATE chunks SET heading = ''; DELETE FROM chunks_fts", EVERYTHING)
    )
    assert workspace.answers() == before


def test_a_step_without_reread_reads_nothing_again(workspace: Workspace) -> None:
    workspace.apply(Migration(VERSION + 1, "a column", "ALTER TABLE chunks ADD COLUMN note TEXT"))
    with workspace.open() as memory:
        assert memory.sync().changed == 0


COLORS = ("red", "blue", "grey")
LISTED = "\n".join(f"- The {color} drawer holds {count} old keys" for count, color in enumerate(COLORS))


def lengthen(connection: Database) -> int:
    """Store the vectors of items as the sixth schema did, and return their number."""
    rows = connection.execute(
        "SELECT id, key, vector FROM embedding_cache WHERE key IN (SELECT key FROM items)"
    ).fetchall()
    keys = [row[1] for row in rows]
    full = decode([row[1] for row in rows], [row[2] for row in rows], 256).rows
    blobs = np.ascontiguousarray(full, dtype="<f4").view(np.uint8)
    connection.executemany(
        "UPDATE embedding_cache SET vector = ?, sum = ? WHERE id = ?",
        [(bytes(blob), total, row[0]) for row, blob, total in zip(rows, blobs, vector_sums(keys, blobs), strict=True)],
    )
    return len(rows)


def sizes(file: Path) -> dict[str, set[int]]:
    """Return the bytes that the vectors of chunks and of items take."""
    connection = connect(file, network=False)
    statement = "SELECT DISTINCT length(vector) FROM embedding_cache WHERE key {} (SELECT key FROM items)"
    found = {name: connection.execute(statement.format(name)).fetchall() for name in ("IN", "NOT IN")}
    connection.close()
    return {name: {int(size) for (size,) in rows} for name, rows in found.items()}


@pytest.mark.parametrize("finish", ["sync", "compact", "force"])
def test_vectors_of_items_become_short_without_being_embedded_again(
    workspace: Workspace, embedded: list[str], finish: str
) -> None:
    (workspace.notes / "MEMORY.md").write_text(f"# Drawers\n\n{LISTED}\n", encoding="utf-8")
    question = ["what is in the blue drawer"]
    with workspace.open() as memory:
        memory.sync()
        before = memory.search(*question).hits
    embedded.clear()
    file = workspace.index_file()
    connection = connect(file, network=False)
    assert lengthen(connection) == 3
    connection.close()
    workspace.downgrade(6)
    assert sizes(file) == {"IN": {1024}, "NOT IN": {1024}}
    with workspace.open() as memory:
        assert memory.search(*question, update=False).hits == before
        if finish == "compact":
            memory.compact()
        else:
            memory.sync(force=finish == "force")
        after = memory.search(*question).hits
    assert sizes(workspace.index_file()) == {"IN": {352}, "NOT IN": {1024}}
    assert embedded == []
    assert [(hit.path, hit.start_line) for hit in after] == [(hit.path, hit.start_line) for hit in before]
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before], abs=1e-3)
