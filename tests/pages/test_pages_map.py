"""The page Map, in a real browser: drawn on request, honest about what it shows, and the same as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from browser import PHONE, opened
from memory_env import MemoryEnv
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


def test_nothing_is_drawn_until_it_is_asked_for(owner: ApiClient) -> None:
    assert "<circle" not in owner.http.get("/map").text
    drawn = owner.http.get("/map", params={"similarity": "0.97"}).text
    answer = owner.get("/map").json()
    assert drawn.count("<circle") == len(answer["points"]) == answer["chunks"]
    assert f"{sum(answer['variance']):.1%} of the variance" in drawn
    assert "<script>alert" not in drawn


def test_a_similarity_that_is_no_cosine_is_refused(owner: ApiClient) -> None:
    for wrong in ("much", "7", "nan"):
        answer = owner.http.get("/map", params={"similarity": wrong})
        assert (answer.status_code, "similarity" in answer.text) == (400, True)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_groups_and_duplicates_are_reached_with_the_keyboard(
    browser: Browser, env: MemoryEnv, server: Serving, scheme: str, tmp_path: Path
) -> None:
    link = env.run("--json", "serve", "--link").json["open"]
    with opened(browser, server, link, viewport=PHONE, color_scheme=scheme) as tab:
        tab.go("/map")
        tab.page.get_by_label("Passages are nearly the same").fill("0.999")
        tab.page.keyboard.press("Enter")
        tab.expect_text("#duplicates ~ h3", "2 passages")
        assert re.fullmatch(r"\d+ passages in \d+ groups?\.", tab.page.locator("#spoken").text_content())
        links = tab.page.locator("#duplicates ~ ul a").all_inner_texts()
        assert {each.partition("#")[0] for each in links} >= {"memory/a.md", "memory/b.md"}
        summary = tab.page.locator("#groups ~ details summary").first
        summary.focus()
        tab.page.keyboard.press("Enter")
        assert tab.page.locator("#groups ~ details[open] a").count() > 0
        assert tab.serious_faults() == []
        assert tab.overflow() <= 0
