"""The end of a conversation's transcript shows its context usage."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from hook_inputs import PROGRAMS, write_transcript
from memoriter.agent._coding import TAIL_BYTES, ContextUsage, context_usage
from memoriter.errors import PathRefused
from odd_files import KINDS, longer_than_memory, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("program", "tokens", "found"),
    [
        ("claude-code", 163_000, ContextUsage(163_000, None, 33_000)),
        ("claude-code", 420_000, ContextUsage(420_000, 1_000_000, 33_000)),
        ("codex", 163_000, ContextUsage(163_000, 258_400, 0)),
    ],
)
def test_the_last_answer_says_how_full_it_is(tmp_path: Path, program: str, tokens: int, found: ContextUsage) -> None:
    assert context_usage(str(write_transcript(tmp_path / "t.jsonl", program, tokens))) == found


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-5-5", 1_000_000),
        ("us.anthropic.claude-sonnet-5-1-v1:0", 1_000_000),
        ("claude-haiku-5", None),
        ("claude-opus-4-1-20250805", None),
        ("glm-4.7", None),
    ],
)
def test_the_model_of_the_last_answer_says_how_much_it_holds(tmp_path: Path, model: str, window: int | None) -> None:
    file = write_transcript(tmp_path / "t.jsonl", "claude-code", 163_000)
    file.write_text(file.read_text(encoding="utf-8").replace("claude-sonnet-4-6", model), encoding="utf-8")
    assert context_usage(str(file)) == ContextUsage(163_000, window, 33_000)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_half_written_line_is_passed_over(tmp_path: Path, program: str) -> None:
    file = write_transcript(tmp_path / "t.jsonl", program, 5_000)
    with file.open("ab") as opened:
        opened.write(b'{"type": "assis\xff\n\n[]\n{"type": "event_msg", "payload": null}\n{"ty')
    usage = context_usage(str(file))
    assert usage is not None
    assert usage.tokens == 5_000


@pytest.mark.parametrize("boundary", [{"type": "system", "subtype": "compact_boundary"}, {"type": "compacted"}])
def test_after_a_compaction_it_is_not_known_yet(tmp_path: Path, boundary: dict[str, str]) -> None:
    file = write_transcript(tmp_path / "t.jsonl", "claude-code", 170_000)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(boundary) + "\n")
    assert context_usage(str(file)) is None


def test_of_a_large_transcript_only_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    line = json.dumps({"type": "assistant", "message": {"usage": {"input_tokens": 9}}}) + "\n"
    filler = json.dumps({"type": "user", "message": "x" * 1000}) + "\n"
    file.write_text(line + filler * (TAIL_BYTES // len(filler) + 1), encoding="utf-8")
    assert context_usage(str(file)) is None
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line)
    assert context_usage(str(file)) == ContextUsage(9, None, 33_000)


def test_without_a_transcript_it_is_not_known(tmp_path: Path) -> None:
    assert [context_usage(path) for path in ("", str(tmp_path / "gone"))] == [None] * 2


@pytest.mark.parametrize("path", ["\0", "~nobody-has-this-name/t.jsonl", "x" * 5_000])
def test_a_path_that_no_file_can_have_is_refused(path: str) -> None:
    with pytest.raises(PathRefused):
        context_usage(path)


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not longer_than_memory])
def test_a_transcript_that_is_no_plain_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    file = tmp_path / "t.jsonl"
    make(file)
    with pytest.raises(PathRefused, match=r"t\.jsonl"):
        context_usage(str(file))


@posix_only
def test_a_transcript_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_transcript(tmp_path / "t.jsonl", "claude-code", 5_000)
    owner = file.stat().st_uid
    if owner == 0:
        os.chown(file, 12_345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PathRefused, match="another user"):
        context_usage(str(file))


@posix_only
def test_of_a_transcript_without_end_only_the_end_is_read(tmp_path: Path) -> None:
    longer_than_memory(tmp_path / "t.jsonl")
    assert context_usage(str(tmp_path / "t.jsonl")) is None


@posix_only
def test_a_folder_on_the_way_to_the_transcript_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    write_transcript(tmp_path / "projects" / "t.jsonl", "claude-code", 5_000)
    (tmp_path / "linked").symlink_to(tmp_path / "projects")
    assert context_usage(str(tmp_path / "linked" / "t.jsonl")) == ContextUsage(5_000, None, 33_000)


def test_a_line_that_is_nested_too_deeply_is_passed_over(tmp_path: Path) -> None:
    file = write_transcript(tmp_path / "t.jsonl", "claude-code", 5_000)
    with file.open("a", encoding="utf-8") as opened:
        opened.write("[" * 200_000 + "\n")
    assert context_usage(str(file)) == ContextUsage(5_000, None, 33_000)
