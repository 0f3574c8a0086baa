"""Open the pages of the built site from their folder, search them, and see that nothing is loaded from elsewhere.

site.py build/site /usr/bin/chromium
"""

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

QUESTION = "delete something for good"
ANSWER = "delete-something-for-good"


def main(site: Path, chromium: str) -> None:
    requested: list[str] = []
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.on("request", lambda request: requested.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        for file in sorted((site / "docs").glob("*.html")):
            page.goto(file.as_uri())
        search(page, site / "docs" / "index.html")
        browser.close()
    elsewhere = [address for address in requested if address.startswith("http")]
    assert elsewhere == [], elsewhere
    assert problems == [], problems
    print(f"The site opens from a folder, and its search finds #{ANSWER}.")


def search(page: Page, home: Path) -> None:
    page.goto(home.as_uri())
    page.keyboard.press("/")
    page.keyboard.type(QUESTION)
    page.locator(f"a[href*='{ANSWER}']").first.wait_for()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
