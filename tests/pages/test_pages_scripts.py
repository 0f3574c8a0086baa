"""Nothing in a note, in the name of a file or in a hit runs in the pages, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from memory_env import MemoryEnv
from script_payloads import NAMES, PAYLOADS, made_by_payloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser import Tab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    """Every payload in a note of its own and all of them in one, and names of files."""
    texts = {"memory/all.md": "# All\n\n" + "\n\n".join(PAYLOADS) + "\n"}
    texts |= {f"memory/{at:02}.md": f"# Heronry {text.splitlines()[0]}\n\n{text}\n" for at, text in enumerate(PAYLOADS)}
    texts |= {f"memory/{name}": f"# Heronry\n\nNamed {name}.\n" for name in NAMES}
    env = MemoryEnv.at(tmp_path_factory.mktemp("scripts"), texts)
    env.configure(provider="none")
    return env


def touched(tab: Tab) -> None:
    """Click and touch what a payload may have made."""
    for link in tab.page.locator(".note a:not(.line), .note button, .note summary").all():
        address = link.get_attribute("href") or ""
        assert not address.lower().lstrip().startswith(("javascript:", "vbscript:", "data:"))
    tab.page.mouse.move(400, 400)


def test_there_are_more_than_forty_payloads() -> None:
    assert len(set(PAYLOADS)) + len(set(NAMES)) > 60


def test_no_payload_in_a_note_runs(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    tab = open_tab()
    for view in ("/notes?path=memory/all.md", "/notes?path=memory/all.md&view=text", "/notes/edit?path=memory/all.md"):
        tab.go(view)
        touched(tab)
        assert made_by_payloads(tab, ".note, form, .changes") == []
    assert tab.page.input_value("#text").count("alert(") >= len(PAYLOADS)
    tab.page.fill("#text", "\n\n".join(reversed(PAYLOADS)))
    env.write("memory/all.md", "# Another text\n\n" + "\n\n".join(PAYLOADS[::2]) + "\n")
    tab.may_fail = True
    tab.page.get_by_role("button", name="Save").click()
    tab.page.locator(".changes").wait_for()
    assert made_by_payloads(tab) == []


def test_no_payload_in_a_note_of_its_own_runs(open_tab: Callable[..., Tab]) -> None:
    """A payload that is left open would hide those after it."""
    tab = open_tab()
    for at in range(0, len(PAYLOADS), 3):
        tab.page.goto(f"{tab.url}/notes?path=memory/{at:02}.md", wait_until="domcontentloaded")
        assert made_by_payloads(tab) == []


def test_no_payload_in_a_name_or_an_address_runs(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes?folder=memory/")
    assert tab.page.locator(".tree a").count() == len(PAYLOADS) + len(NAMES) + 1
    assert made_by_payloads(tab) == []
    for name in NAMES:
        tab.go(f"/notes?path={quote('memory/' + name)}")
        tab.expect_text(".crumbs", name.removesuffix(".md"))
        tab.page.locator("#links:not([aria-busy])").wait_for()
        assert made_by_payloads(tab) == []
        tab.go(f"/notes/edit?path={quote('memory/' + name)}")
        tab.expect_text("h1", name.removesuffix(".md"))
        for path in ("rename", "forget"):
            tab.go(f"/notes/{path}?path={quote('memory/' + name)}")
            assert made_by_payloads(tab) == []
    tab.may_fail = True
    for text in PAYLOADS[:12:3]:
        tab.go(f"/notes?path={quote(text)}&q={quote(text)}&done={quote(text)}&view={quote(text)}")
        assert made_by_payloads(tab) == []


def test_no_payload_in_a_hit_runs(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=heronry&explain=1")
    assert tab.page.locator("a.hit").count() > 1
    for text in ("heronry alert", *PAYLOADS[:12:3]):
        tab.page.fill("#question", text)
        tab.page.wait_for_url(lambda url, text=text: f"q={quote(text[:3], safe='')}" in url)
        tab.page.locator("#results:not([aria-busy])").wait_for()
        assert made_by_payloads(tab) == []
    for text in PAYLOADS[:12:3]:
        tab.go(f"/search?q={quote(text)}")
        assert made_by_payloads(tab) == []
        tab.go(f"/search/why-not?q={quote(text)}&path=memory/00.md&line=1")
        assert made_by_payloads(tab) == []
