"""docs/reference/json.md has every field of the JSON of commands, tools and operations, and no other.

`just docs` writes it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import pytest

import memoriter
from json_fields import (
    COMMANDS,
    EVENTS,
    NAME,
    OBJECTS,
    TOOLS,
    check,
    differences,
    linked,
    type_of_answer,
)
from memoriter import Memory
from memoriter.cli import main
from memoriter.tools import TOOLS as AGENT_TOOLS
from memoriter.watch._watch import WatchKind
from memoriter.web import all_operations, all_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Program
    from memoriter.answers import FieldRow, ObjectTable

PAGE = Path(memoriter.__file__).parents[2] / "docs" / "reference" / "json.md"
INTRODUCTION = """\
# JSON

<!-- `just docs` writes this page. -->

Every command accepts `--json`, and the [HTTP API](http.md) and the tools of agents answer with the same objects. `[]`
after a type is a list. A field with `?` is missing if there is nothing to say, or when its line says so. New versions
may add fields, so ignore those that you do not know.

A command that fails prints `{"error": …}` with an [Error](#error). Its exit code is 1, or 2 if you must change the
request. The HTTP API answers with a [Problem](#problem); [its page](http.md#operations) says what its operations and
events have. The [codes](errors.md) are stable; messages may change.
"""
SETTINGS = """{
  agents: {defaults: {memorySearch: {provider: "fake"}}}, plugins: {slots: {memory: ["memory-core", "memory-lancedb"]}},
}"""
FIELDS_OF = re.compile(r"the fields of \[(\w+)\]")
PASSAGE = "memory/2026-02-10.md#L3"


def answers(lines: str) -> str:
    pairs = [line.split(" | ") for line in lines.strip().split("\n")]
    return "\n".join(f"- `{name}`: {linked(answer)}" for name, answer in pairs)


def operations() -> str:
    return "\n".join(f"{each.method} {each.path} | {type_of_answer(each.answer)}" for each in all_operations().values())


def shown_type(text: str) -> str:
    """Return a type as the page shows it."""
    if "|" in text:
        return "/".join(f"`{value}`" for value in text.split("|"))
    return linked(text.replace("share", "number"))


def field_line(row: FieldRow) -> str:
    absent = f"; missing {row.absent}" if row.absent not in ("", "if none") else ""
    return f"- `{row.name}{'?' if row.absent else ''}` {shown_type(row.type)}: {row.meaning}{absent}"


def object_part(table: ObjectTable) -> str:
    inherited = FIELDS_OF.search(table.text)
    known = OBJECTS[inherited[1]].fields if inherited else ()
    fields = "\n".join(field_line(row) for row in table.fields if row not in known)
    return f"### {table.name}\n\n{linked(table.text)}\n\n{fields}".rstrip()


def page() -> str:
    """Return the page of all fields."""
    parts = [
        INTRODUCTION.strip(),
        "## Commands",
        answers(COMMANDS),
        "## Tools of agents",
        answers(TOOLS),
        "## Objects",
        *(object_part(table) for table in OBJECTS.values()),
    ]
    return "\n\n".join(parts) + "\n"


def test_the_page_is_that_of_the_tables() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `just docs`."


def leaves(group: click.Group, before: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, f"{before}{name} ")
            if name == "token":
                yield f"{before}{name}"
        else:
            yield f"{before}{name}"


def test_every_command_tool_and_operation_has_its_answer() -> None:
    assert isinstance(main, click.Group)
    assert sorted(line.split(" | ")[0] for line in COMMANDS.strip().split("\n")) == sorted(leaves(main))
    assert [line.split(" | ")[0] for line in TOOLS.strip().split("\n")] == [tool.name for tool in AGENT_TOOLS]
    named = {name for text in (COMMANDS, TOOLS, EVENTS, operations()) for name in NAME.findall(text)}
    assert named <= OBJECTS.keys()


def test_every_event_of_the_watcher_is_on_the_page_and_in_the_description_of_the_api() -> None:
    names = {line.split(" | ")[0] for line in EVENTS.strip().split("\n")}
    described = (PAGE.parent / "http.md").read_text(encoding="utf-8").split("\n## Events\n")[1].split("\n## ")[0]

    assert set(get_args(WatchKind)) <= names
    assert all(f"`{name}`" in described for name in names)
    assert all(linked(f"[{name}]", "json.md") in described for name in NAME.findall(EVENTS))


def test_every_object_is_reached_from_an_answer() -> None:
    reached = {"Error", "Problem"}
    rest = NAME.findall(COMMANDS + TOOLS + EVENTS + operations())
    while rest:
        name = rest.pop()
        if name not in reached:
            reached.add(name)
            table = OBJECTS[name]
            rest += NAME.findall(" ".join([table.text, *(row.type for row in table.fields)]))
    assert OBJECTS.keys() - reached - {"FieldError"} == set()


def test_the_description_of_the_api_has_the_fields_of_the_page() -> None:
    for name, schema in all_schemas().items():
        rows = [row for row in OBJECTS[name].fields if not row.meaning.endswith("command line only")]
        assert [*schema["properties"]] == [row.name for row in rows]
        assert {*schema["required"]} >= {row.name for row in rows if not row.absent}
    assert "text" in all_schemas()["Hit"]["required"], "it is absent from the answers of tools alone"


@pytest.mark.parametrize("tool", AGENT_TOOLS, ids=lambda tool: tool.name)
def test_the_page_has_the_fields_of_the_schema_of_a_tool(tool: Any) -> None:
    (line,) = [line for line in TOOLS.strip().split("\n") if line.startswith(tool.name)]
    known = {row.name for name in NAME.findall(line) for row in OBJECTS[name].fields}
    assert tool.output_schema["properties"].keys() - known == set()


COMMAND_LINES = (
    ("search --explain PostgreSQL", "[SearchResult]"),
    ("search zebra -n 1", "[SearchResult]"),
    ("search --explain -n 3 'lex: ledger\nvec: which database'", "[SearchResult]"),
    ("get MEMORY.md", "[Excerpt]"),
    ("get memory/none.md", "[Excerpt]"),
    ("get ../outside.md", "[Refusal]"),
    (f"why-not router {PASSAGE}", "[WhyNot]"),
    (f"why-not coffee {PASSAGE} --min-score 0.9", "[WhyNot]"),
    ("remember 'Tea is in the kitchen.'", "[Appended]"),
    ("remember 'Tea is in the kitchen.'", "[Appended]"),
    ("index --dry-run", "[Estimate]"),
    ("index", "[IndexReport]"),
    ("forget MEMORY.md#L4 --dry-run", "[ForgetPlan]"),
    ("forget MEMORY.md#L4 --yes", "[Receipt]"),
    ("capture list", "[Captures]"),
    ("status --deep", "list of [Status]"),
    ("cost", "[Cost]"),
    ("compact", "[CompactReport]"),
    ("config get query.maxResults", "[Setting]"),
    ("config set query.maxResults 7", "[SettingChanged]"),
    ("config unset query.maxResults", "[SettingChanged]"),
    ("config check", "[ConfigCheck]"),
    ("token", "[Token]"),
    ("token create dashboard", "[NewToken]"),
    ("token list", "list of [ListedToken]"),
    ("token revoke dashboard", "[Revoked]"),
    ("doctor", "[Checks]"),
    ("install claude-code --dry-run", "[Installation]"),
)
LONG_TERM_LINES = (
    ("ltm list", "list of [Memory]"),
    ("ltm search tea", "[FoundMemories]"),
    ("ltm store 'I prefer tea to coffee.'", "[StoredMemory]"),
    ("ltm stats", "[MemoryStats]"),
    ("ltm rebuild", "[Rebuilt]"),
    ("ltm inbox", "list of [Candidate]"),
    ("ltm trust review", "list of [Memory]"),
    ("ltm forget 'I prefer tea to coffee.' --yes", "[ForgottenMemories]"),
)


def answer_of(program: Program, line: str) -> Any:
    words = shlex.split(line)
    outcome = program("-w", str(program.workspace), *words, "--json")
    assert outcome.out, outcome
    return outcome.json


@pytest.mark.slow
def test_the_answers_of_commands_are_those_of_the_page(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(program.home))
    for line, type_text in COMMAND_LINES:
        check(answer_of(program, line), type_text)
    shown = answer_of(program, "config show")
    assert shown
    for value in shown.values():
        check(value, "[SettingValue]")
    indexes = answer_of(program, "store list")
    check(indexes, "list of [StoredIndex]")
    check(answer_of(program, f"store drop {indexes[0]['name']} --yes"), "[DroppedIndex]")
    folder = str(program.workspace)
    check(answer_of(program, f"trust {folder}"), "list of [Trusting]")
    check(program("trust", "--list", "--json").json, "list of [TrustedFolder]")
    check(answer_of(program, f"trust --remove {folder}"), "list of [Trusting]")
    check(answer_of(program, "config get no.such.setting")["error"], "[Error]")


@pytest.mark.slow
def test_the_answers_about_imports_and_exports_are_those_of_the_page(program: Program, tmp_path: Path) -> None:
    vault = tmp_path / "Vault"
    vault.mkdir()
    for name, text in {"tea.md": "# Tea\n\nGreen.\n", "rain.md": "# Rain\n\nOften.\n", "empty.md": ""}.items():
        (vault / name).write_text(text, encoding="utf-8")
    planned = answer_of(program, f"import obsidian {vault} --dry-run")
    check(planned, "[ImportReport]")
    assert planned["samples"]
    done = answer_of(program, f"import obsidian {vault}")
    check(done, "[ImportReport]")
    assert done["reasons"]
    (note, _) = sorted((program.workspace / "memory" / "imported").rglob("*.md"))
    note.write_text(note.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    listed = answer_of(program, "import --list")
    check(listed, "[Imports]")
    assert listed["imports"]
    undone = answer_of(program, f"import --undo {done['id']} --yes")
    check(undone, "[ImportUndone]")
    assert all(undone[name] for name in ("removed", "kept"))
    check(answer_of(program, f"export {tmp_path / 'notes.zip'}"), "[Exported]")


@pytest.mark.slow
def test_the_answers_about_long_term_memories_are_those_of_the_page(program: Program) -> None:
    (program.home / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")
    check(answer_of(program, "ltm store 'I prefer tea to coffee.'"), "[StoredMemory]")
    for line, type_text in LONG_TERM_LINES:
        check(answer_of(program, line), type_text)


def test_the_answers_of_tools_are_those_of_the_page(program: Program) -> None:
    search, get, append = AGENT_TOOLS
    with Memory.open(program.workspace, home=program.home) as memory:
        check(search.run(memory, {"query": "PostgreSQL"}), "[SearchResult]")
        check(search.run(memory, {}), "[Unavailable]")
        check(get.run(memory, {"path": "MEMORY.md"}), "[Excerpt]")
        check(get.run(memory, {"path": "../outside.md"}), "[Refusal]")
        check(append.run(memory, {"text": "Tea is in the kitchen."}), "[AgentEntry]")
        check(append.run(memory, {"text": "Tea is in the kitchen."}), "[AgentEntry]")
        check(append.run(memory, {}), "[NotWritten]")


def test_a_field_that_is_missing_on_the_page_or_in_an_answer_is_noticed() -> None:
    reason = {"code": "stale", "message": "It changed.", "remedy": ""}
    assert list(differences(reason, "[Reason]", "it")) == []
    assert list(differences({**reason, "more": 1}, "[Reason]", "it")) == ["it.more is not on the page"]
    assert list(differences({"code": "stale", "message": 1}, "[Reason]", "it")) == [
        "it.remedy is missing",
        "it.message: 1 instead of text",
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
