"""How full a conversation is stands at the end of its transcript."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hook_inputs import PROGRAMS, write_transcript
from memoriter.agent._fullness import TAIL, Fullness, fullness

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("program", "tokens", "found"),
    [
        ("claude-code", 163_000, Fullness(163_000, None, 33_000)),
        ("claude-code", 420_000, Fullness(420_000, 1_000_000, 33_000)),
        ("codex", 163_000, Fullness(163_000, 258_400, 0)),
    ],
)
def test_the_last_answer_says_how_full_it_is(tmp_path: Path, program: str, tokens: int, found: Fullness) -> None:
    assert fullness(str(write_transcript(tmp_path / "t.jsonl", program, tokens))) == found


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_half_written_line_is_passed_over(tmp_path: Path, program: str) -> None:
    file = write_transcript(tmp_path / "t.jsonl", program, 5_000)
    with file.open("ab") as opened:
        opened.write(b'{"type": "assis\xff\n\n[]\n{"type": "event_msg", "payload": null}\n{"ty')
    found = fullness(str(file))
    assert found is not None
    assert found.tokens == 5_000


@pytest.mark.parametrize("boundary", [{"type": "system", "subtype": "compact_boundary"}, {"type": "compacted"}])
def test_after_a_compaction_it_is_not_known_yet(tmp_path: Path, boundary: dict[str, str]) -> None:
    file = write_transcript(tmp_path / "t.jsonl", "claude-code", 170_000)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(boundary) + "\n")
    assert fullness(str(file)) is None


def test_of_a_large_transcript_only_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    line = json.dumps({"type": "assistant", "message": {"usage": {"input_tokens": 9}}}) + "\n"
    filler = json.dumps({"type": "user", "message": "x" * 1000}) + "\n"
    file.write_text(line + filler * (TAIL // len(filler) + 1), encoding="utf-8")
    assert fullness(str(file)) is None
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line)
    assert fullness(str(file)) == Fullness(9, None, 33_000)


def test_without_a_transcript_it_is_not_known(tmp_path: Path) -> None:
    assert [fullness(path) for path in ("", str(tmp_path), str(tmp_path / "gone"), "\0")] == [None] * 4
