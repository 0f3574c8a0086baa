"""What the page on errors says of paths that are left out is what a scan reports of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from memoriter.workspace import ExtraPath, TranscriptFolder, Transcripts, Workspace
from odd_files import posix_only

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Paths that are left out\n")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", SECTION, re.MULTILINE))


def write(file: Path, text: str = "- Tea.\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def memory(tmp_path: Path) -> Workspace:
    """A workspace and transcripts with a path for almost every reason."""
    root = tmp_path / "notes"
    sessions = tmp_path / "agents" / "main" / "sessions"
    note = write(root / "MEMORY.md")
    (root / "memory").mkdir()
    (root / "memory" / "link.md").symlink_to(note)
    for name in (
        ".hidden.md",
        ".hidden/a.md",
        "node_modules/a.md",
        "a.md~",
        "table.csv",
        "private.md",
        "two\nlines.md",
    ):
        write(root / "memory" / name)
    write(root / "memory" / ".memoryignore", "private.md\n")
    write(root / "memory" / "book.md", "long" * 100)
    write(root / "memory" / "long-term.md", "- I like tea. <!-- memory: x principal=bob -->\n")
    write(root / "memory" / "many" / ".memoryignore", "pattern\n" * 1001)
    write(root / "memory" / "long" / ".memoryignore", "x" * 1001)
    os.mkfifo(root / "memory" / "pipe.md")
    os.mkfifo(root / "pipe.md")
    write(root / "extra" / "a.md")
    write(sessions / "one.jsonl", "{}\n")
    os.link(sessions / "one.jsonl", sessions / "two.jsonl")
    (sessions / "link.jsonl").symlink_to(sessions / "one.jsonl")
    os.mkfifo(sessions / "pipe.jsonl")
    folders = [
        TranscriptFolder(sessions),
        TranscriptFolder(tmp_path / "agents" / "other" / "sessions", "sessions/other"),
        TranscriptFolder(write(tmp_path / "talk.txt"), "sessions/talk.txt", configured=True),
        TranscriptFolder(tmp_path / "nowhere", "sessions/nowhere", configured=True),
    ]
    extra_paths = [ExtraPath("nowhere.md"), ExtraPath("pipe.md"), ExtraPath("extra", "x" * 1001)]
    transcripts = Transcripts(folders, (tmp_path / "agents",), "main")
    return Workspace(root, extra_paths, max_bytes=200, transcripts=transcripts)


@posix_only
def test_the_page_explains_each_message_under_its_reason(memory: Workspace) -> None:
    skipped = memory.scan().skipped
    unexplained = [
        each
        for each in skipped
        if not any(phrase in each.message for phrase in re.findall(r'"(.+?)"', ROWS.get(each.reason, "")))
    ]
    assert unexplained == []
    assert {each.reason for each in skipped} == set(ROWS) - {"outside"}
    assert len({each.message for each in skipped}) >= 16
