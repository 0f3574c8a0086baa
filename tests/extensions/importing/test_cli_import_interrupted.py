"""Imports that are killed, large exports, and the page that shows how an import looks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import exports
import memoriter
from exports import archive, chatgpt_conversation

if TYPE_CHECKING:
    from program import Program

ROOT = Path(memoriter.__file__).parents[2]
RUN = "from memoriter.cli import main; main()"
KILL = """
import os, signal
from memoriter.workspace import Workspace
written, usual = [], Workspace.replace
def replace(self, path, text, **more):
    usual(self, path, text, **more)
    written.append(path)
    if len(written) == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
Workspace.replace = replace
"""
MEASURE = """
import resource
try:
    main()
finally:
    import sys
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def process(program: Program, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MEMORITER_HOME": str(program.home)}
    command = [sys.executable, "-c", code, "-w", str(program.workspace), *words]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=110)


def imported(program: Program) -> dict[str, str]:
    folder = program.workspace / "memory" / "imported"
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in folder.rglob("*.md")}


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 7])
def test_an_import_that_was_killed_is_continued_and_nothing_is_there_twice(
    program: Program, tmp_path: Path, number: int
) -> None:
    conversations = [chatgpt_conversation(each, f"Question {each}?") for each in range(8)]
    file = str(archive(tmp_path / "c.zip", {"conversations.json": json.dumps(conversations)}))
    killed = process(program, f"{KILL.format(number=number)}{RUN}", "import", "chatgpt", file)
    assert killed.returncode == -signal.SIGKILL
    assert len(imported(program)) == number
    rest = program("import", "chatgpt", file, "--json").json
    assert (rest["notes"], rest["present"]) == (8 - number, number)
    assert len(imported(program)) == 8
    assert not list(program.workspace.rglob("*.tmp"))
    undone = program("import", "--undo", rest["id"], "--yes", "--json").json
    assert (len(undone["removed"]), undone["kept"]) == (8, [])


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_later_import_that_was_killed_is_continued_and_undone_as_one(
    program: Program, tmp_path: Path, number: int
) -> None:
    def export(answer: str, count: int) -> str:
        conversations = [chatgpt_conversation(each, "Well?", answer) for each in range(count)]
        return str(archive(tmp_path / "c.zip", {"conversations.json": json.dumps(conversations)}))

    assert program("import", "chatgpt", export("Blue.", 2)).exit_code == 0
    before = imported(program)
    later = export("Red.", 3)
    killed = process(program, f"{KILL.format(number=number)}{RUN}", "import", "chatgpt", later)
    assert killed.returncode == -signal.SIGKILL
    assert imported(program) != before
    program("import", "chatgpt", later)
    assert "Blue." not in "".join(imported(program).values())
    assert len(imported(program)) == 3
    (identifier,) = [row["id"] for row in program("import", "--list", "--json").json["imports"] if row["changed"]]
    assert program("import", "--undo", identifier, "--yes").exit_code == 0
    assert imported(program) == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="measures the memory of a process as POSIX does")
def test_an_export_ten_times_as_large_needs_no_more_memory(program: Program, tmp_path: Path) -> None:
    peaks = list[int]()
    for count in (30, 300):
        file = tmp_path / f"{count}.json"
        with file.open("w", encoding="utf-8") as opened:
            opened.write("[")
            for number in range(count):
                opened.write("," if number else "")
                json.dump(chatgpt_conversation(number, "Why? " * 2_000, "Because. " * 1_000), opened)
            opened.write("]")
        done = process(program, RUN.replace("main()", MEASURE), "import", "chatgpt", str(file), "--dry-run", "--json")
        assert json.loads(done.stdout)["notes"] == count
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] < 1.25 * peaks[0]


@pytest.mark.slow
def test_the_page_shows_what_the_commands_print(program: Program, tmp_path: Path) -> None:
    exports.chatgpt(program.workspace)
    exports.obsidian(tmp_path / "elsewhere").rename(program.workspace / "Vault")
    for note in ("MEMORY.md", "memory/2026-02-10.md", "memory/travel.md"):
        assert (program.workspace / note).is_file()
    elsewhere = tmp_path / "empty"
    (elsewhere / "memory").mkdir(parents=True)
    page = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    shown = printed = ""
    for command in re.split(r"^\$ memoriter ", "".join(blocks), flags=re.MULTILINE)[1:]:
        line, _, output = command.partition("\n")
        done = program(*line.replace("~/elsewhere", str(elsewhere)).split())
        shown += f"$ {line}\n{output}"
        text = (done.out + done.err).replace(str(program.workspace), "~/notes").replace(str(elsewhere), "~/elsewhere")
        printed += f"$ {line}\n" + re.sub(r"(?<=--undo )[0-9a-f]{8}", "ID", text)
    assert printed == shown
