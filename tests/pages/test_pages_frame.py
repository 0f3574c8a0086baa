"""What all pages share: the session, navigation, headers, static files, and work without scripts."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import PHONE
from memoriter.pages import all_pages
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from browser import Tab
    from memory_env import MemoryEnv
    from serving import Serving


ROOT = Path(__file__).parents[2]
NAVIGATION = "nav[aria-label=Places]"
HEAVIEST = 55_000
"""Bytes of a page with all of its files at most."""


@pytest.fixture(scope="module")
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


@pytest.fixture(scope="module")
def reader(env: MemoryEnv, server: Serving) -> Iterator[ApiClient]:
    token = env.run("token", "create", "dashboard", "--scope", "read").out.strip()
    with ApiClient(server.url, token) as client:
        yield client


@pytest.mark.slow
def test_the_link_opens_the_first_page(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    assert tab.page.url.endswith(all_pages()[0].path)
    places = [page.name for page in all_pages() if page.in_navigation]
    assert places == ["Search", "Notes", "Days", "Memories"]
    assert tab.page.locator(f"{NAVIGATION} a").all_inner_texts() == places
    assert tab.page.locator(f"{NAVIGATION} a[aria-current=page]").inner_text() == places[0]


def test_a_page_allows_scripts_and_styles_of_this_server_only(owner: ApiClient) -> None:
    for page in all_pages():
        answer = owner.http.get(page.path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        policy = answer.headers["content-security-policy"]
        assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= set(policy.split("; "))
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<style|<script(?![^>]* src=)|\son\w+=|\sstyle=", answer.text)


def test_static_files_have_their_hash_in_the_address_and_are_kept_for_a_year(owner: ApiClient) -> None:
    text = owner.http.get(all_pages()[0].path).text
    addresses = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
    assert {address.rpartition("/")[2] for address in addresses} >= {"base.css", "app.js", "icon.svg"}
    for address in addresses:
        answer = owner.http.get(address)
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
    version = addresses[0].split("/")[2]
    assert owner.http.get(addresses[0].replace(version, "0" * 16)).status_code == 404
    assert owner.http.get(f"/static/{version}/..%2f_site.py").status_code == 404


def test_a_token_may_do_on_a_page_what_its_scope_allows(reader: ApiClient, env: MemoryEnv) -> None:
    before = {file: file.read_bytes() for file in env.notes.rglob("*.md")}
    assert reader.http.get("/notes?path=MEMORY.md").status_code == 200
    forms = {
        "/notes/append": {"text": "Prefers tea."},
        "/notes/change": {
            "path": "memory/new.md",
            "text": "x",
            "expected": "",
            "act": "save",
        },
        "/notes/delete": {"path": "MEMORY.md"},
        "/history/undo": {"id": "0123456789"},
        "/history/rollback": {"id": "mcp-1", "planned": ""},
        "/history/reviewed": {"id": "0123456789"},
        "/notes/renamed": {"path": "MEMORY.md", "name": "OTHER.md"},
        "/notes/forgotten": {"path": "MEMORY.md", "line": "1"},
        "/memories/turn-on": {},
    }
    for path, fields in forms.items():
        refused = reader.http.post(path, data=fields)
        assert (refused.status_code, "lacks the scope" in refused.text) == (403, True)
    assert {file: file.read_bytes() for file in env.notes.rglob("*.md")} == before


def test_odd_parameters_are_answered_without_a_failure(owner: ApiClient) -> None:
    odd = [
        "%00",
        "%ff",
        "a%0ab.md",
        "../../etc/passwd",
        "x" * 3_000,
        "%F0%9F%92%A9.md",
        "..%5c..%5cx.md",
        "MEMORY.md%23L3",
    ]
    for path in (
        "/notes?path={}",
        "/notes?path=MEMORY.md&from={}",
        "/notes/edit?path={}",
        "/search?q={}",
        "/search?q=a&path={}",
        "/search?q=a&tag={}",
        "/search?q=a&most={}",
        "/notes?folder={}",
        "/notes?filter={}",
        "/notes/branch?folder={}",
        "/notes/links?path={}",
        "/notes/picture?name={}",
        "/notes/picture?name={}.png&from={}",
        "/notes/preview?path={}&line={}",
        "/notes/rename?path={}",
        "/notes/forget?path={}&line=1",
        "/notes/forget?path=MEMORY.md&line={}",
        "/notes/new?name={}",
        "/days?day={}",
        "/history?path={}",
        "/history?most={}",
        "/history/lines?path={}",
        "/history/lines?path=MEMORY.md&line={}",
        "/history/day?day={}",
        "/history/together?id={}",
        "/history/together?id=x&back={}",
        "/status/near-copies?similarity={}",
    ):
        statuses = {text: owner.http.get(path.replace("{}", text)).status_code for text in odd}
        assert {text: status for text, status in statuses.items() if status >= 500} == {}, path
    assert owner.http.post("/notes/change", content=b"%ff&=&a=" + b"x" * 100).status_code < 500
    assert owner.http.post("/notes/change", content=b"a=b&" * 2_000).status_code == 400


BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("method", "path", "status", "texts"),
    [
        ("GET", all_pages()[0].path, 401, ["This browser has no session", "<code>memoriter serve --link</code>"]),
        ("GET", "/open?code=used", 401, ["was opened before", "<code>memoriter serve --link</code>"]),
        ("GET", "/nowhere", 404, ["There is no such page", "choose a page"]),
        ("GET", "/notes/change", 405, ["This address cannot be opened", "Go to the page with the form."]),
        ("DELETE", "/notes", 405, ["This address cannot be opened"]),
    ],
)
def test_a_refusal_is_a_page_for_a_browser_and_json_or_text_for_a_program(
    server: Serving, method: str, path: str, status: int, texts: list[str]
) -> None:
    with ApiClient(server.url, None if status == 401 else server.token) as someone:
        page = someone.http.request(method, path, headers=BROWSER)
        other = someone.http.request(method, path)
        api = someone.http.get("/api/v1/nowhere", headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert [text for text in (*texts, "<title>", '<a href="/">') if text not in page.text] == []
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert int(page.headers["content-length"]) == len(page.content)
    assert (other.status_code, "html" in other.headers["content-type"]) == (status, False)
    assert api.headers["content-type"] == "application/problem+json"


@pytest.mark.slow
def test_a_link_that_is_clicked_on_another_web_page_opens_the_session(
    browser: Browser, env: MemoryEnv, server: Serving
) -> None:
    link = env.run("--json", "serve", "--link").json["open"]
    context = browser.new_context()
    tab = context.new_page()
    elsewhere = f'<a href="{link}">memoriter</a>'
    tab.route("http://elsewhere.example/", lambda route: route.fulfill(body=elsewhere, content_type="text/html"))
    tab.goto("http://elsewhere.example/")
    tab.get_by_role("link").click()
    tab.wait_for_url(f"{server.url}{all_pages()[0].path}")
    assert tab.locator(f"{NAVIGATION} a[aria-current=page]").inner_text() == all_pages()[0].name
    (cookie,) = context.cookies(server.url)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    tab.goto("http://elsewhere.example/")
    tab.get_by_role("link").click()
    assert "was opened before" in tab.locator("main").inner_text()
    tab.get_by_role("link", name="Open the first page").click()
    tab.wait_for_url(f"{server.url}{all_pages()[0].path}")
    context.close()


@pytest.mark.slow
def test_a_form_is_accepted_from_a_page_of_the_same_origin_only(open_tab: Callable[..., Tab], server: Serving) -> None:
    tab = open_tab()
    cookies = {each["name"]: each["value"] for each in tab.page.context.cookies()}
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    right = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", **kind}
    wrong = [
        {**right, "Sec-Fetch-Site": "same-site"},
        {**right, "Sec-Fetch-Site": "none"},
        {name: value for name, value in right.items() if name != "Sec-Fetch-Site"},
        {**right, "Origin": "http://127.0.0.1:1"},
        {**right, "Origin": "null"},
        {name: value for name, value in right.items() if name != "Origin"},
        {**right, "Content-Type": "text/plain"},
    ]
    with ApiClient(server.url, None) as other:
        other.http.cookies.update(cookies)
        assert {other.http.post("/nowhere", headers=each).status_code for each in wrong} == {403}
        assert other.http.post("/nowhere", headers=right).status_code == 404
        assert other.http.post("/api/v1/append", headers=right).status_code == 403


def test_each_picture_is_small_and_shown_on_a_page() -> None:
    pictures = sorted((ROOT / "docs" / "images").glob("web-*.png"))
    assert pictures
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert [
        each.name for each in pictures if each.stat().st_size > 200_000 or f"images/{each.name})" not in pages
    ] == []


@pytest.mark.slow
def test_the_wheel_has_the_templates_and_static_files(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    from memoriter.pages._site import STATIC, TEMPLATES

    (wheel,) = WheelBuilder(str(STATIC.parents[3])).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    needed = {
        f"memoriter/pages/{file.relative_to(STATIC.parent).as_posix()}"
        for folder in (STATIC, TEMPLATES)
        for file in folder.rglob("*.*")
    }
    assert len(needed) >= 7
    assert needed <= names


ADDRESSES = [
    *(page.path for page in all_pages()),
    "/search?q=the+router&explain=1",
    "/search/why-not?q=router&path=MEMORY.md&line=3",
    "/notes?path=memory/2026-02-10.md",
    "/notes?path=memory/2026-02-10.md&view=text",
    "/notes?folder=memory/",
    "/notes/edit?path=MEMORY.md",
    "/notes/rename?path=MEMORY.md",
    "/notes/forget?path=MEMORY.md&line=3",
    "/notes/links?path=MEMORY.md",
    "/notes/tags",
    "/days?day=2026-02-10",
    "/history",
    "/history?path=MEMORY.md",
    "/history/lines?path=MEMORY.md&line=3",
    "/history/together?id=mcp-1",
    "/history/review",
    "/status/near-copies",
]


@pytest.mark.slow
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_is_accessible_and_fits_a_phone(address: str, open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(address, viewport=PHONE, color_scheme="dark")
    tab.expect_text("#frame", "leaves this computer")
    dark = tab.background()
    assert tab.faults() == []
    tab.page.emulate_media(color_scheme="light")
    assert tab.faults() == []
    assert tab.background() != dark
    assert tab.overflow() <= 0
    tab.page.set_viewport_size({"width": 1_500, "height": 900})
    assert tab.faults() == []


def test_only_short_messages_are_read_aloud_when_they_change(owner: ApiClient) -> None:
    for page in all_pages():
        text = owner.http.get(page.path).text
        assert re.findall(r"<[^>]+aria-live[^>]*>", text) == ['<div id="spoken" class="hidden" aria-live="polite">']


@pytest.mark.slow
def test_the_first_key_leads_to_the_content(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    assert tab.page.locator("a, button, input, summary").first.inner_text() == "Skip to the content"
    tab.page.locator(".skip").focus()
    tab.page.keyboard.press("Enter")
    assert tab.focused() == "content"


@pytest.mark.slow
def test_every_page_has_one_search_box_that_two_shortcuts_reach(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    for page in all_pages():
        for keys in ("/", "Control+k"):
            tab.go(page.path)
            tab.page.locator("h1, h2").first.wait_for(state="attached")
            tab.page.evaluate("document.activeElement.blur()")
            tab.page.keyboard.press(keys)
            assert tab.focused() == "question", (page.path, keys)
    tab.page.keyboard.type("ledger")
    tab.page.keyboard.press("Enter")
    tab.expect_text("#results .hits", "PostgreSQL")


@pytest.mark.slow
def test_a_shortcut_is_text_while_an_input_method_composes(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab("/notes?path=MEMORY.md")
    composing = """key => document.body.dispatchEvent(
        new KeyboardEvent("keydown", {key, isComposing: true, bubbles: true, cancelable: true}))"""
    for key in ("/", "n", "e", "."):
        assert tab.page.evaluate(composing, key), key
    assert tab.page.locator("details.menu[open]").count() == 0
    assert tab.focused() != "question"


@pytest.mark.slow
def test_the_dot_says_in_a_sentence_whether_all_is_well_and_leads_to_health(
    open_tab: Callable[..., Tab], owner: ApiClient
) -> None:
    owner.post("/index")
    tab = open_tab("/notes")
    tab.expect_text("#frame", "notes are searchable. Nothing leaves this computer.")
    tab.page.locator("#frame a").click()
    tab.page.wait_for_url("**/status")
    tab.expect_text(".lead", "notes are searchable. Nothing leaves this computer.")


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_entry_and_a_note_are_begun_on_every_page(
    open_tab: Callable[..., Tab], env: MemoryEnv, *, scripts: bool
) -> None:
    tab = open_tab("/days", java_script_enabled=scripts)
    tab.page.locator("summary", has_text="New").first.click()
    tab.page.fill("#entry", f"Tea at four, scripts {scripts}.")
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.expect_text("article [role=status]", "Added.")
    tab.page.locator("summary", has_text="New").first.click()
    tab.page.fill("#name", f"A plan {scripts}")
    tab.page.get_by_role("button", name="Create").click()
    tab.page.fill("#text", "# A plan\n")
    tab.page.get_by_role("button", name="Save").click()
    tab.expect_text("article [role=status]", "Saved.")
    assert [each.read_text(encoding="utf-8") for each in env.notes.rglob(f"A plan {scripts}.md")] == ["# A plan\n"]


def test_a_page_with_its_files_is_light(owner: ApiClient) -> None:
    for path in (
        "/search?q=ledger",
        "/notes?path=MEMORY.md",
        "/notes/edit?path=MEMORY.md",
        "/days",
        "/history?path=MEMORY.md",
        "/memories",
        "/status",
    ):
        text = owner.http.get(path).text
        files = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', text))
        files |= {f"{file.rpartition('/')[0]}/{name}" for file in files for name in ("app.js", "fragments.js")}
        sizes = {file.rpartition("/")[2]: len(owner.http.get(file).content) for file in files}
        assert sum(sizes.values()) + len(text.encode()) <= HEAVIEST, (path, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1_280, 2_560])
def test_pages_fit_narrow_and_wide_windows_and_large_text(open_tab: Callable[..., Tab], width: int) -> None:
    tab = open_tab("/notes", viewport={"width": width, "height": 800})
    for path in (
        "/search?q=the",
        "/notes?path=MEMORY.md",
        "/notes/edit?path=MEMORY.md",
        "/days",
        "/memories",
        "/status",
    ):
        tab.go(path)
        assert tab.overflow() <= 0, path
        tab.page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert tab.overflow() <= 0, (path, "200 %")


@pytest.mark.slow
def test_a_page_that_is_not_there_looks_like_the_others(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    tab.may_fail = True
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.go("/nowhere")
        assert "sans-serif" in tab.page.evaluate("getComputedStyle(document.body).fontFamily")
        assert tab.serious_faults() == []
