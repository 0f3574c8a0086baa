"""Find and finish what killed processes left of replacements and removals of notes."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace.writing._exchange import lock_left, sweep
from memoriter.workspace.writing._folder import open_folder, open_locked
from memoriter.workspace.writing._hidden import hidden_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoriter.workspace.writing._exchange import Outcome
    from memoriter.workspace.writing._folder import Folder
    from memoriter.workspace.writing._hidden import Hidden


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A hidden file next to a note, which may hold text of it."""

    file: Path
    note: Path
    kept: bool
    """True if it is for the owner to look at, False if `recover` can finish it."""
    active: bool
    """True if a process is at work on it at this moment."""

    @property
    def diagnostic(self) -> Diagnostic:
        """Return what the file is, and what to do."""
        file = repr(str(self.file))
        note = repr(str(self.note))
        if self.kept:
            message = f"{file} holds what another program saved while {note} was replaced."
            return Diagnostic("write_unfinished", message, "Copy what you need from it, then delete it.")
        if self.active:
            message = f"{file} is part of a replacement of {note} that another process makes now."
            return Diagnostic("write_unfinished", message, "Run the command again in a moment.")
        message = f"A process was killed while it wrote {note}; {file} may hold text of it."
        remedy = (
            "Run `memoriter index`. If the file stays, close the programs that have the note open, and run it again."
        )
        return Diagnostic("write_unfinished", message, remedy)


def unfinished(folders: Iterable[str]) -> list[Unfinished]:
    """Return the hidden files of replacements and removals in some folders. Only names are looked at."""
    return [each for path in folders for each in _unfinished_in(path)]


def recover(folders: Iterable[str]) -> list[Diagnostic]:
    """Finish what killed processes left in some folders, and return a receipt for each file that is gone.

    A file that another program changed gets its name back, or is kept under a hidden name. What cannot be finished now
    stays; `unfinished` reports it.
    """
    return [each for path in folders for each in _recover_in(path)]


def _unfinished_in(path: str) -> Iterator[Unfinished]:
    with suppress(OSError), open_folder(path, ()) as folder:
        for hidden in hidden_files(folder):
            active = False
            try:
                with lock_left(folder, hidden) as free:
                    active = not free
            except FileNotFoundError:
                continue
            except OSError:  # reported like any other, because it may hold text
                pass
            yield Unfinished(Path(path, hidden.file), Path(path, hidden.name), hidden.kept, active)


def _recover_in(path: str) -> Iterator[Diagnostic]:
    with suppress(OSError), open_folder(path, ()) as folder:
        left = [hidden.name for hidden in hidden_files(folder) if not hidden.kept]
        for name in dict.fromkeys(left):
            with suppress(OSError, MemoriterError):
                yield from _recover_note(folder, name)
        if left:
            folder.sync()


def _recover_note(folder: Folder, name: str) -> Iterator[Diagnostic]:
    with ExitStack() as stack:
        with suppress(FileNotFoundError):  # the note was removed
            stack.enter_context(open_locked(folder, name))
        for hidden, outcome, file in sweep(folder, name):
            if outcome not in {"open", "busy", "gone"}:
                yield _receipt(Path(folder.path, name), hidden, outcome, Path(folder.path, file))


def _receipt(note: Path, hidden: Hidden, outcome: Outcome, file: Path) -> Diagnostic:
    begin = f"A process was killed while it wrote {str(note)!r}"
    if outcome == "kept":
        message = f"{begin}; others changed the note in two ways meanwhile, and one of them is in {str(file)!r}."
        return Diagnostic("recovered", message, "Copy what you need from it, then delete it.")
    if outcome == "added":
        what = "lines that another program had added meanwhile are in the note now"
    elif outcome == "restored":
        what = "another program had changed the old text or has it open, so the note has that text again"
    elif outcome == "undone":
        what = "the new text had not been put in place, and was deleted"
    elif hidden.new is None:
        what = "the note is removed now"
    else:
        what = "its old text was deleted"
    return Diagnostic("recovered", f"{begin}: {what}.", f"Look at the note in {str(note.parent)!r}.")
