"""Add entries to notes: their Markdown form and their place in the note, and whether a note has them already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.folding import fold_name
from memoriter.ids import normalize
from memoriter.layout import daily_title, names_one_day
from memoriter.types import ORIGIN
from memoriter.values import dataclass
from memoriter.workspace._paths import decode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from memoriter.types import Diagnostic
    from memoriter.workspace.chunking import Block

_ITEM = re.compile(r"(?P<bullet>[-*+])[ \t]+(?P<task>\[[ xX]\][ \t]+)?(?=\S)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_TIME = re.compile(
    r"(?P<before>\*\*|__|`|\[|\()?(?:\d{4}-\d\d-\d\d[ T])?\d{1,2}:\d\d(?::\d\d)?"
    r"(?P<after>:?(?:\*\*|__|`|\]|\))?:?(?:[ \t]*[-–—|·])?[ \t]+)(?=\S)"
)
"""A time of day at the beginning of an entry, such as `14:05 ` or `**14:05** – `."""
_STRUCTURE = re.compile(r"#{1,6}(?:[ \t]|$)|>|\||```|~~~")
_BULLETS = ("-", "*", "+")
_OPENERS = ("```", "~~~", "<")
"""A fence, a comment and raw HTML begin with one of these."""
_NO_TEXT = re.compile(r"[\0\ud800-\udfff]")
LONGEST_ENTRY = 1_000_000
"""Characters of an entry at most."""
_LAST_ENTRIES = 3
_PASSES = 8
"""Most times that the length of a note is compared with an entry, to find whether it is there already."""
_TAIL = 65_536
"""Characters at the end of a note that show the form of its last entries."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Text to append to a note."""

    text: str
    title: str = ""
    """Lines to write above the text; they are not part of the entry."""


@dataclass(frozen=True, slots=True)
class Existing:
    """The lines of a note that already contain an entry, 1-based and inclusive."""

    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Appended:
    """The lines of an entry, 1-based and inclusive."""

    path: Path
    start_line: int
    end_line: int
    existing: bool = False
    """True if the lines were there already and nothing was written."""
    left_out: Diagnostic | None = None
    """Why no search finds the note."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the entries of a log begin."""

    bullet: str = "-"
    time: str = ""
    """Time of day with all that separates it from the text; empty if the entries of the log have none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A text to remember."""

    text: str
    origin: str | None
    """Its author if that is not the owner."""
    now: datetime
    """In the owner's time zone."""
    path_pattern: str = ""
    """Pattern of the path of a day's note; empty if the entry belongs in another note."""
    again: bool = False
    """Whether to add the entry to a note that already contains it."""
    heading: str = ""
    """A heading to write above the entry."""

    def __post_init__(self) -> None:
        """Raise UsageError if the text is empty or too long, or no valid text."""
        if found := _NO_TEXT.search(self.text):
            raise UsageError(
                f"The text cannot be written as UTF-8: character {found.start() + 1} is {_name_of(found[0])}.",
                remedy="Give text, not the bytes of a file; `iconv -t utf-8` converts other encodings.",
            )
        if not self.text.strip():
            raise UsageError("There is nothing to remember: the text is empty.", remedy="Give a sentence.")
        if len(self.text) > LONGEST_ENTRY:
            raise UsageError(
                f"The text has {len(self.text)} characters, which is too long to remember.",
                remedy=f"Give at most {LONGEST_ENTRY} characters.",
            )

    def add_to(self, content: bytes) -> Addition | Existing:
        """Return what to append to a note with this content, or the lines that already contain the entry."""
        note = decode(content)
        if existing := self.find_in(note):
            return existing
        entry = entry_of(self.text, self._form_in("" if self.heading else note) if self.path_pattern else None)
        heading = f"## {' '.join(self.heading.split())}\n\n" if self.heading else ""
        if self.origin is not None:  # the mark is also that of a new heading
            from memoriter.workspace.untrusted import marked

            entry = marked(heading + entry, self.origin, self.now.date().isoformat())
            heading = ""
        if self.path_pattern and not note.strip():
            return Addition(entry, f"# {daily_title(self.path_pattern, self.now.date())}\n\n{heading}")
        # Otherwise the entry would be part of a fence or comment that somebody forgot to close.
        closing = _closing_line(note.split("\n"))
        # Without a blank line, a table or paragraph would continue the entry above it.
        stands_alone = not heading and (_ITEM.match(entry) or ORIGIN.match(entry))
        ends_blank = not closing and not note.removesuffix("\n").rpartition("\n")[2].strip()
        joins = not stands_alone and not ends_blank and (heading or not closing)
        # The blank line above it says that what is above may be several entries, as `scan_closed_blocks` reads it.
        return Addition(entry, f"\n{closing}\n" * bool(closing) + "\n" * bool(joins) + heading)

    def below(self, note: str, title: str) -> tuple[str, str, int] | None:
        """Return a note with the entry below a heading, the lines of the entry, and the first of them, from 1.

        None: the note has no such heading, or what is below it belongs to somebody else.
        """
        from memoriter.workspace.untrusted import authors_of, marked

        lines = note.split("\n")
        section = find_section(lines, title)
        if section is None:
            return None
        form = self._form_in("\n".join(lines[section.start : section.end])) if self.path_pattern else None
        entry = entry_of(self.text, form)
        if self.origin is not None:
            entry = marked(entry, self.origin, self.now.date().isoformat())
        found, at = with_entry(lines, section, entry)
        count = entry.count("\n")
        before = [author for author in authors_of(lines) if author]
        after = authors_of(found)
        own = {after[row].rpartition(", ")[0] for row in range(at, at + count) if found[row].strip()}
        others = [author for author in (*after[:at], *after[at + count :]) if author]
        if own != {self.origin or ""} or others != before:
            return None
        return "\n".join(found), entry, at + 1

    def find_in(self, note: str) -> Existing | None:
        """Return the lines of a note that prevent the addition; to the owner, entries of others do not count."""
        return None if self.again else find_entry(note, self.text, foreign=self.origin is not None)

    def _form_in(self, note: str) -> Form:
        names_day = names_one_day(self.path_pattern)
        time = f"{self.now:%H:%M}" if names_day else f"{self.now:%Y-%m-%d %H:%M}"
        return log_form(note[-_TAIL:], time)


