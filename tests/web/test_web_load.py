"""Many clients at once: no edit of a note is lost, and searches cost the server no more than one after the other."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from web_client import ApiClient

if TYPE_CHECKING:
    from memory_env import MemoryEnv
    from serving import Serving

EDITORS = 4
EDITS = 8
SEARCHES = 200


@pytest.mark.slow
def test_clients_that_edit_one_note_at_once_lose_nothing(env: MemoryEnv, server: Serving) -> None:
    env.write("memory/shared.md", "# Shared\n")

    def edit(editor: int) -> int:
        conflicts = 0
        with ApiClient(server.url, server.token) as client:
            for number in range(EDITS):
                note = client.get("/get", path="memory/shared.md").json()
                while True:
                    line = f"- editor {editor}, edit {number}\n"
                    body = {"path": "memory/shared.md", "text": note["text"] + line, "expected": note["hash"]}
                    response = client.post("/replace", **body)
                    if response.status_code == 200:
                        break
                    assert response.status_code == 409, response.text
                    note = response.json()
                    conflicts += 1
        return conflicts

    with ThreadPoolExecutor(EDITORS) as pool:
        assert sum(pool.map(edit, range(EDITORS))) >= 0
    lines = (env.notes / "memory/shared.md").read_text(encoding="utf-8").splitlines()
    expected = {f"- editor {editor}, edit {number}" for editor in range(EDITORS) for number in range(EDITS)}
    assert lines[0] == "# Shared"
    assert sorted(lines[1:]) == sorted(expected)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the server's CPU time from /proc")
def test_many_searches_at_once_cost_the_server_about_as_much_as_one_after_the_other(
    env: MemoryEnv, server: Serving
) -> None:
    env.many(200, "load")

    def search(number: int) -> int:
        with ApiClient(server.url, server.token) as client:
            return client.post("/search", query=f"where is loadthing{number}?", path="memory/load").status_code

    assert search(0) == 200
    before = _cpu_seconds(server.process.pid)
    assert {search(number) for number in range(SEARCHES)} == {200}
    between = _cpu_seconds(server.process.pid)
    with ThreadPoolExecutor(SEARCHES) as pool:
        assert set(pool.map(search, range(SEARCHES))) == {200}
    after = _cpu_seconds(server.process.pid)
    one_after_the_other = between - before
    at_once = after - between
    assert at_once < 3 * one_after_the_other + 0.5, f"{at_once:.2f} s of CPU instead of {one_after_the_other:.2f}"


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
