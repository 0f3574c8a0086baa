"""Take the screenshots of docs/images in a real browser, from a server of the example workspace.

Each picture shows a page as a reader of the documentation finds it: `just screenshots`, or `just screenshots notes`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import PHONE, opened, running_browser, screenshot
from long_term import configure_long_term
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from browser import Tab

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
LARGEST = 200_000
"""Bytes of a picture at most."""
WINDOW = {"width": 1_000, "height": 700}
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
    edited: tuple[str, str] | None = None
    """Text that is replaced in the field of an edited note, before the changes are shown."""
    long_term: bool = False
    """Whether the server has long-term memories, some of which wait in the inbox."""
    clicked: tuple[str, ...] = ()
    """Selectors of what is clicked first."""
    awaited: str = "main"
    """The selector of what has to be there afterwards."""

    def prepare(self, tab: Tab) -> None:
        for selector in self.clicked:
            tab.page.locator(selector).first.click()
            tab.page.wait_for_selector(self.awaited)
        if self.edited:
            text = tab.page.input_value("#text")
            assert self.edited[0] in text, self.edited[0]
            tab.page.fill("#text", text.replace(*self.edited))
            tab.page.get_by_role("button", name="Show the changes").click()
            tab.page.locator(".changes").wait_for()
            tab.page.locator(".actions").scroll_into_view_if_needed()


SHOTS = (
    Shot("search", f"/search?q={QUESTION}"),
    Shot("notes", "/notes?path=memory/projects/ledger-storage.md"),
    Shot(
        "edit",
        "/notes/edit?path=memory/projects/ledger-storage.md",
        edited=("Chosen over CockroachDB and MySQL.", "Chosen over CockroachDB and MySQL, because of its locks."),
    ),
    Shot("timeline", "/timeline?year=2025"),
    Shot("inbox", "/inbox", long_term=True, clicked=("button.main",), awaited="#outcome"),
    Shot(
        "memories-phone",
        "/memories",
        {"viewport": PHONE, "color_scheme": "dark"},
        long_term=True,
        clicked=("#memories summary",),
    ),
    Shot("health", "/status", {"viewport": WINDOW | {"height": 590}}),
)
"""All pictures. A page adds its own."""


def main(names: list[str]) -> None:
    """Take the pictures with these names, or all of them."""
    shots = [shot for shot in SHOTS if not names or shot.name in names]
    IMAGES.mkdir(exist_ok=True)
    for long_term in (False, True):
        if chosen := [shot for shot in shots if shot.long_term == long_term]:
            with tempfile.TemporaryDirectory() as folder:
                take(chosen, environment(Path(folder), long_term=long_term))


def environment(folder: Path, *, long_term: bool) -> MemoryEnv:
    """Return an environment with a copy of the example workspace, and with long-term memories if these are wanted."""
    env = MemoryEnv.at(folder, {})
    shutil.copytree(ROOT / "examples" / "workspace", env.notes, dirs_exist_ok=True)
    if long_term:
        configure_long_term(env, provider="auto")
        env.write("memory/long-term.md", MEMORIES)
        env.write("memory/inbox.md", CANDIDATES)
        return env
    subprocess.run(env.command("-w", str(env.notes), "index"), env=env.environment(), check=True)
    return env


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
