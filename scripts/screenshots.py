"""Take the screenshots of docs/images in a real browser, from a server of the example workspace.

Each picture shows a page as a reader of the documentation finds it: `just screenshots`, or `just screenshots notes`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from browser import PHONE, opened, running_browser, screenshot
from long_term import configure_long_term
from memoriter.journal import acting
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from browser import Tab

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
LARGEST = 200_000
"""Bytes of a picture at most."""
WINDOW = {"width": 1_100, "height": 700}
WIDE = {"width": 1_280, "height": 640}
QUESTION = "which database did we choose for the ledger?"


CANDIDATES = """# Inbox of long-term memories

- [decision] We deploy on Tuesdays.
- [preference] I prefer short answers.
"""
OLD, NEW, TEA = (f"{digit * 8}-{digit * 4}-4111-8111-{digit * 12}" for digit in "123")
MEMORIES = f"""# Long-term memories

- [preference] I prefer tea to coffee. <!-- memory: {TEA} 0.7 2025-06-02T09:12:00.000Z -->
- [decision] The ledger runs on MySQL. <!-- memory: {OLD} 0.7 2025-03-04T10:30:00.000Z superseded -->
- [decision] The ledger runs on PostgreSQL. <!-- memory: {NEW} 0.7 2025-06-11T15:45:00.000Z supersedes={OLD} -->
"""


@dataclass
class Shot:
    """One picture: the file `web-NAME.png`, the address that it shows, and what is done there first."""

    name: str
    path: str
    options: dict[str, Any] = field(default_factory=dict)
    notes: Literal["example", "history", "memories", "none"] = "example"
    """Which notes the server has: those of the example, also with changes or with long-term memories, or none."""
    keys: tuple[str, ...] = ()
    """Keys that are pressed first."""
    clicked: tuple[str, ...] = ()
    """Selectors of what is clicked after that."""
    awaited: str = "main"
    """The selector of what has to be there afterwards."""

    def prepare(self, tab: Tab) -> None:
        tab.page.locator("#frame .light").wait_for()
        tab.page.wait_for_load_state("networkidle")
        for key in self.keys:
            tab.page.keyboard.press(key)
        for selector in self.clicked:
            tab.page.locator(selector).first.click()
        tab.page.wait_for_selector(self.awaited)
        tab.page.wait_for_timeout(500)  # a health that is loaded, and a pane that follows


NOTE = "/notes?path=memory/projects/ledger-storage.md"
SHOTS = (
    Shot("search", f"/search?q={QUESTION}", {"viewport": WIDE}, awaited="#preview .answer"),
    Shot("first", "/search", {"viewport": WINDOW | {"height": 480}}, "none"),
    Shot("notes", NOTE),
    Shot("edit", f"{NOTE}#L7", keys=("e",), awaited="#text"),
    Shot("history", NOTE.replace("/notes", "/history"), {"viewport": WINDOW | {"height": 500}}, "history"),
    Shot("days", "/days?day=2025-06-11"),
    Shot("memories", "/memories", notes="memories", keys=("j", "a"), awaited="#outcome"),
    Shot(
        "memories-phone",
        "/memories",
        {"viewport": PHONE, "color_scheme": "dark"},
        "memories",
        clicked=("#memories summary",),
    ),
    Shot("health", "/status", {"viewport": WINDOW | {"height": 590}}),
)
"""All pictures. A page adds its own."""


def main(names: list[str]) -> None:
    """Take the pictures with these names, or all of them."""
    shots = [shot for shot in SHOTS if not names or shot.name in names]
    IMAGES.mkdir(exist_ok=True)
    for notes in ("example", "history", "memories", "none"):
        if chosen := [shot for shot in shots if shot.notes == notes]:
            with tempfile.TemporaryDirectory() as folder:
                take(chosen, environment(Path(folder), notes))


def environment(folder: Path, notes: str) -> MemoryEnv:
    """Return an environment with a copy of the example workspace, with long-term memories, or without notes."""
    env = MemoryEnv.at(folder, {})
    if notes == "none":
        return env
    shutil.copytree(ROOT / "examples" / "workspace", env.notes, dirs_exist_ok=True)
    if notes == "memories":
        configure_long_term(env, provider="auto")
        env.write("memory/long-term.md", MEMORIES)
        env.write("memory/inbox.md", CANDIDATES)
    subprocess.run(env.command("-w", str(env.notes), "index"), env=env.environment(), check=True)
    if notes == "history":
        change(env)
    return env


def change(env: MemoryEnv) -> None:
    """Let the owner and an agent change a note."""
    path = NOTE.partition("=")[2]
    env.seconds = time.time()  # that of the program, which has indexed the notes
    memory = env.open()

    def write(old: str, new: str, origin: str | None) -> None:
        note = memory.read(path)
        memory.replace(path, note.text.replace(old, new), expected=note.hash, origin=origin)
        env.wait(2_700)

    with acting(session="mcp-3f2a91bc"):
        write("measured 18 s in October.", "measured 14 s in January.", "agent via MCP (claude-code)")
    with acting(act="edit"):
        write("Backups\n", "Backups\n\nThe runbook is in [[restore]].\n", None)


def take(shots: list[Shot], env: MemoryEnv) -> None:
    """Take pictures from a server of these notes."""
    with running_browser() as browser, serving(env, "--no-watch") as server:
        with opened(browser, server, server.link) as tab:
            session = tab.page.context.storage_state()
        for shot in shots:
            options: dict[str, Any] = {"viewport": WINDOW, "storage_state": session, **shot.options}
            with opened(browser, server, shot.path, **options) as tab:
                shot.prepare(tab)
                file = IMAGES / f"web-{shot.name}.png"
                screenshot(tab, file)
            size = file.stat().st_size
            assert size <= LARGEST, f"{file.name} has {size:,} bytes; at most {LARGEST:,} are allowed."
            print(f"{file.relative_to(ROOT)}: {size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
