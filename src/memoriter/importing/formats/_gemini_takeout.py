"""Gemini in Google Takeout: `MyActivity.json` of "My Activity", "Gemini Apps", which has other names elsewhere.

Takeout lists prompts with their answers, not conversations. Each becomes an entry of the note of its day.
"""

from __future__ import annotations

import re
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.importing._json import is_list, lists, mapping, named, objects
from memoriter.importing._records import Entry, LeftOut, Record, id_of, moment, text_of
from memoriter.importing.formats._conversation import lowered
from memoriter.importing.formats._html import markdown_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.importing._files import Files

_VERB = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Answered|Branched)\s+")
_PRODUCT = re.compile(r"gemini|bard", re.IGNORECASE)


class GeminiTakeout:
    """Prompts and answers of Gemini."""

    name = "gemini-takeout"
    read_as = "Google Takeout as of 2026-09, in JSON"
    owned = False
    in_place = False
    local_ids = False
    inner = ""

    def read(self, files: Files, *, own: bool) -> Iterator[Record]:
        del own
        names = named(files, "MyActivity.json")
        names = names or [name for name in files.names if name.lower().endswith(".json") and _is_activity(files, name)]
        if not names:
            html = any(name.lower().endswith(("activity.html", "aktivitäten.html")) for name in files.names)
            message = f"The export {files.title!r} has no MyActivity.json" + (", only HTML." if html else ".")
            remedy = (
                "Export again: in Takeout, choose My Activity, Gemini Apps, and the format JSON for activity records."
            )
            raise UsageError(message, remedy=remedy)
        for name in names:
            for found in objects(files, name, "item"):
                yield _entry(found)


def _is_activity(files: Files, name: str) -> bool:
    """Return whether a JSON file is a list of activities. Takeout names the file in the owner's language."""
    if not is_list(files, name):
        return False
    with closing(objects(files, name, "item")) as found:
        return any({"header", "title", "time"} <= first.keys() for first in islice(found, 1))


def _entry(found: dict[str, Any]) -> Record:
    products = [text_of(found.get("header")), *map(text_of, lists(found.get("products")))]
    title = text_of(found.get("title")).strip()
    if not any(_PRODUCT.search(product) for product in products):
        return LeftOut(title[:80] or "an activity", "it is not of Gemini")
    items = [mapping(item) for item in lists(found.get("safeHtmlItem"))] or [mapping(found.get("safeHtmlItem"))]
    answers = [markdown_of(text_of(item.get("html")) or text_of(item.get("htmlValue"))) for item in items]
    answer = "\n\n".join(filter(None, answers))
    verb = _VERB.match(title)
    prompt = title[verb.end() :] if verb else title if answer else ""
    if not prompt.strip():
        return LeftOut(title[:80] or "an activity", "it is neither a prompt nor an answer")
    at = moment(found.get("time"))
    text = f"**You**{f', {at:%H:%M} UTC' if at else ''}: {prompt.strip()}"
    text += f"\n\n**Gemini**:\n\n{lowered(answer)}" if answer else ""
    return Entry(id_of(None, found.get("time"), title), text, at)
