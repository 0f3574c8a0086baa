"""Any folder of Markdown notes is a memory, and an OpenClaw workspace is what it was."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Program

WRITERS = 8


def lay(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {number}\n\nThe zeppelin number {number} flies over {file.stem}.\n", encoding="utf-8")
    return folder


def found(program: Program, *words: str, query: str = "zeppelin") -> list[str]:
    answer = program(*words, "search", query, "-n", "50", "--min-score", "0", "--json")
    assert answer.exit_code == 0, answer.err
    return sorted({hit["path"] for hit in answer.json["results"]})


def test_all_markdown_of_a_named_folder_is_searched_except_hidden_ignored_and_deleted_files(
    program: Program, tmp_path: Path
) -> None:
    vault = lay(
        tmp_path / "vault", "a.md", "deep/er/b.md", ".hidden/c.md", ".trash/d.md", "node_modules/e.md", "drafts/f.md"
    )
    (vault / ".memoryignore").write_text("drafts/\n", encoding="utf-8")
    (vault / "picture.png").write_bytes(b"zeppelin")

    assert found(program, "-w", str(vault)) == ["a.md", "deep/er/b.md"]
    status = program("-w", str(vault), "status", "--json").json[0]
    assert (status["layout"], status["files"]) == ("notes", 2)
    assert all(skipped["path"] != "picture.png" for skipped in status["skipped"])
    assert "zeppelin" in program("-w", str(vault), "get", "deep/er/b.md").out


def test_many_first_entries_at_once_are_all_kept_in_a_folder_whose_layout_becomes_a_setting(
    program: Program, tmp_path: Path
) -> None:
    folder = lay(tmp_path / "vault", "a.md")
    begin = Barrier(WRITERS)

    def remember(number: int) -> None:
        with Memory.open(folder, home=program.home) as memory:
            begin.wait()
            memory.remember(f"The zeppelin number {number} has landed.")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(remember, range(WRITERS)))

    (note,) = (folder / "memory").iterdir()
    assert sorted(re.findall(r"number (\d+) has", note.read_text(encoding="utf-8"))) == sorted(map(str, range(WRITERS)))
    assert program("-w", str(folder), "status", "--json").json[0]["layout"] == "notes"


@pytest.mark.parametrize(
    ("names", "layout"),
    [
        (("a.md", "b.markdown", "c.mdx", "deep/2026-02-10.txt", "d.log", "e.TXT"), "notes"),
        (("MEMORY.md", "memory/b.markdown", "memory/c.mdx", "memory/2026-02-10.txt", "memory/d.log"), "openclaw"),
        (("memory/b.markdown", "memory/c.mdx", "memory/2026-02-10.txt"), "openclaw"),
        (("b.markdown", "c.mdx", "2026-02-10.txt"), "notes"),
    ],
)
def test_other_suffixes_are_notes_once_a_setting_names_them(
    program: Program, tmp_path: Path, names: tuple[str, ...], layout: str
) -> None:
    folder = lay(tmp_path / "folder", *names)
    here = ("-w", str(folder))
    markdown = [name for name in names if name.endswith(".md")]
    assert found(program, *here) == markdown

    assert program(*here, "config", "set", "extraSuffixes", ".markdown", ".txt", "--here").exit_code == 0
    notes = sorted(name for name in names if name.lower().endswith((".md", ".markdown", ".txt")))
    assert found(program, *here) == notes
    assert found(program, *here, query="zeppelin since:2026-02-10 until:2026-02-10") == [
        name for name in notes if "2026-02-10" in name
    ]
    status = program(*here, "status", "--json").json[0]
    assert (status["layout"], status["files"]) == (layout, len(notes))
    text = next(name for name in notes if name.endswith(".txt"))
    assert program(*here, "get", f"{text}:3").out.startswith("The zeppelin number")
    assert program(*here, "get", next(name for name in names if name.endswith(".mdx"))).exit_code == 2
    assert program(*here, "forget", f"{text}:3", "--yes").exit_code == 0
    assert "zeppelin" not in (folder / text).read_text("utf-8")

    assert program(*here, "config", "unset", "extraSuffixes", "--here").exit_code == 0
    assert found(program, *here) == markdown


def test_files_with_other_suffixes_count_among_those_outside_the_memory(program: Program, tmp_path: Path) -> None:
    folder = lay(tmp_path / "folder", "MEMORY.md", "a.md", "b.txt")
    here = ("-w", str(folder))
    assert "1 Markdown file is not memory" in program(*here, "status").err
    program(*here, "config", "set", "extraSuffixes", ".txt", "--here")
    assert "2 files are not memory" in program(*here, "status").err
    assert (
        "must be '.markdown', '.mdx' or '.txt'"
        in program(*here, "config", "set", "extraSuffixes", ".pdf", "--here").err
    )


def test_an_entry_does_not_hide_the_notes_of_a_folder(program: Program, tmp_path: Path) -> None:
    vault = lay(tmp_path / "vault", "a.md", "b.md")
    for words in (("remember", "The zeppelin landed."), ("remember", "--to", "long-term", "Zeppelins are airships.")):
        kept = program("-w", str(vault), *words)
        assert str(vault) in kept.out

    daily = next(path.name for path in (vault / "memory").iterdir())
    assert found(program, "-w", str(vault)) == ["MEMORY.md", "a.md", "b.md", f"memory/{daily}"]
    assert json.loads((vault / ".memoriter.json5").read_text("utf-8")) == {"memory": {"layout": "notes"}}


def test_an_obsidian_vault_stays_one_without_a_file_of_settings(program: Program, tmp_path: Path) -> None:
    vault = lay(tmp_path / "vault", "a.md", "memory/old.md", "MEMORY.md")
    (vault / ".obsidian").mkdir()
    program("-w", str(vault), "remember", "The zeppelin landed.")

    assert not (vault / ".memoriter.json5").exists()
    assert {"MEMORY.md", "a.md", "memory/old.md"} < set(found(program, "-w", str(vault)))


def test_settings_that_a_folder_has_keep_their_comments_when_the_first_entry_is_written(
    program: Program, tmp_path: Path
) -> None:
    vault = lay(tmp_path / "vault", "a.md")
    (vault / ".memoriter.json5").write_text("// mine\n{\n  memory: { citations: 'on' }, // why\n}\n", encoding="utf-8")
    program("-w", str(vault), "remember", "The zeppelin landed.")

    text = (vault / ".memoriter.json5").read_text("utf-8")
    assert text == "// mine\n{\n  memory: { layout: \"notes\", citations: 'on' }, // why\n}\n"
    assert "a.md" in found(program, "-w", str(vault))


def test_an_openclaw_workspace_keeps_its_rule_and_names_what_lies_outside(program: Program, tmp_path: Path) -> None:
    claw = lay(tmp_path / "claw", "MEMORY.md", "memory/2026-01-01.md", "AGENTS.md", "docs/plan.md", "ideas.md")
    where = ("-w", str(claw))

    assert found(program, *where) == ["MEMORY.md", "memory/2026-01-01.md"]
    empty = program(*where, "search", "xylophone", "--min-score", "1")
    for text in (program(*where, "status").err, program(*where, "doctor").out, empty.out):
        assert "2 Markdown files are not memory" in " ".join(text.split())
    (reason,) = [
        each for each in program(*where, "status", "--json").json[0]["notices"] if each["code"] == "notes_outside"
    ]
    command = reason["remedy"].split("`")[1].split()[1:]
    assert program(*command).exit_code == 0
    assert "docs/plan.md" in found(program, *where)
    assert "not memory" not in program(*where, "status").err


@pytest.mark.parametrize("marker", [".obsidian", ".memoriter.json5"])
def test_the_current_folder_is_the_memory_if_it_is_marked(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    vault = lay(tmp_path / "vault", "deep/a.md")
    (vault / marker).mkdir() if marker == ".obsidian" else (vault / marker).touch()
    monkeypatch.chdir(vault / "deep")

    assert found(program) == ["deep/a.md"]
    assert "notes_found" not in program("search", "zeppelin", "--json").out


def test_the_current_folder_is_the_memory_if_it_plainly_holds_notes_and_that_is_said(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = lay(tmp_path / "vault", *(f"n{number}.md" for number in range(5)))
    monkeypatch.chdir(vault)

    assert len(found(program)) == 5
    answer = program("search", "zeppelin")
    assert f"The memory is the Markdown files of '{vault}'" in answer.err
    (vault / "n4.md").unlink()
    assert "vault" not in program("config", "path", "--json").json["workspace"]


def test_a_repository_with_notes_is_a_memory_and_one_with_a_readme_is_none(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = lay(tmp_path / "project", "README.md", "src/CHANGELOG.md")
    (project / ".git").mkdir()
    monkeypatch.chdir(project / "src")
    assert program("config", "path", "--json").json["workspaceReason"] == "default"

    lay(project, "notes/airships.md")
    assert program("config", "path", "--json").json["workspace"] == str(project)
    assert "notes/airships.md" in found(program)


def test_a_folder_memory_without_markdown_makes_no_workspace(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernel" / "memory").mkdir(parents=True)
    (tmp_path / "kernel" / "memory" / "alloc.c").touch()
    monkeypatch.chdir(tmp_path / "kernel")

    assert program("config", "path", "--json").json["workspaceReason"] == "default"


def test_agents_do_not_take_a_repository_that_they_work_in_for_their_memory(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoriter import Memory

    project = lay(tmp_path / "project", *(f"n{number}.md" for number in range(9)))
    (project / ".git").mkdir()
    monkeypatch.chdir(project)
    with Memory.open() as memory:
        assert memory.place.reason == "default"
    context = program("hook", "session-start", typed=json.dumps({"session_id": "s", "cwd": str(project)}))
    assert "zeppelin" not in context.out


def test_the_daily_note_has_the_path_of_the_settings_everywhere(program: Program, tmp_path: Path) -> None:
    vault = lay(tmp_path / "vault", "a.md")
    where = ("-w", str(vault))
    assert program(*where, "config", "set", "dailyNote", "Daily/%Y/%m/%Y-%m-%d.md", "--here").exit_code == 0
    citation = program(*where, "remember", "The zeppelin landed.", "--json").json["citation"]

    assert citation.startswith("Daily/2")
    assert citation.partition("#")[0] in found(program, *where)
    context = program(*where, "hook", "session-start", typed=json.dumps({"session_id": "s", "cwd": str(vault)}))
    assert "The zeppelin landed." in context.out


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("../%Y-%m-%d.md", "below the folder"),
        ("/tmp/%Y-%m-%d.md", "below the folder"),
        ("%Y-%m-%d.txt", "must end in .md"),
        ("today.md", "must name the day"),
        ("%Y-%m.md", "must name the day"),
        ("%Y-%m-%d %H.md", "'%H' is no date code"),
        (".hidden/%Y-%m-%d.md", "no hidden part"),
    ],
)
def test_a_daily_note_that_is_not_possible_is_refused(program: Program, pattern: str, why: str) -> None:
    refused = program("config", "set", "memory.dailyNote", pattern)

    assert refused.exit_code != 0
    assert why in refused.err
    assert "Nothing was written." in refused.err


def test_init_writes_settings_with_comments_once(program: Program, tmp_path: Path) -> None:
    folder = lay(tmp_path / "vault", "a.md")
    where = ("-w", str(folder))
    written = program(*where, "init")
    text = (folder / ".memoriter.json5").read_text("utf-8")

    assert (written.exit_code, written.out) == (0, f"{folder / '.memoriter.json5'} is written.\n")
    assert "// dailyNote:" in text
    assert program(*where, "config", "check").exit_code == 0
    again = program(*where, "init")
    assert (again.exit_code, "exists already" in again.err) == (2, True)
    assert (folder / ".memoriter.json5").read_text("utf-8") == text
    assert program(*where, "init", "--layout", "openclaw").exit_code == 0
    changed = (folder / ".memoriter.json5").read_text("utf-8")
    assert changed == text.replace('layout: "auto"', 'layout: "openclaw"')
    assert found(program, *where) == []
    assert program("-w", str(tmp_path / "nowhere"), "init").exit_code == 2


def test_one_setting_is_set_read_and_unset_and_the_comments_stay(program: Program) -> None:
    file = program.home / "memoriter.json5"
    before = """// my settings
{
  agents: {
    defaults: {
      memorySearch: {
        provider: 'fake', // no network
      },
    },
  },
}
"""
    file.write_text(before, encoding="utf-8")
    assert program("config", "get", "maxResults").out == "6\n"
    assert program("config", "set", "query.maxResults", "9").exit_code == 0
    assert "        query: {\n          maxResults: 9,\n        },\n" in file.read_text("utf-8")
    assert program("config", "get", "query.maxResults", "--json").json["value"] == 9
    assert program("config", "set", "agents.defaults.memorySearch.provider", "none").exit_code == 0
    assert 'provider: "none", // no network' in file.read_text("utf-8")
    program("config", "set", "provider", "fake")
    assert program("config", "unset", "maxResults").exit_code == 0
    assert file.read_text("utf-8") == before.replace("'fake'", '"fake"')
    assert "nothing was changed" in program("config", "unset", "maxResults").out


def test_a_value_that_is_not_the_one_in_force_is_named_when_it_is_set(program: Program) -> None:
    clamped = program("config", "set", "minScore", "7")
    assert (clamped.exit_code, clamped.err) == (
        0,
        "The value in force is 1.0: Lowest score of a hit (kept within 0..1).\n",
    )
    program("config", "set", "maxResults", "4", "--here")
    outvoted = program("config", "set", "maxResults", "9")
    own = program.workspace / ".memoriter.json5"
    assert outvoted.err.startswith(f"The value in force is 4, because {own}:")
    assert outvoted.err.endswith("takes precedence.\n")
    assert program("config", "set", "maxResults", "5", "--here").err == ""


def test_a_list_is_set_from_several_words_or_from_json(program: Program) -> None:
    for words in (("docs", "journal"), ('["docs", "journal"]',)):
        program("config", "set", "extraPaths", *words, "--here")
        shown = program("config", "get", "extraPaths", "--json").json["value"]
        assert [item["path"] for item in shown] == ["docs", "journal"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("set", "query.maxResults", "many"), "must be a whole number, not text"),
        (("set", "query.maxResults", "0"), "must be 1 or more"),
        (("set", "memorySearch.provider", "opnai"), "Perhaps you mean 'openai'"),
        (("set", "maxResult", "3"), "There is no setting 'maxResult'"),
        (("set", "memorySearch.enabled", "false", "--here"), "may not be set by"),
        (("set", "extraPaths", "../outside", "--here"), "leaves the workspace"),
        (("get", "apiKeys"), "There is no setting 'apiKeys'"),
    ],
)
def test_a_setting_that_is_not_possible_changes_nothing(program: Program, words: tuple[str, ...], message: str) -> None:
    before = (program.home / "memoriter.json5").read_bytes()
    refused = program("config", *words)

    assert refused.exit_code != 0
    assert message in refused.err
    assert (program.home / "memoriter.json5").read_bytes() == before
    assert not (program.workspace / ".memoriter.json5").exists()


def test_a_note_can_be_named_from_the_current_folder_but_one_of_the_memory_comes_first(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = lay(tmp_path / "vault", "a.md", "deep/b.md")
    lay(tmp_path / "deep", "b.md", "c.md")
    monkeypatch.chdir(tmp_path)
    start = ("-w", str(vault))

    assert "over a." in program(*start, "get", "vault/a.md#L3").out
    assert "over b." in program(*start, "get", "deep/b.md").out
    assert program(*start, "get", "deep/c.md").exit_code == 2
    (change,) = program(*start, "history", "vault/a.md#L3", "--json").json["changes"]
    (forgotten,) = program(*start, "forget", "vault/a.md#L3", "--dry-run", "--json").json["notes"]
    missed = program(*start, "why-not", "zeppelin", "vault/deep/b.md#L3", "--json").json
    assert (change["path"], forgotten["path"], missed["citation"]) == ("a.md", "a.md", "deep/b.md#L3")
