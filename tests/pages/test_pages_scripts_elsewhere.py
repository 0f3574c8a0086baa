"""Nothing in a memory, an inbox, a day, a heading, a tag or an error runs in the pages, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from long_term import NOTE, long_term_env
from script_payloads import ON_ONE_LINE, made_by_payloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser import Tab
    from memory_env import MemoryEnv

pytestmark = pytest.mark.slow
NUMBER = len(ON_ONE_LINE)


def identifier(number: int) -> str:
    return f"{number:08}-1111-4111-8111-111111111111"


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    """Every payload as a memory, as a statement that waits, as an entry, an author, a heading, a tag and a title."""
    env = long_term_env(tmp_path_factory.mktemp("scripts"))
    mark = "<!-- memory: {} 0.7 2026-03-10T10:00:00.000Z -->"
    memories = [f"- [fact] {text} {mark.format(identifier(at))}" for at, text in enumerate(ON_ONE_LINE)]
    env.write(NOTE, "\n".join(["# Long-term memories", "", *memories, ""]))
    env.write("memory/inbox.md", "\n".join(["# Inbox", "", *(f"- [fact] {text}" for text in ON_ONE_LINE), ""]))
    entries = [f"- {text} <!-- from: {text.replace('>', '')}, 2025-04-01 -->" for text in ON_ONE_LINE]
    env.write("memory/2025-04-01.md", "\n".join(["# Day", "", *entries, ""]))
    for at, text in enumerate(ON_ONE_LINE[::4]):
        tag = text.replace('"', "'")
        front = f'---\ntitle: "{tag}"\ntags: ["{tag}"]\n---\n'
        env.write(f"memory/work/{at}.md", f"{front}# {text}\n\nA heron.\n\n## {text}\n\nAnother heron.\n")
    return env


def test_no_payload_in_a_memory_runs_nor_in_the_receipt_of_one_that_is_forgotten(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/memories")
    assert tab.page.locator("#memories .statement").count() == NUMBER
    assert made_by_payloads(tab) == []
    tab.page.fill("#text", ON_ONE_LINE[0])
    tab.expect_text("#memories", f"1 of {NUMBER}")
    assert made_by_payloads(tab) == []
    for at in range(0, NUMBER, 9):
        tab.go(f"/memories/forget?id={identifier(at)}")
        tab.expect_text("main", ON_ONE_LINE[at].strip()[:12])
        assert made_by_payloads(tab) == []
    tab.page.locator("#forget").click()
    tab.page.wait_for_url("**/memories/receipt")
    assert made_by_payloads(tab) == []


def test_no_payload_in_a_statement_that_waits_runs(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/memories")
    assert tab.page.locator(".candidate").count() > 0
    assert "alert(" in tab.page.content()
    assert made_by_payloads(tab) == []


def test_no_payload_in_the_record_of_a_day_runs(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/days?day=2025-04-01")
    assert "alert(" in tab.text("#day")
    assert made_by_payloads(tab) == []


@pytest.mark.parametrize(
    "path",
    ["/search?q=heron&explain=1", "/status/near-copies", "/status", "/notes?path=memory/work/1.md", "/notes/tags"],
)
def test_no_payload_in_a_heading_a_title_or_a_tag_runs(open_tab: Callable[..., Tab], path: str) -> None:
    tab = open_tab(path)
    tab.page.wait_for_load_state("networkidle")
    forbidden = "script, img, iframe, object, embed, style, link"
    assert tab.page.locator(f"main :is({forbidden})").count() == 0


def test_no_payload_in_an_error_runs(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes")
    tab.may_fail = True
    for text in ON_ONE_LINE[::5]:
        shown = quote(text, safe="")
        for path in (
            f"/memories/forget?id={shown}",
            f"/memories?category={shown}&origin={shown}&as_of={shown}",
            f"/days?day={shown}&year={shown}",
            f"/notes?path={shown}&folder={shown}",
            f"/notes/edit?path={shown}",
            f"/search?q=a&since={shown}&path={shown}&tag={shown}&heading={shown}",
            f"/status/near-copies?similarity={shown}",
            f"/no-such-page/{shown}",
        ):
            tab.go(path)
            assert tab.page.locator("script:not([src]), main img, iframe, object, embed").count() == 0, path
