"""Sections that are null and files that hold only comments are accepted, and come back to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.installation import Launch, Machine, apply, changes
from memoriter.installation._apply import BACKUP
from memoriter.json_text import append, parse, put

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.installation import ClientName

LAUNCH = Launch(("/opt/memoriter",))
TEXTS = {
    "goose": "GOOSE_PROVIDER: openai # mine\nextensions:\n",
    "cursor": '{"a": 1, "mcpServers": null}\n',
    "claude-code": '{\n  "mcpServers": null,\n  "a": [null]\n}',
    "gemini": '{\n  // mine\n  "mcpServers": null,\n  "hooks": null,\n}\n',
    "vscode": "// my servers\n",
    "zed": "/* mine */\r\n// too\r\n",
    "amp": "// mine",
}


def edit(folder: Path, client: ClientName, text: str | None = None, *, install: bool) -> Path:
    """Install memoriter in a client, or remove it, and return the client's file."""
    machine = Machine(folder, folder, {}, "linux")
    edits = changes(client, LAUNCH, machine, scope="user", install=install, hooks=True)
    file = edits[0].file
    if text is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    apply(edits, dry_run=False)
    return file


@pytest.mark.parametrize("client", TEXTS)
def test_a_file_without_servers_gets_one_and_comes_back_to_the_byte(tmp_path: Path, client: ClientName) -> None:
    file = edit(tmp_path, client, TEXTS[client], install=True)
    assert "/opt/memoriter" in file.read_text(encoding="utf-8")
    edit(tmp_path, client, install=False)
    assert file.read_bytes() == TEXTS[client].encode()
    assert not file.with_name(file.name + BACKUP).exists()


@pytest.mark.parametrize("client", TEXTS)
def test_removing_what_was_never_installed_changes_nothing(tmp_path: Path, client: ClientName) -> None:
    file = edit(tmp_path, client, TEXTS[client], install=False)
    assert file.read_bytes() == TEXTS[client].encode()


ADDED = {
    "opencode": (
        '{"autoupdate": false, "a": [1, {"b": 2}]}',
        '"autoupdate": false',
        '"$schema": "x", "autoupdate": false',
    ),
    "gemini": ('{\n  // mine\n  "a": [1, 3]\n}\n', "[1, 3]", "[1, 2, 3] // theirs"),
    "codex": ('model = "x" # mine\n', "# mine\n", '# mine\nadded = "y"\n'),
    "goose": ("GOOSE_PROVIDER: openai # mine\n", "# mine\n", "# mine\nADDED: y\n"),
}
"""A file before memoriter, and what its program changes in it: a text, and the text with an addition."""
LOST = {
    "opencode": ('{"autoupdate": false, "a": [1, {"b": 2}]}', '{"b": 2}', '{"b": 3}'),
    "gemini": ('{\n  // mine\n  "a": [1, 3]\n}\n', "// mine", ""),
    "codex": ('model = "x" # mine\n', '"x"', '"y"'),
    "goose": ("GOOSE_PROVIDER: openai # mine\nextensions:\n", "# mine\n", "# mine\nADDED: y\n"),  # extensions go, too
    "claude-code": ('{"a": [1, 2], "b": true}', "[1, 2]", "[2, 1]"),
    "zed": ('{"a": [1, 2], "b": true}', "true", "1"),
}


@pytest.mark.parametrize("client", ADDED)
def test_no_backup_stays_if_the_program_of_a_client_has_only_added_to_its_file(
    tmp_path: Path, client: ClientName
) -> None:
    original, text, added = ADDED[client]
    file = edit(tmp_path, client, original, install=True)
    content = file.read_text(encoding="utf-8")
    assert content.count(text) == 1
    file.write_text(content.replace(text, added), encoding="utf-8")
    edit(tmp_path, client, install=False)
    left = file.read_text(encoding="utf-8")
    assert added.strip() in left
    assert "memoriter" not in left
    assert not file.with_name(file.name + BACKUP).exists()


@pytest.mark.parametrize("client", LOST)
def test_the_backup_stays_if_the_file_lacks_something_of_it(tmp_path: Path, client: ClientName) -> None:
    original, text, changed = LOST[client]
    file = edit(tmp_path, client, original, install=True)
    content = file.read_text(encoding="utf-8")
    assert content.count(text) == 1
    file.write_text(content.replace(text, changed), encoding="utf-8")
    edit(tmp_path, client, install=False)
    assert file.with_name(file.name + BACKUP).read_text(encoding="utf-8") == original


def test_the_backup_stays_if_the_file_is_not_restored_to_the_byte(tmp_path: Path) -> None:
    file = edit(tmp_path, "cursor", TEXTS["cursor"], install=True)
    file.write_text(file.read_text(encoding="utf-8").replace('"a": 1', '"a": 2'), encoding="utf-8")
    edit(tmp_path, "cursor", install=False)
    assert parse(file.read_text(encoding="utf-8"), "f")["a"] == 2
    backup = file.with_name(file.name + BACKUP)
    assert backup.read_text(encoding="utf-8") == TEXTS["cursor"]
    edit(tmp_path, "cursor", TEXTS["cursor"], install=True)
    edit(tmp_path, "cursor", install=False)
    assert not backup.exists()


def test_null_gives_way_to_an_object_or_a_list() -> None:
    assert put('{"a": null}', ("a", "b", "c"), 1) == '{"a": {"b": {"c": 1}}}'
    assert append('{"a": null}', ("a",), 1) == '{"a": [1]}'
