"""Reduce a summary or the owner's messages to lines for a note (pure functions).

The lines cannot change the structure of the note: they have no headings, code blocks, comments or rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.agent._context import share_budget
from memoriter.masking import mask
from memoriter.values import dataclass
from memoriter.workspace import visible, without_injected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_SUMMARY = 4_000
"""Characters of a captured summary."""
SCANNED_SUMMARY = 3 * MOST_SUMMARY
"""Characters of a summary that are compared with the notes."""
LONGEST_LINE = 600
LONGEST_READ = 200_000
"""Characters of a summary that are searched for secrets."""
LEAST_SUMMARY = 40
"""Characters; a shorter summary says nothing."""
MOST_PROMPTS = 5
LONGEST_PROMPT = 240
LEAST_PROMPTS = 2
"""A conversation with fewer messages that say something is not recorded."""
LEAST_WORDS = 4
LEAST_BYTES = 20
"""A message that says something has so many words and bytes; scripts without spaces need the bytes only."""
REPEATED_SHARE = 0.6
"""Share of a line that is known text, from which on the line only repeats it."""
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|\Z)", re.DOTALL)
_FENCE = re.compile(r"[ \t]*(?:[-*+>][ \t]+)*(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*+(?:(?:[-*_=][ \t]*){3,}|\|?[ \t:|-]*)\Z")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(.*)\Z")
_SECTION = re.compile(r"\d{1,2}\.[ \t]+\S.{0,100}:[ \t*]*\Z|\*\*[^*]{1,100}\*\*:?\Z")
"""A line that begins a part of a summary: `1. Primary Request and Intent:` or `**Decisions**`."""
_MARKER = re.compile(r"\A[#>|`~ ]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?")
_SENTENCE = re.compile(r'(?:(?<=[.!?。！？])\s+|\n|\\n|\\?"|\r)')
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Known:
    """Text that the notes have already, or that came from them."""

    sentences: frozenset[str]
    lines: frozenset[str]
    whole: str
    """The lines, one below the other."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Known:
        """Return the sentences of texts, as words alone; case, punctuation and list markers make no difference."""
        joined = "\n".join(texts)
        sentences = (_words(sentence) for sentence in _SENTENCE.split(joined))
        lines = [words for line in joined.replace("\\n", "\n").split("\n") if (words := _words(line))]
        return cls(frozenset(each for each in sentences if _is_long(each)), frozenset(lines), "\n".join(lines))

    def covers(self, line: str) -> bool:
        """Return whether a line repeats known text and says hardly anything else."""
        words = _words(line)
        if not _is_long(words):
            return words in self.lines
        if words in self.whole:
            return True
        return sum(len(each) for each in self.sentences if each in words) >= REPEATED_SHARE * len(words)


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _is_long(words: str) -> bool:
    return len(words.encode("utf-8", "replace")) >= LEAST_BYTES


def condense_summary(summary: str, known: Known) -> list[str]:
    """Return a model's summary as lines for a note; none if nothing in it is new.

    The lines have no text from memory and no secrets. They have at most `MOST_SUMMARY` characters, of which each part
    of the summary gets its share.
    """
    text = without_injected(summary[:LONGEST_READ])
    inside = _SUMMARY.search(text)
    text = mask(inside[1] if inside else _ANALYSIS.sub("", text))
    plain = list(_plain_lines(text))
    lines = [line for line in _shared(plain, SCANNED_SUMMARY) if _SECTION.match(line) or not known.covers(line)]
    new = [line for part in _parts(lines) if len(part) > 1 or not _SECTION.match(part[0]) for line in part]
    if sum(map(len, new)) < LEAST_SUMMARY:
        return []
    kept = _shared(new, MOST_SUMMARY)
    if len(kept) == len(new) and _length(plain) <= SCANNED_SUMMARY:
        return kept
    return [*kept, f"[Shortened: the summary has {_length(plain):,} characters.]"]


def _shared(lines: Sequence[str], room: int) -> list[str]:
    """Return the first lines of each part that fit into its share of so many characters."""
    parts = _parts(lines)
    rooms = share_budget([_length(part) for part in parts], room)
    return [line for part, share in zip(parts, rooms, strict=True) for line in _first_lines(part, share)]


def _plain_lines(text: str) -> Iterable[str]:
    """Yield the lines without code blocks, headings, comments and rules; indentation has at most four blanks."""
    fence = ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match[1].startswith(fence) else fence
            continue
        if match:
            fence = match[1]
            continue
        if not line.strip() or _RULE.match(line):
            continue
        heading = _HEADING.match(line)
        content = f"**{heading[1].rstrip('#').strip('* ').strip()}**" if heading else line
        indent = min(4, len(content) - len(content.lstrip())) // 2 * 2
        plain = " ".join(visible(content).replace("<!--", "<\\!--").split())
        yield " " * indent + (plain if len(plain) <= LONGEST_LINE else f"{plain[:LONGEST_LINE].rstrip()}…")


def _parts(lines: Sequence[str]) -> list[list[str]]:
    """Return the parts of a summary; each begins with its title, if the summary has titles."""
    parts: list[list[str]] = []
    for line in lines:
        if not parts or _SECTION.match(line):
            parts.append([])
        parts[-1].append(line)
    return parts


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _first_lines(lines: Sequence[str], room: int) -> list[str]:
    """Return the first lines that fit, and nothing of a part of which only the title fits."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept if len(kept) == len(lines) or len(kept) > 1 else []


def condense_prompts(messages: Sequence[str], known: Known) -> list[str]:
    """Return the messages that show what a conversation was about, in their order; none if they show too little.

    The first message and the longest of the others count. Messages without content ("go on"), and those that only
    repeat known text, are left out.
    """
    telling = dict.fromkeys(text for text in map(visible, messages) if _says_something(text) and not known.covers(text))
    texts = list(telling)
    if len(texts) < LEAST_PROMPTS:
        return []
    longest = sorted(texts[1:], key=len, reverse=True)[: MOST_PROMPTS - 1]
    return [_shortened(text) for text in texts if text == texts[0] or text in longest]


def _says_something(text: str) -> bool:
    words = _words(text)
    return _is_long(words) and (len(words.split()) >= LEAST_WORDS or _UNSPACED.search(words) is not None)


def _shortened(text: str) -> str:
    text = _MARKER.sub("", text).replace("<!--", "<\\!--")
    if len(text) <= LONGEST_PROMPT:
        return text
    kept = text[:LONGEST_PROMPT]
    return f"{kept.rpartition(' ')[0] if ' ' in kept[LONGEST_PROMPT // 2 :] else kept}…"
