"""The page Days: a calendar that a keyboard reaches, and the record of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from browser import Tab
    from memory_env import MemoryEnv
    from serving import Serving


@pytest.fixture
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


@pytest.mark.slow
def test_arrow_keys_move_between_days_and_enter_shows_one(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/days?year=2026")
    tab.page.locator("[data-days] a[tabindex='0']").focus()
    tab.page.keyboard.press("Home")
    assert tab.page.evaluate("document.activeElement.dataset.day") == "2026-02-10"
    tab.page.keyboard.press("ArrowRight")
    assert tab.page.evaluate("document.activeElement.dataset.day") == "2026-03-05"
    tab.page.keyboard.press("ArrowUp")
    tab.page.keyboard.press("Enter")
    tab.expect_text("#day", "Omada ER605")
    assert ("day=2026-02-10" in tab.page.url, tab.focused()) == (True, "day")
    assert tab.page.locator("#spoken").text_content() == "2026-02-10: 1 note, 0 records of conversations."
    weights = """all => all.map(each => [each.innerText, getComputedStyle(each).fontWeight])"""
    assert ["2026", "600"] in tab.page.get_by_role("group", name="Years").locator("a").evaluate_all(weights)


@pytest.mark.slow
def test_the_newest_day_is_first_and_links_lead_to_the_others(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/days?year=2026")
    tab.expect_text("#day h2", "Thursday, 5 March 2026")
    assert tab.page.locator(".months summary").all_inner_texts() == ["March 1", "February 1"]
    tab.page.get_by_role("link", name="Earlier").click()
    tab.expect_text("#day h2", "Tuesday, 10 February 2026")
    assert "day=2026-02-10" in tab.page.url
    current = tab.page.locator("a[aria-current=date]").evaluate_all("all => all.map(each => each.dataset.day)")
    assert current == ["2026-02-10", "2026-02-10"]  # in the calendar and in the list
    assert tab.page.locator("#listed a").all_inner_texts() == ["Thu 5 March", "Tue 10 February"]
    tab.page.get_by_role("link", name="Later").click()
    tab.expect_text("#day h2", "Thursday, 5 March 2026")


@pytest.mark.slow
def test_many_notes_that_changed_on_a_day_are_folded(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.many(30, "copied")
    tab = open_tab("/notes")
    today = tab.page.request.get(f"{tab.url}/api/v1/days").json()["today"]
    tab.go(f"/days?day={today}")
    tab.expect_text("#day summary", "notes last changed on this day")
    assert not tab.page.locator("#day details a").first.is_visible()


@pytest.mark.slow
def test_the_calendar_works_without_scripts(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/days?year=2026", java_script_enabled=False)
    tab.page.get_by_role("link", name="5 March 2026, 2 lines").click()
    tab.expect_text("#day", "train to Osaka")


def test_a_day_shows_what_is_recorded_and_says_what_is_not(env: MemoryEnv, owner: ApiClient) -> None:
    mark = "<!-- from: bot via HTTP, 2025-04-01 -->"
    env.write("memory/2025-04-01.md", f"# Day\n\n- Mine.\n- Not mine. {mark}\n- Mine again.\n")
    text = owner.http.get("/days", params={"day": "2025-04-01"}).text
    assert "Line 4, not written by you: bot via HTTP, 2025-04-01" in text
    assert "<li>Mine again.</li>" in text
    assert "Searches and reads are not recorded." in text
    assert 'aria-current="date">1</a>' in text
    empty = owner.http.get("/days", params={"year": "2024"})
    assert (empty.status_code, "No day of this year has a note." in empty.text) == (200, True)


@pytest.mark.parametrize("query", ["day=2025-02-30", "day=x", "year=x", "year=0", "year=99999"])
def test_a_day_that_does_not_exist_is_refused(query: str, owner: ApiClient) -> None:
    refused = owner.http.get(f"/days?{query}")
    assert (refused.status_code, 'role="alert"' in refused.text) == (400, True)