def _name_of(character: str) -> str:
    """Return what a character is that no text has: Python keeps bytes that it cannot decode as U+DC80 to U+DCFF.

    >>> _name_of(chr(0xDCE9)), _name_of(chr(0xD83D)), _name_of(chr(0))
    ('the byte 0xe9', 'half of a character (U+D83D)', 'NUL')
    """
    code = ord(character)
    if not code:
        return "NUL"
    return f"the byte {code - 0xDC00:#04x}" if 0xDC80 <= code <= 0xDCFF else f"half of a character (U+{code:04X})"


def entry_of(text: str, form: Form | None = None) -> str:
    r"""Return a text as lines of Markdown: a list item, or the text itself if it has a structure of its own.

    A fence, comment or raw HTML that the text leaves open is closed, so that it does not take in the next entry.

    `form` is how the entries of the log begin; None: outside of a log, where several paragraphs stay paragraphs.

    >>> entry_of("We chose PostgreSQL."), entry_of("We chose PostgreSQL.", Form("*", "14:05 "))
    ('- We chose PostgreSQL.\n', '* 14:05 We chose PostgreSQL.\n')
    """
    lines = _lines_of(text)
    stripped = "\n".join(lines)
    if form is None:
        form = Form()
        has_structure = bool(_STRUCTURE.match(stripped)) or stripped.startswith(_BULLETS) or "\n\n" in stripped
    else:
        has_structure = bool(_STRUCTURE.match(stripped)) or any(_HEADING.match(line) for line in lines)
    if has_structure:
        return f"{stripped}\n"
    if _ITEM.match(stripped):
        return "".join(f"{_item(line, form)}\n" for line in lines)
    first, *rest = lines
    return (
        "\n".join([f"{form.bullet} {_timed(first, form)}", *(f"  {line}" if line.strip() else "" for line in rest)])
        + "\n"
    )


def _lines_of(text: str) -> list[str]:
    """Return the lines of an entry, with one that closes what the text leaves open."""
    lines = text.strip().splitlines()
    closing = _closing_line(["", *lines])  # below the first line of a note, `---` opens no front matter
    return [*lines, closing] if closing else lines


def _closing_line(lines: Sequence[str]) -> str:
    """Return the line that closes what a text leaves open; empty if it leaves nothing open."""
    if not any(mark in line for line in lines for mark in _OPENERS):
        return ""
    from memoriter.workspace.chunking import closing_line

    return closing_line(lines)


def _item(line: str, form: Form) -> str:
    match = _ITEM.match(line)
    if match is None or match["task"]:
        return line
    return f"{form.bullet} {_timed(line[match.end() :], form)}"


def _timed(text: str, form: Form) -> str:
    """Return the text after the time of day, unless it begins with one itself."""
    return text if _TIME.match(text) else f"{form.time}{text}"


def log_form(log: str, time: str) -> Form:
    """Return the form of the last entries of a log: of the list items below its last heading that are no tasks.

    `log` may be only its end. The form has the `time` of day if its entries have one, or if there is none yet.
    """
    entries: list[re.Match[str]] = []
    for line in log.splitlines():
        if _HEADING.match(line):
            entries.clear()
        elif (match := _ITEM.match(line)) and not match["task"]:
            entries.append(match)
    if not entries:
        return Form(time=f"{time} ")
    times = (_TIME.match(entry.string, entry.end()) for entry in reversed(entries[-_LAST_ENTRIES:]))
    timed = next(filter(None, times), None)
    return Form(entries[-1]["bullet"], f"{timed['before'] or ''}{time}{timed['after']}" if timed else "")


