"""Links to sections of notes, and `[[wiki links]]` to notes by their names."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from memoriter.pages._addresses import address_of
from memoriter.pages._picture_links import is_picture

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


class NoteNames:
    """The names of all notes, by which links find them."""

    def __init__(self, paths: Collection[str] = ()) -> None:
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(paths, key=lambda each: (len(each), each)):
            self._by_name[posixpath.basename(plain_name(path))].append(path)

    def find(self, name: str, path: str) -> str | None:
        """Return the note that a link names by its path from another note or from the root, or by its end."""
        wanted = plain_name(name)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(plain_name(path)), wanted))
        ending = posixpath.normpath("/" + wanted)
        called = self._by_name.get(posixpath.basename(wanted), [])
        found = [each for each in called if f"/{plain_name(each)}".endswith(ending)]
        exact = (each for place in (beside, ending[1:]) for each in found if plain_name(each) == place)
        return next(exact, found[0] if found else None)


def plain_name(path: str) -> str:
    """Return a path or the name of a note as links are compared: without `.md`, in small letters."""
    return path.lower().removesuffix(".md")


def wiki_address(names: NoteNames, target: str, path: str) -> str | None:
    """Return the address of the note that a link names, with its section; None: there is no such note."""
    name, _, section = target.partition("#")
    found = names.find(name.strip(), path) if name.strip() else path
    return address_of("/notes", anchor_of(section.strip()), path=found) if found else None


def add_wiki_links(parser: MarkdownIt) -> None:
    """Let a parser read `[[note]]`, `[[note#section]]`, `[[note|text]]` and `![[embeds]]`.

    A link to no note stays as it is written. An embedded picture is shown, and an embedded note is a link. The
    environment of a text has the `names` of all notes, and the `path` of the note with the text.
    """

    def read(state: StateInline, silent: bool) -> bool:
        embeds = state.src.startswith("![[", state.pos)
        if not embeds and not state.src.startswith("[[", state.pos):
            return False
        start = state.pos + 2 + embeds
        end = state.src.find("]]", start, start + LONGEST_LINK)
        inner = state.src[start:end] if end >= 0 else ""
        if not inner or "\n" in inner or "[" in inner:
            return False
        target, _, text = (part.strip() for part in inner.partition("|"))
        if embeds and is_picture(target):
            if not silent:
                _push_picture(state, target, text)
            state.pos = end + 2
            return True
        address = wiki_address(state.env["names"], target, state.env["path"]) if target else None
        if address is None:
            return False
        if not silent:
            link = state.push("link_open", "a", 1)
            link.attrs = {"href": address}
            link.info = WIKI
            state.push("text", "", 0).content = text or target
            state.push("link_close", "a", -1)
        state.pos = end + 2
        return True

    def _push_picture(state: StateInline, target: str, text: str) -> None:
        picture = state.push("image", "img", 0)
        is_size = text.replace("x", "").isdigit()  # Obsidian's width, such as 300 or 300x200
        picture.attrs = {"src": target, "alt": "" if is_size else text}
        picture.content = "" if is_size else text
        picture.children = []

    parser.inline.ruler.before("link", "wiki", read)
