"""The session of `memoriter why-not` in docs/search.md is what the program really prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SESSION = re.search(
    r"```console\n\$ (memoriter .*?)\n(.*?)\n```", (ROOT / "docs" / "search.md").read_text("utf-8"), re.DOTALL
)
SCORE = re.compile(r"\d\.\d{2,}")


def run(home: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "memoriter", *words],
        cwd=ROOT,
        env={**os.environ, "MEMORITER_HOME": str(home), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


def test_the_session_of_the_docs_prints_the_same_stages_and_the_same_change(tmp_path: Path) -> None:
    assert SESSION is not None
    words, shown = shlex.split(SESSION[1])[1:], SESSION[2]
    home = tmp_path / "home"
    run(home, *words[:2], "index")
    assert SCORE.sub("0.0", run(home, *words)) == SCORE.sub("0.0", shown)
