"""QMD for tests: the released program from npm, the scripted one, and a driver for either."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.config import QmdSettings, plan_qmd
from memoriter.qmd import QmdDriver, QmdPlace
from memoriter.workspace import Workspace
from released_clients import released_packages

if TYPE_CHECKING:
    from memoriter.workspace import Transcripts

VERSION = "2.8.3"
SCRIPT = Path(__file__).with_name("scripted_qmd.py")


@dataclass(frozen=True)
class ScriptedQmd:
    """A copy of the scripted program."""

    program: Path

    @classmethod
    def at(cls, folder: Path) -> ScriptedQmd:
        folder.mkdir(parents=True)
        program = folder / "qmd"
        program.write_text(f"#!{sys.executable} -IS\n{SCRIPT.read_text(encoding='utf-8')}", encoding="utf-8")
        program.chmod(0o755)
        return cls(program)

    def break_(self, **faults: str) -> None:
        """Let commands fail from now on, and no others: `search="hang"`; `mcp_query` is the tool of the MCP server."""
        content = {name.replace("_", " "): fault for name, fault in faults.items()}
        (self.program.parent / "faults.json").write_text(json.dumps(content), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What was started: `arguments`, `cwd`, `environ` and `pid`."""
        file = self.program.parent / "calls.jsonl"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    @property
    def commands(self) -> list[str]:
        return [call["arguments"][0] for call in self.calls]

    @property
    def child(self) -> int:
        """The process that a hanging program started."""
        return int((self.program.parent / "child").read_text(encoding="utf-8"))


def released_qmd() -> Path:
    """Return the released program, installed once for this user; skip the test where npm or its registry is absent."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        pytest.skip(f"NOT TESTED with QMD {VERSION}: its packages are known for Linux only")
    packages = [f"node-linux-{machine}@22", f"@tobilu/qmd@{VERSION}", f"sqlite-vec-linux-{machine}@0.1.9"]
    packages += [f"@node-llama-cpp/linux-{machine}@3.20.0"]  # the models run on the processor
    flags = ["--ignore-scripts", "--omit=optional", "--omit=peer"]
    return released_packages(f"qmd-{VERSION}", packages, "qmd", flags)


@dataclass
class QmdMemory:
    """Notes, a home, and drivers of one program for them; the wall clock moves only by `wait`."""

    folder: Path
    program: Path
    environ: dict[str, str] = field(default_factory=dict)
    transcripts: Transcripts | None = None
    seconds: float = 1_780_000_000.0
    opened: list[QmdDriver] = field(default_factory=list)

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def home(self) -> Path:
        """QMD's private home."""
        return self.folder / "home" / "agents" / "main" / "qmd"

    def write(self, path: str, text: str) -> Path:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    def driver(self, *, real_time: bool = False, **settings: Any) -> QmdDriver:
        """A driver with these settings of `memory.qmd`."""
        self.notes.mkdir(exist_ok=True)
        chosen = replace(QmdSettings(), command=str(self.program), **settings)
        home = self.folder / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environ}
        place = QmdPlace(
            agent="main",
            workspace=Workspace(self.notes),
            state_dir=home,
            environ=environ,
            wall=time.time if real_time else lambda: self.seconds,
            monotonic=time.monotonic,
            transcripts=self.transcripts,
        )
        plan = plan_qmd(chosen, "main", workspace=self.notes, user_home=self.folder)
        self.opened.append(QmdDriver.open(plan, place))
        return self.opened[-1]

    def close(self) -> None:
        for driver in self.opened:
            driver.close()
