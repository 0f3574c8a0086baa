"""What the pages show is what their commands print; `just start-pages` writes it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from start_pages import DOCS, NAMES, PAGES, Shell, results, rewritten, without_fractions


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    if "$ curl " in page.read_text(encoding="utf-8") and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    for step, printed in results(page, Shell(tmp_path)):
        assert without_fractions(printed) == without_fractions(step.shown), step.command


def test_every_page_with_commands_and_their_outputs_is_run() -> None:
    elsewhere = {"import"}  # tests/extensions/importing
    shown = {page.stem for page in DOCS.glob("*.md") if "```console\n" in page.read_text(encoding="utf-8")}
    assert shown - elsewhere == set(NAMES)


if __name__ == "__main__":
    for start_page in PAGES:
        if len(sys.argv) == 1 or start_page.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as scratch:
                written = rewritten(start_page, Shell(Path(scratch).resolve()))
            start_page.write_text(written, encoding="utf-8")
