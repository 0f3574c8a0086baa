"""How programs save, move and delete notes: written down from how they work, to be replayed on real files.

Each step is (operation, path, argument); paths are below a folder. `create` fails if the file is there (O_EXCL),
`truncate` and `append` write in place, `rename` replaces.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Step = tuple[str, str, str]

BEFORE = "# Lantern\n\nThe lantern stands in the hall.\n\n# Kettle\n\nThe kettle is copper.\n"
AFTER = "# Lantern\n\nThe lantern stands in the hall.\n\n# Kettle\n\nThe kettle is enamel by now.\n"
"""One of its two passages is another."""
NOTE = "memory/note.md"


@dataclass(frozen=True)
class Trace:
    """One save, as a program makes it."""

    program: str
    steps: tuple[Step, ...]
    keeps: tuple[str, ...] = (NOTE,)
    """The paths of which one is indexed at any moment."""


def _beside(name: str) -> str:
    return f"memory/{name}"


HALF = len(AFTER) // 2

TRACES = (
    Trace(
        "vim, which renames the old file to a backup",
        (
            ("create", _beside(".note.md.swp"), "b0VIM 9.0"),
            ("create", _beside("4913"), ""),
            ("unlink", _beside("4913"), ""),
            ("rename", NOTE, _beside("note.md~")),
            ("create", NOTE, ""),
            ("append", NOTE, AFTER),
            ("unlink", _beside("note.md~"), ""),
            ("unlink", _beside(".note.md.swp"), ""),
        ),
    ),
    Trace(
        "emacs, which locks with a link and keeps the backup",
        (
            ("link", _beside(".#note.md"), "someone@desk.4711:1770000000"),
            ("rename", NOTE, _beside("note.md~")),
            ("create", NOTE, ""),
            ("append", NOTE, AFTER),
            ("unlink", _beside(".#note.md"), ""),
        ),
    ),
    Trace("obsidian, which truncates and writes", (("truncate", NOTE, ""), ("append", NOTE, AFTER))),
    Trace(
        "a slow writer",
        (("truncate", NOTE, ""), ("append", NOTE, AFTER[:HALF]), ("append", NOTE, AFTER[HALF:])),
    ),
    Trace(
        "vs code, when it saves atomically",
        (("create", _beside("note.md.vsctmp"), AFTER), ("rename", _beside("note.md.vsctmp"), NOTE)),
    ),
    Trace(
        "glib programs such as gedit",
        (
            ("create", _beside(".goutputstream-Q1W2E3"), AFTER[:HALF]),
            ("append", _beside(".goutputstream-Q1W2E3"), AFTER[HALF:]),
            ("rename", _beside(".goutputstream-Q1W2E3"), NOTE),
        ),
    ),
    Trace(
        "syncthing",
        (
            ("create", _beside(".syncthing.note.md.tmp"), AFTER[:HALF]),
            ("append", _beside(".syncthing.note.md.tmp"), AFTER[HALF:]),
            ("rename", _beside(".syncthing.note.md.tmp"), NOTE),
        ),
    ),
    Trace(
        "syncthing, when both sides changed",
        (
            ("create", _beside(".syncthing.note.md.tmp"), AFTER),
            ("rename", NOTE, _beside("note.sync-conflict-20260310-120000-ABCDEFG.md")),
            ("rename", _beside(".syncthing.note.md.tmp"), NOTE),
        ),
    ),
    Trace(
        "rsync",
        (("create", _beside(".note.md.k3F9aZ"), AFTER), ("rename", _beside(".note.md.k3F9aZ"), NOTE)),
    ),
    Trace(
        "delete and create anew",
        (("unlink", NOTE, ""), ("create", NOTE, AFTER)),
    ),
    Trace(
        "obsidian, when a note is deleted",
        (("mkdir", ".trash", ""), ("rename", NOTE, ".trash/note.md")),
        keeps=(),
    ),
    Trace("a note that is renamed", (("rename", NOTE, "memory/renamed.md"),), keeps=(NOTE, "memory/renamed.md")),
    Trace("a folder that is renamed", (("rename", "memory", "MEM"), ("rename", "MEM", "memory"))),
    Trace(
        "a folder that another one replaces",
        (
            ("mkdir", "staged", ""),
            ("create", "staged/note.md", AFTER),
            ("create", "staged/other.md", "A second note about sails.\n"),
            ("rename", "memory", "memory.old"),
            ("rename", "staged", "memory"),
        ),
    ),
    Trace(
        "a deep folder that is copied at once",
        (
            ("mkdir", "memory/a/b/c", ""),
            ("create", "memory/a/b/c/deep.md", "A note deep down about corals.\n"),
            ("create", "memory/a/one.md", "A note about harbours.\n"),
        ),
    ),
    Trace(
        "folders of tools, which nobody wants indexed",
        (
            ("mkdir", "memory/node_modules/left", ""),
            ("create", "memory/node_modules/left/README.md", "Nobody asked for this.\n"),
            ("truncate", NOTE, AFTER),
        ),
    ),
    Trace(
        "an ignore file that begins to leave a note out, and ends",
        (
            ("create", ".memoryignore", "memory/other.md\n"),
            ("create", "memory/other.md", "Left out.\n"),
            ("create", "memory/third.md", "Taken in.\n"),
            ("truncate", ".memoryignore", "memory/third.md\n"),
        ),
    ),
)


def replay(folder: Path, trace: Trace, between: Callable[[], None]) -> None:
    """Do what the program did; `between` is called after each step."""
    for operation, path, argument in trace.steps:
        _do(folder / path, operation, folder, argument)
        between()


def _do(place: Path, operation: str, folder: Path, argument: str) -> None:
    match operation:
        case "create":
            with place.open("x", encoding="utf-8") as file:
                file.write(argument)
        case "truncate":
            place.write_text(argument, encoding="utf-8")
        case "append":
            with place.open("a", encoding="utf-8") as file:
                file.write(argument)
                file.flush()
                os.fsync(file.fileno())
        case "rename":
            place.replace(folder / argument)
        case "unlink":
            place.unlink()
        case "mkdir":
            place.mkdir(parents=True)
        case "link":
            place.symlink_to(argument)
        case _:
            raise ValueError(operation)
