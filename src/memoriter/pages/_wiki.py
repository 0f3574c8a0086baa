"""Links to sections of notes, and `[[wiki links]]` to notes by their names."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from memoriter.pages._addresses import address_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

WIKI = "wiki"
"""The mark of a link that already leads to a page."""
LONGEST_LINK = 1_000
"""Characters of a wiki link at most: the end is not looked for in all of a long note."""
PREFIX = "section-"
"""The beginning of the anchors of headings, so that none is that of another element of the page."""
_LINE = re.compile(r"L\d+")
_NO_WORD = re.compile(r"[^\w\- ]")


def section_anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it, after `PREFIX`.

    >>> section_anchor("What we do, and why")
    'section-what-we-do-and-why'
    """
    return PREFIX + _NO_WORD.sub("", heading.strip().lower()).replace(" ", "-")


def anchor_of(fragment: str) -> str:
    """Return the anchor on the page of a note to which the part of a link after `#` leads.

    >>> anchor_of("L3"), anchor_of("What we do")
    ('L3', 'section-what-we-do')
    """
    if not fragment or _LINE.fullmatch(fragment) or fragment.startswith(PREFIX):
        return fragment
    return section_anchor(fragment)


class WikiNotes:
    """The notes to which the wiki links of one note lead."""

    def __init__(self, paths: Collection[str], path: str) -> None:
        """Take the paths of all notes, and that of the note with the links."""
        self._paths = paths
        self._path = path
        self._by_name: defaultdict[str, list[str]] | None = None

    def address(self, target: str) -> str | None:
        """Return the address of the note that a link names, with its section; None: there is no such note."""
        name, _, section = target.partition("#")
        path = self._find(name.strip()) if name.strip() else self._path
        return address_of("/notes", anchor_of(section.strip()), path=path) if path else None

    def _find(self, name: str) -> str | None:
        """Return the note that is named by its path from this note or from the root, or else by the end of its path."""
        wanted = _plain(name)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(_plain(self._path)), wanted))
        ending = posixpath.normpath("/" + wanted)
        found = [each for each in self._called(posixpath.basename(wanted)) if f"/{_plain(each)}".endswith(ending)]
        exact = (each for place in (beside, ending[1:]) for each in found if _plain(each) == place)
        return next(exact, found[0] if found else None)

    def _called(self, name: str) -> list[str]:
        """Return the notes with a name, the shortest path first."""
        if self._by_name is None:
            self._by_name = defaultdict(list)
            for path in sorted(self._paths, key=lambda each: (len(each), each)):
                self._by_name[posixpath.basename(_plain(path))].append(path)
        return self._by_name.get(name, [])


def _plain(path: str) -> str:
    return path.lower().removesuffix(".md")


def add_wiki_links(parser: MarkdownIt, notes: WikiNotes) -> None:
    """Let a parser read `[[note]]`, `[[note#section]]` and `[[note|text]]`; one to no note stays as it is written."""

    def read(state: StateInline, silent: bool) -> bool:
        if not state.src.startswith("[[", state.pos):
            return False
        end = state.src.find("]]", state.pos + 2, state.pos + LONGEST_LINK)
        inner = state.src[state.pos + 2 : end] if end >= 0 else ""
        target, bar, text = inner.partition("|")
        address = notes.address(target) if target and "\n" not in inner and "[" not in inner else None
        if address is None:
            return False
        if not silent:
            link = state.push("link_open", "a", 1)
            link.attrs = {"href": address}
            link.info = WIKI
            state.push("text", "", 0).content = text.strip() if bar and text.strip() else target.strip()
            state.push("link_close", "a", -1)
        state.pos = end + 2
        return True

    parser.inline.ruler.before("link", "wiki", read)
