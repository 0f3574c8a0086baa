"""Whole operations of memoriter that are killed at every step, beside a program that takes no lock of ours.

`python killed_operations.py OPERATION WRITER FIRST EVERY` kills at the steps FIRST, FIRST + EVERY and so on. It prints,
as JSON, how many kills there were and what went wrong.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import exports
from killed_writes import SAME_SIZE, THEIRS, Foreign, in_child
from memoriter import Memory
from memoriter.cli import main as program
from memoriter.config._check import parse_settings
from memoriter.errors import WriteConflict
from memoriter.workspace.writing import _exchange

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "the door code is qxzj4711"
OTHER = "we met at ten"
TEXT = f"# Door\n\n- {SECRET}\n- {OTHER}\n"
NOTE = "memory/door.md"
LOG = "memory/2026-03-10.md"
FULL = 176_000
WRITERS = ("append", "save in place", "rename")
NEVER = 1_000_000


class Place:
    """A workspace and a home below one folder, with an index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self.home = folder / "home"
        os.environ["MEMORITER_HOME"] = str(self.home)

    def make(self, operation: str) -> None:
        (self.notes / "memory").mkdir(parents=True)
        self.home.mkdir(mode=0o700)
        settings = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
        (self.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
        (self.notes / NOTE).write_text(TEXT, encoding="utf-8")
        (self.notes / LOG).write_text(f"- {OTHER}\n", encoding="utf-8")
        if operation == "import":
            self.export("Blue.")
            self.run("import", "chatgpt", str(self.folder / "c.zip"))
            self.export("Red.")
        self.run("index")

    def export(self, answer: str) -> None:
        conversations = [exports.chatgpt_conversation(each, f"Question {each}?", answer) for each in range(2)]
        exports.archive(self.folder / "c.zip", {"conversations.json": json.dumps(conversations)})

    def run(self, *words: str) -> int:
        """Run the program on these notes, in this process."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                program(["-w", str(self.notes), *words])
            except SystemExit as end:
                return int(str(end.code or 0))
        return 0

    def memory(self) -> Memory:
        return Memory.open(self.notes, home=self.home)

    def note_of(self, operation: str) -> Path:
        """The note that the operation changes, and the other program too."""
        if operation == "import":
            return min((self.notes / "memory" / "imported").rglob("*.md"))
        return self.notes / (LOG if operation == "flush" else NOTE)


def forget(place: Place) -> None:
    place.run("forget", "--match", SECRET, "--yes")


def forget_note(place: Place) -> None:
    place.run("forget", NOTE, "--yes")


def save(place: Place) -> None:
    """Save a note as the web pages and the API do."""
    with place.memory() as memory:
        excerpt = memory.read(NOTE)
        with contextlib.suppress(WriteConflict):
            memory.replace(NOTE, excerpt.text.replace(f"- {SECRET}\n", ""), expected=excerpt.hash)


def import_again(place: Place) -> None:
    place.run("import", "chatgpt", str(place.folder / "c.zip"))


def flush(place: Place) -> None:
    with place.memory() as memory:
        session = memory.session("chat")
        session.flush(FULL)
        memory.remember("a lasting fact")
        session.flushed("NO_REPLY")


OPERATIONS: dict[str, Callable[[Place], None]] = {
    "forget": forget,
    "forget note": forget_note,
    "save": save,
    "import": import_again,
    "flush": flush,
}


def modules_of(act: Callable[[], object]) -> list[str]:
    """Do it in another process, and return the modules that are imported there afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "names.json"

        def act_and_tell() -> None:
            act()
            names.write_text(json.dumps([*sys.modules]), encoding="utf-8")

        in_child(NEVER, act_and_tell)
        return json.loads(names.read_text(encoding="utf-8"))


def one_kill(place: Place, operation: str, writer: str, step: int) -> tuple[bool, str]:
    """Return whether the operation was killed, and what is wrong after it was repeated."""
    note = place.note_of(operation)
    before = note.read_text(encoding="utf-8")
    with note.open("r+", encoding="utf-8") as file:
        if writer == "rename":
            file.close()
        killed = os.WIFSIGNALED(in_child(step, lambda: OPERATIONS[operation](place)))
        Foreign(note, writer, file).act()
    in_child(NEVER, lambda: OPERATIONS[operation](place))
    if operation.startswith("forget"):
        in_child(NEVER, lambda: forget(place))
    in_child(NEVER, lambda: place.run("index"))
    return killed, wrong(place, note, operation, writer, before)


def wrong(place: Place, note: Path, operation: str, writer: str, before: str) -> str:
    files = {file: file.read_bytes() for file in place.folder.rglob("*") if file.is_file()}
    notes = {file: text for file, text in files.items() if place.notes in file.parents}
    theirs = SAME_SIZE if writer == "save in place" else f"{THEIRS}\n"
    if not any(theirs.encode() in text for text in notes.values()) and operation != "forget note":
        return f"their line is lost: {notes}"
    if writer == "append" and operation in {"forget", "save"} and OTHER.encode() not in notes.get(note, b""):
        return f"our line is lost: {notes}"
    held = [str(file) for file, text in files.items() if SECRET.encode() in text]
    if held and operation.startswith("forget"):
        return f"it is still in {held}"
    if hidden := [file.name for file in notes if file.name.startswith(".") and not file.name.endswith(".kept")]:
        return f"hidden: {hidden}"
    if operation == "flush" and writer == "append" and before.encode() not in notes[note]:
        return "the log lost lines"
    return ""


def main(operation: str, writer: str, first: str, every: str) -> None:
    _exchange.SETTLE_SECONDS = 0.02
    faults = list[str]()
    kills = 0
    step = int(first)
    killed = True
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder) / "place")
        template = Path(folder) / "template"
        in_child(NEVER, lambda: place.make(operation))
        shutil.copytree(place.folder, template, symlinks=True)
        for module in modules_of(lambda: OPERATIONS[operation](place)):  # so that not each process imports them
            with contextlib.suppress(ImportError):
                import_module(module)
        parse_settings({})  # which builds the schema of the settings
        shutil.rmtree(place.folder)
        while killed:
            shutil.copytree(template, place.folder, symlinks=True)  # the index belongs to the path of the notes
            killed, fault = one_kill(place, operation, writer, step)
            shutil.rmtree(place.folder)
            faults += [f"step {step}: {fault}"] if fault else []
            kills += killed
            step += int(every)
    sys.stdout.write(json.dumps({"kills": kills, "faults": faults}))


if __name__ == "__main__":
    main(*sys.argv[1:])
