"""Requests and notes of odd shapes: very deep, very long, very many. Each gets an answer, and the others are served."""

from __future__ import annotations

import json
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from mcp_endpoints import LIMIT
from memoriter.pages import all_pages
from memoriter.web import all_operations
from web_client import BASE, ApiClient

if TYPE_CHECKING:
    from memory_env import MemoryEnv
    from serving import Serving

NOTES_PAGE = {"path": "memory/odd.md"}


@pytest.mark.parametrize("depth", [33, 250])
def test_the_page_of_notes_shows_a_folder_that_is_deeper_than_pages_are(
    env: MemoryEnv, owner: ApiClient, depth: int
) -> None:
    folder = env.notes / "memory"
    for _ in range(depth):  # one by one, since `mkdir` recurses
        folder = folder / "d"
        folder.mkdir(exist_ok=True)
    (folder / f"deep-{depth}.md").write_text("A heron at the bottom.\n", encoding="utf-8")
    path = f"memory/{'d/' * depth}deep-{depth}.md"
    for parameters in ({}, {"path": path}, {"folder": f"memory/{'d/' * depth}"}):
        response = owner.http.get("/notes", params=parameters)
        assert response.status_code == 200
        assert f"deep-{depth}.md" in response.text
    assert "A heron at the bottom." in owner.http.get("/notes", params={"path": path}).text
    assert owner.post("/search", query="heron bottom").status_code == 200


@pytest.mark.parametrize("depth", [33, 250])
def test_nobody_makes_such_a_folder_through_the_server(env: MemoryEnv, owner: ApiClient, depth: int) -> None:
    response = owner.post("/replace", path=f"memory/{'n/' * depth}x.md", text="x", expected=None)
    assert (response.status_code, response.json()["code"]) == (403, "path_refused")
    assert "32 folders" in response.json()["detail"]
    assert not (env.notes / "memory/n").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{'  ' * level}- a\n" for level in range(2_000)),
        "- " * 10_000 + "a\n",
        "> " * 10_000 + "a\n",
        "[" * 50_000,
        "[[" * 50_000,
        "# a\n" * 20_000,
        f"# {'t' * 1_000_000}\n",
        f"---\ntags: {'[' * 5_000}{']' * 5_000}\n---\n# Title\n",
        "---\n" + "".join(f"{' ' * level}a:\n" for level in range(1_000)) + "---\n# Title\n",
        "---\na: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a, *a]\n" for n in range(50)) + "---\n",
    ],
    ids=["lists", "one line of lists", "quotes", "brackets", "wiki", "headings", "title", "tags", "yaml", "aliases"],
)
def test_a_note_of_any_shape_is_shown_found_and_listed(env: MemoryEnv, owner: ApiClient, text: str) -> None:
    env.write("memory/odd.md", text)
    assert owner.http.get("/notes", params=NOTES_PAGE).status_code == 200
    assert owner.http.get("/notes", params=NOTES_PAGE | {"view": "text"}).status_code == 200
    assert owner.post("/search", query="title a").status_code == 200
    assert owner.get("/get", path="memory/odd.md").status_code == 200


@pytest.mark.parametrize("nested", ['{"query":' * 5_000, "[" * 100_000, '{"query": "a", "path": ' + "[" * 5_000])
@pytest.mark.parametrize("path", [f"{BASE}/search", f"{BASE}/replace", "/hook/user-prompt", "/mcp"])
def test_json_that_is_nested_too_deeply_is_a_bad_request(owner: ApiClient, path: str, nested: str) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    response = owner.http.post(path, content=nested, headers=headers)
    assert response.status_code == 400
    assert "error" in response.json() or "code" in response.json()
    closed = json.dumps({"query": "a"} | {"path": "x" * 5_000})
    assert owner.http.post(f"{BASE}/search", content=closed, headers=headers).status_code in {200, 400}


