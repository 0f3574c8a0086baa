"""Propose what to tidy in the notes: repeated statements, lasting ones in daily notes, and outdated ones (pure)."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from memoriter.folding import fold
from memoriter.ids import content_hash
from memoriter.statements import says_now
from memoriter.tidy._compare import is_state, lasting, replaced_value, words_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import date

    from memoriter.tidy._compare import Key, Words
    from memoriter.tidy._statements import Statement
    from memoriter.types import Diagnostic

Kind = Literal["merge", "move", "outdated"]

DAYS_BETWEEN = 7
"""Days between the first and the last time that a statement was made, from which it counts as lasting."""
MOST_COMPARED = 100
"""Earlier statements about the same subject that a newer one is compared with."""
_WHY = {
    "decision": "It is a decision.",
    "preference": "It is a preference.",
    "entity": "It is a name, an address or a number to keep.",
    "remember": "It is to be remembered.",
}
_NUMBER = re.compile(r"\w*\d[\w.,-]*")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of notes that would make them shorter or truer. Nothing of it is done yet."""

    id: str
    """The same whenever the same statements are proposed."""
    kind: Kind
    """`merge`: it is repeated. `move`: it belongs in the long-term memory. `outdated`: a later one says otherwise."""
    reason: str
    removed: tuple[Statement, ...]
    """The statements that go."""
    kept: Statement | None
    """The statement that stays; None: what is added stands for all that go."""
    added: str = ""
    """What comes into the long-term memory; empty: nothing."""
    author: str = ""
    """The author of what is added."""
    in_place: bool = False
    """Whether it comes into the place of the first statement that goes."""
    section: str = ""
    """The heading below which it comes."""

    @property
    def text(self) -> str:
        """The statement as it is afterwards."""
        return self.added or (self.kept.text if self.kept else "")

    @property
    def places(self) -> set[str]:
        """The citations of its statements."""
        return {each.citation for each in (*self.removed, *filter(None, [self.kept]))}


@dataclass(frozen=True, slots=True)
class TidyReport:
    """Proposals, and what was wrong while they were made."""

    proposals: tuple[Proposal, ...]
    reasons: tuple[Diagnostic, ...] = ()


def propose(
    statements: Sequence[Statement], *, refused: Collection[str], dated: Callable[[Statement], date | None]
) -> list[Proposal]:
    """Return what to tidy. No statement is in two proposals, so that they can be accepted one after the other.

    `refused` has the ids of proposals that are not made again. `dated` returns the day of a statement of which the note
    does not tell it; None: it is not known.
    """
    words = {text: words_of(text) for text in {each.text for each in statements}}
    used = set[str]()
    found = list[Proposal]()
    for proposal in (*_outdated(statements, words, dated), *_repeated(statements, words)):
        if proposal.id not in refused and not proposal.places & used:
            used |= proposal.places
            found.append(proposal)
    return found


def _outdated(
    statements: Sequence[Statement], words: dict[str, Words], dated: Callable[[Statement], date | None]
) -> Iterator[Proposal]:
    """Yield the statements of which a later one gives another value."""
    by_subject: dict[str, list[Statement]] = defaultdict(list)
    by_frame: dict[str, list[Statement]] = defaultdict(list)
    changed: list[Statement] = []
    for each in statements:
        bare = words[each.text].bare
        for subject in words[each.text].subjects:
            by_subject[subject].append(each)
        if any(map(str.isdigit, bare)):
            by_frame[_NUMBER.sub("#", fold(bare))].append(each)
        if each.day and says_now(bare):
            changed.append(each)
    for newer in sorted(changed, key=_age, reverse=True):
        rivals = {id(each): each for subject in words[newer.text].subjects for each in by_subject[subject]}
        older = [each for each in rivals.values() if is_older(each, newer, each.day)]
        latest = sorted(older, key=lambda each: (each.place == "daily", -each.day.toordinal() if each.day else 0))
        yield from _replacements(latest[:MOST_COMPARED], newer, words)
    for same in by_frame.values():
        if len({fold(words[each.text].bare) for each in same}) > 1 and len(same) <= MOST_COMPARED:
            newest = max(same, key=_age)
            older = [
                each
                for each in same
                if each.place != "daily" and (day := each.day or dated(each)) and is_older(each, newest, day)
            ]
            yield from _replacements(older, newest, words)


