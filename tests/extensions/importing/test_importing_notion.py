"""The notes of Notion have the dates of their pages, and not that of the export."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target

NAME = "Export/House 1a2b3c4d5e6f708192a3b4c5d6e7f800.md"


def export(file: Path, text: str, *, day: int = 1) -> Path:
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr(zipfile.ZipInfo(NAME, (2025, 9, day, 8, 0, 0)), text)
        table = NAME.replace("House", "Tools").replace(".md", ".csv")
        opened.writestr(zipfile.ZipInfo(table, (2025, 9, day, 8, 0, 0)), "Name\nSaw\n")
    return file


@pytest.mark.parametrize(
    "line",
    [
        "Created time: March 14, 2025 9:26 AM",
        "Tags: power\nCreated: 2025/03/14 09:26",
        "Created at: 14 March 2025",
        "Created: 03/14/2025 9:26 AM",
        "Date created: 2025-03-14T09:26:00.000Z",
    ],
)
def test_a_page_has_the_day_of_its_creation(target: Target, tmp_path: Path, line: str) -> None:
    target.run("notion", export(tmp_path / "n.zip", f"# House\n\n{line}\n\nA fact.\n"), zone="Asia/Tokyo")
    assert "\ndate: 2025-03-14\n" in target.texts()["notion/Export/House.md"]


@pytest.mark.parametrize("text", ["A fact.", "Created: 04/03/2025\n\nA fact.", "A fact.\n\nCreated: 2020-01-01"])
def test_a_page_without_a_day_of_its_own_has_not_that_of_the_export(target: Target, tmp_path: Path, text: str) -> None:
    target.run("notion", export(tmp_path / "n.zip", f"# House\n\n{text}\n"))
    assert "\ndate: " not in target.text


def test_the_same_pages_that_are_exported_later_change_nothing(target: Target, tmp_path: Path) -> None:
    text = "# House\n\nA fact.\n"
    target.run("notion", export(tmp_path / "1.zip", text))
    later = target.run("notion", export(tmp_path / "2.zip", text, day=20))
    assert (later.present, later.updated, later.records) == (2, 0, 0)