LENGTH = "Content-Type: application/json\r\nContent-Length"
CHUNKED = "Content-Type: application/json\r\nTransfer-Encoding: chunked"
ODD = {
    "a long header": f"GET {BASE}/files HTTP/1.1\r\nX: {'a' * 200_000}\r\n",
    "many headers": "\r\n".join([f"GET {BASE}/files HTTP/1.1", *(f"X{number}: a" for number in range(4_000)), ""]),
    "a long address": f"GET {BASE}/files?x={'a' * 200_000} HTTP/1.1\r\n",
    "many parameters": f"GET {BASE}/files?{'&'.join(f'p{number}=1' for number in range(5_000))} HTTP/1.1\r\n",
    "one parameter many times": f"GET {BASE}/get?{'&'.join(['path=a'] * 5_000)} HTTP/1.1\r\n",
    "a page with many parameters": f"GET /search?{'&'.join(['q=a'] * 9_000)} HTTP/1.1\r\n",
    "two lengths": f"POST {BASE}/search HTTP/1.1\r\n{LENGTH}: 5\r\nContent-Length: 6\r\n",
    "a negative length": f"POST {BASE}/search HTTP/1.1\r\n{LENGTH}: -5\r\n",
    "a body of no JSON": f"POST {BASE}/search HTTP/1.1\r\n{LENGTH}: 3\r\nContent-Encoding: gzip\r\n\r\nabc",
    "a broken chunk": f"POST {BASE}/search HTTP/1.1\r\n{CHUNKED}\r\n\r\nzz\r\n",
    "another protocol": "PRI * HTTP/2.0\r\n",
    "another server": "CONNECT other.invalid:1 HTTP/1.1\r\n",
    "everything": "OPTIONS * HTTP/1.1\r\n",
    "an id of 60,000 digits": f"GET {BASE}/events HTTP/1.1\r\nLast-Event-ID: {'9' * 60_000}\r\n",
    "an id of bytes": f"GET {BASE}/events HTTP/1.1\r\nLast-Event-ID: \xff\xfe\x80\r\n",
    "two ids": f"GET {BASE}/events HTTP/1.1\r\nLast-Event-ID: a\r\nLast-Event-ID: b\r\n",
    "another method by a header": f"GET {BASE}/append?text=x HTTP/1.1\r\nX-HTTP-Method-Override: POST\r\n",
    "another method by a parameter": f"GET {BASE}/append?_method=POST&text=x HTTP/1.1\r\n",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_request_has_an_answer_changes_nothing_and_the_next_one_is_served(
    env: MemoryEnv, server: Serving, owner: ApiClient, name: str
) -> None:
    before = sorted((file, file.stat().st_size) for file in env.notes.rglob("*.md"))
    line, _, rest = ODD[name].partition("\r\n")
    shown = f"{line}\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n{rest}"
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=LIMIT) as connection:
        connection.sendall((shown if "\r\n\r\n" in shown else f"{shown}\r\n").encode("latin-1"))
        status = int(connection.recv(4_096).split()[1])
    assert status < 500
    assert sorted((file, file.stat().st_size) for file in env.notes.rglob("*.md")) == before
    assert owner.get("/files").status_code == 200


def test_a_request_of_a_browser_that_only_reads_changes_no_note(env: MemoryEnv, server: Serving) -> None:
    outcome = env.run("serve", "--link")
    (link,) = re.findall(r"http\S+/open\?code=\S+", outcome.out)
    with ApiClient(server.url, None) as browser:
        assert browser.http.get(link).status_code == 200
        before = {file: file.read_bytes() for file in env.notes.rglob("*.md")}
        parameters = {"path": "MEMORY.md", "text": "x", "to": "daily", "id": "x", "q": "ledger", "_method": "POST"}
        for page in all_pages():
            for route in page.routes:
                assert browser.http.get(route.path, params=parameters).status_code < 500
        for operation in all_operations().values():
            assert browser.http.get(f"{BASE}{operation.path}", params=parameters).status_code < 500
        assert {file: file.read_bytes() for file in env.notes.rglob("*.md")} == before
        cookie = dict(browser.http.cookies)
    (name,) = cookie
    for other in (f"{name}0", name[:-1], "memoriter", name.upper()):
        with ApiClient(server.url, None) as stranger:
            headers = {"Cookie": f"{other}={cookie[name]}"}
            assert stranger.http.get(f"{BASE}/files", headers=headers).status_code == 401