def _replacements(older: Sequence[Statement], newer: Statement, words: dict[str, Words]) -> Iterator[Proposal]:
    after = words[newer.text]
    outdated = [each for each in older if replaced_value(words[each.text], after, sure=each.place != "daily")]
    same = [each for each in outdated if each.context == newer.context]
    if not same and not newer.context and len({each.context for each in outdated}) == 1:
        same = outdated  # below a heading that the newer one does not name; there is no other that it could mean
    for each in same:
        yield replacement(each, newer, f"{newer.citation} says otherwise since {newer.day}.")


def replacement(older: Statement, newer: Statement, reason: str) -> Proposal:
    """Return the proposal that a statement goes because of a newer one, which moves into the long-term memory."""
    moves = older.place == "long-term" and newer.place == "daily"
    return Proposal(
        id_of("outdated", older.text, newer.text),
        "outdated",
        reason,
        (older, newer) if moves else (older,),
        None if moves else newer,
        added=newer.text if moves else "",
        author=newer.author if moves else "",
        in_place=moves,
    )


def _repeated(statements: Sequence[Statement], words: dict[str, Words]) -> Iterator[Proposal]:
    """Yield what is said more than once, and what is said in a daily note and lasts."""
    groups: dict[Key, list[Statement]] = defaultdict(list)
    for each in statements:
        groups[words[each.text].key].append(each)
    for each in statements:
        head = words[each.text].head
        if head is not None and head in groups and head != words[each.text].key:
            groups[head].append(each)
    for group in groups.values():
        if any(each.place != "daily" for each in group):
            yield from _merges(group, words)
        else:
            yield from _moves(group, words)


def _merges(group: Sequence[Statement], words: dict[str, Words]) -> Iterator[Proposal]:
    """Yield the proposal to keep the best of the statements in long-term memory and notes, and the fullest text."""
    best = max(group, key=rank)
    copies = [each for each in group if each is not best and may_merge(best, each, words)]
    if not copies:
        return
    fullest = max(copies, key=lambda each: len(words[each.text].bare))
    says_more = words[fullest.text].key != words[best.text].key and words[fullest.text].head == words[best.text].key
    times = f"{len(copies) + 1} times"
    if says_more and best.place == "long-term":
        reason = f"It is said {times}, and most fully in {fullest.citation}."
        others = tuple(each for each in copies if each is not fullest)
        removed = (best, fullest, *others)
        identifier = id_of("merge", best.text, fullest.text)
        yield Proposal(identifier, "merge", reason, removed, None, fullest.text, fullest.author, True)
    else:
        reason = f"It is said {times}; {best.citation} stays."
        identifier = id_of("merge", best.text, *(each.text for each in copies))
        yield Proposal(identifier, "merge", reason, tuple(copies), best)


def rank(statement: Statement) -> tuple[bool, bool, bool]:
    """Return the rank of a statement; of several that mean the same, one with the highest rank stays."""
    return (statement.place == "long-term", statement.place == "note", not statement.author)


def may_merge(best: Statement, other: Statement, words: Mapping[str, Words]) -> bool:
    """Return whether two statements that mean the same are about the same thing, by what is above them."""
    if best.context == other.context:
        return words[best.text].telling and (best.place == "long-term" or best.path != other.path)
    return (not best.context or not other.context) and len(words[best.text].key.terms) >= 4


def _moves(group: Sequence[Statement], words: dict[str, Words]) -> Iterator[Proposal]:
    """Yield the proposal to move what is said in daily notes alone, if it lasts."""
    fullest = max(group, key=lambda each: len(each.text))
    days = sorted(each.day for each in group if each.day)
    if len(group) > 1 and (days[-1] - days[0]).days >= DAYS_BETWEEN and words[fullest.text].telling:
        why = f"It is said on {len(set(days))} days." if is_state(fullest.text) else ""
    else:
        why = ""
    kind = next(filter(None, (lasting(each.text, words[each.text]) for each in group)), None)
    if why or kind:
        yield Proposal(
            id_of("move", fullest.text),
            "move",
            why or _WHY[str(kind)],
            tuple(group),
            None,
            fullest.text,
            fullest.author,
            section=fullest.heading,
        )


def is_older(each: Statement, newer: Statement, day: date | None) -> bool:
    return each is not newer and newer.day is not None and (day is None or day < newer.day)


def _age(each: Statement) -> tuple[str, int]:
    return (each.day.isoformat() if each.day else "", each.start_line)


def id_of(kind: str, *texts: str) -> str:
    """Return the id of a proposal about statements with these texts."""
    return content_hash("\n".join([kind, *sorted(map(fold, texts))]))[:10]
