"""What the start pages show is what their commands print; `just start-pages` writes it."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from start_pages import BLOCK, PAGES, Shell, results, rewritten, steps_of, without_fractions

MOST_COMMANDS = 6


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_start_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    if "$ curl " in page.read_text(encoding="utf-8") and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    for step, printed in results(page, Shell(tmp_path)):
        assert without_fractions(printed) == without_fractions(step.shown), step.command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_start_page_is_short_and_says_what_is_next(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = [step for language, block in BLOCK.findall(text) if language == "console" for step in steps_of(block)]
    assert 1 <= len(commands) <= MOST_COMMANDS
    assert re.findall(r"^## .*$", text, re.MULTILINE)[-1] == "## What next"


if __name__ == "__main__":
    for start_page in PAGES:
        if len(sys.argv) == 1 or start_page.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as scratch:
                written = rewritten(start_page, Shell(Path(scratch).resolve()))
            start_page.write_text(written, encoding="utf-8")
