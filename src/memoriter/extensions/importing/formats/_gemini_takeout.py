"""Gemini in Google Takeout: `MyActivity.json` or `.html` of "My Activity", "Gemini Apps", with other names elsewhere.

Takeout lists prompts with their answers, not conversations. Each becomes an entry of the note of its day.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from itertools import islice
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import is_list, lists, mapping, named, objects, open_text
from memoriter.extensions.importing._records import Entry, Format, LeftOut, Record, id_of, moment, text_of
from memoriter.extensions.importing.formats._conversation import lowered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoriter.extensions.importing._files import Files

_VERB = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Answered|Branched)\s+")
_PRODUCT = re.compile(r"gemini|bard", re.IGNORECASE)
_SUFFIXES = (".html", ".htm")
_CELL = b'class="outer-cell'
_STYLE = b"mdl-"
_LONGEST = 32 << 20
"""Bytes of one activity, and of the styles before the first one."""
_READ_AGAIN = "Export again, and give the whole file."
_START = 1 << 18
_PART = 1 << 20
_HEADER = "mdl-typography--title"
_BODY = "mdl-typography--body-1"
_CAPTION = "mdl-typography--caption"
_NEXT_CELL = '<div class="content-cell'
"""An answer has elements of its own, so the end of its cell is the beginning of the next one."""
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_TIME = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
_NUMBERS = re.compile(r"\d{1,4}")
_MONTH = re.compile(r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_AFTERNOON = re.compile(r"PM|p\.\s?m\.|오후|下午|午後")
_MORNING = re.compile(r"AM|a\.\s?m\.|오전|上午|午前")
_OFFSET = re.compile(r"(?:UTC|GMT)([+\u2212-])(\d{1,2})(?::?(\d\d))?")
_HOURS = {
    0: "UTC GMT WET",
    1: "CET MEZ BST WEST",
    2: "CEST MESZ EET",
    3: "EEST",
    9: "JST KST",
    -4: "EDT",
    -5: "EST CDT",
    -6: "CST MDT",
    -7: "MST PDT",
    -8: "PST",
}
"""Abbreviations of time zones by their hours from UTC, without those with several common meanings, such as IST."""
_ZONES = {name: hours for hours, names in _HOURS.items() for name in names.split()}
_NAME = re.compile(r"\b[A-Z]{3,4}\b")
_BLOCKS = frozenset({"p", "div", "section", "article", "ul", "ol", "table", "blockquote", "hr", "pre"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_SILENT = frozenset({"script", "style", "head", "title", "template"})
_BLANKS = re.compile(r"[ \t\n\r]+")
_LINES = re.compile(r"\n{3,}")
_DEEPEST = 8


class GeminiTakeout(Format):
    """Prompts and answers of Gemini."""

    name = "gemini-takeout"
    read_as = "Google Takeout as of 2026-09, in JSON or HTML"

    def read(self, files: Files) -> Iterator[Record]:
        names = named(files, "MyActivity.json")
        names = names or [name for name in files.names if name.lower().endswith(".json") and _is_activity(files, name)]
        pages = [] if names else [name for name in files.names if _is_page(files, name)]
        if not names and not pages:
            message = f"The export {files.title!r} has neither MyActivity.json nor MyActivity.html."
            raise UsageError(message, remedy="Export again: in Takeout, choose My Activity and there Gemini Apps.")
        for name in names:
            for found in objects(files, name, "item"):
                yield _entry(found)
        for name in pages:
            yield from _of_page(files, name)


def _is_activity(files: Files, name: str) -> bool:
    """Return whether a JSON file is a list of activities. Takeout names the file in the owner's language."""
    if not is_list(files, name):
        return False
    with closing(objects(files, name, "item")) as found:
        return any({"header", "title", "time"} <= first.keys() for first in islice(found, 1))


def _entry(found: dict[str, Any]) -> Record:
    products = [text_of(found.get("header")), *map(text_of, lists(found.get("products")))]
    items = [mapping(item) for item in lists(found.get("safeHtmlItem"))] or [mapping(found.get("safeHtmlItem"))]
    answers = [markdown_of(text_of(item.get("html")) or text_of(item.get("htmlValue"))) for item in items]
    at = moment(found.get("time"))
    title = text_of(found.get("title")).strip()
    answer = "\n\n".join(filter(None, answers))
    return _record(products, title, answer, at, found.get("time"))


def _record(products: Iterable[str], title: str, answer: str, at: datetime | None, time: object) -> Record:
    """Return the record of an activity; `time` is its time as the export has it."""
    if not any(_PRODUCT.search(product) for product in products):
        return LeftOut(title[:80] or "an activity", "it is not of Gemini")
    verb = _VERB.match(title)
    prompt = title[verb.end() :] if verb else title if answer else ""
    if not prompt.strip():
        return LeftOut(title[:80] or "an activity", "it is neither a prompt nor an answer")
    when = f"{at.astimezone(UTC):%H:%M} UTC" if at else text_of(time)
    text = f"**You**{when and f', {when}'}: {prompt.strip()}"
    text += f"\n\n**Gemini**:\n\n{lowered(answer)}" if answer else ""
    return Entry(id_of(None, _second(at) or time, " ".join(title.split())), text, at)


