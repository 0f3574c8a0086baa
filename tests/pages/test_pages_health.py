"""The page Health, in a real browser: a broken provider is explained, and a remedy is applied and judged."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from browser import PHONE, Tab, opened
from memoriter.access import Caller
from memoriter.pages._health import problem_from
from memory_env import MemoryEnv, compatible
from servers import OpenAIServer
from serving import serving
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from serving import Serving

WRONG_KEY = "sk-wrong-key-of-a-test"


@contextmanager
def health_of(browser: Browser, env: MemoryEnv, **options: object) -> Iterator[Tab]:
    """The page of a server of its own."""
    with serving(env, "--no-watch") as server:
        link = env.run("--json", "serve", "--link").json["open"]
        with opened(browser, server, link, **options) as tab:
            tab.go("/status")
            yield tab


def test_a_server_that_works_says_so_and_what_it_leaves_out(env: MemoryEnv, owner: ApiClient) -> None:
    (env.notes / "memory" / "link.md").symlink_to(env.notes / "MEMORY.md")
    owner.post("/index")
    text = owner.http.get("/status").text
    assert "All 4 notes are searchable. Nothing leaves this computer." in text
    assert "memory/link.md" in text
    assert "Nothing was spent at a service" in text
    assert "Waiting for vectors: passages that get a vector at the next indexing" in text


def test_a_command_that_asks_in_a_terminal_has_no_button() -> None:
    owner = Caller("owner", "admin")
    remedies = ["Run `memoriter index`.", "Run `memoriter index` in a terminal to use it."]
    problems = [problem_from({"code": "x", "message": "No.", "remedy": each}, owner) for each in remedies]
    assert [[action.name for action in each.actions] for each in problems] == [["index"], []]
    assert [each.commands for each in problems] == [(), ("memoriter index",)]


def test_an_action_that_does_not_exist_is_refused(owner: ApiClient) -> None:
    answer = owner.http.post("/status/act", data={"do": "format-disk"})
    assert (answer.status_code, "format-disk" in answer.text) == (400, True)


def test_a_reader_sees_the_state_and_cannot_change_it(env: MemoryEnv, owner: ApiClient) -> None:
    token = env.run("token", "create", "health-reader", "--scope", "read").out.strip()
    with ApiClient(str(owner.http.base_url), token) as reader:
        assert "Index now" not in reader.http.get("/status").text
        assert reader.http.post("/status/act", data={"do": "index"}).status_code == 403


@pytest.mark.slow
def test_a_missing_model_file_is_explained_and_what_does_not_help_is_said(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="local", local={"modelPath": str(tmp_path / "no-such-model.onnx")})
    env.run("index")
    with health_of(browser, env) as tab:
        tab.expect_text("#summary", "Something does not work")
        text = tab.text()
        assert "model.onnx" in text
        assert "Searches by words work" in text
        assert "What to do: " in text
        assert "start it again" in text
        assert tab.serious_faults() == []
        assert tab.page.locator("[data-code] form").count() == 0  # no button does what the remedy says
        tab.page.get_by_role("button", name="Index now").press("Enter")
        tab.expect_text("#outcome", "Indexed: ")
        assert tab.focused() == "outcome"
        code = tab.page.locator(".problem[data-code]").first.get_attribute("data-code")
        with ApiClient(tab.url, (env.home / "token").read_text().strip()) as owner:
            answer = owner.http.post("/status/act", data={"do": "index", "code": code}).text
        assert ("It did not help." in answer, "The problem is still there" in answer) == (True, True)


@pytest.mark.slow
def test_a_missing_key_has_its_remedy_and_no_button_that_cannot_help(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="openai")
    env.run("index")
    with health_of(browser, env) as tab:
        tab.expect_text(".problem[data-code]", "There is no key for OpenAI.")
        tab.expect_text(".problem[data-code]", "What to do: Set remote.apiKey")
        tab.expect_text(".problem[data-code]", "start it again")
        assert tab.page.locator("[data-code] button").count() == 0
        tab.go("/status/near-copies")
        tab.expect_text("#copies .notice", "There is no key for OpenAI.")
        assert "memoriter index" not in tab.text("#copies")


@pytest.mark.slow
def test_a_service_that_refuses_the_key_is_explained_and_asked_again_after_it_is_mended(
    browser: Browser, tmp_path: Path
) -> None:
    env = MemoryEnv.at(tmp_path)
    with OpenAIServer() as service:
        env.configure(**compatible(service, key=WRONG_KEY))
        env.run("index")
        with health_of(browser, env, viewport=PHONE, color_scheme="dark") as tab:
            tab.expect_text("#summary", "Something does not work")
            text = tab.text()
            assert "401" in text or "key" in text
            assert WRONG_KEY not in tab.page.content()
            assert "Searches by words work" in text
            assert tab.serious_faults() == []
            assert tab.overflow() <= 0
            tab.page.locator("[data-code]").get_by_role("button", name="Index now").first.click()
            tab.expect_text("#outcome", "It did not help.")
        env.configure(**compatible(service))
        with health_of(browser, env) as tab:
            tab.page.get_by_role("button", name="Index now").first.click()
            tab.expect_text("#outcome", "Indexed")
            tab.expect_text("#summary", "Everything works")
            tab.page.locator("#details > summary").click()
            tab.expect_text("#retrievers ~ dl", "Vectorswork")


@pytest.mark.slow
def test_progress_and_changes_by_others_appear_by_themselves(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    env.run("index")
    with health_of(browser, env) as tab:
        tab.page.locator("#details > summary").click()
        before = tab.page.locator("#index ~ dl dd").first.inner_text()
        env.many(40, "later")
        with ApiClient(tab.url, (env.home / "token").read_text().strip()) as other:
            assert other.post("/index").json()["added"] == 40
        tab.expect_text("#index ~ dl dd", str(int(before) + 40))
        tab.expect_text("#told", "Indexing has ended.")
        env.many(5, "elsewhere")
        assert env.run("index").exit_code == 0  # another process than the server
        tab.expect_text("#index ~ dl dd", str(int(before) + 45))


@pytest.mark.slow
def test_a_server_that_stops_is_reported_until_it_answers_again(browser: Browser, tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    env.run("index")
    with serving(env, "--no-watch") as server, opened(browser, server, server.link.removeprefix(server.url)) as tab:
        tab.go("/status")
        tab.expect_text("#summary", "Everything works")
        tab.may_fail = True
        server.end()
        tab.expect_text("#silent", "The server does not answer. Is “memoriter serve” still running?")
        tab.expect_text("#silent", "The figures below are old")
        tab.expect_text("#summary", "State at ")
        assert tab.serious_faults() == []
        with serving(env, "--no-watch", "--port", server.url.rpartition(":")[2]) as again:
            tab.expect_text("#silent", "This session has ended.")
            env.many(5, "later")
            tab.page.context.new_page().goto(again.link)
            tab.expect_text("#summary", "Everything works")
            assert tab.page.locator("#silent").is_hidden()


@pytest.mark.slow
def test_known_passages_are_searched_for_with_the_keyboard_and_without_scripts(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/status", java_script_enabled=False)
    tab.page.get_by_role("button", name="Search for known passages").focus()
    tab.page.keyboard.press("Enter")
    tab.expect_text("#outcome", "known passages are found by their own words")
    assert tab.page.locator("#canaries ~ div tbody tr").count() > 0


@pytest.fixture(scope="module")
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client
