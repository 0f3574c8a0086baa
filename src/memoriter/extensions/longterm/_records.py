"""A long-term memory, and a candidate for one, as frozen values; and the chains of memories that replaced others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import quote
from uuid import UUID

from memoriter.errors import UsageError
from memoriter.filters import parse_day
from memoriter.types import Category
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Origin = Literal["owner", "agent", "tool", "token", "web", "import"]
"""Who wrote the words of a memory. The host records it when the memory is stored, and it never changes."""
Status = Literal["active", "superseded"]
"""A superseded memory was replaced by a newer one on the same subject. It is kept, ranked lower, and labelled."""
Speaker = Literal["user", "assistant", "tool"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
ORIGINS: tuple[Origin, ...] = get_args(Origin)
"""From the most to the least trusted."""
DEFAULT_IMPORTANCE = 0.7
DEFAULT_CATEGORY: Category = "other"
EXPIRY_DAYS = 30
"""Days after which a candidate that nobody accepted is dropped."""
OWN_FOLDER = "notes:"
"""Begins the principal of a folder of notes, if no principal is configured."""
SHORTEST_ID = 8
"""Characters of the beginning of an id that are enough, as `ltm list` prints them of the memory that replaced one."""
LONGEST = 10_000
"""Characters of a memory at most. A memory is one statement; what is longer belongs in a note."""
_ENDS = ".!\u3002\uff01\uff0e"
"""Ends of sentences, which make no difference to what a statement says."""

AsOf = float | date | str | None
"""A time: seconds since 1970, or a day (UTC), whose end is meant: a date, or text such as `2026-02-10`, `yesterday`
or `7d`; None: now."""


def mark_of_principal(principal: str) -> str:
    """Return the word that names a configured principal in the comment of an item; empty: it is that of the folder."""
    return "" if not principal or principal.startswith(OWN_FOLDER) else f"principal={quote(principal, safe='@')}"


def least_trusted(*origins: Origin) -> Origin:
    """Return the origin of a text that was derived from texts of these origins.

    >>> least_trusted("owner", "web", "agent")
    'web'
    """
    return max(origins, key=ORIGINS.index)


def id_of_text(text: str) -> str:
    """Return the id of what has none: it depends on a text alone, so it stays the same."""
    return str(UUID(bytes=sha256(text.encode("utf-8", "replace")).digest()[:16], version=4))


def is_memory_id(text: str) -> bool:
    """Return whether a text is a UUID in its usual form, in any case: the id of a memory."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a quotation in its conversation."""

    speaker: Speaker
    message: int
    """Number of the message in the conversation, from 0."""
    start: int
    """First character of the quotation in the message."""
    end: int
    """The character after the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermMemory:
    """One remembered statement. Its vector is passed to the store beside it."""

    id: str
    """A UUID in lower case."""
    text: str
    """The words that were stored, verbatim."""
    importance: float = DEFAULT_IMPORTANCE
    """0..1."""
    category: Category = DEFAULT_CATEGORY
    created_at: float
    """Seconds since 1970."""
    origin: Origin
    principal: str
    """Whose memory it is. No operation of a store reaches the memories of another principal."""
    session: str = ""
    """The conversation in which it was said; empty: none."""
    span: Span | None = None
    status: Status = "active"
    supersedes: str = ""
    """The id of the older memory that this one replaces; empty: none."""
    approved: bool = False
    """Whether the owner has approved a memory that somebody else wrote."""
    author_trusted: bool = False
    """Whether the settings let what its author wrote be put before a turn: `trust.agent`."""
    note: str = ""
    """The folder of notes whose `memory/long-term.md` holds the memory, as a stable key; empty: no folder does."""

    def __post_init__(self) -> None:
        """Raise ValueError if the id is no UUID, the text or the principal is empty, or a number is out of range."""
        if not is_memory_id(self.id) or self.id != self.id.lower():
            raise ValueError(f"{self.id!r} is not a UUID in lower case")
        if not self.text.strip() or not self.principal:
            raise ValueError("a memory needs a text and a principal")
        if not 0.0 <= self.importance <= 1.0:
            raise ValueError(f"the importance {self.importance} is not between 0 and 1")

    @property
    def trusted(self) -> bool:
        """Whether it may be put before a turn: the owner wrote it, approved it, or trusts its author."""
        return self.origin == "owner" or self.approved or self.author_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that waits for the owner's decision."""

    id: str
    """A UUID in lower case."""
    text: str
    category: Category
    score: float
    """0..1, of the capture rules; 1 if somebody wrote it by hand."""
    created_at: float
    """Seconds since 1970."""
    origin: Origin = "owner"
    session: str = ""
    span: Span | None = None
    """The place of the words in the conversation; None if the text was edited, as it is no quotation then."""
    supersedes: str = ""
    """The id of the memory that it would replace; empty: none."""
    principal: str = ""
    """The configured principal whose memory it would be; empty: that of the folder."""

    def expires_at(self, days: float) -> float:
        """Return the time at which it is dropped after so many days, in seconds since 1970."""
        return self.created_at + days * 86_400


Statement = LongTermMemory | Candidate


