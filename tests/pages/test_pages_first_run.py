"""The first minutes: an empty memory shows three ways to begin, and one that is not indexed yet what can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import opened
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from browser import Tab

pytestmark = pytest.mark.slow


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path, {})
    env.configure(provider="none")
    return env


@pytest.fixture
def tab(browser: Browser, env: MemoryEnv) -> Iterator[Tab]:
    """A tab of a server of its own."""
    with serving(env, "--no-watch") as server, opened(browser, server, server.link) as tab:
        yield tab


def test_an_empty_memory_shows_three_ways_to_begin_and_the_first_note_is_one_of_them(tab: Tab, env: MemoryEnv) -> None:
    assert tab.page.locator(".steps h3").all_inner_texts() == [
        *("Write the first note", "Bring what you have", "Connect an agent"),
    ]
    assert "memoriter" not in tab.text("main")  # commands are below Details
    tab.page.locator(".steps summary").first.click()
    assert "memoriter import" in tab.text("main")
    for path in ("/notes", "/days", "/memories", "/status"):
        tab.go(path)
        assert tab.overflow() <= 0, path
    tab.go("/search")
    tab.page.fill("#first", "The ferry leaves at nine.")
    tab.page.get_by_role("button", name="Add", exact=True).last.click()
    tab.expect_text("article", "The ferry leaves at nine.")
    assert [*env.notes.rglob("*.md")] != []


def test_a_memory_that_is_not_indexed_yet_says_what_can_be_asked_already(tab: Tab, env: MemoryEnv) -> None:
    env.many(12, "new")
    tab.go("/search")
    tab.expect_text("#ready", "files can be asked already; the others are read at the first search.")
    env.run("index")
    tab.expect_text("#ready", "files can be asked.")
