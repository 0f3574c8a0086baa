"""Replacements and removals that are killed at every step, beside a program that takes no lock of ours.

`python killed_writes.py OPERATION WRITER SYSTEM RECOVERY` tries one kind of each and prints, as JSON, how many kills
there were and what went wrong. A step is one call that changes the disk: the process ends just before it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from memoriter.errors import WriteConflict
from memoriter.ids import bytes_hash
from memoriter.workspace import recover, replace, unfinished
from memoriter.workspace.writing import _exchange, _folder, remove
from memoriter.workspace.writing._folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "- the door code is 4711"
OTHER = "- we met at ten"
THEIRS = "- a line of another program"
OURS = "- ours"
BEFORE = f"{OTHER}\n{SECRET}\n"
AFTER = f"{OTHER}\n"
SAME_SIZE = THEIRS.ljust(len(BEFORE) - 1, ".") + "\n"
OPERATIONS = ("replace", "remove")
WRITERS = (
    "append",
    "append and stay",
    "append at once",
    "save in place",
    "save less in place",
    "save at once",
    "rename",
)
SYSTEMS = ("leases", "no exchange")
RECOVERIES = ("recover", "replace", "recover, killed at every step too")
MOST_STEPS = 60


@dataclass
class Foreign:
    """Another program, which has had the note open since before the operation."""

    note: Path
    writer: str
    file: IO[str]

    def act(self) -> None:
        """Write what the program acknowledges."""
        if self.writer == "rename":
            part = self.note.with_name("note.part")
            part.write_text(f"{THEIRS}\n", encoding="utf-8")
            part.replace(self.note)
            return
        match self.writer:
            case "append" | "append and stay" | "append at once":
                self.file.seek(0, os.SEEK_END)
                self.file.write(f"{THEIRS}\n")
            case "save in place" | "save at once":
                self.file.write(SAME_SIZE)
            case "save less in place":
                self.file.write(f"{THEIRS}\n")
                self.file.truncate()
            case _:
                raise ValueError(self.writer)
        self.file.flush()
        if self.writer != "append and stay":
            self.file.close()


def killed_at(step: int, act: Callable[[], object]) -> None:
    """Do it in this process, which kills itself before it changes the disk for the n-th time."""
    left = [step]

    def counted(owner: object, name: str) -> None:
        usual = getattr(owner, name)

        def count(*arguments: object, **named: object) -> object:
            if name != "open" or (isinstance(arguments[1], int) and arguments[1] & os.O_CREAT):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return usual(*arguments, **named)

        setattr(owner, name, count)

    for name in ("open", "write", "fsync", "fchmod", "rename", "link", "unlink"):
        counted(os, name)
    counted(Folder, "exchange")
    act()


def operate(operation: str, note: Path, foreign: Foreign) -> None:
    if foreign.writer.endswith("at once"):  # after the exchange, while we look
        usual = _exchange.finish
        foreign.file = foreign.note.open("r+", encoding="utf-8")

        def finish(*arguments: object, **named: object) -> object:
            if not foreign.file.closed:
                foreign.act()
            return usual(*arguments, **named)  # type: ignore[arg-type]

        _exchange.finish = finish  # type: ignore[assignment]
    try:
        if operation == "replace":
            replace(note, AFTER, expected=bytes_hash(BEFORE.encode()))
        else:
            remove(note, expected=bytes_hash(BEFORE.encode()))
    except WriteConflict:
        pass


def recovered(recovery: str, note: Path) -> None:
    """Let the next operation of memoriter meet what was left."""
    if recovery == "recover" or not note.exists():
        recover([str(note.parent)])
        return
    for _ in range(9):
        content = note.read_bytes()
        try:
            replace(note, content + f"{OURS}\n".encode(), expected=bytes_hash(content))
        except WriteConflict:
            continue
        return


def in_child(step: int, act: Callable[[], object]) -> int:
    """Do it in another process, which is killed at a step; return how that process ended."""
    child = os.fork()
    if child == 0:
        killed_at(step, act)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def one_kill(folder: Path, kind: tuple[str, str, str], step: int, second: int | None) -> tuple[bool, bool, str]:
    """Kill the operation at a step, and its recovery at a second one.

    Returns:
        Whether they were killed, and what is wrong after the last recovery.
    """
    operation, writer, recovery = kind
    note = folder / "note.md"
    note.write_text(BEFORE, encoding="utf-8")
    with note.open("r+", encoding="utf-8") as file:
        foreign = Foreign(note, writer, file)
        if writer == "rename" or writer.endswith("at once"):
            file.close()
        status = in_child(step, lambda: operate(operation, note, foreign))
        at_once = writer.endswith("at once")
        wrote = not at_once or any(THEIRS in text for text in texts(folder).values())
        if not at_once:
            foreign.act()
        if writer == "append and stay":
            recovered(recovery, note)
            file.write(f"{THEIRS} again\n")
    again = second is not None and os.WIFSIGNALED(in_child(second, lambda: recover([str(folder)])))
    recovered(recovery, note)
    recover([str(folder)])
    return os.WIFSIGNALED(status), again, wrong(folder, note, wrote=wrote, writer=writer, status=status)


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def wrong(folder: Path, note: Path, *, wrote: bool, writer: str, status: int) -> str:
    files = texts(folder)
    named = {each.file.name for each in unfinished([str(folder)])}
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        return "the operation failed"
    if any(not name.endswith(".kept") for name in named):
        return f"not finished: {named}"
    if extra := set(files) - named - {note.name}:
        return f"unnamed: {extra}"
    lines = [line for text in files.values() for line in text.splitlines()]
    expected = [*([THEIRS] if wrote else []), *([f"{THEIRS} again"] if writer == "append and stay" else [])]
    if missing := [line for line in expected if not any(each.rstrip(".") == line for each in lines)]:
        return f"lost: {missing} of {files}"
    if writer.startswith("append") and note.exists() and OTHER not in lines:
        return f"lost: {OTHER} of {files}"
    return ""


def main(operation: str, writer: str, system: str, recovery: str) -> None:
    _exchange.SETTLE_SECONDS = 0.02
    if system == "no exchange":
        _folder._exchange_function = lambda: None  # type: ignore[assignment]
    faults = list[str]()
    kills = step = 0
    killed = True
    kind = operation, writer, recovery.partition(",")[0]
    while killed and step < MOST_STEPS:
        second = 0 if "killed" in recovery else None
        again = True
        while again:
            with tempfile.TemporaryDirectory() as folder:
                killed, again, fault = one_kill(Path(folder), kind, step, second)
            faults += [f"step {step}, {second}: {fault}"] if fault else []
            kills += killed + again
            second = None if second is None else second + 1
        step += 1
    sys.stdout.write(json.dumps({"kills": kills, "faults": faults}))


if __name__ == "__main__":
    main(*sys.argv[1:])
