"""An export that is given as one of another program is recognised, and nothing is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import exports

if TYPE_CHECKING:
    from pathlib import Path

    from program import Program

MADE = {
    "chatgpt": exports.chatgpt,
    "claude": exports.claude,
    "gemini-takeout": exports.gemini_takeout,
    "claude-mem": exports.claude_mem_json,
    "mem0": exports.mem0,
    "openclaw": exports.openclaw,
    "jsonl": exports.jsonl,
    "obsidian": exports.obsidian,
    "notion": exports.notion,
}
BY_CONTENT = ("chatgpt", "claude", "gemini-takeout", "claude-mem", "mem0", "jsonl", "memoriter")


@pytest.mark.parametrize("given", BY_CONTENT)
@pytest.mark.parametrize("made", MADE)
def test_an_export_of_another_program_is_named(program: Program, tmp_path: Path, made: str, given: str) -> None:
    if made == given:
        return
    folder = tmp_path / "it is here"
    folder.mkdir()
    export = MADE[made](folder)
    refused = program("import", given, str(export))
    assert refused.exit_code == 2
    assert refused.err == (
        f"Error: {str(export)!r} is not an export of {given}. It is one of {made}.\n"
        f"Run `memoriter import {made} '{export}'`.\n"
    )
    assert not (program.workspace / "memory" / "imported").exists()


def test_an_export_of_memoriter_is_named(program: Program, tmp_path: Path) -> None:
    export = tmp_path / "notes.zip"
    program("export", str(export))
    for given in ("chatgpt", "claude", "mem0", "gemini-takeout"):
        assert "It is one of memoriter." in program("import", given, str(export)).err


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"{}", b"[]", b"%PDF-1.4", b"PK\x03\x04"])
@pytest.mark.parametrize("given", BY_CONTENT)
def test_what_is_no_export_is_refused_and_not_named(
    program: Program, tmp_path: Path, given: str, content: bytes
) -> None:
    file = tmp_path / "conversations.json"
    file.write_bytes(content)
    refused = program("import", given, str(file))
    assert refused.exit_code == 2
    assert "It is one of" not in refused.err
    assert "bug" not in refused.err
