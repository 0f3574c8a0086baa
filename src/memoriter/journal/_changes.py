"""A change of a note: who made it and what it did, as a line of the journal; and the differences of two texts."""

from __future__ import annotations

import base64
import json
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, cast

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

OWNER = "owner"
FOUND = "found"
"""The act of an entry that holds a whole text as memoriter first saw it. Nobody is known to have written it."""
SEEN = "seen"
"""The act of a change that another program made, and that memoriter saw later."""
FORGET = "forget"
TIDY = "tidy"
"""The act of a change that the owner accepted, also where it moves a statement of somebody else."""
_LONG = 600
"""Bytes of a line from which its texts are compressed."""
_MOST_COMPARED = 20_000
"""Lines between the first and the last difference of two texts, from which they are one difference."""

Line = bytes | None
"""A line of a note without its newline; None: it was forgotten."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes notes at the moment, and how."""

    who: str = OWNER
    act: str = ""
    """What is done, such as `capture`; empty: what the write itself is called."""
    session: str = ""


_NOBODY_ELSE = Actor()
_ACTOR: ContextVar[Actor] = ContextVar("memoriter_actor", default=_NOBODY_ELSE)


def current_actor() -> Actor:
    """Return who changes notes at the moment."""
    return _ACTOR.get()


@contextmanager
def acting(*, who: str | None = None, act: str = "", session: str = "") -> Generator[None]:
    """Name who changes notes within the block; what is left out stays as it is outside."""
    outer = _ACTOR.get()
    token = _ACTOR.set(Actor(outer.who if who is None else who, act or outer.act, session or outer.session))
    try:
        yield
    finally:
        _ACTOR.reset(token)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that a change put in the place of others."""

    start: int
    """The number of lines above them before the change."""
    removed: tuple[Line, ...]
    added: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one note."""

    id: str
    at: float
    path: str
    who: str
    act: str
    session: str = ""
    before: str | None = None
    """`ids.bytes_hash` of the note before; None: it did not exist."""
    after: str | None = None
    hunks: tuple[Hunk, ...] | None = ()
    """What changed, from the beginning to the end of the note; None: this is not known."""
    state: str = "done"
    """`done`, `failed`, or `unknown`: the process ended before it could say."""
    of: tuple[str, ...] = field(default=())
    """The changes that it took back."""
    moved: tuple[str, ...] = ()
    """Of a renaming: the note's other name, and the id of its last change under that name."""

    @property
    def comes_from(self) -> tuple[str, ...]:
        """The name that the note had before this change gave it another one, with the id of its last change."""
        return self.moved if self.before is None and self.state != "failed" else ()

    @property
    def citation(self) -> str:
        """The note, with the lines that were added if they are in one place."""
        hunks = [hunk for hunk in self.hunks or () if any(hunk.added)]
        if len(hunks) != 1 or self.after is None:
            return self.path
        shift = sum(len(each.added) - len(each.removed) for each in self.hunks or () if each.start < hunks[0].start)
        first = hunks[0].start + shift + 1
        last = first + len(hunks[0].added) - 1 - (not hunks[0].added[-1] and len(hunks[0].added) > 1)
        return f"{self.path}#L{first}" + (f"-L{last}" if last > first else "")

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that it added, as text."""
        return tuple(text_of(line) for hunk in self.hunks or () for line in hunk.added)

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that it removed, as text."""
        return tuple(text_of(line) for hunk in self.hunks or () for line in hunk.removed)

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """The lines from the beginning to the end of the note, as text, each with `removed` or `added` before it."""
        rows = list[tuple[str, str]]()
        for hunk in self.hunks or ():
            rows += [("removed", text_of(line)) for line in hunk.removed]
            rows += [("added", text_of(line)) for line in hunk.added]
        return tuple(rows)


def text_of(line: Line) -> str:
    """Return a line as text."""
    return "[forgotten]" if line is None else line.decode("utf-8", "replace").rstrip("\r")


def lines_of(content: bytes | None) -> list[Line]:
    """Return the lines of a note; the last one is empty if the note ends with a newline. No note has no lines."""
    return [] if content is None else list(content.split(b"\n"))


