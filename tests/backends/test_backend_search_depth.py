"""How much code a search runs through when nothing has changed: a bound on detours, which does not depend on time."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import memoriter
from memoriter import Memory
from memoriter.sync._changes import STEP_SECONDS

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(memoriter.__file__).parent)
MOST_FUNCTIONS = 217
MOST_FILES = 35
MORE_FUNCTIONS = 28
MORE_FILES = 2
"""Those that the judge adds."""
INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Comprehensions, which Python 3.11 calls as functions and later versions do not. They are left out everywhere."""


@pytest.mark.parametrize("judge", [False, True])
def test_a_warm_search_runs_through_few_functions_of_few_files(tmp_path: Path, *, judge: bool) -> None:
    for day in range(1, 6):
        note = tmp_path / "notes" / "memory" / f"2026-02-{day:02}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"# Day {day}\n\n- We drank green tea and spoke of plan {day}.\n", encoding="utf-8")
    (tmp_path / "notes" / "MEMORY.md").write_text("# Tea\n\nGreen tea is brewed at 80 degrees.\n", encoding="utf-8")
    settings = {"memorySearch": {"query": {"rerank": "judge" if judge else "off"}}}
    config = tmp_path / "settings.json5"
    config.write_text(json.dumps(settings), encoding="utf-8")
    written = time.time()
    functions_of_searches: list[set[tuple[str, str]]] = []

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name not in INLINED:
            functions_of_searches[-1].add((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    with Memory.open(tmp_path / "notes", home=tmp_path / "home", config=config) as memory:
        assert memory.search("green tea").hits
        while time.time() - written < 2 * STEP_SECONDS:  # a search reads younger notes again
            time.sleep(STEP_SECONDS / 10)
        for _ in range(5):
            functions_of_searches.append(set())
            before = sys.getprofile()
            sys.setprofile(note_call)
            try:
                memory.search("green tea")
            finally:
                sys.setprofile(before)

    # The first of them may still find a changed note, and the next one reads the changed index once more.
    functions = min(functions_of_searches, key=len)
    files = {file for file, _ in functions}
    assert len(functions) <= MOST_FUNCTIONS + judge * MORE_FUNCTIONS, sorted(functions)
    assert len(files) <= MOST_FILES + judge * MORE_FILES, sorted(files)
