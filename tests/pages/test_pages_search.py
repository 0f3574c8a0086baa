"""The page Search, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from browser import PHONE
from memoriter.pages._search import NOTHING, _weaker_from, best_row, is_faint, sentence_of
from memoriter.search import Marker, marker_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Route

    from browser import Tab
    from memory_env import MemoryEnv

QUESTION = "which database for the ledger"
WIDE = {"width": 1_500, "height": 900}


@pytest.mark.slow
def test_hits_appear_while_someone_types_and_the_address_keeps_the_question(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    assert tab.focused() == "question"
    tab.page.keyboard.type(QUESTION)
    tab.expect_text("#results .hits", "PostgreSQL")
    assert "q=which+database" in tab.page.url
    marked = {text.lower() for text in tab.page.locator("#results mark").all_inner_texts()}
    assert "ledger" in marked
    tab.expect_text("#results .answer", "We chose PostgreSQL")
    assert "Found in" in tab.page.locator("#spoken").text_content()
    tab.page.reload()
    tab.expect_text("#results .hits", "PostgreSQL")


@pytest.mark.slow
def test_an_input_method_that_ends_a_composition_starts_a_search(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search")
    devtools = tab.page.context.new_cdp_session(tab.page)
    devtools.send("Input.imeSetComposition", {"text": "도", "selectionStart": 1, "selectionEnd": 1})
    devtools.send("Input.imeSetComposition", {"text": "도쿄", "selectionStart": 2, "selectionEnd": 2})
    assert (tab.page.input_value("#question"), tab.page.locator("#results .outcome").count()) == ("도쿄", 0)
    devtools.send("Input.insertText", {"text": "도쿄"})
    tab.expect_text("#results .outcome", "Nothing in your notes answers this.")
    assert tab.page.url.endswith(f"/search?q={quote('도쿄')}")


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_search_works_without_scripts(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search", java_script_enabled=False)
    tab.page.fill("#question", QUESTION)
    tab.page.keyboard.press("Enter")
    tab.expect_text("#results .hits", "PostgreSQL")
    tab.page.locator("details summary", has_text="Filter by time").click()
    tab.page.fill("input[name=since]", "2026-03-01")
    tab.page.get_by_role("button", name="Search").click()
    tab.page.wait_for_url("**since=2026-03-01**")
    tab.page.get_by_role("link", name="Remove the filter from 2026-03-01").click()
    tab.expect_text("#results .hits", "PostgreSQL")


@pytest.mark.slow
def test_filters_are_chips_that_a_link_removes_and_a_wrong_one_is_explained(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=the&since=2026-02-01&until=2026-02-28")
    assert tab.page.locator("li.found").count() == 1
    assert "Omada" in tab.text("#results")
    assert tab.page.locator("#results .chip bdi").all_inner_texts() == ["from 2026-02-01", "to 2026-02-28"]
    tab.page.fill("input[name=until]", "2026-03-31")
    tab.expect_text("#results .hits", "Osaka")
    tab.page.get_by_role("link", name="Remove the filter from").click()
    tab.page.wait_for_url(lambda url: "since" not in url)
    tab.go("/search?q=the&since=2026-03-01&path=memory/2026-02-10.md")
    assert "Nothing in your notes answers this." in tab.text("#results")
    tab.may_fail = True
    tab.go("/search?q=the&since=someday")
    assert "someday" in tab.text("#results [role=alert]")
    assert tab.page.input_value("#question") == "the"


@pytest.mark.slow
def test_a_folder_and_a_tag_of_a_hit_narrow_the_search_and_typing_keeps_them(
    open_tab: Callable[..., Tab], env: MemoryEnv
) -> None:
    env.write("memory/birds/heron.md", "# Heron\n\nThe heron nests by the river. #bird\n")
    tab = open_tab("/search?q=river")
    tab.page.locator(".crumbs a", has_text="birds").click()
    tab.expect_text("#results .chips", "in memory/birds")
    tab.page.fill("#question", "heron")
    tab.page.wait_for_url("**q=heron**")
    tab.expect_text("#results .hits", "nests")
    assert "path=memory" in tab.page.url
    tab.go("/search?q=river&tag=bird")
    tab.expect_text("#results .chips", "#bird")
    assert tab.page.locator("li.found").count() == 1


@pytest.mark.slow
def test_hits_stand_by_note_and_more_of_a_note_is_a_link_away(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    entries = "\n\n".join(f"## Kestrel {n}\n\nThe kestrel of tower {n} hovers over field {n}." for n in range(8))
    env.write("memory/kestrels.md", f"# Kestrels\n\n{entries}\n")
    tab = open_tab("/search?q=kestrel tower")
    found = tab.page.locator("li.found")
    assert found.count() == 1
    assert found.locator(".passage").count() == 2
    more = found.get_by_role("link", name="more in this note")
    assert int(more.inner_text().split()[0]) >= 4
    more.click()
    tab.expect_text("#results .chips", "in memory/kestrels.md")


@pytest.mark.slow
def test_more_loads_further_hits(open_tab: Callable[..., Tab], env: MemoryEnv) -> None:
    env.many(15, "plover")
    tab = open_tab("/search?q=plover")
    tab.page.locator("#more").wait_for()
    before = tab.page.locator("li.found").count()
    tab.page.locator("#more").click()
    tab.page.locator("li.found").nth(before).wait_for()
    assert tab.page.locator("li.found").count() == 15


def test_the_line_that_answers_is_the_judged_one_or_that_with_most_words() -> None:
    rows = ["# The ledger", "", "We met.", "The ledger runs on a database."]
    marker = marker_of("ledger database")
    assert best_row(rows, marker, None, 1) == 3
    assert best_row(rows, marker, [3, 3], 1) == 2
    assert best_row(["# A", "", "text"], Marker(frozenset()), None, 1) == 2


@pytest.mark.parametrize(
    ("scores", "outcome", "position"),
    [([0.9, 0.8, 0.3], "match", 2), ([0.9, 0.8], "match", None), ([0.4, 0.2], "weak", None), ([], "none", None)],
)
def test_weaker_hits_stand_below_a_line(scores: list[float], outcome: str, position: int | None) -> None:
    hits = [{"score": score} for score in scores]
    assert _weaker_from({"outcome": outcome}, hits) == position


def test_a_hit_of_another_time_is_weaker_whatever_its_score() -> None:
    hits = [{"score": 0.6}, {"score": 0.9, "outsideTime": True}]
    assert _weaker_from({"outcome": "match"}, hits) == 1


@pytest.mark.parametrize(
    ("score", "outcome", "word", "faint"),
    [
        (0.41, "weak", "zebra", True),
        (0.41, "weak", "heron", False),
        (0.6, "weak", "zebra", False),
        (0.41, "match", "zebra", False),
    ],
)
def test_hits_that_only_resemble_the_question_are_folded(score: float, outcome: str, word: str, *, faint: bool) -> None:
    result = {"outcome": outcome, "results": [{"score": score, "text": "A heron.", "heading": ["Birds"]}]}
    assert is_faint(result, marker_of(word), listed=False) == faint
    assert (sentence_of(result, 1, listed=False, faint=faint) == NOTHING) == faint


@pytest.mark.slow
def test_each_number_of_a_score_has_a_bar_a_name_and_a_meaning(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(f"/search?q={QUESTION}")
    assert "score" not in tab.text("#results")
    tab.page.locator("#results summary", has_text="Details").first.click()
    tab.expect_text("#results .facts", "score")
    assert tab.page.locator(".bars").count() == 0
    tab.page.get_by_role("link", name="How the scores were computed").first.click()
    tab.page.locator(".bars").first.wait_for()
    names = tab.page.locator(".bars").first.locator("tbody th").all_inner_texts()
    assert [name for name in names if name in {"Meaning", "Words", "Blend", "Calibrated", "Score"}] == [
        *("Meaning", "Words", "Blend", "Calibrated", "Score"),
    ]
    meanings = tab.page.locator(".bars").first.locator("tbody td:nth-child(3)").all_inner_texts()
    assert all(meaning.endswith(".") for meaning in meanings)
    assert len(meanings) == len(names)
    bars = tab.page.locator(".bars").first.get_by_role("meter")
    assert bars.count() >= 5
    assert tab.serious_faults() == []


@pytest.mark.slow
def test_words_in_a_table_stay_whole_on_a_phone(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(f"/search?q={QUESTION}&explain=1", viewport=PHONE)
    lines = """all => all.map((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return [each.innerText, range.getClientRects().length];
    }).filter(([, count]) => count !== 1)"""
    assert tab.page.locator(".bars :is(thead, tbody) th").evaluate_all(lines) == []
    assert (tab.serious_faults(), tab.overflow() <= 0) == ([], True)


@pytest.mark.slow
def test_the_first_hit_on_a_phone_is_above_the_middle(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(f"/search?q={QUESTION}", viewport={"width": 375, "height": 812})
    assert tab.page.locator("a.hit").first.bounding_box()["y"] < 812 / 2


@pytest.mark.slow
def test_nonsense_shows_a_sentence_and_no_verdict(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=volcanology dissertation")
    assert tab.text("#results .outcome") == "Nothing in your notes answers this."
    assert tab.page.locator("#results .found, #results .badge").count() == 0


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_pane_beside_the_hits_follows_them_to_their_line(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=printers train", viewport=WIDE)
    tab.page.locator("a.hit").nth(1).wait_for()
    first = tab.page.locator("a.hit").first.inner_text()
    tab.expect_text("#preview .answer", "Omada" if "Router" in first else "Osaka")
    tab.page.locator("#question").focus()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("ArrowDown")
    tab.expect_text("#preview .answer", "Osaka" if "Router" in first else "Omada")
    assert tab.serious_faults() == []
    narrow = open_tab("/search?q=printers train")
    narrow.page.locator("a.hit").first.focus()
    assert not narrow.page.locator("#preview").is_visible()


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_time_in_the_question_is_a_chip_that_a_link_removes(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=router in February 2026")
    chip = tab.page.locator("#results .chip")
    assert chip.locator("bdi").all_inner_texts() == ["in February 2026: 2026-02-01 to 2026-02-28"]
    hits = tab.page.locator("#results li.found")
    assert "Omada" in hits.first.inner_text()
    assert "other time" not in hits.first.inner_text()
    chip.click()
    tab.page.wait_for_url("**since=any**")
    assert tab.page.locator("#results .chip bdi").all_inner_texts() == ["any day"]
    assert tab.page.get_by_label("Any day, even if the question names a time").is_checked()
    tab.page.get_by_label("Any day, even if the question names a time").uncheck()
    tab.page.get_by_role("button", name="Search").click()
    tab.expect_text("#results .chip", "in February 2026")


@pytest.mark.slow
def test_a_time_alone_lists_what_is_newest_without_scores(open_tab: Callable[..., Tab]) -> None:
    for address in ("/search?q=in February 2026", "/search?since=2026-02-01&until=2026-02-28"):
        tab = open_tab(address)
        tab.expect_text("#results .outcome", "The newest passages.")
        tab.expect_text("#results .hits", "Omada")
        assert tab.page.locator("#results .hits meter").count() == 0


@pytest.mark.slow
def test_a_passage_of_another_time_and_one_without_a_day_say_so(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/search?q=which database for the ledger in February 2026")
    place = tab.page.locator("#results li.found", has_text="We chose").locator(".crumbs").first.inner_text()
    assert "other time" in place
    assert "changed 20" in place
