"""The notes as they were at a time, and an index of them that takes the vectors that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.backends._git import committed_texts
from memoriter.backends._store_copy import copy_side
from memoriter.sync import Task
from memoriter.times import path_date
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from memoriter.backends._builtin import BuiltinBackend
    from memoriter.journal import History
    from memoriter.workspace import Workspace

_BATCH = 2_000
_PATIENCE = 60.0


def texts_in_past(
    history: History, workspace: Workspace, moment: datetime, *, only: str | None = None
) -> tuple[dict[str, bytes], tuple[Diagnostic, ...]]:
    """Return the notes as they were at a time, and a diagnostic if that is not known of some.

    What the journal does not know is as in the last commit before, or else as it was first seen, unless the name of the
    note is a later day.

    Args:
        history: the changes of the notes.
        workspace: the notes.
        moment: the time, in the user's time zone.
        only: the one note that is wanted; None: all.
    """
    now = {source.path for source in workspace.scan().sources if source.kind == "memory"}
    texts = dict[str, bytes | None]()
    unknown = list[str]()
    wanted = None if only is None else [only]
    for path, known, text in history.texts_at(moment.timestamp(), now, wanted):
        if workspace.refusal(path) is not None or path.startswith("/"):
            continue
        if known:
            texts[path] = text
        else:
            unknown.append(path)
    texts |= committed_texts(workspace.root, unknown, moment.timestamp())
    later = {path for path in unknown if (day := path_date(path)) is not None and day > moment.date()}
    first = {path: history.first_text(path) for path in unknown if path not in texts and path not in later}
    found = {path: text for path, text in (texts | first).items() if text is not None}
    if not any(text is not None for text in first.values()):
        return found, ()
    count = "1 note is" if len(first) == 1 else f"{len(first)} notes are"
    message = f"The journal does not know that time of all notes: {count} searched as first seen later."
    return found, (Diagnostic("past_unknown", message, "See what it knows with `memoriter history PATH`."),)


def write_past(folder: Path, texts: dict[str, bytes]) -> None:
    """Write the notes of the past into a folder that is empty."""
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)


def index_past(source: BuiltinBackend, past: BuiltinBackend) -> None:
    """Index the notes of the past, with the vectors that the index of the present has."""
    present = copy_side(source).store
    side = copy_side(past)
    side.sync().read(Task(wait=_PATIENCE))
    spec = present.spec
    if spec is None:
        return
    side.store.use_vectors(spec)
    key = b""
    while True:
        keys, vectors = present.stored_vectors(key, _BATCH)
        if not len(keys):
            break
        key = keys[-1]
        wanted = side.store.referenced(keys)
        places = [place for place, each in enumerate(keys) if each in wanted]
        if places:
            side.store.put_vectors([keys[place] for place in places], vectors[places])
