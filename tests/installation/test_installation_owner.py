"""What the owner or another program has written stays: entries and hooks of other origin, null, and saves meanwhile."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomlkit
import yaml
from click.testing import CliRunner

from memoriter.cli import main
from memoriter.errors import WriteConflict
from memoriter.installation import HttpServer, Launch, Machine, apply, changes, foreign_entries
from memoriter.installation._entries import SERVERS_KEYS

if TYPE_CHECKING:
    from memoriter.installation import ClientName, FileEdit

LAUNCH = Launch(("/opt/memoriter",), ("--installed-for", "x@1"), {"MEMORITER_HOME": "/home/x"})
FOREIGN: dict[str, Any] = {
    "null": None,
    "object": {},
    "list": [],
    "text": "",
    "false": False,
    "number": 0,
    "command": {"command": "/usr/bin/other", "args": ["mcp"]},
    "wrapper": {"command": "uvx", "args": ["memoriter", "mcp"]},
    "address": {"url": "https://memory.example/mcp"},
}
JSON_CLIENTS: list[ClientName] = ["claude-code", "gemini", "opencode", "cursor", "vscode", "zed", "amp"]


def edits_of(
    folder: Path, client: ClientName, *, install: bool, launch: Launch = LAUNCH, hooks: bool = True
) -> list[FileEdit]:
    return changes(client, launch, machine(folder), scope="user", install=install, hooks=hooks)


def machine(folder: Path) -> Machine:
    return Machine(folder, folder, {}, "linux")


def write(folder: Path, client: ClientName, text: str) -> Path:
    """Write the file of servers of a client, and return its path."""
    file = edits_of(folder, client, install=False)[0].file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def named_memoriter(client: ClientName, entry: Any) -> str:
    """Return the file of a client with an entry of memoriter's name."""
    content = {SERVERS_KEYS.get(client, "mcpServers"): {"memoriter": entry}}
    if client == "codex":
        return tomlkit.dumps(content)
    return yaml.safe_dump(content) if client == "goose" else json.dumps(content)


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("client", [*JSON_CLIENTS, "codex", "goose"])
def test_an_entry_of_memoriters_name_that_memoriter_did_not_write_stays(
    tmp_path: Path, client: ClientName, kind: str
) -> None:
    if (client, kind) == ("codex", "null"):
        pytest.skip("TOML has no null")
    text = named_memoriter(client, FOREIGN[kind])
    file = write(tmp_path, client, text)
    assert {outcome.kind for outcome in apply(edits_of(tmp_path, client, install=False), dry_run=False)} == {
        "unchanged"
    }
    assert file.read_text(encoding="utf-8") == text
    assert foreign_entries(client, machine(tmp_path), "user") == [file]


@pytest.mark.parametrize(
    "launch",
    [
        LAUNCH,
        Launch(("memoriter",)),
        Launch(("/usr/bin/python3", "-m", "memoriter")),
        Launch(("C:\\Programs\\memoriter.exe",)),
        Launch(("memoriter",), remote=HttpServer("http://127.0.0.1:8377/mcp", "t0ken")),
    ],
)
@pytest.mark.parametrize("client", [*JSON_CLIENTS, "codex", "goose"])
def test_each_form_of_an_own_entry_goes_also_with_additions_of_the_owner(
    tmp_path: Path, client: ClientName, launch: Launch
) -> None:
    apply(edits_of(tmp_path, client, install=True, launch=launch, hooks=False), dry_run=False)
    file = edits_of(tmp_path, client, install=False)[0].file
    assert foreign_entries(client, machine(tmp_path), "user") == []
    if client not in {"codex", "goose"}:
        content = json.loads(file.read_text(encoding="utf-8"))
        content[SERVERS_KEYS.get(client, "mcpServers")]["memoriter"]["disabled"] = True
        file.write_text(json.dumps(content), encoding="utf-8")
    assert apply(edits_of(tmp_path, client, install=False), dry_run=False)[0].kind == "deleted"
    assert not file.exists()


@pytest.mark.parametrize("servers", ["memoriter", ["memoriter"], 3, []])
@pytest.mark.parametrize("client", ["cursor", "codex", "goose"])
def test_a_removal_leaves_servers_of_another_type(tmp_path: Path, client: ClientName, servers: Any) -> None:
    content = {SERVERS_KEYS.get(client, "mcpServers"): servers}
    if client == "codex":
        text = tomlkit.dumps(content)
    else:
        text = yaml.safe_dump(content) if client == "goose" else json.dumps(content)
    file = write(tmp_path, client, text)
    apply(edits_of(tmp_path, client, install=False), dry_run=False)
    assert file.read_text(encoding="utf-8") == text


def test_the_command_names_the_entry_that_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE", "MEMORITER_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "cursor", '{"mcpServers": {"memoriter": null}}')
    sentence = "The entry memoriter does not start this program, so it stays."
    done = CliRunner().invoke(main, ["install", "cursor", "--remove"])
    assert (done.exit_code, sentence in done.stdout) == (0, True)
    done = CliRunner().invoke(main, ["--json", "install", "cursor", "--remove"])
    assert (done.exit_code, sentence in done.stderr) == (0, True)
    assert json.loads(done.stdout)["files"][0]["outcome"] == "unchanged"


