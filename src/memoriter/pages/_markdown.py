"""Markdown of notes as HTML, with wiki links and the forms that note keepers use.

HTML in a note is shown as text, and what is made of Markdown is sanitised once more.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from memoriter.pages._addresses import PICTURES, address_of, anchor_of, is_picture, section_anchor
from memoriter.pages._note_links import NoteNames

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

    from memoriter.search import Marker

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TAGS = {
    *("a", "blockquote", "br", "code", "del", "details", "div", "em", "hr", "img", "li", "mark", "ol", "p", "pre"),
    *("s", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    *HEADINGS,
}
ATTRIBUTES = {
    "a": {"href", "title", "id", "class", "tabindex", "aria-hidden", "rel"},
    "blockquote": {"class"},
    "code": {"class"},
    "details": {"class"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "img": {"src", "alt", "loading"},
    "ol": {"start"},
    "pre": {"tabindex", "class", "role", "aria-label"},
    "strong": {"class"},
    "span": {"class", "role", "aria-label"},
    "th": {"scope"},
    **{heading: {"id"} for heading in HEADINGS},
}
SCHEMES = {"http", "https", "mailto"}
"""Schemes of links."""
SOURCE_FORMS = {"mermaid": "Mermaid diagram", "math": "Formula", "latex": "Formula"}
"""Languages of fences that other programs draw; here, their text is shown with a label."""
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:.*\r?\n)*?---[ \t]*(?:\r?\n|$)")
_PROPERTY = re.compile(r"([^\s:#][^:]{0,80}):(?:\s+(.*)|\s*)$")
_LONE_RETURN = re.compile(r"\r(?!\n)")
NO_NAMES = NoteNames()


def rendered(
    text: str,
    *,
    first: int | None = None,
    path: str = "",
    names: NoteNames = NO_NAMES,
    marker: Marker | None = None,
    answer: Collection[int] = (),
) -> Markup:
    """Return Markdown as HTML that runs nothing and loads nothing from elsewhere.

    Args:
        text: whole lines of a note.
        first: the number of the first line; each line then has an anchor such as `L5`. None: lines have no numbers.
        path: the path of the note, to which links to other notes are relative; empty: they lead nowhere.
        names: the names of all notes, among which `[[wiki links]]` find theirs.
        marker: matches words to mark; None: none are marked, and comments are shown.
        answer: numbers of lines that stand out; without `first`, the text begins with line 1.
    """
    text = _LONE_RETURN.sub(" ", text)  # Markdown would count it as the end of a line
    lines = _Lines(first, answer, marker)
    front = _FRONT_MATTER.match(text) if first == 1 else None
    parts = [_properties(front[0].splitlines(), lines)] if front else []
    offset = front[0].count("\n") if front else 0
    parser = _parser(comments=marker is None)
    tokens = parser.parse(text[front.end() :] if front else text, {"names": names, "path": path})
    _prepare(tokens, lines, (first or 1) + offset, path)
    parts += [str(parser.renderer.render(tokens, parser.options, {}))]
    parts += [lines.rest((first or 1) + text.count("\n"))]
    clean = nh3.clean(
        "".join(parts),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel=None,  # set where a link leads elsewhere: each line of a note is a link, too
        attribute_filter=_only_own_pictures,
    )
    return Markup(clean)  # noqa: S704 - sanitised above


@cache
def _parser(*, comments: bool) -> MarkdownIt:
    """Return the parser for notes, which is made once: its rules take longer to prepare than a passage to read."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    add_obsidian_forms(parser, comments=comments)
    add_wiki_links(parser)
    return parser


def _only_own_pictures(tag: str, attribute: str, value: str) -> str | None:
    return None if tag == "img" and attribute == "src" and not value.startswith(f"{PICTURES}?") else value


