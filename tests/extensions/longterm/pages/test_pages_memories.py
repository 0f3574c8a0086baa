"""The page Memories, in a real browser: filters, earlier days, chains, and forgetting with a receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import PHONE
from long_term import long_term_env
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from browser import Tab
    from memory_env import MemoryEnv
    from serving import Serving

pytestmark = pytest.mark.slow
OLD, NEW, OTHER = (f"{digit * 8}-{digit * 4}-4111-8111-{digit * 12}" for digit in "123")
NOTE = f"""# Long-term memories

- [decision] The ledger runs on MySQL. <!-- memory: {OLD} 0.7 2026-01-10T10:00:00.000Z superseded -->
- [decision] The ledger runs on PostgreSQL. <!-- memory: {NEW} 0.7 2026-02-10T10:00:00.000Z supersedes={OLD} -->
- [preference] I prefer tea. <!-- memory: {OTHER} 0.7 2026-03-10T10:00:00.000Z -->
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    return long_term_env(tmp_path_factory.mktemp("memories"))


@pytest.fixture(autouse=True)
def stored(env: MemoryEnv) -> None:
    env.write("memory/long-term.md", NOTE)


@pytest.fixture
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


def shown(tab: Tab) -> list[str]:
    return tab.page.locator("#memories .statement").all_inner_texts()


def test_memories_are_filtered_as_someone_types(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/memories")
    assert shown(tab) == ["I prefer tea.", "The ledger runs on PostgreSQL.", "The ledger runs on MySQL."]
    tab.page.fill("#text", "POSTGRES")
    tab.expect_text("#memories", "1 of 3")
    assert tab.page.locator("#spoken").text_content() == "1 of 3 memories."
    assert shown(tab) == ["The ledger runs on PostgreSQL."]
    tab.page.locator("#memories summary").click()
    tab.expect_text("#memories details li", "MySQL")
    tab.page.fill("#text", "")
    tab.expect_text("#memories", "3 of 3")
    tab.page.locator("summary", has_text="More filters").click()
    tab.page.select_option("#status", "superseded")
    tab.expect_text("#memories", "1 of 3")
    assert shown(tab) == ["The ledger runs on MySQL."]
    assert "status=superseded" in tab.page.url


def test_memories_are_shown_as_they_were_on_an_earlier_day(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/memories")
    tab.page.locator("summary", has_text="More filters").click()
    tab.page.locator("#slider").focus()
    tab.page.keyboard.press("Home")
    tab.expect_text("#memories", "at the end of 2026-01-10")
    assert (shown(tab), "replaced" in tab.text("#memories ol")) == (["The ledger runs on MySQL."], False)
    plain = open_tab("/memories", java_script_enabled=False)
    plain.page.locator("summary", has_text="More filters").click()
    assert not plain.page.locator("#slider").is_visible()
    plain.page.fill("#as_of", "2026-02-10")
    plain.page.get_by_role("button", name="Show").last.click()
    plain.expect_text("#memories", "2 of 2")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_memory_is_added_and_changed_and_keeps_its_earlier_words(
    owner: ApiClient, open_tab: Callable[..., Tab], *, scripts: bool
) -> None:
    tab = open_tab("/memories", java_script_enabled=scripts)
    tab.page.locator("summary", has_text="Add a memory").click()
    tab.page.fill("#add", "The boat is called Vega.")
    tab.page.get_by_role("button", name="Remember").click()
    tab.expect_text("main [role=status]", "Remembered.")
    tab.page.get_by_role("link", name="Edit: The boat is called Vega.").click()
    tab.page.fill("#changed", "The boat is called Altair since May.")
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text("main [role=status]", "Changed. The earlier words are kept")
    listed = {each["text"]: each["status"] for each in owner.get("/ltm/list").json()}
    assert listed["The boat is called Vega."] == "superseded"
    assert listed["The boat is called Altair since May."] == "active"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_memory_is_forgotten_after_a_confirmation(
    env: MemoryEnv, open_tab: Callable[..., Tab], *, scripts: bool
) -> None:
    tab = open_tab("/memories", java_script_enabled=scripts, color_scheme="dark", viewport=PHONE)
    if scripts:
        assert tab.serious_faults() == []
        assert tab.overflow() <= 0
    tab.page.get_by_role("link", name="Forget: I prefer tea.").focus()
    tab.page.keyboard.press("Enter")
    tab.expect_text("h1", "Forget this memory?")
    assert "tea" in (env.notes / "memory/long-term.md").read_text(encoding="utf-8")
    tab.page.locator("#forget").focus()
    tab.page.keyboard.press("Enter")
    tab.expect_text("main", "1 line of the note")
    assert "tea" not in (env.notes / "memory/long-term.md").read_text(encoding="utf-8")


def test_a_memory_that_changed_after_the_question_is_not_forgotten(env: MemoryEnv, owner: ApiClient) -> None:
    form = {"id": OTHER, "text": "I prefer tea."}
    env.write("memory/long-term.md", NOTE.replace("tea", "coffee"))
    refused = owner.http.post("/memories/receipt", data=form)
    assert (refused.status_code, "has changed" in refused.text) == (400, True)
    assert "coffee" in (env.notes / "memory/long-term.md").read_text(encoding="utf-8")
    assert owner.http.get("/memories", params={"as_of": "never"}).status_code == 400
    assert owner.http.get("/memories/forget", params={"id": "x"}).status_code == 400
