"""A tree of many notes: a page has the open branches only, and costs about as much as with few notes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv
from serving import serving
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serving import Serving

NOTES = 10_000
SHARE = 0.4
"""A page takes at most so much of the time of one look at all files, which takes 0.2 s on two cores."""
ROUNDS = 7
NOTE = "memory/area07/sub007/note 00007.md"


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("tree"))
    env.configure(provider="none")
    for at in range(NOTES):
        env.write(
            f"memory/area{at % 40:02}/sub{at % 400:03}/note {at:05}.md",
            f"# {at}\n\n[[note {at + 1:05}]] #tag{at % 60}\n",
        )
    return env


@pytest.fixture(scope="module")
def owner(env: MemoryEnv) -> Iterator[ApiClient]:
    with serving(env, "--no-watch") as server, ApiClient(server.url, server.token) as client:
        yield client


def seconds(client: ApiClient, path: str) -> float:
    """The shortest time of a page."""
    return min(once(client, path) for _ in range(ROUNDS))


def once(client: ApiClient, path: str) -> float:
    began = time.perf_counter()
    assert client.http.get(path).status_code == 200
    return time.perf_counter() - began


@pytest.mark.slow
def test_a_page_does_not_look_at_ten_thousand_files_again(owner: ApiClient) -> None:
    look = seconds(owner, "/api/v1/files?limit=1")
    times = {path: seconds(owner, path) for path in (f"/notes?path={NOTE}", "/search", "/notes?filter=09999")}
    assert {path: round(each / look, 2) for path, each in times.items() if each > SHARE * look} == {}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Only Linux says what a process has read.")
def test_the_first_pages_of_a_server_do_not_read_ten_thousand_files(env: MemoryEnv) -> None:
    with serving(env, "--no-watch") as server, ApiClient(server.url, server.token) as owner:
        before = 0
        # The server reads all notes in the background: each of them, and its end.
        while (now := reads(server)) < 2 * NOTES or now != before:
            before = now
            time.sleep(1)
        for path in (f"/notes?path={NOTE}", f"/notes/links?path={NOTE}", "/notes/tags"):
            once(owner, path)
        assert reads(server) - before < NOTES / 10


def reads(server: Serving) -> int:
    """How often the process of a server has read something."""
    lines = Path(f"/proc/{server.process.pid}/io").read_text(encoding="ascii").splitlines()
    return next(int(line.partition(":")[2]) for line in lines if line.startswith("syscr"))


@pytest.mark.slow
def test_a_page_has_the_open_branches_only(owner: ApiClient) -> None:
    text = owner.http.get(f"/notes?path={NOTE}").text
    assert len(text.encode()) < 25_000
    assert "note 00007" in text
    assert "note 00407" in text  # beside it
    listed = text.partition("data-tree>")[2].partition("</nav>")[0]
    assert listed.count('href="/notes?path=') == 25 + 3  # of one folder, and beside the folders that lead to it
    branch = owner.http.get("/notes/branch?folder=memory/area08/", headers={"Memoriter-Fragment": "part"}).text
    assert branch.count("<details") == 10
    assert "sub008" in branch
    assert len(owner.http.get("/search").content) < 15_000


@pytest.mark.slow
def test_a_note_that_comes_or_goes_is_in_the_tree_at_once(owner: ApiClient, env: MemoryEnv) -> None:
    owner.http.get("/notes")
    env.write("memory/area08/sub008/note new.md", "# New\n")
    assert "note new" in owner.http.get("/notes?folder=memory/area08/sub008/").text
    (env.notes / "memory/area08/sub008/note new.md").unlink()
    assert "note new" not in owner.http.get("/notes?folder=memory/area08/sub008/").text
    env.write("memory/later/one.md", "# One\n")
    assert "later" in owner.http.get("/notes?folder=memory/").text


@pytest.mark.slow
def test_tags_and_links_are_found_among_all_notes(owner: ApiClient) -> None:
    assert "#tag7 " in owner.http.get("/notes/tags").text
    links = owner.http.get(f"/notes/links?path={NOTE}").text
    assert "note 00006" in links
    assert links.count('<li><a href="/notes?path=memory/area') == 1