def find_entry(note: str, text: str, *, foreign: bool) -> Existing | None:
    """Return the lines of a note that contain a text as an entry of its own, or None.

    White space, list markers, times of day and marks of origin make no difference.

    `foreign` says whether an entry counts that the owner did not write.
    """
    wanted = " ".join(filter(None, map(_plain, _lines_of(text))))
    if not wanted or not _may_hold(note, wanted):
        return None
    from memoriter.workspace.chunking import scan_blocks
    from memoriter.workspace.untrusted import foreign_lines

    lines = note.split("\n")
    others = foreign_lines(lines)
    blocks = [block for block in scan_blocks(lines) if block.kind not in {"comment", "front"}]
    texts = [" ".join(filter(None, map(_plain, lines[block.start : block.end]))) for block in blocks]
    search = _Search(wanted, texts)
    for at, block in enumerate(blocks):
        if not block.depth and (foreign or not others[block.start]):
            last = search.last_part(at)
            if last is not None:
                return Existing(block.start + 1, blocks[last].end)
    return None


def _may_hold(note: str, wanted: str) -> bool:
    """Return whether a line with the longest word of a text is a part of the text, so that the note must be parsed."""
    word = max(wanted.split(), key=len)
    for line in normalize("NFC", note).split("\n"):
        if word in line:
            text = _plain(line)
            if text in wanted or ((time := _TIME.match(text)) and text[time.end() :] in wanted):
                return True
    return False


class _Search:
    """A search for a text that consecutive blocks make up, with or without the times of day at their beginnings."""

    def __init__(self, wanted: str, texts: Sequence[str]) -> None:
        self._wanted = wanted
        self._forms = [(text, text[time.end() :]) if (time := _TIME.match(text)) else (text,) for text in texts]
        self._left = _PASSES * sum(len(text) + 1 for text in texts)
        """Characters that may still be compared: where texts repeat themselves, each place could need all of them."""

    def last_part(self, first: int) -> int | None:
        """Return the index of the block that completes the text, from the first one on; None if none does."""
        done = 0
        for at in range(first, len(self._forms)):
            form = next((form for form in self._forms[at] if self._is_next(form, done)), None)
            if form is None:
                return None
            done += len(form) + bool(form)
            if done > len(self._wanted):
                return at
        return None

    def _is_next(self, form: str, done: int) -> bool:
        self._left -= len(form) + 1
        end = done + len(form)
        whole = not form or self._wanted[end : end + 1] in {"", " "}
        return self._left >= 0 and whole and self._wanted.startswith(form, done)


def _plain(line: str) -> str:
    """Return a line in NFC without list marker, mark of origin and repeated white space."""
    text = normalize("NFC", ORIGIN.sub("", f"{line}\n")).strip()
    item = _ITEM.match(text)
    return " ".join((text[item.end("bullet") :] if item else text).split())


_EXTRAS = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+(?=\D)|(?:\s+(?:#[\w/-]+|\{#[^{}]*\}))+$")
"""A number before a heading, and tags and an id after it."""


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of a section, from 0: its heading, and the place below what it holds before the next heading."""

    start: int
    end: int


def find_section(lines: Sequence[str], title: str) -> Section | None:
    """Return the first section with this heading, or else with a number before it or tags and an id after it, or None.

    What is in a fence is no heading.
    """
    from memoriter.workspace.chunking import plain_title, scan_blocks

    wanted = fold_name(title)
    headings: list[Block] = [block for block in scan_blocks(lines) if block.kind == "heading"]
    names = [plain_title(heading.title) for heading in headings]
    bare = [_EXTRAS.sub("", name) for name in names]
    folded = [fold_name(name) for name in (*names, *bare)]
    if wanted not in folded:
        return None
    at = folded.index(wanted) % len(headings)
    end = headings[at + 1].start if at + 1 < len(headings) else len(lines)
    while end > headings[at].end and not lines[end - 1].strip():
        end -= 1
    return Section(headings[at].start, end)


def with_entry(lines: Sequence[str], section: Section, entry: str) -> tuple[list[str], int]:
    """Return the lines of a note with an entry at the end of a section, and the line of the entry, from 0.

    A fence, a comment or raw HTML that the section leaves open is closed first.
    """
    from memoriter.workspace.chunking import closing_line, scan_blocks

    above = list(lines[: section.end])
    below = list(lines[section.end :])
    if closing := closing_line(above):
        above.append(closing)
    last = scan_blocks(above)[-1]
    begins_item = entry.startswith(("- ", "* ", "+ "))
    if closing or not (begins_item and last.kind == "item"):
        above.append("")
    if below and below[0].strip():
        below.insert(0, "")
    return [*above, *entry.removesuffix("\n").split("\n"), *(below or [""])], len(above)
