"""What happened to a log while a model wrote to it: what is new, what is there twice, and what was lost.

Texts are whatever the bytes of the file are (`surrogateescape`), so that nothing is lost that is not text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLANK = re.compile(r"[ \t\r]*\n?")
_BEGINS = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|#{1,6}[ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]")
_MARKER = re.compile(r"\A[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
SHORT = 20
"""Characters: a shorter entry is known only if it is the same as another, not if it stands within one."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A log after it was written to."""

    text: str
    """As it should be: all that was there before, then what is new."""
    new: tuple[str, ...]
    """Entries that were not there before."""
    lost: bool
    """Whether something that was there before had to be put back."""


def growth(before: str, after: str) -> Growth:
    """What a log should be, given what it was before and what was made of it.

    Nothing of `before` is ever missing in the result. An entry that `before` holds already is not written twice.
    """
    if after.startswith(before):
        return _appended(before, after[len(before) :])
    new = _novel(before, after)
    if _holds(after, before):  # written into the middle, perhaps by a person: it is theirs to order
        return Growth(after, tuple(each for each in new if not _HEADING.match(each)), lost=False)
    return _joined(before, new, lost=True)


def _appended(before: str, added: str) -> Growth:
    rest = ""
    if before and not before.endswith("\n") and not added.startswith("\n"):  # the last line goes on
        end = added.find("\n") + 1 or len(added)
        rest, added = added[:end], added[end:]
    new, entries = _novel(before + rest, added), entries_of(added)
    contents = tuple(each for each in ([rest] if rest.strip() else []) + new if not _HEADING.match(each))
    if len(new) == len(entries):
        return Growth(before + rest + added, contents, lost=False)
    return Growth(_joined(before + rest, new, lost=False).text, contents, lost=False)


def _joined(before: str, new: list[str], *, lost: bool) -> Growth:
    """The new entries below what was there, under those of their headings that are needed."""
    contents = tuple(entry for entry in new if not _HEADING.match(entry))
    if not contents:
        return Growth(before, (), lost=lost)
    text = before if not before or before.endswith("\n") else f"{before}\n"
    for entry in _under_headings(before, new):
        apart = text and not _BEGINS.match(entry) and not text.endswith("\n\n")  # or it would go on with what is above
        text += ("\n" if apart else "") + entry.lstrip(" \t").rstrip("\n") + "\n"
    return Growth(text, contents, lost=lost)


def _under_headings(before: str, new: list[str]) -> list[str]:
    known = [entry.strip() for entry in entries_of(before) if _HEADING.match(entry)]
    current, waiting, rows = known[-1] if known else "", list[str](), list[str]()
    for entry in new:
        if _HEADING.match(entry):
            waiting = [each for each in waiting if _level(each) < _level(entry)] + [entry]
            continue
        last = waiting[-1].strip() if waiting else current
        rows += [each for each in waiting if each.strip() not in known or each.strip() == last != current]
        current, waiting = last, []
        rows.append(entry)
    return rows


def _level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


def _holds(text: str, lines: str) -> bool:
    """Are all the lines there, in their order?"""
    there = iter(text.splitlines())
    return all(any(line == other for other in there) for line in lines.splitlines() if line.strip())


def _novel(before: str, after: str) -> list[str]:
    known = _Known(before)
    return [entry for entry in entries_of(after) if known.learns(entry)]


def entries_of(text: str) -> list[str]:
    """The entries of a log, verbatim: a list item with its continuation, a heading, a paragraph."""
    entries, open_entry = list[str](), False
    for line in text.splitlines(keepends=True):
        if _BLANK.fullmatch(line):
            open_entry = False
        elif open_entry and not _BEGINS.match(line):
            entries[-1] += line
        else:
            # A further paragraph of a list item.
            if not open_entry and entries and line[0] in " \t" and not _HEADING.match(entries[-1]):
                entries[-1] += f"\n{line}"
            else:
                entries.append(line)
            open_entry = not _HEADING.match(line)
    return entries


class _Known:
    """The entries that were seen, by their words."""

    def __init__(self, text: str) -> None:
        self._seen = {_words(entry) for entry in entries_of(text)}
        self._all = "\n".join(self._seen)

    def learns(self, entry: str) -> bool:
        """Whether the entry is new; a heading always is."""
        words = _words(entry)
        if _HEADING.match(entry):
            return True
        if words in self._seen or (len(words) >= SHORT and words in self._all):
            return False
        self._seen.add(words)
        return True


def _words(entry: str) -> str:
    return " ".join(_MARKER.sub("", entry, count=1).split())
