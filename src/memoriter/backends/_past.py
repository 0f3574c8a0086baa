"""The notes as they were at a time, each such state with an index that takes the vectors that there are.

The states that were searched lately are kept in memoriter's home, by what they hold. Any may be deleted at any time.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memoriter.backends._git import committed_texts
from memoriter.backends._store_copy import copy_side
from memoriter.errors import IndexBusy
from memoriter.ids import bytes_hash
from memoriter.permissions import folder_lock
from memoriter.sync import Task
from memoriter.times import path_date
from memoriter.types import Diagnostic
from memoriter.workspace import is_client_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from memoriter.backends._builtin import BuiltinBackend
    from memoriter.journal import History
    from memoriter.store import Store
    from memoriter.workspace import Workspace

PAST_NOTES = "notes"
"""The folder of a state with its notes."""
UNFINISHED = "unfinished-"
BEGUN = "begun"
"""A file of a state that is being made. Forgetting deletes it with all else, so that the state is not kept."""
MOST_STATES = 8
MOST_BYTES = 256 << 20
KEPT_SECONDS = 30 * 86_400.0
"""States that were not searched for this time go, so that they hold no text for long."""
LEFT_SECONDS = 3600.0
"""After this time, an unfinished state is what a killed process left."""
_BATCH = 2_000
_PATIENCE = 60.0


def texts_in_past(
    history: History, workspace: Workspace, moment: datetime, *, only: str | None = None
) -> tuple[dict[str, bytes], tuple[Diagnostic, ...]]:
    """Return the notes as they were at a time, and diagnostics about what is not known or not searched.

    What the journal does not know is as in the last commit before, or else as it was first seen, unless the name of the
    note is a later day.

    `moment` is in the user's time zone, and `only` the one note that is wanted; None: all.
    """
    sources = workspace.scan().sources
    now = {source.path for source in sources if source.kind == "memory"}
    texts = dict[str, bytes | None]()
    unknown = list[str]()
    wanted = None if only is None else [only]
    for path, known, text in history.texts_at(moment.timestamp(), now, wanted):
        if _is_outside(path) or (path not in now and workspace.refusal(path) is not None):
            continue
        if known:
            texts[path] = text
        else:
            unknown.append(path)
    texts |= committed_texts(workspace.root, unknown, moment.timestamp())
    later = {path for path in unknown if (day := path_date(path)) is not None and day > moment.date()}
    first = {path: history.first_text(path) for path in unknown if path not in texts and path not in later}
    found = {path: text for path, text in (texts | first).items() if text is not None}
    reasons = list[Diagnostic]()
    if guessed := sum(text is not None for text in first.values()):
        count = "1 note is" if guessed == 1 else f"{guessed} notes are"
        message = f"The journal does not know that time of all notes: {count} searched as first seen later."
        reasons.append(Diagnostic("past_unknown", message, "See what it knows with `memoriter history PATH`."))
    if any(source.kind == "sessions" or _is_outside(source.path) for source in sources):
        message = "Of the past, only notes in the folder are searched: no conversations, and no files elsewhere."
        reasons.append(Diagnostic("past_partial", message, "Search them without a time in the past."))
    return found, tuple(reasons)


def _is_outside(path: str) -> bool:
    """Return whether a cited path is no note in the folder, so that no search of the past reads it."""
    return path.startswith(("../", "/")) or is_client_memory(path)


def state_name(texts: Mapping[str, bytes], *settings: str) -> str:
    """Return the name of a state of the notes, as it is indexed with some settings."""
    notes = [f"{path}\n{bytes_hash(text)}" for path, text in sorted(texts.items())]
    return bytes_hash("\n".join([*settings, *notes]).encode("utf-8", "surrogateescape"))[:32]


def make_state(folder: Path, texts: Mapping[str, bytes], fill: Callable[[Path], None]) -> None:
    """Write the notes of the past into a folder, and fill it further, unless it is there when that is done.

    Another process sees nothing of it before. Raises IndexBusy if text was forgotten meanwhile, which it may hold.
    """
    with TemporaryDirectory(dir=folder.parent, prefix=UNFINISHED, ignore_cleanup_errors=True) as temporary:
        begun = Path(temporary) / BEGUN
        begun.touch()
        for path, text in texts.items():
            file = Path(temporary) / PAST_NOTES / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        (Path(temporary) / PAST_NOTES).mkdir(exist_ok=True)
        fill(Path(temporary))
        with folder_lock(folder.parent.parent):
            if not begun.exists():
                raise forgotten_meanwhile()
            begun.unlink()
            with suppress(OSError):  # another process has just made it
                Path(temporary).rename(folder)


def forgotten_meanwhile() -> IndexBusy:
    """Return the error for a state of the past that was deleted while it was used."""
    return IndexBusy("Text was forgotten while the notes of the past were read.", remedy="Search again.")


def keep_states(state: Path, *, now: float) -> None:
    """Delete all states but this one and a few that were searched last, and what killed processes left."""
    others = [each for each in state.parent.iterdir() if each != state]
    room = MOST_BYTES - _size(state)
    for number, each in enumerate(sorted(others, key=_last_use, reverse=True), 2):
        room -= _size(each)
        seconds = LEFT_SECONDS if each.name.startswith(UNFINISHED) else KEPT_SECONDS
        if _last_use(each) < now - seconds or number > MOST_STATES or room < 0:
            shutil.rmtree(each, ignore_errors=True)


def _size(state: Path) -> int:
    with suppress(OSError):  # another process is deleting it
        return sum(file.stat().st_size for file in state.rglob("*") if file.is_file())
    return 0


def _last_use(state: Path) -> float:
    """Return when a state was searched last, or when it was begun."""
    with suppress(OSError):
        return (state / PAST_NOTES).stat().st_mtime
    return inf  # another process has just begun it, or has just deleted it


def index_past(source: BuiltinBackend, past: BuiltinBackend) -> None:
    """Index the notes of the past, with the vectors that the index of the present has, and close the index."""
    present = copy_side(source).store
    side = copy_side(past)
    side.sync().read(Task(wait=_PATIENCE))
    if present.spec is not None:
        side.store.use_vectors(present.spec)
        _take_vectors(present, side.store)
    past.close_index()


def _take_vectors(present: Store, past: Store) -> None:
    """Copy the vectors of the texts that the past has."""
    key = b""
    while True:
        keys, vectors = present.stored_vectors(key, _BATCH)
        if not len(keys):
            break
        key = keys[-1]
        wanted = past.referenced(keys)
        places = [place for place, each in enumerate(keys) if each in wanted]
        if places:
            past.put_vectors([keys[place] for place in places], vectors[places])
