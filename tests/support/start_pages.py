"""The pages with examples: run every command of a page in a folder of its own, and compare or write what it prints.

A block of `console` holds commands, each after `$ `, and below each what it prints; one with a title is for another
test. A block of another language whose first line is `# NAME` is a file that the page makes. A command that ends in
`&` is a server, which runs until the page ends.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = ("index", "install", "search", "connect", "python", "memories", "server", "privacy", "trouble", "openclaw")
PAGES = [DOCS / f"{name}.md" for name in NAMES]
BLOCK = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")
STEP = re.compile(r"(?m)^\$ ")
HOME = "/home/me"
DAY = "2026-03-02"
TIME = "09:30"
PORT = "8377"
"""What a page shows in place of the folder it runs in, of today, of the time of an entry, and of the server's port."""
VOLATILE = (
    (re.compile(r"main-[0-9a-f]{8}\.sqlite"), "main-0a1b2c3d.sqlite"),
    (re.compile(r"\bmem_[\w-]{43}"), "mem_…"),
    (re.compile(r"(?<=code=)[\w-]{43}"), "…"),
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "3f2a91c0-…"),
    (re.compile(r"(?<=- )\d\d:\d\d(?= )"), TIME),
    (re.compile(r"(?m)^[0-9a-f]{10}  (\d{4}-\d\d-\d\d) \d\d:\d\d"), rf"3f2a91bc04  \1 {TIME}"),
    (re.compile(r"(?<=until )\d{4}-\d\d-\d\d"), "2026-04-01"),
)
"""What differs in every run, and what a page shows instead."""
FRACTION = re.compile(r"(?<![\w.])\d+\.\d+(?!\.?\d)")
"""Scores and seconds, which differ between processors: a page shows those of one run."""
SECONDS = 240


@dataclass(frozen=True)
class Step:
    """One command of a page, and what the page shows below it."""

    command: str
    shown: str


def steps_of(block: str) -> list[Step]:
    """Return the commands of a block with their outputs."""
    texts = [text for text in STEP.split(block) if text.strip()]
    return [Step(command, shown) for command, _, shown in (text.partition("\n") for text in texts)]


def without_fractions(text: str) -> str:
    """Return the text without the digits of scores and times."""
    return FRACTION.sub("0.0", text)


class Shell:
    """A folder that is home and current folder of the commands of one page."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str] | None = None, shown: Mapping[str, str] | None = None
    ) -> None:
        """Make the folder ready: with the example notes, and with `memoriter` and `python` of this environment.

        Args:
            folder: the folder.
            environment: more environment variables of the commands.
            shown: texts of this run, and what the page has instead.
        """
        self.folder = folder
        self.shown = shown or {}
        self.background: list[subprocess.Popen[str]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        programs = folder / ".programs"
        programs.mkdir()
        for name, words in (("memoriter", "-m memoriter"), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        shutil.copytree(ROOT / "examples", folder / "examples")
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "LC_ALL", "TMPDIR"}}
        self.environment = kept | {
            "HOME": str(folder),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONUTF8": "1",
            "MEMORITER_BACKGROUND": "off",
            "MEMORITER_HOOK_SECONDS": "60",
            **(environment or {}),
        }

    def close(self) -> None:
        """End the commands that still run."""
        for process in self.background:
            process.terminate()
            process.wait(timeout=SECONDS)

    def write(self, name: str, text: str) -> None:
        """Write a file that the page shows."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, step: Step) -> str:
        """Run a command and return what it prints, as a page shows it."""
        command = step.command.replace(PORT, self.port)
        if command.endswith("&"):
            return self.as_shown(self.serve(f"exec {command.removesuffix('&')}", len(step.shown.splitlines())))
        return self.as_shown(self.start(command, subprocess.PIPE).communicate(timeout=SECONDS)[0])

    def start(self, command: str, output: int | IO[str]) -> subprocess.Popen[str]:
        """Start a command whose output and errors go to one place."""
        return subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def serve(self, command: str, lines: int) -> str:
        """Start a server, wait until it answers and has printed so many lines, and return what it printed."""
        printed = self.folder / ".programs" / "printed"
        with printed.open("w", encoding="utf-8") as output:
            self.background.append(self.start(command, output))
        self.wait_for_the_server(self.background[-1])
        for _ in range(50):
            if len(printed.read_text(encoding="utf-8").splitlines()) >= lines > 0:
                break
            time.sleep(0.1)
        return printed.read_text(encoding="utf-8")

    def wait_for_the_server(self, process: subprocess.Popen[str]) -> None:
        """Return when the port answers; fail if the command ended."""
        for _ in range(SECONDS * 10):
            assert process.poll() is None, "the server has ended"
            with socket.socket() as client:
                if not client.connect_ex(("127.0.0.1", int(self.port))):
                    return
            time.sleep(0.1)
        raise TimeoutError(self.port)

    def as_shown(self, printed: str) -> str:
        """Return an output with the names and times of the pages in place of those of this run."""
        text = printed.replace(str(self.folder), HOME).replace(self.port, PORT)
        for now in (datetime.now().astimezone(), datetime.now(UTC)):
            text = text.replace(now.strftime("%Y-%m-%d"), DAY)
        for own, instead in self.shown.items():
            text = text.replace(own, instead)
        for pattern, instead in VOLATILE:
            text = pattern.sub(instead, text)
        return text if not text or text.endswith("\n") else f"{text}\n"


def results(page: Path, shell: Shell, blocks: re.Pattern[str] = BLOCK) -> Iterator[tuple[Step, str]]:
    """Run the commands of a page in order, and return each with what it prints. The shell is closed at the end."""
    try:
        for language, block in blocks.findall(page.read_text(encoding="utf-8")):
            if language == "console":
                yield from ((step, shell.run(step)) for step in steps_of(block))
            elif name := re.match(r"# (\S+)\n", block):
                shell.write(name[1], block)
    finally:
        shell.close()


def rewritten(page: Path, shell: Shell, blocks: re.Pattern[str] = BLOCK) -> str:
    """Return the page with what its commands print now."""
    printed = results(page, shell, blocks)

    def block_again(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        lines = [f"$ {step.command}\n{next(printed)[1]}" for step in steps_of(match[2])]
        first = match[0].partition("\n")[0]
        return f"{first}\n{''.join(lines)}```"

    text = blocks.sub(block_again, page.read_text(encoding="utf-8"))
    assert next(printed, None) is None
    return text