class _Lines:
    """The lines of a text: their anchors, each of which is made once and in order, and which of them stand out."""

    def __init__(self, first: int | None, answer: Collection[int], marker: Marker | None) -> None:
        self._next = first
        self._answer = answer
        self._marker = marker

    @property
    def are_numbered(self) -> bool:
        """Whether each line has its number beside it."""
        return self._next is not None

    def anchor(self, line: int) -> str:
        """Return the anchor of a line with its number, after those of lines before it that have none yet."""
        if self._next is None or line < self._next:
            return ""
        before = "".join(f'<a id="L{each}"></a>' for each in range(self._next, line))
        self._next = line + 1
        return f'{before}<a class="line" id="L{line}" href="#L{line}" tabindex="-1" aria-hidden="true">{line}</a>'

    def begin(self, line: int) -> str:
        """Return what stands before the text of a line."""
        return self.anchor(line) + ('<span class="answer">' if line in self._answer else "")

    def end(self, line: int) -> str:
        """Return what stands after the text of a line."""
        return "</span>" if line in self._answer else ""

    def marked(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a text, each with whether it is a word to mark."""
        if self._marker is None:
            yield text, False
        else:
            yield from self._marker.parts(text)

    def rest(self, last: int) -> str:
        """Return the anchors of the lines at the end that have none yet."""
        return "" if self._next is None else "".join(f'<a id="L{each}"></a>' for each in range(self._next, last + 1))


def _properties(rows: Sequence[str], lines: _Lines) -> str:
    """Return front matter as a closed table of its keys and values, as they are written."""
    table: list[list[str]] = []
    for number, row in enumerate(rows[1:-1], 2):
        found = _PROPERTY.match(row)
        if found:
            table.append([f"{lines.anchor(number)}{escape(found[1].strip())}", str(escape(found[2] or ""))])
        elif table:
            table[-1][1] += f"{lines.anchor(number)}{'<br>' if table[-1][1] else ''}{escape(row.strip())}"
    body = "".join(f'<tr><th scope="row">{key}</th><td>{value}</td></tr>' for key, value in table)
    return (
        f'<details class="front"><summary>{lines.anchor(1)}Properties</summary><table><tbody>{body}</tbody></table>'
        f"{lines.anchor(len(rows))}</details>\n"
    )


def _prepare(tokens: Sequence[Token], lines: _Lines, first: int, path: str) -> None:
    """Put the anchors of lines into the tokens of a document, and let its links lead to pages of this server."""
    row: int | None = None
    anchors_taken: dict[str, int] = {}
    for at, token in enumerate(tokens):
        start = first + token.map[0] if token.map else None
        match token.type:
            case "inline":
                before = [each.type for each in tokens[max(0, at - 2) : at]]
                if before == ["list_item_open", "paragraph_open"]:
                    task_of(token)
                elif before == ["blockquote_open", "paragraph_open"]:
                    callout_of(tokens[at - 2], token)
                _prepare_inline(token, lines, start if start is not None else row, path)
                row = None
            case "tr_open":
                row = start
            case "heading_open":
                token.attrs["id"] = _free(section_anchor(_plain_text(tokens[at + 1])), anchors_taken)
            case "fence" | "code_block" if start is not None:
                is_fence = token.type == "fence"
                opening = lines.anchor(start) if is_fence else ""
                rows = token.content.removesuffix("\n").split("\n")
                label = SOURCE_FORMS.get(token.info.strip().lower().partition(" ")[0], "")
                token.type = "html_block"
                token.content = opening + _code(rows, lines, start + is_fence, label)
            case _:
                pass


def _prepare_inline(token: Token, lines: _Lines, start: int | None, path: str) -> None:
    children: list[Token] = []
    line = start
    if line is not None:
        children += _html(lines.begin(line))
    for child in token.children or ():
        if child.type == "link_open" and child.info != WIKI:
            _lead_to_page(child, path)
        if child.type == "image":
            children += _html(_shown_picture(child, path))
        elif child.type == "text":
            children += _marked(child, lines)
        elif child.type in {"softbreak", "hardbreak"} and line is not None:
            if lines.are_numbered:
                child.type = "hardbreak"  # otherwise, the numbers of short lines would be at the same place
            children += _html(lines.end(line))
            children.append(child)
            line += 1
            children += _html(lines.begin(line))
        else:
            children.append(child)
    if line is not None:
        children += _html(lines.end(line))
    token.children = children


def _marked(token: Token, lines: _Lines) -> Iterator[Token]:
    for text, is_marked in lines.marked(token.content):
        if is_marked:
            yield Token("html_inline", "", 0, content=f"<mark>{escape(text)}</mark>")
        elif text:
            yield Token("text", "", 0, content=text)


def _shown_picture(token: Token, path: str) -> str:
    """Return a picture of the notes, or a link to one that is elsewhere, which is not loaded."""
    source = str(token.attrs.get("src", ""))
    parts = urlsplit(source)
    name = unquote(parts.path)
    alt = token.content or posixpath.basename(name)
    if parts.scheme in SCHEMES:
        return f'<a href="{escape(source)}" rel="noreferrer">{escape(alt or source)}</a>'
    if parts.scheme or parts.netloc or not path or not is_picture(name):
        return str(escape(alt or source))
    address = address_of(PICTURES, name=name, **{"from": path})
    return f'<img src="{escape(address)}" alt="{escape(alt)}" loading="lazy">'


def _plain_text(inline: Token) -> str:
    """Return the text of a heading without its markup."""
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})


def _free(anchor: str, taken: dict[str, int]) -> str:
    """Return an anchor that no heading before it has, with a number if needed, and take it.

    `taken` has the anchors of the headings before, with the last number that was given to each.
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


def _code(rows: Sequence[str], lines: _Lines, first: int, label: str = "") -> str:
    """Return lines of code, which can be scrolled by keyboard."""
    shown = "\n".join(
        lines.begin(first + at)
        + "".join(f"<mark>{escape(text)}</mark>" if is_marked else str(escape(text)) for text, is_marked in parts)
        + lines.end(first + at)
        for at, parts in enumerate(map(lines.marked, rows))
    )
    named = f' role="region" aria-label="{label}"' if label else ""
    title = f'<span class="label">{label}</span>' if label else ""
    return f'{title}<pre tabindex="0"{named}><code>{shown}</code></pre>\n'


def _lead_to_page(link: Token, path: str) -> None:
    """Let a link to another note open its page; one to something else on this server leads nowhere."""
    address = str(link.attrs.get("href", ""))
    parts = urlsplit(address)
    if parts.scheme:
        link.attrs["rel"] = "noreferrer"
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


WIKI = "wiki"
"""The mark of a link that already leads to a page."""
LONGEST_LINK = 1_000
"""Characters of a wiki link at most: the end is not looked for in all of a long note."""


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


CALLOUTS = {
    "abstract": "note",
    "attention": "warning",
    "bug": "danger",
    "caution": "warning",
    "check": "tip",
    "danger": "danger",
    "done": "tip",
    "error": "danger",
    "failure": "danger",
    "hint": "tip",
    "important": "warning",
    "success": "tip",
    "tip": "tip",
    "warning": "warning",
}
"""The look of each kind of callout; of others, that of a note."""
LONGEST_SPAN = 2_000
"""Characters of a highlight, a comment or a formula at most: its end is not looked for in all of a long note."""
_CALLOUT = re.compile(r"\[!([\w-]{1,40})\][+-]?[ \t]*(.*)")
_TASK = re.compile(r"\[([ xX/-])\][ \t]+")
_FORMULA = re.compile(r"\$(?=[^\s$])([^$\n]{0,2000}?[^\s$])\$(?!\d)|\$\$([^$]{1,2000}?)\$\$")
_COMMENT = re.compile(r"<!--(.{0,2000}?)-->|%%(.{1,2000}?)%%", re.DOTALL)


def add_obsidian_forms(parser: MarkdownIt, *, comments: bool) -> None:
    """Let a parser read `==highlights==`, comments, and formulas, whose text stays as it is written.

    `comments` says whether comments are shown.
    """

    def read_comment(state: StateInline, silent: bool) -> bool:
        if state.src[state.pos] not in "<%":
            return False
        match = _COMMENT.match(state.src, state.pos)
        if match is None or "\n" in match[0]:
            return False
        if not silent and comments:
            state.push("comment_open", "span", 1).attrs = {"class": "comment"}
            state.push("text", "", 0).content = match[0]
            state.push("comment_close", "span", -1)
        state.pos = match.end()
        return True

    parser.inline.ruler.before("emphasis", "highlight", _read_highlight)
    parser.inline.ruler.before("escape", "formula", _read_formula)
    parser.inline.ruler.before("escape", "comment", read_comment)
    parser.block.ruler.before("fence", "formula", _read_formula_lines, {"alt": ["paragraph", "blockquote", "list"]})


def _read_highlight(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("==", state.pos):
        return False
    start = state.pos + 2
    end = state.src.find("==", start, min(state.posMax, start + LONGEST_SPAN))
    inner = state.src[start:end] if end > start else ""
    if not inner.strip() or inner != inner.strip() or "\n" in inner or inner.startswith("="):
        return False
    if not silent:
        most = state.posMax
        state.push("mark_open", "mark", 1)
        state.pos = start
        state.posMax = end
        state.md.inline.tokenize(state)
        state.push("mark_close", "mark", -1)
        state.posMax = most
    state.pos = end + 2
    return True


def _read_formula(state: StateInline, silent: bool) -> bool:
    match = _FORMULA.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if match is None or "\n" in match[0] or match.end() > state.posMax:
        return False
    if not silent:
        code = state.push("code_inline", "code", 0)
        code.content = (match[1] or match[2]).strip()
        code.attrs = {"class": "formula"}
    state.pos = match.end()
    return True


def _read_formula_lines(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Read `$$` on a line of its own to the next one as a fence."""

    def line(number: int) -> str:
        return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].strip()

    if line(first) != "$$":
        return False
    last = next((at for at in range(first + 1, end) if line(at) == "$$"), None)
    if last is None:
        return False
    if not silent:
        fence = state.push("fence", "code", 0)
        fence.info = "math"
        fence.content = state.getLines(first + 1, last, state.sCount[first], keepLastLF=True)
        fence.map = [first, last + 1]
        state.line = last + 1
    return True


def task_of(inline: Token) -> None:
    """Show the box of a task at the beginning of a list item."""
    children = inline.children or []
    if not children or children[0].type != "text" or (match := _TASK.match(children[0].content)) is None:
        return
    is_done = match[1] in "xX"
    box = (
        f'<span class="task" role="img" aria-label="{"done" if is_done else "open"}">{"☑" if is_done else "☐"}</span> '
    )
    children[0].content = children[0].content[match.end() :]
    inline.children = [Token("html_inline", "", 0, content=box), *children]


def callout_of(quote: Token, inline: Token) -> None:
    """Show the kind and the title of a callout, if a quotation is one."""
    children = inline.children or []
    if not children or children[0].type != "text" or (match := _CALLOUT.match(children[0].content)) is None:
        return
    kind = match[1].lower()
    title = match[2].strip() or kind.capitalize()
    quote.attrs["class"] = f"callout {CALLOUTS.get(kind, 'note')}"
    children[0].content = ""
    heading = f'<strong class="title">{escape(title)}</strong>'
    inline.children = [Token("html_inline", "", 0, content=heading), *children]
