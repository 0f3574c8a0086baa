"""Markdown of notes as HTML. HTML in a note is shown as text, and what is made of Markdown is sanitised once more."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from memoriter.pages._addresses import address_of
from memoriter.pages._wiki import WIKI, WikiNotes, add_wiki_links, anchor_of, section_anchor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre"),
    *("s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    *HEADINGS,
}
ATTRIBUTES = {
    "a": {"href", "title", "id", "class", "tabindex", "aria-hidden"},
    "ol": {"start"},
    "pre": {"tabindex"},
    **{heading: {"id"} for heading in HEADINGS},
}
SCHEMES = {"http", "https", "mailto"}
"""Schemes of links. Pictures are not shown, because they would be loaded from elsewhere."""
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:.*\r?\n)*?---[ \t]*(?:\r?\n|$)")
_LONE_RETURN = re.compile(r"\r(?!\n)")


def rendered(text: str, *, first: int | None = None, path: str = "", notes: Collection[str] = ()) -> Markup:
    """Return Markdown as HTML that runs nothing and loads nothing.

    Args:
        text: whole lines of a note.
        first: the number of the first line; each line then has an anchor such as `L5`. None: lines have no numbers.
        path: the path of the note, to which links to other notes are relative; empty: they lead nowhere.
        notes: the paths of all notes, among which `[[wiki links]]` find theirs.
    """
    text = _LONE_RETURN.sub(" ", text)  # Markdown would count it as the end of a line
    anchors = _Anchors(first)
    front = _FRONT_MATTER.match(text) if first == 1 else None
    parts = [_code(front[0].splitlines(), anchors, 1)] if front else []
    offset = front[0].count("\n") if front else 0
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    add_wiki_links(parser, WikiNotes(notes, path))
    tokens = parser.parse(text[front.end() :] if front else text)
    number = (first or 1) + offset
    _prepare(tokens, anchors, number, path)
    parts += [str(parser.renderer.render(tokens, parser.options, {}))]
    parts += [anchors.rest((first or 1) + text.count("\n"))]
    clean = nh3.clean("".join(parts), tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noreferrer")
    return Markup(clean)  # noqa: S704 - sanitised above


class _Anchors:
    """The anchors of lines, each of which is made once and in order."""

    def __init__(self, first: int | None) -> None:
        self._next = first

    def at(self, line: int) -> str:
        """Return the anchor of a line with its number, after those of lines before it that have none yet."""
        if self._next is None or line < self._next:
            return ""
        before = "".join(f'<a id="L{each}"></a>' for each in range(self._next, line))
        self._next = line + 1
        return f'{before}<a class="line" id="L{line}" href="#L{line}" tabindex="-1" aria-hidden="true">{line}</a>'

    def rest(self, last: int) -> str:
        """Return the anchors of the lines at the end that have none yet."""
        return "" if self._next is None else "".join(f'<a id="L{each}"></a>' for each in range(self._next, last + 1))


def _prepare(tokens: Sequence[Token], anchors: _Anchors, first: int, path: str) -> None:
    """Put the anchors of lines into the tokens of a document, and let its links lead to pages of this server."""
    row: int | None = None
    anchors_taken: dict[str, int] = {}
    for at, token in enumerate(tokens):
        start = first + token.map[0] if token.map else None
        match token.type:
            case "inline":
                _prepare_inline(token, anchors, start if start is not None else row, path)
                row = None
            case "tr_open":
                row = start
            case "heading_open":
                token.attrs["id"] = _free(section_anchor(_plain_text(tokens[at + 1])), anchors_taken)
            case "fence" | "code_block" if start is not None:
                is_fence = token.type == "fence"
                opening = anchors.at(start) if is_fence else ""
                rows = token.content.removesuffix("\n").split("\n")
                token.type = "html_block"
                token.content = opening + _code(rows, anchors, start + is_fence)
            case _:
                pass


def _prepare_inline(token: Token, anchors: _Anchors, start: int | None, path: str) -> None:
    children: list[Token] = []
    line = start
    if line is not None:
        children += _html(anchors.at(line))
    for child in token.children or ():
        if child.type == "link_open" and child.info != WIKI:
            _lead_to_page(child, path)
        children.append(child)
        if child.type in {"softbreak", "hardbreak"} and line is not None:
            child.type = "hardbreak"  # otherwise, the numbers of short lines would be at the same place
            line += 1
            children += _html(anchors.at(line))
    token.children = children


def _plain_text(inline: Token) -> str:
    """Return the text of a heading without its markup."""
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})


def _free(anchor: str, taken: dict[str, int]) -> str:
    """Return an anchor that no heading before it has, with a number if needed, and take it.

    Args:
        anchor: the anchor of the heading's text.
        taken: the anchors of the headings before, with the last number that was given to each.
    """
    free = anchor
    number = taken.get(anchor, 0)
    while free in taken:
        number += 1
        free = f"{anchor}-{number}"
    taken[anchor] = number
    taken.setdefault(free, 0)
    return free


def _html(text: str) -> Iterable[Token]:
    return [Token("html_inline", "", 0, content=text)] if text else []


def _code(rows: Sequence[str], anchors: _Anchors, first: int) -> str:
    """Return lines of code, which can be scrolled by keyboard."""
    lines = "\n".join(f"{anchors.at(first + at)}{escape(row)}" for at, row in enumerate(rows))
    return f'<pre tabindex="0"><code>{lines}</code></pre>\n'


def _lead_to_page(link: Token, path: str) -> None:
    """Let a link to another note open its page; one to something else on this server leads nowhere."""
    address = str(link.attrs.get("href", ""))
    parts = urlsplit(address)
    if parts.scheme:
        return
    anchor = anchor_of(unquote(parts.fragment))
    if address.startswith("#"):
        link.attrs["href"] = f"#{quote(anchor)}"
        return
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))
    if path and not parts.netloc and target.endswith(".md") and not target.startswith(("..", "/")):
        link.attrs["href"] = address_of("/notes", anchor, path=target)
    else:
        link.attrs.pop("href", None)
