"""HTML of an export as Markdown: paragraphs, headings, lists, code, links, tables as lines. Nothing else is kept."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCKS = frozenset({"p", "div", "section", "article", "ul", "ol", "table", "blockquote", "hr", "pre"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_SILENT = frozenset({"script", "style", "head", "title", "template"})
_BLANKS = re.compile(r"[ \t\n\r]+")
_LINES = re.compile(r"\n{3,}")
_DEEPEST = 8


def markdown_of(html: str) -> str:
    """Return HTML as Markdown.

    >>> markdown_of("<h2>Plan</h2><p>Use <b>one</b>.</p>").splitlines()
    ['## Plan', '', 'Use **one**.']
    """
    parser = _Markdown()
    parser.feed(html)
    parser.close()
    return _LINES.sub("\n\n", "".join(parser.parts)).strip()


class _Markdown(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts = list[str]()
        self._lists = list[int]()
        """For each open list, the number of its next item, or 0 if it has none."""
        self._silent = self._fence = 0
        self._links = list[str]()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag in {"ul", "ol"}:
            self._break(1 if self._lists else 2)
            self._lists.append(1 if tag == "ol" else 0)
        elif tag == "li":
            self._item()
        elif tag == "pre":
            self._fence += 1
            self.parts.append("\n\n```\n")
        elif tag in _HEADINGS:
            self._break(2)
            self.parts.append(_HEADINGS[tag])
        elif tag in _BLOCKS and not self._lists:
            self._break(2)
        elif tag in {"br", "tr"}:
            self._break(1)
        elif tag in _MARKS or (tag == "code" and not self._fence):
            self.parts.append(_MARKS.get(tag, "`"))
        elif tag == "a":
            self._links.append(next((value or "" for name, value in attrs if name == "href"), ""))
            self.parts.append("[")
        elif tag in {"td", "th"}:
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in {"ul", "ol"} and self._lists:
            self._lists.pop()
            self._break(1 if self._lists else 2)
        elif tag == "pre" and self._fence:
            self._fence -= 1
            self.parts.append("\n```\n\n")
        elif tag in _HEADINGS or (tag in _BLOCKS and not self._lists):
            self._break(2)
        elif tag in _MARKS or (tag == "code" and not self._fence):
            self.parts.append(_MARKS.get(tag, "`"))
        elif tag == "a" and self._links:
            target = self._links.pop()
            self.parts.append(f"]({target})" if re.match(r"(?i)https?://[^\s()]+$", target) else "]")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        text = data if self._fence else _BLANKS.sub(" ", data)
        if not self._fence and (not self.parts or self.parts[-1].endswith("\n")):
            text = text.lstrip()
        if text:
            self.parts.append(text)

    def _item(self) -> None:
        self._break(1)
        depth = min(len(self._lists), _DEEPEST) - 1
        number = self._lists[-1] if self._lists else 0
        self.parts.append(f"{'   ' * max(0, depth)}{f'{number}. ' if number else '- '}")
        if number:
            self._lists[-1] += 1

    def _break(self, lines: int) -> None:
        if self.parts:
            end = "".join(self.parts[-3:])
            self.parts.append("\n" * max(0, lines - (len(end) - len(end.rstrip("\n")))))
