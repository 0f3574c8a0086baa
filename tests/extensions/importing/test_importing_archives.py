"""Archives inside an export: those that a program divides its export into are read, and all limits hold for them."""

from __future__ import annotations

import io
import json
import re
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from exports import archive, chatgpt_conversation, claude_conversation
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target

PAGE = "Export/House 1a2b3c4d5e6f708192a3b4c5d6e7f800.md"


def zipped(folder: Path, content: dict[str, str | bytes]) -> bytes:
    file = archive(folder / "made.zip", content)
    content_of = file.read_bytes()
    file.unlink()
    return content_of


def test_a_broken_archive_that_was_uploaded_to_a_conversation_does_not_matter(target: Target, tmp_path: Path) -> None:
    content = {"conversations.json": json.dumps([chatgpt_conversation()]), "file-1-code.zip": b"PK broken"}
    assert target.run("chatgpt", archive(tmp_path / "c.zip", content)).records == 1


def test_the_files_of_an_archive_in_a_vault_are_no_notes(target: Target, tmp_path: Path) -> None:
    code = zipped(tmp_path, {"README.md": "# Code"})
    report = target.run("obsidian", archive(tmp_path / "v.zip", {"a.md": "A fact.", "files/code.zip": code}))
    assert (report.records, report.left_out) == (1, 1)
    assert report.reasons[0].name == "files/code.zip"


def test_files_of_the_same_name_in_two_parts_are_both_imported(target: Target, tmp_path: Path) -> None:
    parts = {
        f"data-batch-{number}.zip": zipped(
            tmp_path, {"conversations.json": json.dumps([claude_conversation(number, f"Answer {number}.")])}
        )
        for number in (1, 2)
    }
    file = archive(tmp_path / "claude.zip", dict(parts))
    assert target.run("claude", file).records == 2
    assert "Answer 1." in target.text
    assert "Answer 2." in target.text
    assert target.run("claude", file).present == 2


def test_a_folder_with_the_parts_of_an_export_is_imported(target: Target, tmp_path: Path) -> None:
    inner = zipped(tmp_path, {PAGE: "# House\n\nA fact.\n"})
    (tmp_path / "Export").mkdir()
    (tmp_path / "Export" / "ExportBlock-9d0f-Part-1.zip").write_bytes(inner)
    assert target.run("notion", tmp_path / "Export").records == 1
    assert "A fact." in target.text
    again = target.run("notion", archive(tmp_path / "whole.zip", {"ExportBlock-9d0f-Part-1.zip": inner}))
    assert (again.records, again.present) == (0, 1)


def test_many_files_that_each_expand_a_little_less_than_a_bomb_are_one(target: Target, tmp_path: Path) -> None:
    notes = {f"{number}.md": f"{number}" + " " * (6 << 20) for number in range(4)}
    with pytest.raises(UsageError, match=re.compile("has 4 files that would expand to 25,165,828 bytes from")):
        target.run("obsidian", archive(tmp_path / "bomb.zip", dict(notes)))
    parts = {f"ExportBlock-Part-{number}.zip": zipped(tmp_path, {f"{number}.md": " " * (9 << 20)}) for number in (1, 2)}
    with pytest.raises(UsageError, match="would expand to"):
        target.run("notion", archive(tmp_path / "parts.zip", dict(parts)))
    (tmp_path / "parts").mkdir()
    for name, content in parts.items():
        (tmp_path / "parts" / name).write_bytes(content)
    with pytest.raises(UsageError, match="would expand to"):
        target.run("notion", tmp_path / "parts")
    assert target.texts() == {}


def test_more_archives_inside_an_export_than_any_has_are_refused(target: Target, tmp_path: Path) -> None:
    inner = zipped(tmp_path, {PAGE: "x"})
    parts = {f"ExportBlock-Part-{number}.zip": inner for number in range(101)}
    with pytest.raises(UsageError, match="more than 100 archives inside it") as refused:
        target.run("notion", archive(tmp_path / "n.zip", dict(parts)))
    assert refused.value.remedy


@pytest.mark.slow
def test_a_page_of_blanks_is_no_bomb(target: Target, tmp_path: Path) -> None:
    file = archive(tmp_path / "v.zip", {"a.md": "A fact." + " " * (1 << 20)})
    assert target.run("obsidian", file).records == 1


def test_a_broken_part_of_an_export_is_named(target: Target, tmp_path: Path) -> None:
    file = archive(tmp_path / "n.zip", {"ExportBlock-1-Part-1.zip": b"PK broken"})
    with pytest.raises(UsageError, match=r"'ExportBlock-1-Part-1\.zip' is broken"):
        target.run("notion", file)


def test_names_in_utf_8_that_are_not_marked_as_such_stay_readable(target: Target, tmp_path: Path) -> None:
    file = archive(tmp_path / "v.zip", {"Küche/온실.md": "A fact."})
    content = bytearray(file.read_bytes())
    for mark, place in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        content[content.index(mark) + place] &= ~0x08
    file.write_bytes(content)
    with zipfile.ZipFile(file) as opened:
        assert opened.namelist() != ["Küche/온실.md"]
    target.run("obsidian", file)
    assert list(target.texts()) == ["obsidian/v/Küche/온실.md"]
    assert "A fact." in target.text


def test_a_note_of_a_tar_archive_has_the_date_of_its_file(target: Target, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "v.tgz", "w:gz") as opened:
        for name, time in (("dated.md", 1_741_955_400), ("undated.md", 0)):
            member = tarfile.TarInfo(name)
            member.size = 7
            member.mtime = time
            opened.addfile(member, io.BytesIO(b"A fact."))
    target.run("obsidian", tmp_path / "v.tgz")
    texts = target.texts()
    assert "\ndate: 2025-03-14\n" in texts["obsidian/v/dated.md"]
    assert "\ndate: " not in texts["obsidian/v/undated.md"]
