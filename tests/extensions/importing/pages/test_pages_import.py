"""The page Import: a file is shown before anything is written, imported, and taken back."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

import exports
from mcp_endpoints import bearer
from memoriter.extensions.importing.pages import _import
from serving import LIMIT
from web_client import ApiClient, token_of_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from browser import Tab
    from memory_env import MemoryEnv
    from serving import Serving

pytestmark = pytest.mark.slow
IMPORTED = "memory/imported"


@pytest.fixture
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


@pytest.fixture(autouse=True)
def nothing_left(env: MemoryEnv) -> Iterator[None]:
    yield
    listed = env.run("--json", "import", "--list").json["imports"]
    for each in listed:
        assert env.run("import", "--undo", each["id"], "--yes").exit_code == 0


def test_a_file_is_imported_by_at_most_twelve_keys_from_the_search_box(
    open_tab: Callable[..., Tab], env: MemoryEnv, tmp_path: Path
) -> None:
    tab = open_tab("/search")
    pressed = ["Escape", "n", *["Tab"] * 5, "Enter"]
    for key in pressed:
        tab.page.keyboard.press(key)
    tab.page.locator("#file:focus").set_input_files(exports.chatgpt(tmp_path))  # instead of the dialog of the browser
    for key in ("Tab", "Enter"):
        tab.page.keyboard.press(key)
    tab.page.locator("button.main:focus").wait_for()
    tab.page.keyboard.press("Enter")
    tab.expect_text("main [role=status]", "Imported: 2 notes.")
    assert len(pressed) + 3 <= 12
    assert (env.notes / IMPORTED / "chatgpt").is_dir()


def test_a_chosen_file_is_shown_imported_and_taken_back(
    open_tab: Callable[..., Tab], env: MemoryEnv, tmp_path: Path
) -> None:
    of_others = {*(env.home / _import.UPLOADS).rglob("*.zip")}
    tab = open_tab("/notes")
    tab.page.keyboard.press("n")
    tab.page.get_by_role("link", name="Import…").click()
    tab.page.set_input_files("#file", exports.chatgpt(tmp_path))
    assert tab.serious_faults() == []
    tab.page.get_by_role("button", name="Show what would come").click()
    tab.expect_text("main [role=status]", "2 new notes.")
    tab.expect_text("main .crumbs", "chatgpt.zip: ChatGPT")
    tab.expect_text("main", "greenhouse-heater-1.md")
    assert tab.serious_faults() == []
    assert not (env.notes / IMPORTED).exists()
    tab.page.keyboard.press("Enter")  # the button Import has the focus
    tab.expect_text("main [role=status]", "Imported: 2 notes.")
    assert len([*(env.notes / IMPORTED / "chatgpt").rglob("*.md")]) == 2
    assert {*(env.home / _import.UPLOADS).rglob("*.zip")} <= of_others
    tab.page.get_by_role("link", name="take the import back").click()
    tab.expect_text("main", "2 notes are deleted")
    assert tab.serious_faults() == []
    tab.page.get_by_role("button", name="Take it back").click()
    tab.expect_text("main [role=status]", "Taken back: 2 notes are as before the import.")
    assert not (env.notes / IMPORTED).exists()


def test_markdown_is_recognised_and_counts_as_the_owners_if_they_say_so(
    owner: ApiClient, env: MemoryEnv, tmp_path: Path
) -> None:
    vault = exports.obsidian(tmp_path)
    files = {file.relative_to(vault).as_posix(): file.read_bytes() for file in vault.rglob("*.md")}
    send(owner, exports.archive(tmp_path / "notes.zip", files), own="on", then_import=True)
    (heater,) = (env.notes / IMPORTED / "obsidian").rglob("Heater.md")
    path = heater.relative_to(env.notes).as_posix()
    assert {*env.open().authors(path)} == {""}
    # A newer file of the same name is the same source: what is new comes, and what is there stays.
    text = send(owner, exports.archive(tmp_path / "notes.zip", files | {"New.md": b"# New\n\nA line.\n"}), own="on")
    assert "1 new note." in text
    assert "2 are there already" in text


def test_a_file_that_is_no_export_or_too_large_is_refused_and_not_kept(
    owner: ApiClient, env: MemoryEnv, server: Serving, tmp_path: Path
) -> None:
    other = tmp_path / "photo.json"
    other.write_bytes(b"\x89PNG")
    assert "is not clearly the export of one of the apps" in send(owner, other, status=400)
    size = str(_import.MOST_BYTES * 2)
    headers = {**bearer(server.token), "Content-Type": "multipart/form-data; boundary=x", "Content-Length": size}
    with closing(HTTPConnection(server.url.removeprefix("http://"), timeout=LIMIT)) as connection:
        connection.request("POST", "/import/preview", headers=headers)
        response = connection.getresponse()
        assert response.status == 400
        assert "more than 500 MB" in response.read().decode()
    assert [*(env.home / _import.UPLOADS).rglob("*.*")] == []


def test_only_an_owner_imports_and_only_the_file_that_was_shown(
    owner: ApiClient, env: MemoryEnv, server: Serving, tmp_path: Path
) -> None:
    file = exports.chatgpt(tmp_path)
    with ApiClient(server.url, token_of_scope(env, "writer", "write")) as writer:
        send(writer, file, status=403)
        assert writer.http.get("/import").status_code == 403
        assert writer.http.post("/import/run", data={"file": file.name, "format": "chatgpt"}).status_code == 403
        assert "Import" not in writer.http.get("/search").text
    send(owner, file)
    for name, state in ((file.name, "1-1"), ("../../memoriter.json5", "1-1"), ("", "")):
        answer = owner.http.post("/import/run", data={"file": name, "format": "chatgpt", "state": state})
        assert answer.status_code == 400, name
    assert not (env.notes / IMPORTED).exists()


def send(
    client: ApiClient, file: Path, *, form: str = "", own: str = "", status: int = 200, then_import: bool = False
) -> str:
    """Send a file to the page, and import it if asked; what the page shows."""
    fields = {"format": form} | ({"own": own} if own else {})
    with file.open("rb") as opened:
        answer = client.http.post("/import/preview", data=fields, files={"file": (file.name, opened)})
    assert answer.status_code == status, answer.text
    if then_import:
        named = dict(
            part.partition('" value="')[::2] for part in answer.text.partition("/import/run")[2].split('name="')[1:]
        )
        values = {name: value.partition('"')[0] for name, value in named.items()}
        assert client.http.post("/import/run", data=values).status_code == 303
    return answer.text