def same_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return how many items two sequences have in common at the beginning and, of the others, at the end.

    >>> same_ends("the red car", "the blue car")
    (4, 4)
    """
    shorter = min(len(one), len(other))
    first = 0
    while first < shorter and one[first] == other[first]:
        first += 1
    last = 0
    while last < shorter - first and one[-1 - last] == other[-1 - last]:
        last += 1
    return first, last


def hunks_between(before: Sequence[Line], after: Sequence[Line], start: int = 0) -> tuple[Hunk, ...]:
    """Return the differences between the lines of two texts.

    `start` is the number of lines above, which are the same in both.
    """
    first, last = same_ends(before, after)
    old = before[first : len(before) - last]
    new = after[first : len(after) - last]
    if not old and not new:
        return ()
    if not old or not new or len(old) + len(new) > _MOST_COMPARED:
        return (Hunk(start + first, tuple(old), tuple(new)),)
    from difflib import SequenceMatcher

    return tuple(
        Hunk(start + first + i, tuple(old[i:j]), tuple(new[k:m]))
        for kind, i, j, k, m in SequenceMatcher(None, old, new).get_opcodes()
        if kind != "equal"
    )


def hunks_of_write(before: bytes | None, after: bytes | None) -> tuple[Hunk, ...]:
    """Return what a write changes; for text at the end, without a look at the lines above."""
    if before is None or after is None or not after.startswith(before):
        return hunks_between(lines_of(before), lines_of(after))
    last = before.rfind(b"\n") + 1
    return hunks_between([before[last:]], lines_of(after[last:]), before.count(b"\n"))


def encode(change: Change) -> bytes:
    """Return a change as a line of the journal."""
    # Field by field, because each append pays for it, and `json.dumps` takes several times as long.
    line = (
        f'{{"note": {_json(change.path)}, "id": "{change.id}", "time": {change.at:.3f}, "who": {_json(change.who)}, '
        f'"act": {_json(change.act)}, "before": {_json(change.before)}, "after": {_json(change.after)}'
    )
    if change.session:
        line += f', "session": {_json(change.session)}'
    if change.of:
        line += f', "of": {_listed(change.of)}'
    if change.moved:
        line += f', "moved": {_listed(change.moved)}'
    if change.hunks is not None:
        rows = [f"[{hunk.start}, {_texts(hunk.removed)}, {_texts(hunk.added)}]" for hunk in change.hunks]
        hunks = f"[{', '.join(rows)}]"
        if len(line) + len(hunks) <= _LONG:
            line += f', "hunks": {hunks}'
        else:
            line += f', "packed": "{base64.b85encode(zlib.compress(hunks.encode(), 1)).decode()}"'
    return f"{line}}}\n".encode()


def decode(fields: dict[str, Any], state: str) -> Change:
    """Return the change of a line of the journal. Raises ValueError, KeyError or TypeError if the line is damaged."""
    hunks = fields.get("hunks")
    if packed := fields.get("packed"):
        try:
            hunks = json.loads(zlib.decompress(base64.b85decode(packed)))
        except zlib.error as error:
            raise ValueError(str(error)) from error
    return Change(
        fields["id"],
        float(fields["time"]),
        fields["note"],
        fields["who"],
        fields["act"],
        fields.get("session", ""),
        fields["before"],
        fields["after"],
        None if hunks is None else tuple(map(_hunk, cast("list[Any]", hunks))),
        state,
        tuple(fields.get("of", ())),
        tuple(fields.get("moved", ())),
    )


def _hunk(row: list[Any]) -> Hunk:
    start, removed, added = row
    return Hunk(int(start), *(tuple(None if it is None else _bytes(it) for it in each) for each in (removed, added)))


def _json(text: str | None) -> str:
    return "null" if text is None else encode_basestring_ascii(text)


def _listed(texts: Iterable[str | None]) -> str:
    return f"[{', '.join(map(_json, texts))}]"


def _texts(lines: Sequence[Line]) -> str:
    # Bytes that are no UTF-8 become lone surrogates, which JSON can hold.
    return _listed(None if line is None else line.decode("utf-8", "surrogateescape") for line in lines)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
