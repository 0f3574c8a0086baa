"""Edits of files that other programs and people write change nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memoriter.errors import ConfigError, WriteConflict
from memoriter.installation import FileEdit, Launch, Machine, apply, changes
from memoriter.installation._places import server_files
from memoriter.installation._toml_text import put as put_toml
from memoriter.installation._toml_text import remove as remove_toml
from memoriter.installation._yaml_text import put as put_yaml
from memoriter.installation._yaml_text import read as read_yaml
from memoriter.installation._yaml_text import remove as remove_yaml
from memoriter.json_text import append, comments, parse, put, remove

LAUNCH = Launch(("/opt/my tools/memoriter",), ("--agent", "main"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
OBJECTS = st.dictionaries(st.text(), VALUES)


@st.composite
def json_texts(draw: Any) -> str:
    """Return a JSON object in one of the layouts that programs write."""
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":")])) if indent is None else None
    text = json.dumps(draw(OBJECTS), indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    line = draw(st.sampled_from(["\n", "\r\n"]))
    return text.replace("\n", line) + draw(st.sampled_from(["", line]))


@pytest.mark.slow
@given(json_texts(), st.text(), st.text(), VALUES)
def test_what_is_put_into_json_is_there_and_taking_it_out_gives_every_byte_back(
    text: str, outer: str, inner: str, value: Any
) -> None:
    before = json.loads(text)
    assume(isinstance(before.get(outer, {}), dict) and before.get(outer) != {} and inner not in before.get(outer, {}))
    changed = put(text, (outer, inner), value)
    assert json.loads(changed) == {**before, outer: {**before.get(outer, {}), inner: value}}
    assert put(changed, (outer, inner), value) == changed
    assert remove(changed, (outer, inner)) == text
    assert remove(text, (outer, inner)) == text


@pytest.mark.slow
@given(json_texts(), st.text(), VALUES)
def test_an_item_is_put_before_the_others_of_a_list(text: str, key: str, value: Any) -> None:
    before = json.loads(text)
    held = before.get(key, [])
    assume(isinstance(held, list) and (held or key not in before))
    changed = append(text, (key,), value)
    assert json.loads(changed) == {**before, key: [*held, value]}
    assert remove(changed, (key, len(held))) == text


@pytest.mark.slow
@given(json_texts(), st.data())
def test_a_member_anywhere_can_be_replaced(text: str, data: st.DataObject) -> None:
    before = json.loads(text)
    assume(before)
    key = data.draw(st.sampled_from(sorted(before)))
    value = data.draw(VALUES)
    assert json.loads(put(text, (key,), value)) == {**before, key: value}


GAPS = ["", "\n", "\n  ", "\r\n\t", ' /* c, } " */ ', '// d, ] "\n', " // e\r\n  "]
"""White space and comments between the parts of JSON."""
LEAVES = ["1", "null", '"a//b"', '",}"', '"q\\\\\\""', "[]", "{}", "[1, 2,]", '{"m": 1 /* n */,}']


@st.composite
def commented_texts(draw: Any) -> str:
    """Return a JSON object with comments, and with a comma after the last member."""

    def an_object(members: dict[str, str]) -> str:
        parts = [f'{gap()}"{key}"{gap()}:{gap()}{value}{gap()}' for key, value in members.items()]
        return f"{{{','.join(parts)}{',' if parts and draw(st.booleans()) else ''}{gap()}}}"

    def gap() -> str:
        return draw(st.sampled_from(GAPS)) + draw(st.sampled_from(GAPS))

    keys = st.sampled_from(["a", "b", "m//"])
    leaves = st.sampled_from(LEAVES)
    members = draw(st.dictionaries(keys, leaves, max_size=3))
    if draw(st.booleans()):
        members["servers"] = an_object(draw(st.dictionaries(keys, leaves, max_size=2)))
    return gap() + an_object(members) + gap()


@pytest.mark.slow
@settings(max_examples=60)
@given(commented_texts())
def test_comments_stay_when_an_entry_is_put_between_them_and_taken_out_again(text: str) -> None:
    before = parse(text, "f", comments=True)
    entry = {"command": "/x // y", "args": ["mcp"]}
    changed = put(text, ("servers", "memoriter"), entry)
    assert parse(changed, "f", comments=True) == {
        **before,
        "servers": {"memoriter": entry, **before.get("servers", {})},
    }
    assert put(changed, ("servers", "memoriter"), entry) == changed
    assert comments(changed) == comments(text)
    restored = remove(changed, ("servers", "memoriter"))
    assert comments(restored) == comments(text)
    assert parse(restored, "f", comments=True) | {"servers": {}} == before | {"servers": {}} or before == parse(
        restored, "f", comments=True
    )
    if before.get("servers") or (before and "servers" not in before):
        assert restored == text


YAML_VALUES = [
    "1",
    "~",
    "text",
    "'a: b # c'",
    '"q\\n"',
    "[a, b]",
    "{x: 1}",
    "",
    "{}",
    "|\n@  line # no\n@  two",
    "\n@- a\n@- b # c",
]
YAML_GAPS = ["", "", "", "\n", "@# comment: x\n", "# left\n"]


@st.composite
def yaml_texts(draw: Any) -> str:
    """Return a YAML mapping with comments, blocks, and values in one line."""

    def lines(indent: str, depth: int) -> str:
        text = ""
        for key in draw(st.lists(st.sampled_from(["alpha", "extensions", "b"]), min_size=1, unique=True)):
            text += draw(st.sampled_from(YAML_GAPS)).replace("@", indent)
            if depth and draw(st.booleans()):
                inner = indent + draw(st.sampled_from([" ", "  ", "    "]))
                text += f"{indent}{key}:{draw(st.sampled_from(['', ' # note']))}\n{lines(inner, depth - 1)}"
                continue
            value = draw(st.sampled_from(YAML_VALUES))
            end = "" if "\n" in value else draw(st.sampled_from(["", " # end"]))
            text += f"{indent}{key}: {value.replace('@', indent)}{end}\n"
        return text

    text = lines("", 2) + draw(st.sampled_from(YAML_GAPS)).replace("@", "")
    shorter = text.rstrip("\n")  # a block of text at the end would have another value
    text = shorter if draw(st.booleans()) and read_yaml(shorter, "f") == read_yaml(text, "f") else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@pytest.mark.slow
@settings(max_examples=60)
@given(yaml_texts())
def test_an_entry_is_put_into_yaml_and_taken_out_again_and_all_else_stays(text: str) -> None:
    before = read_yaml(text, "f")
    held = before.get("extensions") or {}
    assume(isinstance(held, dict))
    path = ("extensions", "memoriter")
    entry = {"cmd": "/x y", "args": ["-w", "é: x", "mcp"], "envs": {}, "timeout": 300}
    changed = put_yaml(text, "f", path, entry)
    assert read_yaml(changed, "f") == {**before, "extensions": {**held, "memoriter": entry}}
    assert put_yaml(changed, "f", path, entry) == changed
    assert changed.count("#") == text.count("#")
    shorter = put_yaml(changed, "f", path, {"cmd": "/z", "args": None})
    assert read_yaml(shorter, "f")["extensions"]["memoriter"] == {"cmd": "/z", "envs": {}, "timeout": 300}
    restored = remove_yaml(changed, "f", path)
    after = read_yaml(restored, "f")
    assert {**after, "extensions": after.get("extensions") or {}} == {**before, "extensions": held}
    if held and not text.lstrip().startswith("extensions: {"):
        assert restored in {text, f"{text}\n", f"{text}\r\n"}


@pytest.mark.parametrize("text", ["a: |\n  x", "a: >\n  x"])
def test_yaml_whose_last_block_of_text_would_get_a_line_end_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be edited safely"):
        put_yaml(text, "f", ("extensions", "memoriter"), {"cmd": "/x"})


TOMLS = [
    "",
    "a = 1\n",
    "# only a comment\n\n\n",
    '[mcp_servers.other]\ncommand = "x"\n\n# about the screen\n[tui]\ntheme = "[dark]"\n',
    "[mcp_servers]\n[mcp_servers.a]\ncommand = 'x'\n[zz]\nq = '''\n[mcp_servers.memoriter]\n'''\n",
    "mcp_servers.a.command = 'x'\n",
    "mcp_servers = { a = { command = 'x' } }\nb = 2\n",
    "[[rule]]\r\na = 1\r\n[[rule]]\r\na = 2\r\n",
]


@pytest.mark.parametrize("text", TOMLS)
@pytest.mark.parametrize("later", ["", "\n# mine\n[later]\nx = 1\n"])
def test_what_is_put_into_toml_comes_out_again_and_leaves_all_else_alone(text: str, later: str) -> None:
    import tomllib

    values = {"command": "/bin/memoriter", "args": ["mcp"], "env": {"A": "b"}}
    path = ("mcp_servers", "memoriter")
    changed = put_toml(text, "f", path, values)
    read = tomllib.loads(changed)
    assert read["mcp_servers"].pop("memoriter") == values
    assert {**tomllib.loads(text), "mcp_servers": {}} == {**read, "mcp_servers": {}} or read == tomllib.loads(text)
    assert put_toml(changed, "f", path, values) == changed
    assert remove_toml(changed, "f", path) == text
    after = remove_toml(changed + later, "f", path)
    assert tomllib.loads(after) == {**tomllib.loads(text), **tomllib.loads(later)}
    assert after.count("#") == (text + later).count("#")


def machine(folder: Path, platform: str = "linux", **environ: str) -> Machine:
    return Machine(folder, folder, environ, platform)


def install(folder: Path, launch: Launch = LAUNCH, *, on: bool = True) -> Any:
    made = changes("claude-code", launch, machine(folder), scope="user", install=on, hooks=True)
    apply(made, dry_run=False)
    return json.loads((folder / ".claude" / "settings.json").read_text(encoding="utf-8"))


def test_claude_code_gets_a_hook_for_each_event_beside_those_that_are_there(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    own = {"matcher": "startup", "hooks": [{"type": "command", "command": "echo memoriter"}]}
    text = json.dumps({"model": "x", "hooks": {"SessionStart": [own], "Notification": []}}, indent=4) + "\n"
    settings.write_text(text, encoding="utf-8")

    hooks = install(tmp_path)["hooks"]
    assert hooks["SessionStart"][0] == own  # Codex trusts hooks by their position
    lines = {event: groups[-1]["hooks"][0]["command"] for event, groups in hooks.items() if groups}
    program = "'/opt/my tools/memoriter' --agent main hook"
    assert lines == {
        "SessionStart": f"{program} session-start",
        "UserPromptSubmit": f"{program} user-prompt",
        "Stop": f"{program} stop",
        "PreCompact": f"{program} pre-compact",
    }
    assert install(tmp_path)["hooks"] == hooks

    moved = install(tmp_path, Launch(("/new/memoriter",)))["hooks"]
    hook = {"type": "command", "command": "/new/memoriter hook stop", "timeout": 30}
    assert moved["Stop"] == [{"hooks": [hook]}]
    install(tmp_path, on=False)
    assert settings.read_text(encoding="utf-8") == text


def test_a_hook_of_ours_in_a_group_with_others_goes_alone(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    ours, theirs = ({"type": "command", "command": line} for line in ("/x/memoriter hook stop", "say done"))
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [theirs, ours]}]}}), encoding="utf-8")
    assert install(tmp_path, on=False) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def test_no_file_is_written_where_one_of_them_is_wrong(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {"Stop": 5}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"hooks\.Stop is not a list"):
        install(tmp_path)
    assert not (tmp_path / ".claude.json").exists()


@pytest.mark.parametrize(
    ("client", "platform", "environ", "place"),
    [
        ("claude-code", "linux", {}, ".claude.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/elsewhere"}, "/elsewhere/.claude.json"),
        ("codex", "darwin", {}, ".codex/config.toml"),
        ("codex", "darwin", {"CODEX_HOME": "/elsewhere"}, "/elsewhere/config.toml"),
        ("cursor", "win32", {}, ".cursor/mcp.json"),
        ("gemini", "linux", {}, ".gemini/settings.json"),
        ("gemini", "darwin", {"GEMINI_CLI_HOME": "/elsewhere"}, "/elsewhere/.gemini/settings.json"),
        ("claude-desktop", "linux", {}, ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", {}, "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {}, "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {"APPDATA": "/r"}, "/r/Claude/claude_desktop_config.json"),
    ],
)
def test_every_client_is_looked_for_where_it_keeps_its_configuration(
    client: Any, platform: str, environ: dict[str, str], place: str
) -> None:
    home = Path("/home/somebody")
    assert server_files(client, machine(home, platform, **environ), "user")[0] == home / place


def test_on_windows_a_path_with_a_space_is_quoted_as_its_shell_wants() -> None:
    assert LAUNCH.hook("stop", windows=True) == '"/opt/my tools/memoriter" --agent main hook stop'


def test_a_file_that_its_program_writes_at_the_same_moment_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}", encoding="utf-8")

    def meanwhile(text: str) -> str:
        file.write_text('{"theirs": 1}', encoding="utf-8")
        return text + "\n"

    with pytest.raises(WriteConflict):
        apply([FileEdit(file, meanwhile, str)], dry_run=False)
    assert file.read_text(encoding="utf-8") == '{"theirs": 1}'


def test_a_member_that_is_there_twice_goes_twice() -> None:
    assert remove('{"s": {"m": 1, "a": 2, "m": 3}}', ("s", "m")) == '{"s": {"a": 2}}'
    assert remove('{"k": 0, "s": {"m": 1, "m": 3}}', ("s", "m")) == '{"k": 0}'
