"""The page Memories: what waits for a decision, and long-term memories to see, add, change and forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.longterm._records import CATEGORIES
from memoriter.extensions.longterm.pages._inbox import decide, inbox_values, waiting
from memoriter.extensions.longterm.pages._memory_list import MOST, ORIGINS, list_values
from memoriter.extensions.longterm.settings import KEY, LongTermEntry
from memoriter.extras import require
from memoriter.pages import Page, PageRoute
from memoriter.settings_file import write_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from memoriter.memory import Memory
    from memoriter.pages import Visit

FILE = "memoriter.json5"
"""The user's settings in the home, if no other file is in force."""
LONG_TERM = "memory-lancedb"
"""The name of the plugin in the settings."""

DONE = {
    "stored": "Remembered.",
    "existing": "A memory says the same already.",
    "changed": "Changed. The earlier words are kept as its earlier version.",
    "turned-on": "Memories are turned on. Agents that run have the tools for them once they are started again.",
    "collecting": "From now on, statements of conversations wait here for your decision.",
}
"""What was done, by the parameter of the address."""
SLOT = ("plugins", "slots", "memory")
CAPTURE = ("plugins", "entries", "memory-lancedb", "config", "autoCapture")


async def show(visit: Visit) -> Response:
    """Return the statements that wait for a decision, and the memories that the filters in the address select."""
    values = await list_values(visit)
    off: Any = values["off"]
    status = 200 if off is None or values["is_off"] else off.status
    if visit.fragment == "memories":
        return await visit.render("memories/_list.html", status, **values)
    inbox = await inbox_values(visit, [], {})
    done = DONE.get(visit.parameter("done"), "")
    return await visit.render(
        "memories/page.html", status, told=done, collects=await _collects(visit), **values, **inbox
    )


async def _collects(visit: Visit) -> bool:
    """Return whether statements of conversations wait for a decision."""

    def setting(memory: Memory) -> str | bool:
        return memory.configuration.extension(KEY, LongTermEntry).config.auto_capture

    return bool(await visit.with_memory("read", setting))


async def turn_on(visit: Visit) -> Response:
    """Turn long-term memories on, or let statements wait for a decision, in the settings and in this server."""
    form = await visit.form()
    collects = form.get("what") == "statements"

    def act(memory: Memory) -> None:
        require("longterm", "Long-term memories")
        configuration = memory.configuration
        slot = configuration.settings.plugins.slots.memory
        names = [slot] if isinstance(slot, str) else list(slot)
        kept = [name for name in names if name not in {"none", LONG_TERM}] or ["memory-core"]
        values: dict[tuple[str, ...], Any] = {CAPTURE: "inbox"} if collects else {SLOT: [*kept, LONG_TERM]}
        write_settings(configuration.path or memory.environment.home / FILE, values)
        memory.reload_plugins()

    await visit.with_memory("admin", act)
    return visit.redirect("/memories", done="collecting" if collects else "turned-on")


async def add(visit: Visit) -> Response:
    """Store a statement that somebody wrote on the page."""
    form = await visit.form()
    stored = await visit.perform("storeMemory", text=_statement(form), category=form.get("category") or "other")
    return visit.redirect("/memories", done="stored" if stored["stored"] else "existing")


async def edit(visit: Visit) -> Response:
    """Return the page on which the words of a memory are changed."""
    memory = await _memory(visit, visit.parameter("id"))
    return await visit.render("memories/edit.html", memory=memory, categories=CATEGORIES)


async def change(visit: Visit) -> Response:
    """Store the new words of a memory, which replace the earlier ones."""
    form = await visit.form()
    memory = await _memory(visit, form.get("id", ""))
    text = _statement(form)
    category = form.get("category") or memory["category"]
    if (text, category) == (memory["text"], memory["category"]):
        return visit.redirect("/memories")
    stored = await visit.perform(
        "storeMemory", text=text, category=category, importance=memory["importance"], supersedes=memory["id"]
    )
    return visit.redirect("/memories", done="changed" if stored["stored"] else "existing")


def _statement(form: Mapping[str, str]) -> str:
    text = form.get("text", "").replace("\r\n", "\n").strip()
    if not text:
        raise UsageError("The memory is empty.", remedy="Write one sentence.")
    return text


async def ask(visit: Visit) -> Response:
    """Return the question whether a memory shall be forgotten."""
    memory = await _memory(visit, visit.parameter("id"))
    return await visit.render("memories/forget.html", memory=memory, origins=ORIGINS)


async def forget(visit: Visit) -> Response:
    """Forget a memory after the confirmation, and return the receipt."""
    form = await visit.form()
    memory = await _memory(visit, form.get("id", ""))
    if form.get("text", "").replace("\r\n", "\n") != memory["text"]:
        raise UsageError(
            "The memory has changed since the question was shown, so it was not forgotten.", remedy="Look at it again."
        )
    receipt = await visit.perform("forgetMemory", id=memory["id"])
    return await visit.render("memories/receipt.html", receipt=receipt)


async def _memory(visit: Visit, identifier: str) -> dict[str, Any]:
    """Return a memory by its id. Raises UsageError if there is none."""
    found: list[dict[str, Any]] = await visit.perform("listMemories", limit=MOST)
    memory = next((each for each in found if each["id"] == identifier), None)
    if memory is None:
        raise UsageError(f"There is no memory with the id {identifier!r}.", remedy="Choose one on the page Memories.")
    return memory


PAGE = Page(
    "Memories",
    "Decide what is remembered, and see, correct and forget memories.",
    (
        PageRoute("/memories", show),
        PageRoute("/memories/decide", decide, ("POST",)),
        PageRoute("/memories/turn-on", turn_on, ("POST",)),
        PageRoute("/memories/add", add, ("POST",)),
        PageRoute("/memories/edit", edit),
        PageRoute("/memories/change", change, ("POST",)),
        PageRoute("/memories/forget", ask),
        PageRoute("/memories/receipt", forget, ("POST",)),
    ),
    place=40,
    waiting=waiting,
)
