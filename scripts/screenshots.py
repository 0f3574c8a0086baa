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


@dataclass
class Shot:
    """One picture: the file `web-NAME.png`, the address that it shows, and what is done there first."""

    name: str
    path: str
    options: dict[str, Any] = field(default_factory=dict)
    edited: tuple[str, str] | None = None
    """Text that is replaced in the field of an edited note, before the changes are shown."""

    def prepare(self, tab: Tab) -> None:
        if self.edited:
            text = tab.page.input_value("#text")
            assert self.edited[0] in text, self.edited[0]
            tab.page.fill("#text", text.replace(*self.edited))
            tab.page.get_by_role("button", name="Show the changes").click()
            tab.page.locator(".changes").wait_for()
            tab.page.locator(".actions").scroll_into_view_if_needed()


SHOTS = (
    Shot("search", f"/search?q={QUESTION}"),
    Shot("search-explained", f"/search?q={QUESTION}&explain=1", {"color_scheme": "dark"}),
    Shot("search-phone", f"/search?q={QUESTION}", {"viewport": PHONE}),
    Shot("why-not", f"/search/why-not?q={QUESTION}&path=memory/2025-06-11.md&line=5"),
    Shot("notes", "/notes?path=memory/projects/ledger-storage.md"),
    Shot(
        "edit",
        "/notes/edit?path=memory/projects/ledger-storage.md",
        edited=("Chosen over CockroachDB and MySQL.", "Chosen over CockroachDB and MySQL, because of its locks."),
    ),
    Shot("health", "/status"),
    Shot("map", "/map?similarity=0.97"),
)
"""All pictures. A page adds its own."""


def main(names: list[str]) -> None:
    """Take the pictures with these names, or all of them."""
    shots = [shot for shot in SHOTS if not names or shot.name in names]
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        env = MemoryEnv.at(Path(folder), {})
        shutil.copytree(ROOT / "examples" / "workspace", env.notes, dirs_exist_ok=True)
        subprocess.run(env.command("-w", str(env.notes), "index"), env=env.environment(), check=True)
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