def _second(at: datetime | None) -> str:
    """Return a time in seconds, which is all that HTML has of it, so that an activity has one id in both forms."""
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""


def _is_page(files: Files, name: str) -> bool:
    """Return whether a file is a page of activities."""
    if not name.lower().endswith(_SUFFIXES):
        return False
    with open_text(files, name) as opened:
        start = opened.read(_START)
    return _CELL in start or _STYLE in start


def _of_page(files: Files, name: str) -> Iterator[Record]:
    """Yield the activities of a page of HTML. Raises UsageError.

    An activity is a cell with the product and a cell with the title, the time, and the answer, each after a line break.
    """
    for cell in _cells(files, name):
        products = _plain(_after(cell, _HEADER, "</p>")), _plain(_after(cell, _CAPTION, "</div>"))
        body = _after(cell, _BODY, _NEXT_CELL)
        parts = _BREAK.split(body.removesuffix("</div>"))
        place = next((number for number, part in enumerate(parts) if number and _is_time(part)), None)
        if place is None:
            yield _record(products, _plain("\n".join(parts)), "", None, "")
            continue
        time = _plain(parts[place])
        answer = markdown_of("<br>".join(parts[place + 1 :]))
        yield _record(products, _plain("<br>".join(parts[:place])), answer, moment_of(time), time)


def _cells(files: Files, name: str) -> Iterator[str]:
    """Yield the HTML of each activity. Raises UsageError if one is too long, or the last one is cut off."""
    with open_text(files, name) as opened:
        rest = b""
        seen = False
        while part := opened.read(_PART):
            *whole, rest = (rest + part).split(_CELL)
            for each in whole:
                if seen:
                    yield each.decode("utf-8", "replace")
                seen = True
            if len(rest) > _LONGEST:
                message = f"The file {name!r} is refused: an activity has more than {_LONGEST >> 20} MiB."
                raise UsageError(message, remedy=_READ_AGAIN)
        if seen and _CAPTION.encode() not in rest:
            raise UsageError(f"The file {name!r} ends within an activity.", remedy=_READ_AGAIN)
        if seen:
            yield rest.decode("utf-8", "replace")


def _after(html: str, mark: str, end: str) -> str:
    """Return what is in the first element with a class, up to a text."""
    return html.partition(mark)[2].partition(">")[2].partition(end)[0]


def _plain(html: str) -> str:
    return markdown_of(html).replace("\xa0", " ").replace("\u202f", " ").replace("\u2003", " ").strip()


def _is_time(html: str) -> bool:
    return len(html) < 100 and "<" not in html and bool(_TIME.search(html)) and bool(re.search(r"20\d\d", html))


def moment_of(text: str) -> datetime | None:
    """Return a time of a page, which is in the owner's language and whose zone is often an abbreviation.

    None: the order of its numbers, or its zone, is not known.

    >>> moment_of("Mar 14, 2025, 12:30:05 PM UTC").isoformat(), moment_of("14.03.2025, 13:30:05 MEZ").isoformat()
    ('2025-03-14T12:30:05+00:00', '2025-03-14T13:30:05+01:00')
    """
    time = _TIME.search(text)
    zone = _zone(text)
    if time is None or zone is None:
        return None
    hour, minute, second = map(int, time.groups())
    if hour <= 12 and (_AFTERNOON.search(text) or _MORNING.search(text)):  # a clock of 12 hours
        hour = hour % 12 + (12 if _AFTERNOON.search(text) else 0)
    day = _day(text[: time.start()])
    try:
        return datetime(*day, hour, minute, second, tzinfo=zone) if day else None
    except ValueError:
        return None


def _day(text: str) -> tuple[int, int, int] | None:
    """Return the year, month and day."""
    numbers = _NUMBERS.findall(text)
    month = _MONTH.search(text)
    if month and len(numbers) == 2:  # the day and the year
        day, year = sorted(numbers, key=len)
        return int(year), _MONTHS.index(month[1]) + 1, int(day)
    if len(numbers) != 3:
        return None
    first, second, third = map(int, numbers)
    if len(numbers[0]) == 4:
        return first, second, third
    if "/" in text and max(first, second) <= 12:  # 3/4 is a day in March or in April
        return None
    return (third, first, second) if "/" in text and second > first else (third, second, first)


def _zone(text: str) -> timezone | None:
    if offset := _OFFSET.search(text):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    names = [name for name in _NAME.findall(text) if name in _ZONES]
    hours = _ZONES[names[-1]] if names else None
    return None if hours is None else (UTC if hours == 0 else timezone(timedelta(hours=hours)))


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
