"""The program itself, in a process of its own, on notes about a decision that was made in Korean."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from memoriter.cli import main
from servers import KEY

SOURCE = Path(sys.modules[main.__module__].__file__ or "").parents[2]
NOTES = {
    "MEMORY.md": "# 결정\n\n"
    "- DB 결정: PostgreSQL로 한다. ACID 트랜잭션이 필요하고 팀이 잘 안다.\n- 커피: 플랫 화이트.\n",
    "memory/2026-02-10.md": "# 2026-02-10\n\n- Router: Omada ER605, VLAN 10 for IoT devices.\n",
    "memory/travel.md": "# Travel\n\n- The Osaka trip starts on the twelfth of April from Kansai airport.\n",
}
SETTINGS = """{{
  agents: {{defaults: {{userTimezone: "UTC", memorySearch: {{
    provider: "fake", sources: ["memory", "sessions"], experimental: {{sessionMemory: true}}
  }}}}}},
  models: {{providers: {providers}}},
}}"""


@dataclass
class Outcome:
    """What one chat left behind."""

    exit_code: int
    out: str
    err: str

    @property
    def replies(self) -> list[str]:
        return self.out.splitlines()

    def seen(self, kind: str) -> list[str]:
        """What `--show-memory` has shown of one kind."""
        return [line[10:] for line in self.err.splitlines() if line.startswith(f"{kind:<9} ")]


@dataclass
class Program:
    notes: Path
    home: Path

    def configure(self, providers: str = "{}") -> None:
        (self.home / "memoriter.json5").write_text(SETTINGS.format(providers=providers), encoding="utf-8")

    def environment(self, **more: str) -> dict[str, str]:
        strange = ("MEMORITER_", "OPENAI_", "ANTHROPIC_")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
        return {
            **environ,
            "MEMORITER_HOME": str(self.home),
            "MEMORITER_WORKSPACE": str(self.notes),
            "MEMORITER_BACKGROUND": "off",
            "PYTHONPATH": str(SOURCE),
            "PYTHONUTF8": "1",
            "CHAT_KEY": KEY,
            **more,
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "memoriter", *words]

    def __call__(self, *words: str, typed: str = "", **environ: str) -> Outcome:
        done = subprocess.run(
            self.command(*words),
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=self.notes,
            env=self.environment(**environ),
            timeout=100,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def transcripts(self) -> list[Path]:
        return sorted(
            (self.home / "agents" / "main" / "sessions").glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns
        )


@pytest.fixture
def program(tmp_path: Path) -> Program:
    notes = tmp_path / "notes"
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name, text in NOTES.items():
        file = notes / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    program = Program(notes, home)
    program.configure()
    return program
