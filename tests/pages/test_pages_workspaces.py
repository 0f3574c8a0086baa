"""The switch between the workspaces of one server, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import PHONE, opened
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_a_person_switches_between_the_workspaces_of_a_server(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": "# Mine\n\n- The code is 4711.\n"})
    env.configure(provider="none")
    shared = tmp_path / "Our notes"
    shared.mkdir()
    (shared / "MEMORY.md").write_text("# Ours\n\n- The code is 8150.\n", encoding="utf-8")
    with serving(env, "--also", str(shared), "--no-watch") as server, opened(browser, server, server.link) as tab:
        tab.go("/notes?path=MEMORY.md")
        tab.expect_text("article", "4711")
        tab.page.keyboard.press("Control+k")
        for key in (*["Tab"] * 6, "Enter"):
            tab.page.keyboard.press(key)
        assert tab.page.locator("#workspaces a").all_inner_texts() == ["notes", "Our-notes"]
        assert tab.serious_faults() == []
        for key in ("Tab", "Tab", "Enter"):
            tab.page.keyboard.press(key)
        tab.page.wait_for_url("**/search")
        tab.page.set_viewport_size(PHONE)
        assert tab.overflow() <= 0
        tab.page.fill("#question", "code")
        tab.expect_text("#results", "8150")
        assert "4711" not in tab.text("main")
        tab.go("/notes?path=MEMORY.md")
        tab.expect_text("article", "8150")
        for path in ("/history", "/history?path=MEMORY.md", "/history/lines?path=MEMORY.md"):
            tab.go(path)
            assert "4711" not in tab.text("main"), path


def test_what_was_typed_on_a_page_of_other_notes_is_not_written_into_these(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": "# Mine\n"})
    env.configure(provider="none")
    shared = tmp_path / "shared"
    shared.mkdir()
    with serving(env, "--also", str(shared), "--no-watch") as server, opened(browser, server, server.link) as tab:
        tab.may_fail = True
        tab.go("/notes?path=MEMORY.md")
        tab.page.keyboard.press("n")
        tab.page.fill("#entry", "My salary is secret.")
        tab.page.context.request.get(f"{server.url}/w/shared/")  # as another tab does
        tab.page.get_by_role("button", name="Add", exact=True).click()
        tab.expect_text("[role=alert]", "This browser has switched to the notes 'shared' since")
        assert tab.page.locator("#entry").input_value() == "My salary is secret."
        assert [*shared.rglob("*.md")] == []
        tab.page.context.request.get(f"{server.url}/w/notes/")
        tab.page.get_by_role("button", name="Add", exact=True).click()
        tab.expect_text("article", "My salary is secret.")
    assert [*shared.rglob("*.md")] == []
