"""Requests and notes of odd shapes: very deep, very long, very many. Each gets an answer, and the others are served."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from web_client import BASE, ApiClient

if TYPE_CHECKING:
    from memory_env import MemoryEnv

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
