"""The sessions in docs/search.md are what the program really prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
SESSIONS = re.findall(
    r"```console\n\$ (memoriter (?:[^'\n]|'[^']*')*)\n(.*?)\n```",
    (ROOT / "docs" / "search.md").read_text("utf-8"),
    re.DOTALL,
)
MILLISECONDS = re.compile(r"(?m)^milliseconds: .*$")
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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    run(home, "-w", "examples/workspace", "index")
    return home


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=["typed", "why-not"])
def test_a_session_of_the_docs_prints_the_same_except_for_digits_of_scores(
    command: str, shown: str, home: Path
) -> None:
    printed = run(home, *shlex.split(command)[1:])
    for pattern in (MILLISECONDS, SCORE):
        printed = pattern.sub("0.0", printed)
        shown = pattern.sub("0.0", shown)
    assert printed == shown
