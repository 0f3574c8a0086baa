"""Processes of a team that use one memory on a PostgreSQL server, each with a home of its own as on another host.

What a process did is in a file of lines, so that it outlives the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import memoriter
import soak
from memoriter.errors import MemoriterError
from memoriter.sync import BATCH_TOKENS
from servers.compatible import DOCUMENT, texts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from servers.base import Call
    from servers.compatible import CompatibleServer

ROLES = ("search", "search", "search", "remember", "remember", "index", "index", "rebuild")
HASTY = {"search", "remember"}
"""Roles that wait for the service no longer than a person would."""
WRITER = "x-writer"
"""The header by which the embedding service knows who asks: a home, a process and the number of its act."""
PAUSE_SECONDS = 0.3
"""Between two acts of a process."""


@dataclass
class Team:
    """One folder of notes, and a home for each member."""

    folder: Path
    store: dict[str, Any]
    service: CompatibleServer
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def place(self, member: int) -> soak.Place:
        home = self.folder / f"home{member}"
        if not home.is_dir():
            home.mkdir(mode=0o700)
            remote = {"baseUrl": self.service.base_url, "apiKey": self.service.key}
            search = {"provider": "openai-compatible", "model": self.service.model, "remote": remote}
            search |= {"store": self.store, "query": {"scoring": "rrf"}}  # measures nothing after each rebuild
            settings = {"agents": {"defaults": {"memorySearch": search}}}
            (home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
        return soak.Place(self.notes, home)

    def log(self, member: int) -> Path:
        return self.folder / f"member{member}.jsonl"

    def start(self, member: int, seed: int) -> None:
        """Let a member work until it is ended."""
        place = self.place(member)
        sources = os.pathsep.join([str(Path(memoriter.__file__).parents[1]), str(Path(__file__).parent)])
        environ = {**os.environ, "PYTHONPATH": sources, "MEMORITER_HOME": str(place.home), "OMP_NUM_THREADS": "1"}
        words = (ROLES[member], str(self.notes), str(place.home), str(self.log(member)), str(seed))
        with (self.folder / f"errors{member}.txt").open("ab") as errors:
            self.running[member] = subprocess.Popen([sys.executable, __file__, *words], stderr=errors, env=environ)

    def kill(self, member: int) -> None:
        process = self.running.pop(member)
        process.kill()
        process.wait()

    def end(self) -> None:
        for member in list(self.running):
            self.running[member].terminate()
            self.running.pop(member).wait()

    def lines(self, kind: str) -> list[str]:
        """What members recorded of a kind; a line that a killed process wrote in part counts for nothing."""
        found = list[str]()
        for member in range(len(ROLES)):
            text = self.log(member).read_text(encoding="utf-8") if self.log(member).exists() else ""
            for line in text.splitlines(keepends=True):
                if line.endswith("\n"):
                    found += [value for name, value in json.loads(line).items() if name == kind]
        return found

    def crashes(self) -> str:
        return "".join((self.folder / f"errors{member}.txt").read_text() for member in range(len(ROLES)))

    def acts_of(self, passage: str) -> list[str]:
        """The acts that had a passage embedded, and which of them ended."""
        done = {*self.lines("done")}
        calls = [call for call in list(self.service.calls) if DOCUMENT + passage in texts_of(call)]
        acts = [call.headers.get(WRITER, "") for call in calls]
        return [f"{role_of(act)} {act} {'done' if act in done else ''}" for act in acts]

    def in_flight(self, calls: Sequence[Call], ended: Collection[str] | None = None) -> list[str]:
        """The passages that members wait for, or have and did not keep yet.

        These are the last batch of an act that did not end, and of one that stops waiting for the service at its
        deadline and closes the memory: then nobody keeps the late response.
        """
        done = self.lines("done") if ended is None else ended
        texts = list[str]()
        tokens = Counter[str]()
        for call in reversed(calls):
            act = call.headers.get(WRITER, "")
            if act and (act not in done or role_of(act) in HASTY) and tokens[act] <= BATCH_TOKENS:
                request = [text.removeprefix(DOCUMENT) for text in texts_of(call) if text.startswith(DOCUMENT)]
                texts += request
                tokens[act] += sum(len(text) // 3 for text in request)
        return texts


def role_of(act: str) -> str:
    """Return the role of the member whose home begins the name of an act; empty for acts of the test itself."""
    if not act:
        return ""
    return ROLES[int(act.removeprefix("home").partition(":")[0])]


def sign(place: soak.Place, act: str) -> None:
    """Let the embedding service know which act asks."""
    file = place.home / "memoriter.json5"
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["agents"]["defaults"]["memorySearch"]["remote"]["headers"] = {WRITER: act}
    part = file.with_suffix(".part")
    part.write_text(json.dumps(settings), encoding="utf-8")
    part.replace(file)


def work(role: str, place: soak.Place, log: Path, seed: int) -> None:
    """Do one thing after the other; record each."""
    draw = Random(seed)
    with log.open("a", encoding="utf-8") as file:
        for number in count():
            figures = soak.Figures(role)
            act = f"{place.home.name}:{os.getpid()}:{number}"
            sign(place, act)
            try:
                soak.ACTS[role](place, draw, figures)
            except MemoriterError as error:
                file.write(json.dumps({"error": f"{role}: {error.code}: {error.message}"}) + "\n")
            else:
                file.write(json.dumps({"done": act, "role": role}) + "\n")
            for word in figures.written:
                file.write(json.dumps({"written": word}) + "\n")
            for torn in figures.torn:
                file.write(json.dumps({"torn": torn}) + "\n")
            file.flush()
            time.sleep(PAUSE_SECONDS)


def main(words: list[str]) -> None:
    role, notes, home, log, seed = words
    work(role, soak.Place(Path(notes), Path(home)), Path(log), int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