COMMANDS = ["cd ~/src/memoriter && ./hook stop", "tee ~/.memoriter; my-hook stop", "/opt/not-memoriter hook stop"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hook_that_only_mentions_memoriter_stays(tmp_path: Path, command: str) -> None:
    own = {"matcher": "x", "hooks": [{"type": "command", "command": command}]}
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"Stop": [own, None, {"hooks": None}, 3], "PreCompact": None}}))
    before = settings.read_bytes()
    capturing = changes("claude-code", LAUNCH, machine(tmp_path), scope="user", install=True, hooks=True, capture=True)
    apply(capturing, dry_run=False)
    assert json.loads(settings.read_bytes())["hooks"]["Stop"][0] == own
    assert len(json.loads(settings.read_bytes())["hooks"]["Stop"]) == 5
    apply(edits_of(tmp_path, "claude-code", install=False), dry_run=False)
    assert settings.read_bytes() == before


@pytest.mark.parametrize(
    "launch",
    [
        Launch(("/opt/it's here; & there/memoriter",), ("--workspace", "/a; b|c & 'd'")),
        Launch(("/usr/bin/python3", "-m", "memoriter"), (), {"MEMORITER_HOME": "/a;b"}),
    ],
)
@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_own_hooks_go_whatever_characters_their_paths_have(tmp_path: Path, launch: Launch, platform: str) -> None:
    place = Machine(tmp_path, tmp_path, {}, platform)
    for install in (True, False):
        apply(changes("claude-code", launch, place, scope="user", install=install, hooks=True), dry_run=False)
    assert not (tmp_path / ".claude" / "settings.json").exists()


@pytest.mark.parametrize("added", ['"theme": null', '"list": []', '"x": {}'])
@pytest.mark.parametrize("original", [None, '{"a": 1}'])
def test_an_empty_value_that_the_owner_has_added_since_stays(tmp_path: Path, original: str | None, added: str) -> None:
    file = edits_of(tmp_path, "cursor", install=True)[0].file
    if original:
        write(tmp_path, "cursor", original)
    apply(edits_of(tmp_path, "cursor", install=True), dry_run=False)
    file.write_text(file.read_text(encoding="utf-8").replace("{", "{" + added + ",", 1), encoding="utf-8")
    apply(edits_of(tmp_path, "cursor", install=False), dry_run=False)
    expected = json.loads(original or "{}") | json.loads("{" + added + "}")
    assert json.loads(file.read_text(encoding="utf-8")) == expected


def test_a_save_of_the_client_between_reading_and_writing_stays(tmp_path: Path) -> None:
    file = write(tmp_path, "cursor", '{"a": 1}')
    (edit,) = edits_of(tmp_path, "cursor", install=True)

    def edit_while_the_client_saves(text: str) -> str:
        file.write_text('{"a": 2}', encoding="utf-8")
        return edit.edit(text)

    with pytest.raises(WriteConflict):
        apply([replace(edit, edit=edit_while_the_client_saves)], dry_run=False)
    assert file.read_text(encoding="utf-8") == '{"a": 2}'


def test_a_file_that_the_client_saves_just_before_its_removal_stays(tmp_path: Path) -> None:
    apply(edits_of(tmp_path, "cursor", install=True), dry_run=False)
    file = edits_of(tmp_path, "cursor", install=False)[0].file
    saves = [file.with_name("saved")]
    saves[0].write_text('{"mcpServers": {"new": {"command": "x"}}}', encoding="utf-8")

    def save(event: str, arguments: tuple[Any, ...]) -> None:
        if saves and event in {"os.remove", "os.rename"} and Path(str(arguments[0])).name == file.name:
            saves.pop().replace(file)

    sys.addaudithook(save)
    with pytest.raises(WriteConflict):
        apply(edits_of(tmp_path, "cursor", install=False), dry_run=False)
    assert not saves
    assert json.loads(file.read_text(encoding="utf-8")) == {"mcpServers": {"new": {"command": "x"}}}


@pytest.mark.parametrize("missing", [True, False])
def test_a_link_into_a_folder_of_dotfiles_stays_and_its_target_is_written(tmp_path: Path, *, missing: bool) -> None:
    target = tmp_path / "dotfiles" / "cursor.json"
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.symlink_to("../dotfiles/cursor.json")
    if not missing:
        target.parent.mkdir()
        target.write_text('{"a": 1}', encoding="utf-8")
    apply(edits_of(tmp_path, "cursor", install=True), dry_run=False)
    assert "memoriter" in json.loads(target.read_text(encoding="utf-8"))["mcpServers"]
    apply(edits_of(tmp_path, "cursor", install=False), dry_run=False)
    assert file.readlink() == Path("../dotfiles/cursor.json")
    assert not target.exists() if missing else target.read_text(encoding="utf-8") == '{"a": 1}'
