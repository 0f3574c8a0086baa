"""Every action by keyboard alone, within twelve presses from the search box; typed text does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser import Tab
    from memory_env import MemoryEnv

pytestmark = pytest.mark.slow
MOST = 12


class Keys:
    """Counts what is pressed, from the search box on."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.pressed = 0
        tab.page.keyboard.press("Control+k")
        assert tab.focused() == "question"

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tab.page.keyboard.press(key)
            self.pressed += 1
            self.tab.page.wait_for_timeout(30)

    def type(self, text: str) -> None:
        self.tab.page.keyboard.type(text)

    def until(self, selector: str, key: str = "Tab") -> None:
        """Press a key until the focus is there."""
        for _ in range(MOST):
            if self.tab.page.evaluate("s => document.activeElement.matches(s)", selector):
                return
            self.press(key)
        raise AssertionError(f"{selector} was not reached: {self.tab.focused()}")

    def open_note(self, question: str) -> None:
        self.type(question)
        self.tab.page.locator("a.hit").first.wait_for()
        self.press("ArrowDown", "Enter")
        self.tab.page.locator(".note").wait_for()


def begun(open_tab: Callable[..., Tab], path: str = "/search") -> Keys:
    return Keys(open_tab(path))


def test_finding_an_answer(open_tab: Callable[..., Tab]) -> None:
    keys = begun(open_tab)
    keys.open_note("database for the ledger")
    keys.tab.expect_text(".note", "PostgreSQL")
    assert keys.pressed <= MOST


def test_correcting_a_line(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/grebe.md", "# Grebe\n\nThe grebe dives for 20 seconds.\n")
    keys = begun(open_tab)
    keys.open_note("grebe dives")
    keys.press("e")
    keys.tab.page.locator("#text").wait_for()
    keys.press("End")
    keys.type(" Or 30.")
    keys.press("Control+s")
    keys.tab.expect_text("article [role=status]", "Saved.")
    assert "seconds. Or 30.\n" in (env.notes / "memory/work/grebe.md").read_text(encoding="utf-8")
    assert keys.pressed <= MOST


def test_forgetting_a_line(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/safe.md", "# Safe\n\nThe safe opens with 9911.\n\nIt is grey.\n")
    keys = begun(open_tab)
    keys.open_note("safe opens with")
    keys.press(".")
    keys.until("a[href*='/notes/forget']", "ArrowUp")
    keys.press("Enter")
    keys.tab.page.locator("#forget").wait_for()
    keys.press("Shift+Tab")  # from the beginning of a page, to its last control
    keys.until("#forget", "Shift+Tab")
    keys.press("Enter")
    keys.tab.expect_text("main [role=status]", "no longer in the index")
    assert "9911" not in (env.notes / "memory/work/safe.md").read_text(encoding="utf-8")
    assert keys.pressed <= MOST


def test_renaming_a_note(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/coot.md", "# Coot\n\nThe coot has a white shield.\n")
    env.write("memory/work/lake.md", "# Lake\n\nOn it lives the [[coot]].\n")
    keys = begun(open_tab)
    keys.open_note("coot white shield")
    keys.press(".")
    keys.until("a[href*='/notes/rename']", "ArrowUp")
    keys.press("Enter")
    keys.tab.page.locator("#new-name:focus").wait_for()
    keys.press("Control+a")
    keys.type("memory/work/bald coot")
    keys.press("Enter")
    keys.tab.page.locator("button.main:focus").wait_for()
    keys.press("Enter")
    keys.tab.expect_text("article [role=status]", "Renamed. Links in 1 note followed.")
    keys.press("Enter")
    keys.tab.expect_text("article [role=status]", "earlier name again")
    assert keys.pressed <= MOST


def test_deleting_a_note_and_putting_it_back(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/teal.md", "# Teal\n\nThe teal is small.\n")
    keys = begun(open_tab)
    keys.open_note("teal small")
    keys.press(".", "ArrowUp", "Enter")
    keys.tab.page.locator("#undo:focus").wait_for()
    assert not (env.notes / "memory/work/teal.md").exists()
    keys.press("Enter")
    keys.tab.expect_text("article [role=status]", "The note is back.")
    assert keys.pressed <= MOST


def test_undoing_a_change(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.write("memory/work/snipe.md", "# Snipe\n\nThe snipe hides in the marsh.\n")
    keys = begun(open_tab)
    keys.open_note("snipe marsh")
    env.write("memory/work/snipe.md", "# Snipe\n\nThe snipe is gone.\n")
    keys.press("h")
    keys.tab.page.locator(".history").wait_for()
    keys.tab.page.locator("h1").click()  # as a reader does; from here on, keys only
    keys.until(".history button")
    keys.press("Enter")
    keys.tab.expect_text("main [role=status]", "Taken back.")
    assert "marsh" in (env.notes / "memory/work/snipe.md").read_text(encoding="utf-8")
    assert keys.pressed <= MOST


def test_writing_an_entry_and_a_note(open_tab: Callable[..., Tab]) -> None:
    keys = begun(open_tab)
    keys.press("Escape", "n")
    keys.type("The kettle is new.")
    keys.press("Control+Enter")
    keys.tab.expect_text("article [role=status]", "Added.")
    assert keys.pressed <= MOST
    keys = Keys(keys.tab)
    keys.press("Escape", "n", "Tab", "Tab", "Tab")
    keys.type("Kettles")
    keys.press("Enter")
    keys.tab.page.locator("#text:focus").wait_for()
    keys.type("# Kettles")
    keys.press("Control+s")
    keys.tab.expect_text("article [role=status]", "Saved.")
    assert keys.pressed <= MOST


def test_reaching_every_place_and_health(open_tab: Callable[..., Tab]) -> None:
    for selector, address in (
        ("a[href='/notes']", "/notes"),
        ("a[href='/days']", "/days"),
        ("a[href='/memories']", "/memories"),
        ("a.dot", "/status"),
    ):
        keys = begun(open_tab)
        keys.until(selector)
        keys.press("Enter")
        keys.tab.page.wait_for_url(f"**{address}")
        assert keys.pressed <= MOST, address


def test_opening_a_note_of_the_tree(open_tab: Callable[..., Tab]) -> None:
    keys = begun(open_tab, "/notes")
    keys.until("#filter")
    keys.type("style")
    keys.tab.expect_text("#found", "style")
    keys.press("ArrowDown", "Enter")
    keys.tab.expect_text(".note", "imperative mood")
    assert keys.pressed <= MOST


def test_asking_why_a_passage_is_not_found(open_tab: Callable[..., Tab]) -> None:
    keys = begun(open_tab)
    keys.open_note("printers")
    keys.press(".")
    keys.until("a[href*='why-not']", "ArrowUp")
    keys.press("Enter")
    keys.tab.expect_text("main [role=status]", "is hit 1")
    assert keys.pressed <= MOST
