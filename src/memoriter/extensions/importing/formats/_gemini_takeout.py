"""Gemini in Google Takeout: `MyActivity.json` or `.html` of "My Activity", "Gemini Apps", with other names elsewhere.

Takeout lists prompts with their answers, not conversations. Each becomes an entry of the note of its day.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC
from itertools import islice
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import is_list, lists, mapping, named, objects
from memoriter.extensions.importing._records import Entry, LeftOut, Record, id_of, moment, text_of
from memoriter.extensions.importing.formats._conversation import lowered
from memoriter.extensions.importing.formats._html import markdown_of
from memoriter.extensions.importing.formats._takeout_html import activities, is_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from memoriter.extensions.importing._files import Files

_VERB = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Answered|Branched)\s+")
_PRODUCT = re.compile(r"gemini|bard", re.IGNORECASE)


class GeminiTakeout:
    """Prompts and answers of Gemini."""

    name = "gemini-takeout"
    read_as = "Google Takeout as of 2026-09, in JSON or HTML"
    owned = False
    in_place = False
    local_ids = False
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        names = named(files, "MyActivity.json")
        names = names or [name for name in files.names if name.lower().endswith(".json") and _is_activity(files, name)]
        pages = [] if names else [name for name in files.names if is_page(files, name)]
        if not names and not pages:
            message = f"The export {files.title!r} has neither MyActivity.json nor MyActivity.html."
            raise UsageError(message, remedy="Export again: in Takeout, choose My Activity and there Gemini Apps.")
        for name in names:
            for found in objects(files, name, "item"):
                yield _entry(found)
        for name in pages:
            for activity in activities(files, name):
                yield _record(activity.products, activity.title, activity.answer, activity.at, activity.time)


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
