"""Every settings file on the pages of docs is a whole one, and each of its settings acts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memoriter.config import load, settings_without_effect

DOCS = Path(__file__).parents[2] / "docs"
FILES = [
    (page.stem, text)
    for page in sorted(DOCS.glob("*.md"))
    for text in re.findall(r"(?ms)^```json5\n(.*?)^```$", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "text"), FILES)
def test_a_settings_file_of_a_page_is_read_and_every_setting_of_it_acts(page: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "memoriter.json5"
    file.write_text(text, encoding="utf-8")
    assert settings_without_effect(load(file, home=tmp_path, environ={})) == (), page


def test_the_pages_show_several_settings_files() -> None:
    assert len(FILES) >= 8
