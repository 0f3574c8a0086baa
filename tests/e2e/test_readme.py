"""The README shows what really happens."""

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
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
STEPS = [step for block in CONSOLE for step in re.split(r"^\$ ", block, flags=re.MULTILINE) if step.strip()]
HIT = re.compile(r"^\d+\. (\S+#L\S+)", flags=re.MULTILINE)


def memoriter(home, *words):
    return subprocess.run(
        [sys.executable, "-m", "memoriter", *words],
        cwd=ROOT,
        env={**os.environ, "MEMORITER_HOME": str(home), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a whole index of the examples: on a slow machine a first search may answer before it has one."""
    home = tmp_path_factory.mktemp("home")
    for workspace in {shlex.split(step.partition("\n")[0])[2] for step in STEPS}:
        memoriter(home, "-w", workspace, "index")
    return home


@pytest.mark.parametrize("step", STEPS, ids=[step.splitlines()[0][-50:] for step in STEPS])
def test_a_session_of_the_readme_cites_the_same_lines(step, home):
    command, _, shown = step.partition("\n")
    words = shlex.split(command)
    assert words[:2] == ["memoriter", "-w"]
    done = memoriter(home, *words[1:])
    assert HIT.findall(done.stdout) == HIT.findall(shown) != []
    assert shown.strip().splitlines()[-1] in done.stdout


def test_the_readme_shows_at_least_four_answers():
    assert len(STEPS) >= 4
