"""A test environment: notes, a home, environment variables and a clock, for the library and the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import json5

import memoriter
from memoriter import Memory
from memoriter.app import Environment, assemble
from memoriter.config import TrustStore
from memoriter.types import SyncReport
from servers import KEY

if TYPE_CHECKING:
    from memoriter.types import SearchResult

NOTES = {
    "MEMORY.md": "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n",
    "memory/2026-02-10.md": "# Router\n\nThe Omada ER605 keeps VLAN 10 for the printers.\n",
    "memory/2026-03-05.md": "# Trip\n\nThe train to Osaka leaves at noon; the hotel is by the river.\n",
    "memory/work/style.md": "# Style\n\nCommits are written in the imperative mood.\n",
}
QUESTION = "which database for the ledger"
SOURCES = Path(memoriter.__file__).parents[1]


@dataclass
class Outcome:
    """The output of one run of the program."""

    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class MemoryEnv:
    """Notes and a home with a clock that moves only by `wait`; the program runs as a process with the real clock."""

    notes: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    seconds: float = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
    ticks: float = 1_000.0
    opened: list[Memory] = field(default_factory=list)

    @classmethod
    def at(cls, folder: Path, notes: dict[str, str] | None = None) -> MemoryEnv:
        env = cls(folder / "notes", folder / "home")
        env.home.mkdir(mode=0o700, parents=True)
        env.notes.mkdir()
        for path, text in (NOTES if notes is None else notes).items():
            env.write(path, text)
        return env

    def write(self, path: str, text: str) -> None:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def many(self, number: int, name: str = "many") -> None:
        """So many notes, each one chunk."""
        for n in range(number):
            self.write(f"memory/{name}/{n:03}.md", f"# {name} {n}\n\nThe {name}word{n} lies beside {name}thing{n}.\n")

    def trust(self, *folders: Path) -> None:
        """Let agents that work in these folders, or else in the notes, use them."""
        trust(self.home, *(folders or (self.notes,)))

    def wait(self, seconds: float = 2.0) -> None:
        """Let time pass."""
        self.ticks += seconds
        self.seconds += seconds

    @property
    def config(self) -> Path:
        return self.home / "memoriter.json5"

    def configure(self, models: dict[str, Any] | None = None, **search: Any) -> None:
        """Write the configuration: `models.providers`, and the settings of `memorySearch`."""
        settings: dict[str, Any] = {"agents": {"defaults": {"memorySearch": search}}}
        if models:
            settings["models"] = {"providers": models}
        part = self.config.with_suffix(".part")
        part.write_text(json5.dumps(settings), encoding="utf-8")
        part.replace(self.config)  # whoever reads meanwhile sees the old one or the new one, and never half of it

    def open(self, agent: str | None = None) -> Memory:
        """A memory as it is configured now."""
        environ = {"MEMORITER_HOME": str(self.home), **self.environ}
        environment = Environment(environ, self.home, self.notes, lambda: self.seconds, lambda: self.ticks)
        self.opened.append(Memory(assemble(self.notes, agent=agent, env=environment)))
        return self.opened[-1]

    def close(self) -> None:
        for memory in self.opened:
            memory.close()

    def command(self, *words: str, before: str = "") -> list[str]:
        """The program; `before` is Python that runs first, in the same process."""
        program = f"import sys\n{before}\nfrom memoriter.cli import main\nmain(sys.argv[1:])"
        return [sys.executable, "-c", program, *words]

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(SOURCES), str(Path(__file__).parent)])
        kept = ("PATH", "COVERAGE_PROCESS_CONFIG", "MEMORITER_BACKGROUND", "MEMORITER_HOOK_SECONDS")
        inherited = {name: os.environ[name] for name in kept if name in os.environ}
        own = {"MEMORITER_HOME": str(self.home), "HOME": str(self.home), "PYTHONPATH": path}
        return {**inherited, **own, **self.environ}

    def run(self, *words: str, before: str = "", typed: str | None = None) -> Outcome:
        """Run the program on these notes; `typed` is what it reads from stdin."""
        done = subprocess.run(
            self.command("-w", str(self.notes), *words, before=before),
            input=typed,
            capture_output=True,
            encoding="utf-8",
            env=self.environment(),
            cwd=self.notes,
            timeout=150,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)


def trust(home: Path, *folders: Path) -> None:
    """Trust folders, as `memoriter trust` does."""
    for folder in folders:
        TrustStore(home).add(folder)


def compatible(server: Any, key: str = KEY, **more: Any) -> dict[str, Any]:
    """Settings of `memorySearch` for an OpenAI-compatible service."""
    remote = {"baseUrl": server.base_url, "apiKey": key, **more.pop("remote", {})}
    return {"provider": "openai-compatible", "model": server.model, "remote": remote, **more}


def paths(result: SearchResult) -> list[str]:
    return [hit.path for hit in result.results]


def codes(found: Any) -> list[str]:
    """The reasons of an answer, a status or a report."""
    reasons = found.reasons if isinstance(found, SyncReport) else found.health.reasons
    return [reason.code for reason in reasons]
