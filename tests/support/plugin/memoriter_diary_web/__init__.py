"""An operation of the HTTP API, a page, and a part of the answer about a day, as a stranger would write them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.pages import Page, PageRoute, PageSet, Visit
from memoriter.web import Operation, OperationSet, Request, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from memoriter import Memory

TEXT = {"type": "string"}
PAGES_OF_MONDAY = "Monday: rain."


def diary(work: Work[Request]) -> dict[str, Any]:
    return {"text": PAGES_OF_MONDAY, "caller": work.caller.name}


def of_day(memory: Memory, is_of_day: Callable[[float], bool]) -> dict[str, Any]:
    return {"diary": PAGES_OF_MONDAY if is_of_day(memory.now().timestamp()) else ""}


async def show(visit: Visit) -> Response:
    return await visit.render("diary.html", **await visit.perform("diary"))


OPERATIONS = OperationSet(
    (
        Operation("diary", "GET", "/diary", "read", "Read the diary.", Request, "Diary", diary, quick=True),
        Operation("status", "GET", "/status", "read", "Take the place of another one.", Request, "Diary", diary),
    ),
    {"Diary": {"type": "object", "properties": {"text": TEXT, "caller": TEXT}, "required": ["text", "caller"]}},
    of_day,
    {"type": "object", "properties": {"diary": TEXT}, "required": ["diary"]},
)
PAGES = PageSet(
    (Page("Diary", "Read the diary.", (PageRoute("/diary", show),), place=25),),
    Path(__file__).parent,
    day_items="diary_items.html",
)