def memory_named(identifier: str, memories: Iterable[LongTermMemory]) -> LongTermMemory:
    """Return the memory with an id, or the only one whose id begins so.

    Raises UsageError: there is none, or several; or the text is no beginning of an id.
    """
    if not is_beginning_of_id(identifier):
        message = f"{identifier!r} is not the id of a memory, nor its first {SHORTEST_ID} characters."
        raise UsageError(message, remedy="Give an id as `memoriter ltm list` prints it.")
    wanted = identifier.strip().lower()
    known = list(memories)
    found = [memory for memory in known if memory.id == wanted]
    if not found and len(wanted) >= SHORTEST_ID:
        found = [memory for memory in known if memory.id.startswith(wanted)]
    if len(found) > 1:
        message = f"{len(found)} memories have an id that begins with {wanted!r}."
        raise UsageError(message, remedy="Give more of the id: see `memoriter ltm list`.")
    if not found:
        raise UsageError(f"There is no memory with the id {identifier!r}.", remedy="See `memoriter ltm list`.")
    return found[0]


def is_beginning_of_id(text: str) -> bool:
    """Return whether a text may be an id or the beginning of one, of `SHORTEST_ID` characters or more."""
    form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
    given = text.strip().lower()
    return SHORTEST_ID <= len(given) <= len(form) and all(
        char == "-" if shape == "-" else char in "0123456789abcdef" for char, shape in zip(given, form, strict=False)
    )


def same_words(one: str, other: str) -> bool:
    """Return whether two statements differ at most in case, in white space and in the stop at the end."""
    return _words(one) == _words(other)


def check_statement(text: str, importance: float) -> None:
    """Raise UsageError if a text cannot be a memory: it is empty or too long, or its importance is out of range."""
    if not text:
        raise UsageError("There is nothing to remember: the text is empty.", remedy="Give a sentence.")
    if len(text) > LONGEST:
        message = f"The text has {len(text):,} characters, and a memory has at most {LONGEST:,}."
        raise UsageError(message, remedy="Store single statements, or write a note with `memoriter remember`.")
    if not 0.0 <= importance <= 1.0:
        raise UsageError(
            f"The importance is {importance}, and must be from 0 to 1.", remedy="Give a number such as 0.7."
        )


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(_ENDS)


def current_replacement(memory: LongTermMemory, known: Collection[LongTermMemory]) -> LongTermMemory | None:
    """Return the memory at the end of the chain that replaced a superseded one; None if nothing known replaced it."""
    newer = {each.supersedes: each for each in sorted(known, key=lambda each: each.created_at, reverse=True)}
    seen = {memory.id}
    last = None
    following = newer.get(memory.id) if memory.status == "superseded" else None
    while following is not None and following.id not in seen:
        seen.add(following.id)
        last = following
        following = newer.get(following.id)
    return last


def check_replaceable(memory: LongTermMemory, known: Collection[LongTermMemory]) -> None:
    """Raise UsageError if another memory has replaced this one already; its chain would have two ends."""
    if (current := current_replacement(memory, known)) is not None:
        message = f"The memory {memory.id} is replaced already, and {current.id} is current: {current.text[:200]!r}."
        raise UsageError(message, remedy=f"Replace {current.id}, or forget it if it is wrong.")


def after_forgetting(memory: LongTermMemory, left: Collection[LongTermMemory]) -> list[LongTermMemory]:
    """Return the memories that change when one is forgotten and all others are left, as they are then.

    What replaced the forgotten memory replaces what that one had replaced. If nothing does, the older memory is current
    again.
    """
    newer = [replace(each, supersedes=memory.supersedes) for each in left if each.supersedes == memory.id]
    if newer or not memory.supersedes or any(each.supersedes == memory.supersedes for each in left):
        return newer
    older = [each for each in left if each.id == memory.supersedes and each.status == "superseded"]
    return [replace(each, status="active") for each in older]


def moment_of(as_of: AsOf, now: float) -> float | None:
    """Return a time in seconds since 1970; None: now.

    >>> moment_of("1970-01-01", now=0.0)
    86399.999

    Raises:
        UsageError: the text is no day.
    """
    if isinstance(as_of, str):
        day = parse_day(as_of.strip(), datetime.fromtimestamp(now, tz=UTC).date())
        if day is None:
            remedy = "Give a day such as 2026-02-10, yesterday or 7d."
            raise UsageError(f"{as_of!r} is not a day such as 2026-02-10.", remedy=remedy)
        as_of = day
    if isinstance(as_of, datetime):
        return as_of.timestamp()
    if isinstance(as_of, date):
        return round(datetime.combine(as_of, time(), UTC).timestamp() + timedelta(days=1).total_seconds() - 0.001, 3)
    return as_of


def memories_at(
    memories: Sequence[LongTermMemory], at: float | None, known: Iterable[LongTermMemory]
) -> list[LongTermMemory]:
    """Return the memories as they were at a time: later ones are left out, and what they replaced is current again.

    A memory that is current now was so at all times: what had replaced it meanwhile was forgotten. One that the note
    calls superseded, and that nothing replaced, stays superseded. The links of all `known` memories tell when one was
    replaced. The time is in seconds since 1970; None: now.
    """
    if at is None:
        return list(memories)
    since = dict[str, float]()
    for each in known:
        if each.supersedes:
            since[each.supersedes] = min(each.created_at, since.get(each.supersedes, each.created_at))

    def as_it_was(memory: LongTermMemory) -> LongTermMemory:
        return memory if since.get(memory.id, at) <= at else replace(memory, status="active")

    return [as_it_was(each) for each in memories if each.created_at <= at]


def replacements(known: Iterable[LongTermMemory], at: float | None) -> dict[str, str]:
    """Return the id of the first replacement of each superseded memory, by the id of the older one.

    Replacements after `at`, in seconds since 1970, are left out; None: now.
    """
    memories = sorted(known, key=lambda each: each.created_at, reverse=True)
    newer = {each.supersedes: each.id for each in memories if each.supersedes and (at is None or each.created_at <= at)}
    return {each.id: newer[each.id] for each in memories if each.status == "superseded" and each.id in newer}
