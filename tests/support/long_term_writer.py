"""Processes that store long-term memories in one table: each prints the id of a memory as soon as it is stored."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import uuid
from typing import TYPE_CHECKING

from memoriter.extensions.longterm.api import LanceStore, LongTermMemory, is_memory_id

if TYPE_CHECKING:
    from collections.abc import Mapping

DIMENSIONS = 8
PRINCIPAL = "ann"
SHARED_EVERY = 3
"""Every third memory has an id that all writers use."""


def table(place: str, options: Mapping[str, str], **given: int) -> LanceStore:
    return LanceStore(place, model="writers", dimensions=DIMENSIONS, options=options, **given)


def memories(count: int) -> list[LongTermMemory]:
    """Return memories with ids of their own."""
    return [
        LongTermMemory(
            id=str(uuid.UUID(int=number + 1)), text="A.", principal=PRINCIPAL, origin="owner", created_at=0.0
        )
        for number in range(count)
    ]


def write(place: str, options: Mapping[str, str], writer: int, count: int) -> None:
    """Store memories until there are `count`, and print their ids."""
    store = table(place, options)
    for number in range(count):
        shared = number % SHARED_EVERY == 0
        key = str(uuid.UUID(int=number + 1 if shared else 1_000_000 * (writer + 1) + number))
        text = f"Writer {writer} says {number}."
        memory = LongTermMemory(id=key, text=text, principal=PRINCIPAL, origin="owner", created_at=float(number))
        vector = [0.0] * DIMENSIONS
        vector[number % DIMENSIONS] = 1.0
        store.store([memory], [vector])
        sys.stdout.write(f"{key}\n")
        sys.stdout.flush()


class Writers:
    """Writers that run at the same time, and the ids of the memories that they have stored."""

    def __init__(self, place: str, options: Mapping[str, str], *, writers: int, count: int) -> None:
        self.stored = [list[str]() for _ in range(writers)]
        self.enough = threading.Semaphore(0)
        """Is released for each stored memory."""
        self._messages = [list[str]() for _ in range(writers)]
        self.processes = [
            subprocess.Popen(
                [sys.executable, __file__, place, json.dumps(dict(options)), str(writer), str(count)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
            )
            for writer in range(writers)
        ]
        self._readers = [threading.Thread(target=self._read, args=(each,)) for each in range(writers)]
        for reader in self._readers:
            reader.start()

    def _read(self, writer: int) -> None:
        output = self.processes[writer].stdout
        assert output is not None
        with output:
            for line in output:
                if is_memory_id(line.removesuffix("\n")) and line.endswith("\n"):
                    self.stored[writer].append(line.strip())
                    self.enough.release()
                else:
                    self._messages[writer].append(line)

    def wait(self) -> list[str]:
        """Wait until all have ended, and return what those that failed printed."""
        codes = [process.wait() for process in self.processes]
        for reader in self._readers:
            reader.join()
        return ["".join(self._messages[writer]) for writer, code in enumerate(codes) if code > 0]

    @property
    def all_stored(self) -> set[str]:
        return {key for keys in self.stored for key in keys}


if __name__ == "__main__":
    write(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
