"""Changes of notes in plain words: who made each one, what was done, and the lines that it removed and added."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from datetime import datetime  # noqa: TC003 - a field of a dataclass
from typing import TYPE_CHECKING

from memoriter.environment import local_time
from memoriter.errors import PathRefused
from memoriter.installation import CLIENT_TITLES
from memoriter.journal import FORGET, FOUND, OWNER, acting
from memoriter.pages._pane import name_of
from memoriter.values import dataclass
from memoriter.workspace import without_mark

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoriter.access import Caller
    from memoriter.journal import Change, TakeBackPlan
    from memoriter.memory import Memory

FEW_LINES = 8
"""Lines of a change that are shown at once; the others are folded."""
MOST_LINES = 300
"""Lines of a change that are shown at all."""
IN_PAGES = {"edit", "rename", "delete"}
"""What only the pages do, if the owner does it."""
DEEDS = {
    "append": "added to",
    "capture": "recorded a conversation in",
    "commit": "committed",
    "delete": "deleted",
    "forget": "forgot lines of",
    "import": "imported",
    "review": "corrected",
    "rollback": "took changes back in",
    "undo": "took a change back in",
}
ORIGINS = {"agent": "An agent", "tool": "A tool", "token": "Somebody with a token", "web": "A web page"}
TITLES = dict[str, str](CLIENT_TITLES.items())
STATES = {"unknown": "It is not known whether this was completed.", "failed": "This failed."}
_CLIENT = re.compile(r"(?P<name>.+?) via (?P<way>HTTP|MCP)(?: \((?P<client>.*)\))?")

Row = tuple[str, str]
"""`removed` or `added`, and the text of a line."""


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change as a page shows it."""

    change: Change
    who: str
    deed: str
    """What was done to the note, as a verb before its name."""
    at: datetime
    rows: Sequence[Row]
    """The lines that it removed and added, but for blank ones."""
    state: str
    """A sentence if it is not known to be in force; empty: it is."""
    may_undo: bool

    @property
    def subject(self) -> str:
        """Who made it, as the subject of a sentence."""
        return f"{self.who}," if "," in self.who else self.who

    @property
    def name(self) -> str:
        """The name of the note for people."""
        return name_of(self.change.path)

    @property
    def day(self) -> str:
        """The day of the change for people."""
        return f"{self.at.day} {self.at:%b %Y}"

    @property
    def few(self) -> Sequence[Row]:
        """The lines that are shown at once."""
        return self.rows[:FEW_LINES]

    @property
    def folded(self) -> Sequence[Row]:
        """The lines that are shown on demand."""
        return self.rows[FEW_LINES:MOST_LINES]

    @property
    def left_out(self) -> int:
        """The number of lines that are not shown."""
        return max(0, len(self.rows) - MOST_LINES)


def shown_changes(
    memory: Memory, changes: Sequence[Change], caller: Caller, undone: Collection[str] = ()
) -> list[ShownChange]:
    """Return changes for a page, without those of notes that may not be read.

    `undone` has the ids of the changes that were taken back.
    """
    readable = {path: _is_readable(memory, path) for path in dict.fromkeys(change.path for change in changes)}
    return [shown_change(memory, change, caller, undone) for change in changes if readable[change.path]]


def shown_change(memory: Memory, change: Change, caller: Caller, undone: Collection[str] = ()) -> ShownChange:
    """Return a change for a page; `undone` has the ids of the changes that were taken back."""
    zone = memory.configuration.settings.agents.defaults.user_timezone
    state = STATES.get(change.state, "")
    if change.id in undone:
        state = "This was taken back."
    elif change.hunks is None:
        state = "What was changed is not known."
    is_in_force = change.id not in undone and change.state != "failed" and change.hunks is not None
    can_undo = is_in_force and change.act not in {FOUND, FORGET, "commit"}
    return ShownChange(
        change,
        author_of(change, caller),
        deed_of(change),
        local_time(change.at, zone),
        rows_of(change),
        state,
        can_undo and caller.allows("write"),
    )


def newest_id(memory: Memory, path: str, act: str) -> str:
    """Return the id of what was just done to a note; empty: it is not known, such as on a full or damaged disk."""
    with suppress(OSError):
        return next((change.id for change in memory.history(path).changes if change.act == act), "")
    return ""


def noted_path(plan: TakeBackPlan) -> str:
    """Return the note of the one change that a plan takes back, by its present name."""
    return plan.notes[0].path if plan.notes else plan.changes[0].path


def author_of(change: Change, caller: Caller) -> str:
    """Return who made a change, in words for the one who looks at it."""
    who = change.who
    if change.act == FOUND:
        return "Already there"
    if not who:
        return "An editor or another program"
    if who == OWNER:
        name = "You" if caller.is_owner else "The owner"
        return f"{name}, in the pages" if change.act in IN_PAGES else name
    if who == caller.author:
        return "You"
    if found := _CLIENT.fullmatch(who):
        client = TITLES.get(found["client"] or "", found["client"] or "")
        if found["way"] == "MCP":
            return client or "An agent"
        return f"{found['name']}, with a token{f' in {client}' if client else ''}"
    return f"I{who[1:]}" if who.startswith("import from ") else ORIGINS.get(who, who)


def deed_of(change: Change) -> str:
    """Return what was done to a note, as a verb before its name."""
    if change.act == FOUND:
        return "before the history of"
    if change.act in DEEDS and (change.act != "append" or change.before is not None):
        return DEEDS[change.act]
    if change.before is None:
        return "moved a note to" if change.act == "rename" else "created"
    if change.after is None:
        return "moved" if change.act == "rename" else "deleted"
    return "changed links in" if change.act == "rename" else "edited"


def rows_of(change: Change) -> list[Row]:
    """Return the lines that a change removed and added, without blank ones and the marks of authors."""
    if change.act == FOUND:
        return []
    rows = [(kind, without_mark(text)) for kind, text in change.rows]
    return [(kind, text) for kind, text in rows if text.strip()]


def _is_readable(memory: Memory, path: str) -> bool:
    try:
        memory.read(path, lines=1)
    except PathRefused:
        return False
    return True


def take_back_together(memory: Memory, plan: TakeBackPlan) -> str:
    """Take back what a plan shows, and return the name of these changes, by which one button takes them back again."""
    name = f"rollback-{secrets.token_hex(4)}"
    with acting(session=name):
        memory.rollback(plan)
    return name
