"""Forms of Markdown that note keepers use: highlights, comments, formulas, tasks and callouts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it.token import Token
from markupsafe import escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

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

    Args:
        parser: the parser.
        comments: whether comments are shown.
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
