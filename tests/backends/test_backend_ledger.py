"""A ledger that cannot be read costs the services, never the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_env import QUESTION, MemoryEnv, compatible
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from pathlib import Path


def test_a_damaged_ledger_leaves_the_words_and_the_index_and_says_what_to_delete(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    with CompatibleServer() as server:
        env.configure(**compatible(server))
        before = env.open().sync()
        env.close()
        ledger = env.home / "memory" / "ledger.sqlite"
        for part in ledger.parent.glob("ledger.sqlite*"):
            part.unlink()
        ledger.write_bytes(b"no database" * 1000)
        result = env.open().search(QUESTION)
        env.close()
    assert before.embedded == before.chunks
    assert result.mode == "keyword"
    assert result.hits
    (reason,) = result.health.reasons
    assert "ledger" in reason.message
    assert str(ledger) in reason.remedy
    assert not list(ledger.parent.glob("*damaged*"))
