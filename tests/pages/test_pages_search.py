"""The page Search, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from browser import PHONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Route

    from browser import Tab

pytestmark = pytest.mark.slow
QUESTION = "which database for the ledger"


def test_hits_appear_while_someone_types_and_the_address_keeps_the_question(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    assert tab.focused() == "question"
    tab.page.keyboard.type(QUESTION)
    tab.expect_text("#results .hits", "PostgreSQL")
    assert "q=which+database" in tab.page.url
    marked = {text.lower() for text in tab.page.locator("#results mark").all_inner_texts()}
    assert "ledger" in marked
    assert "The first hit probably answers" in tab.page.locator("#spoken").text_content()
    tab.page.reload()
    tab.expect_text("#results .hits", "PostgreSQL")


def test_an_input_method_that_ends_a_composition_starts_a_search(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    devtools = tab.page.context.new_cdp_session(tab.page)
    devtools.send("Input.imeSetComposition", {"text": "도", "selectionStart": 1, "selectionEnd": 1})
    devtools.send("Input.imeSetComposition", {"text": "도쿄", "selectionStart": 2, "selectionEnd": 2})
    assert (tab.page.input_value("#question"), tab.page.locator("#results .outcome").count()) == ("도쿄", 0)
    devtools.send("Input.insertText", {"text": "도쿄"})
    tab.expect_text("#results .outcome", "No match")
    assert tab.page.url.endswith(f"/search?q={quote('도쿄')}")


def test_the_answer_to_an_earlier_question_never_replaces_that_to_a_later_one(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    waiting: list[Route] = []
    tab.page.route("**/search?q=router", lambda route: waiting.append(route))  # noqa: PLW0108 - Playwright adds attributes
    tab.page.fill("#question", "router")
    tab.page.locator("#results[aria-busy]").wait_for()
    tab.page.fill("#question", "ledger")
    tab.expect_text("#results .hits", "PostgreSQL")
    for route in waiting:
        route.abort()
    tab.page.wait_for_timeout(50)
    assert waiting
    assert "PostgreSQL" in tab.text("#results")


def test_a_search_works_without_scripts(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search", java_script_enabled=False)
    tab.page.fill("#question", QUESTION)
    tab.page.keyboard.press("Enter")
    tab.expect_text("#results .hits", "PostgreSQL")
    tab.page.locator("details summary", has_text="Filters").click()
    tab.page.fill("input[name=path]", "memory")
    tab.page.get_by_role("button", name="Search").click()
    tab.page.wait_for_url("**path=memory**")
    assert "PostgreSQL" not in tab.text("#results")


def test_filters_restrict_the_hits_and_a_wrong_one_is_explained(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=the&since=2026-02-01&until=2026-02-28")
    assert tab.page.locator("a.hit").count() == 1
    assert "Omada" in tab.text("#results")
    tab.page.fill("input[name=until]", "2026-03-31")
    tab.expect_text("#results .hits", "Osaka")
    tab.go("/search?q=the&since=2026-03-01&path=memory/2026-02-10.md")
    assert "No match" in tab.text("#results")
    tab.may_fail = True
    tab.go("/search?q=the&since=someday")
    assert "someday" in tab.text("#results [role=alert]")
    assert tab.page.input_value("#question") == "the"


def test_each_number_of_a_score_has_a_bar_a_name_and_a_meaning(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(f"/search?q={QUESTION}")
    assert tab.page.locator(".bars").count() == 0
    tab.page.get_by_label("Show how each score was computed").check()
    tab.page.locator(".bars").first.wait_for()
    names = tab.page.locator(".bars").first.locator("tbody th").all_inner_texts()
    assert [name for name in names if name in {"Meaning", "Words", "Blend", "Calibrated", "Score"}] == [
        *("Meaning", "Words", "Blend", "Calibrated", "Score"),
    ]
    meanings = tab.page.locator(".bars").first.locator("tbody td:nth-child(3)").all_inner_texts()
    assert all(meaning.endswith(".") for meaning in meanings)
    assert len(meanings) == len(names)
    assert "the day (UTC) on which its file was last changed" in tab.page.locator("#results").text_content()
    bars = tab.page.locator(".bars").first.get_by_role("meter")
    assert bars.count() >= 5
    assert tab.serious_faults() == []


def test_words_in_a_table_stay_whole_on_a_phone(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(f"/search?q={QUESTION}&explain=1", viewport=PHONE)
    lines = """all => all.map((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return [each.innerText, range.getClientRects().length];
    }).filter(([, count]) => count !== 1)"""
    assert tab.page.locator(".bars :is(thead, tbody) th").evaluate_all(lines) == []
    assert (tab.serious_faults(), tab.overflow() <= 0) == ([], True)


def test_the_outcome_has_the_words_of_its_meaning(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(f"/search?q={QUESTION}")
    assert tab.text("#results .badge") == "Match"
    tab.go("/search?q=volcanology dissertation")
    assert (tab.text("#results .badge"), "Nothing in your notes answers this." in tab.text("#results")) == (
        "No match",
        True,
    )


def test_keys_alone_lead_from_the_question_to_the_line_of_a_note(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    keyboard = tab.page.keyboard
    keyboard.type("printers train")
    tab.page.locator("a.hit").nth(1).wait_for()
    keyboard.press("ArrowDown")
    assert tab.focused() == "hit-1"
    keyboard.press("ArrowDown")
    assert tab.focused() == "hit-2"
    keyboard.press("ArrowUp")
    keyboard.press("ArrowUp")
    assert tab.focused() == "question"
    keyboard.press("ArrowDown")
    keyboard.press("/")
    assert tab.focused() == "question"
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    tab.page.wait_for_url("**/notes?path=**#L3")


def test_why_not_this_follows_a_passage_to_the_stage_that_loses_it(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=printers", viewport=PHONE)
    tab.page.get_by_role("link", name="Why not this?").click()
    tab.page.fill("input[name=path]", "MEMORY.md")
    tab.page.fill("input[name=line]", "3")
    tab.page.get_by_role("button", name="Explain").click()
    tab.expect_text("[role=status]", "was lost at the stage candidates")
    assert "lost" in tab.text(".stages")
    assert (tab.serious_faults(), tab.overflow() <= 0) == ([], True)
    tab.go("/search/why-not?q=ledger&path=MEMORY.md&line=3")
    tab.expect_text("[role=status]", "is hit 1 of")


def test_a_time_in_the_question_is_shown_as_a_filter_that_a_link_removes(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=router in February 2026")
    tab.expect_text("#results", "Time understood: in February 2026 = 2026-02-01 … 2026-02-28.")
    hits = tab.page.locator("#results .hits > li")
    assert "memory/2026-02-10.md" in hits.first.inner_text()
    assert "other time" not in hits.first.inner_text()
    tab.page.get_by_role("link", name="Remove this filter").click()
    tab.page.wait_for_url("**since=any**")
    assert "Time understood" not in tab.text("#results")
    assert tab.page.get_by_label("Any day, even if the question names a time").is_checked()
    tab.page.get_by_label("Any day, even if the question names a time").uncheck()
    tab.page.get_by_role("button", name="Search").click()
    tab.expect_text("#results", "Time understood: in February 2026")


def test_a_time_alone_lists_what_is_newest_without_scores(open_tab: Callable[..., Tab]) -> None:
    for address in ("/search?q=in February 2026", "/search?since=2026-02-01&until=2026-02-28"):
        tab = open_tab(address)
        tab.expect_text("#results .outcome", "The newest passages; nothing else was asked.")
        tab.expect_text("#results .hits", "memory/2026-02-10.md")
        assert tab.page.locator("#results .hits meter").count() == 0


def test_a_passage_of_another_time_and_one_without_a_day_say_so(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=which database for the ledger in February 2026")
    place = tab.page.locator("#results .hits > li", has_text="MEMORY.md").locator(".place").inner_text()
    assert "other time" in place
    assert "changed 20" in place
