"""A real headless Chromium, driven by Playwright, and its tabs, which notice whatever should not happen."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

    from serving import Serving

CHROMIUM = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
LIMIT_MS = 20_000
"""Milliseconds that anything may take on a busy machine."""
PHONE = {"width": 375, "height": 667}
DESKTOP = {"width": 1_100, "height": 800}


def chromium() -> str:
    """The path of a Chromium, or the test is skipped."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip("There is no Chromium, which these tests need: install the Debian package `chromium`.")
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser. While it runs, this thread cannot run another event loop."""
    from playwright.sync_api import sync_playwright

    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield browser
        browser.close()


@dataclass
class Tab:
    """A tab in a session of its own, with everything that should not happen in it."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)
    """Dialogs, errors in the console and violations of the Content-Security-Policy."""
    may_fail: bool = False
    """Whether the server may refuse a request, or not answer, which the console reports."""

    def go(self, path: str) -> None:
        self.page.goto(path if path.startswith("http") else f"{self.url}{path}")

    def text(self, selector: str = "main") -> str:
        return self.page.locator(selector).inner_text()

    def expect_text(self, selector: str, text: str) -> None:
        """Wait until the first element has this text."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector).first).to_contain_text(text, timeout=LIMIT_MS)

    def focused(self) -> str:
        """The id of the focused element, or else its text."""
        return str(self.page.evaluate("document.activeElement.id || document.activeElement.innerText.trim()"))

    def serious_faults(self) -> list[str]:
        """What axe finds that keeps people out."""
        return [fault for fault in self.faults() if fault.startswith(("serious", "critical"))]

    def faults(self) -> list[str]:
        """Everything that axe finds."""
        from axe_playwright_python.sync_playwright import Axe

        found: dict[str, Any] = Axe().run(self.page).response
        return [
            f"{fault['impact']} {fault['id']}: {fault['help']}: {[node['html'][:200] for node in fault['nodes'][:3]]}"
            for fault in found["violations"]
        ]

    def overflow(self) -> int:
        """The pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def background(self) -> str:
        """The background color of the page."""
        return str(self.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


@contextmanager
def opened(browser: Browser, server: Serving, path: str, **options: Any) -> Iterator[Tab]:
    """A tab that shows a path, such as the one-time link. At the end, nothing may have happened that should not.

    Options are those of a browser context: `viewport`, `color_scheme`, `java_script_enabled`, `storage_state`.
    """
    context = browser.new_context(**{"viewport": DESKTOP, **options})
    context.set_default_timeout(LIMIT_MS)
    try:
        tab = _tab(context, server)
        tab.go(path)
        if "/open?" in path:
            tab.page.wait_for_url(lambda url: "/open?" not in url)
        yield tab
        assert tab.troubles == []
    finally:
        context.close()


def _tab(context: BrowserContext, server: Serving) -> Tab:
    tab = Tab(context.new_page(), server.url)
    page = tab.page

    def dialog(opened: Any) -> None:
        if opened.type != "beforeunload":
            tab.troubles.append(f"dialog: {opened.message}")
        opened.accept()

    def console(said: Any) -> None:
        refused = tab.may_fail and said.text.startswith("Failed to load resource: ")
        if said.type == "error" and not refused:
            tab.troubles.append(f"console: {said.text}")

    page.on("dialog", dialog)
    page.on("pageerror", lambda error: tab.troubles.append(f"error: {error}"))
    page.on("console", console)
    page.on("request", lambda request: None if request.url.startswith(server.url) else tab.troubles.append(request.url))
    return tab


def screenshot(tab: Tab, path: Path) -> None:
    """Save a picture of the window as PNG."""
    tab.page.screenshot(path=path, animations="disabled", caret="hide")
