"""`Memory.replace`: a program replaces a note only as it has read it, and the next search finds the new text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.errors import PathRefused, WriteConflict
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

NOTE = "memory/2026-02-10.md"


def test_a_note_is_replaced_only_as_it_was_read(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    with env.open() as memory:
        read = memory.read(NOTE, start=1, lines=1)
        replaced = memory.replace(NOTE, "# Switch\n\nThe Juniper EX2300 has two uplinks.\n", expected=read.hash)
        assert replaced.reasons == ()
        assert [hit.path for hit in memory.search("Juniper EX2300 uplinks").hits][:1] == [NOTE]
        with pytest.raises(WriteConflict):
            memory.replace(NOTE, "# Mine\n", expected=read.hash)
        with pytest.raises(WriteConflict):
            memory.replace(NOTE, "# Mine\n", expected=None)
        with pytest.raises(PathRefused):
            memory.replace("../outside.md", "# Mine\n", expected=None)
        assert "Juniper" in memory.read(NOTE).text
        assert memory.replace("memory/new.md", "# New\n", expected=None).reasons == ()
    assert not (tmp_path / "outside.md").exists()


def test_what_cannot_be_read_exactly_has_no_hash(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    (env.notes / NOTE).write_bytes(b"# Caf\xe9\n")
    env.write("memory/mark.md", "# \ufffd\n")
    with env.open() as memory:
        assert memory.read(NOTE).hash is None
        assert memory.read("memory/never.md").hash is None
        assert memory.read("memory/mark.md").hash is not None
