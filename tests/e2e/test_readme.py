"""The README shows what really happens."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from indexed_examples import indexed_examples

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
STEPS = [step for block in CONSOLE for step in re.split(r"^\$ ", block, flags=re.MULTILINE) if step.strip()]
HIT = re.compile(r"^\d+\. (\S+#L\S+)", flags=re.MULTILINE)
INSTALL = re.search(r"```sh\n(python3 -m venv .*?)\n```", README, flags=re.DOTALL)[1]
FIRST_SEARCH = shlex.split(INSTALL.rpartition("&&")[2])
BUSY_LOOPS = 3


def memoriter(home, *words, prefix=(), folder=ROOT):
    return subprocess.run(
        [*prefix, sys.executable, "-m", "memoriter", *words],
        cwd=folder,
        env={**os.environ, "MEMORITER_HOME": str(home), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the examples, and a home with a whole index of them.

    On a slow machine a first search may answer before it has one.
    """
    examples = indexed_examples(tmp_path_factory)
    home = examples.home(tmp_path_factory.mktemp("readme") / "home")
    for workspace in {shlex.split(step.partition("\n")[0])[2] for step in STEPS}:
        memoriter(home, "-w", workspace, "index", folder=examples.folder)
    return examples.folder, home


@pytest.mark.parametrize("step", STEPS, ids=[step.splitlines()[0][-50:] for step in STEPS])
def test_a_session_of_the_readme_cites_the_same_lines(step, place):
    command, _, shown = step.partition("\n")
    words = shlex.split(command)
    assert words[:2] == ["memoriter", "-w"]
    folder, home = place
    done = memoriter(home, *words[1:], folder=folder)
    assert HIT.findall(done.stdout) == HIT.findall(shown) != []
    assert shown.strip().splitlines()[-1] in done.stdout


def test_the_readme_shows_at_least_four_answers():
    assert len(STEPS) >= 4


@pytest.mark.timeout(900)
@pytest.mark.skipif(not all(map(shutil.which, ("taskset", "nice"))), reason="needs taskset and nice")
def test_the_first_command_on_one_busy_core_is_right_or_says_that_it_is_not_ready(tmp_path):
    """Three busy loops have the same core, and the command is the one that gives way."""
    core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    assert FIRST_SEARCH[0] == ".venv/bin/memoriter"
    with ExitStack() as stack:
        for _ in range(BUSY_LOOPS):
            loop = stack.enter_context(subprocess.Popen([*core, "sh", "-c", "while :; do :; done"]))
            stack.callback(loop.kill)
        first = memoriter(tmp_path, *FIRST_SEARCH[1:], prefix=[*core, "nice"])
    said_match = re.search(r"^Best match: 1\. (\S+)#L(\d+)-L(\d+)$", first.stdout, flags=re.MULTILINE)
    if said_match:
        lines = (ROOT / FIRST_SEARCH[2] / said_match[1]).read_text(encoding="utf-8").splitlines()
        assert "PostgreSQL" in "\n".join(lines[int(said_match[2]) - 1 : int(said_match[3])])
    else:
        assert "Best match" not in first.stdout
        assert re.search(r"^! .* (wait for vectors|not indexed|is left)", first.stderr, flags=re.MULTILINE), (
            first.stderr
        )
        assert "Run `memoriter index`." in first.stderr
