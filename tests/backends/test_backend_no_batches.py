"""Services that speak OpenAI's interface without its batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory_env import QUESTION, MemoryEnv, compatible
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_where_a_service_has_no_batch_interface_texts_are_sent_in_the_plain_way(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.many(80)
    with CompatibleServer() as server:
        env.configure(**compatible(server, remote={"batch": {"enabled": True}}))
        memory = env.open()
        report = memory.sync()
        found = memory.search(QUESTION)
        env.close()
    assert (report.embedded, report.pending) == (report.chunks, 0)
    assert found.mode == "hybrid"
