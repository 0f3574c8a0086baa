"""Near-copies on the page Health, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from browser import PHONE, opened
from memory_env import MemoryEnv
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from serving import Serving

SAME = "# Ledger\n\nThe ledger is kept in PostgreSQL, because of its transactions.\n"


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("map"))
    for name in ("a", "b"):
        env.write(f"memory/{name}.md", SAME)
    env.many(20)
    env.write("memory/markup.md", '# <script>alert(1)</script>\n\nText with <b>markup</b> & "quotes".\n')
    assert env.run("index").exit_code == 0
    return env


@pytest.fixture(scope="module")
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


def test_near_copies_are_looked_for_on_request_alone(owner: ApiClient) -> None:
    page = owner.http.get("/status").text
    assert "Look for near-copies" in page
    assert "memory/a.md#" not in page
    text = owner.http.get("/status/near-copies", params={"similarity": "0.999"}).text
    answer = owner.get("/map", similarity=0.999).json()
    assert f"{len(answer['duplicates'])} set" in text
    assert "<script>alert" not in text


def test_a_similarity_that_is_no_cosine_is_refused(owner: ApiClient) -> None:
    for wrong in ("much", "7", "nan"):
        answer = owner.http.get("/status/near-copies", params={"similarity": wrong})
        assert (answer.status_code, "similarity" in answer.text) == (400, True)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_near_copies_are_reached_with_the_keyboard(
    browser: Browser, env: MemoryEnv, server: Serving, scheme: str
) -> None:
    link = env.run("--json", "serve", "--link").json["open"]
    with opened(browser, server, link, viewport=PHONE, color_scheme=scheme) as tab:
        tab.go("/status")
        tab.page.get_by_role("button", name="Look for near-copies").focus()
        tab.page.keyboard.press("Enter")
        tab.expect_text("#copies h3", "2 passages")
        assert re.fullmatch(
            r"\d+ sets? of near-copies among .* passages.*\.", tab.page.locator("#spoken").text_content()
        )
        links = tab.page.locator("#copies a").all_inner_texts()
        assert {each.partition("#")[0] for each in links} >= {"memory/a.md", "memory/b.md"}
        tab.page.locator("#copies summary").press("Enter")
        tab.page.get_by_label("Nearly the same from a cosine of").fill("1")
        tab.page.keyboard.press("Enter")
        tab.page.locator("#copies[aria-busy]").wait_for(state="detached")  # what is out of date is pale
        tab.expect_text("#copies", "near-copies among")
        assert tab.serious_faults() == []
        assert tab.overflow() <= 0
