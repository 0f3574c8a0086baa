"""`memoriter import` and `memoriter export`, as a person uses them; and files that want to do harm."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import exports
from exports import DAY, FACT, SECRET, archive, chatgpt_conversation, written
from memoriter.extras import install_command
from odd_files import posix_only

if TYPE_CHECKING:
    from program import Program


def imported(program: Program) -> dict[str, str]:
    folder = program.workspace / "memory" / "imported"
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in folder.rglob("*.md")}


@pytest.mark.slow
def test_an_import_is_found_by_the_next_search_with_its_day_and_undone_by_its_id(
    program: Program, tmp_path: Path
) -> None:
    file = exports.chatgpt(tmp_path)
    done = program("import", "chatgpt", str(file))
    assert (done.exit_code, done.err) == (0, "")
    assert done.out.startswith(f"Added 2 notes to {program.workspace}.\nTo undo it: memoriter import --undo ")
    found = program("search", "which circuit for the greenhouse heater", "--on", DAY, "--json").json
    assert found["results"][0]["path"] == f"memory/imported/chatgpt/2025-03/{DAY}-greenhouse-heater-1.md"
    (row,) = program("import", "--list", "--json").json["imports"]
    assert row == {"id": done.out.split()[-1], "format": "chatgpt", "notes": 2, "records": 2, "edited": 0, "changed": 0}
    assert program("import", "--undo", row["id"]).exit_code == 2
    assert program("import", "--undo", row["id"], "--dry-run").out.startswith("Would remove 2 notes")
    assert program("import", "--undo", row["id"], "--yes").out == f"Removed 2 notes of the import {row['id']}.\n"
    assert not (program.workspace / "memory" / "imported").exists()
    assert program("search", "which circuit for the greenhouse heater", "--on", DAY, "--json").json["results"] == []


def test_of_a_conversation_the_branch_that_was_shown_is_kept(program: Program, tmp_path: Path) -> None:
    program("import", "chatgpt", str(exports.chatgpt(tmp_path)))
    text = imported(program)[f"chatgpt/2025-03/{DAY}-greenhouse-heater-1.md"]
    speakers = [line for line in text.splitlines() if line.startswith("## ")]
    assert speakers == [f"## {name}, {DAY} 12:30 UTC" for name in ("You", "ChatGPT", "You")]
    assert FACT in text
    assert "I do not know that" not in text
    assert "output of a program" not in text
    assert not {"\ue200", "\ue201"} & set(text)


def test_what_claude_remembers_of_a_project_has_the_title_of_the_project(program: Program, tmp_path: Path) -> None:
    program("import", "claude", str(exports.claude(tmp_path)))

    (text,) = [text for path, text in imported(program).items() if path.startswith("claude/memories/project")]

    assert 'title: "What Claude remembers of Garden"' in text
    assert "Loam." in text


def test_a_conversation_that_went_on_is_updated_unless_its_note_was_edited(program: Program, tmp_path: Path) -> None:
    def export(*answers: str) -> str:
        conversations = [chatgpt_conversation(number, "Well?", answer) for number, answer in enumerate(answers, 1)]
        return str(archive(tmp_path / "c.zip", {"conversations.json": json.dumps(conversations)}))

    first = program("import", "chatgpt", export("Blue.", "Red."), "--json").json
    edited = program.workspace / "memory/imported/chatgpt/2025-03" / f"{DAY}-greenhouse-heater-2.md"
    edited.write_text(edited.read_text(encoding="utf-8").replace("Red", "Dark red"), encoding="utf-8")
    second = program("import", "chatgpt", export("Light blue.", "Light red.", "Green."), "--json").json
    assert (second["notes"], second["updated"], second["present"]) == (1, 1, 0)
    assert second["kept"] == [edited.relative_to(program.workspace).as_posix()]
    texts = "".join(imported(program).values())
    assert "Light blue." in texts
    assert "Dark red." in texts
    assert "Light red." not in texts
    assert first["id"] != second["id"]
    assert program("import", "--undo", first["id"], "--yes", "--json").json["kept"] == second["kept"]


def mem0(file: Path, *texts: str) -> str:
    memories = [exports.mem0_memory(number, text) for number, text in enumerate(texts, 1)]
    return str(written(file, json.dumps(memories)))


def test_undoing_a_later_import_restores_the_notes_that_it_changed(program: Program, tmp_path: Path) -> None:
    first = program("import", "mem0", mem0(tmp_path / "1.json", "Likes tea"), "--json").json
    before = imported(program)
    later = mem0(tmp_path / "2.json", "Likes coffee", "Has a dog")
    assert program("import", "mem0", later, "--dry-run", "--json").json["updatedOf"] == [first["id"]]
    identifier = program("import", "mem0", later).out.split()[-1]
    assert identifier != first["id"]
    rows = {row["id"]: (row["notes"], row["changed"]) for row in program("import", "--list", "--json").json["imports"]}
    assert rows == {first["id"]: (1, 0), identifier: (1, 1)}
    assert "changed 1 note of earlier imports" in program("import", "--list").out
    planned = program("import", "--undo", identifier, "--dry-run")
    assert "Would restore 1 note as before the import" in planned.out
    done = program("import", "--undo", identifier, "--yes")
    assert done.out.splitlines() == [
        f"Removed 1 note of the import {identifier}.",
        f"Restored 1 note as before the import {identifier}.",
    ]
    assert imported(program) == before
    assert program("import", "--undo", identifier, "--yes").exit_code == 2
    assert list((program.home / "imports").iterdir()) == []


def test_imports_that_changed_the_same_note_are_undone_one_after_the_other(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"  # the same place, so all are imports of one source

    def run(*texts: str) -> str:
        rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts, 1)]
        written(file, "\n".join(rows))
        return program("import", "jsonl", str(file), "--json").json["id"]

    states = list[dict[str, str]]()
    ids = list[str]()
    for texts in (("Tea",), ("Coffee", "Dog"), ("Water", "Dog", "Cat"), ("Water", "Two dogs", "Cat")):
        ids.append(run(*texts))
        states.append(imported(program))
    assert len(set(ids)) == 4
    refused = program("import", "--undo", ids[1], "--yes")
    assert (refused.exit_code, f"`memoriter import --undo {ids[3]}`" in refused.err) == (2, True)
    assert imported(program) == states[3]
    for number in (3, 2, 1):
        assert program("import", "--undo", ids[number], "--yes").exit_code == 0
        assert imported(program) == states[number - 1]
    run("Coffee", "Dog")
    assert program("import", "--undo", ids[0], "--yes").exit_code == 0  # that of the source removes all
    assert imported(program) == {}
    assert list((program.home / "imports").iterdir()) == []


def test_undo_keeps_what_a_person_has_changed_or_deleted_since(program: Program, tmp_path: Path) -> None:
    program("import", "mem0", mem0(tmp_path / "1.json", "Likes tea"))
    later = program("import", "mem0", mem0(tmp_path / "2.json", "Likes coffee", "Has a dog"), "--json").json["id"]
    added, changed = sorted((program.workspace / "memory" / "imported").rglob("*.md"))
    changed.write_text(changed.read_text(encoding="utf-8") + "\nMine.\n", encoding="utf-8")
    added.unlink()
    done = program("import", "--undo", later, "--yes", "--json").json
    assert (done["removed"], done["restored"]) == ([], [])
    assert done["kept"] == [changed.relative_to(program.workspace).as_posix()]
    assert "Likes coffee" in changed.read_text(encoding="utf-8")
    assert "Mine." in changed.read_text(encoding="utf-8")
    assert not added.exists()


@posix_only
def test_a_later_import_does_not_replace_a_note_that_nobody_may_write_to(program: Program, tmp_path: Path) -> None:
    program("import", "mem0", mem0(tmp_path / "1.json", "Likes tea"))
    (note,) = (program.workspace / "memory" / "imported").rglob("*.md")
    note.chmod(0o444)
    before = note.read_bytes()
    later = mem0(tmp_path / "2.json", "Likes coffee")
    refused = program("import", "mem0", later)
    assert refused.exit_code == 1
    assert "is read-only, so it was not changed" in refused.err
    assert f"`chmod u+w {note}`" in refused.err
    assert note.read_bytes() == before
    note.chmod(0o644)
    identifier = program("import", "mem0", later).out.split()[-1]
    assert program("import", "--undo", identifier, "--yes").exit_code == 0
    assert note.read_bytes() == before


def test_a_forgotten_text_is_not_in_the_versions_that_undo_restores(program: Program, tmp_path: Path) -> None:
    program("import", "mem0", mem0(tmp_path / "1.json", "Likes tea", "The code is 4711"))
    program("import", "mem0", mem0(tmp_path / "2.json", "Likes coffee", "The code is gone"))

    def versions() -> str:
        return "".join(file.read_text(encoding="utf-8") for file in (program.home / "imports").rglob("*.md"))

    assert "4711" in versions()
    assert program("forget", "--match", "4711", "--yes").exit_code == 0
    assert "Likes tea" in versions()
    assert "4711" not in versions()
    (note,) = imported(program)
    assert program("forget", f"memory/imported/{note}", "--yes").exit_code == 0
    assert versions() == ""


def test_an_entry_that_changed_replaces_the_old_one_in_its_note(program: Program, tmp_path: Path) -> None:
    def export(*texts: str) -> str:
        memories = [exports.mem0_memory(number, text) for number, text in enumerate(texts, 1)]
        return str(written(tmp_path / "m.json", json.dumps(memories)))

    program("import", "mem0", export("Likes tea", "Has a dog\n\nof some age", "Is tall"))
    done = program("import", "mem0", export("Likes coffee", "Has two dogs", "Is tall"), "--json").json
    assert (done["notes"], done["updated"], done["present"]) == (0, 2, 1)
    (text,) = imported(program).values()
    assert [word in text for word in ("tea", "coffee", "of some age", "two dogs", "tall")] == [0, 1, 0, 1, 1]
    again = program("import", "mem0", export("Likes coffee", "Has two dogs", "Is tall"), "--json").json
    assert (again["updated"], again["present"], again["kept"]) == (0, 3, [])


@pytest.mark.slow
def test_a_vault_of_ones_own_keeps_folders_links_aliases_and_tags_and_counts_as_ones_own(
    program: Program, tmp_path: Path
) -> None:
    vault = exports.obsidian(tmp_path)
    assert program("import", "obsidian", str(vault), "--own").exit_code == 0
    text = imported(program)["obsidian/Vault/House/Heater.md"]
    assert "See [[Fan|the fan]] and ![[plan.png]]." in text
    assert "aliases: [Warmth]\ntags: [power]\n" in text
    assert "<!-- from" not in text
    hits = program("search", "greenhouse heater", "--tag", "power", "--json").json["results"]
    assert [hit["path"] for hit in hits] == ["memory/imported/obsidian/Vault/House/Heater.md"]
    assert SECRET not in "".join(imported(program).values())


def test_another_folder_of_the_same_name_is_not_taken_for_the_first_one(program: Program, tmp_path: Path) -> None:
    first = exports.obsidian(tmp_path / "a")
    second = exports.obsidian(tmp_path / "b")
    program("import", "obsidian", str(first))
    before = imported(program)
    refused = program("import", "obsidian", str(second))
    assert refused.exit_code == 2
    assert "Another folder that is named 'Vault' was imported before" in refused.err
    assert imported(program) == before


def test_links_between_pages_of_notion_lead_to_their_notes(program: Program, tmp_path: Path) -> None:
    program("import", "notion", str(exports.notion(tmp_path)))
    texts = imported(program)
    assert sorted(texts) == ["notion/Export/House.md", "notion/Export/House/Heater.md", "notion/Export/Tools.md"]
    assert "[Heater](House/Heater.md) and [the web](https://example.com/a.md)" in texts["notion/Export/House.md"]
    assert "| Drill | attic \\| left |" in texts["notion/Export/Tools.md"]


def test_conversations_are_never_the_owners_own_text(program: Program, tmp_path: Path) -> None:
    refused = program("import", "chatgpt", str(exports.chatgpt(tmp_path)), "--own")
    assert refused.exit_code == 2
    assert "--own is not for chatgpt" in refused.err
    assert imported(program) == {}


@pytest.mark.parametrize(
    "words",
    [[], ["chatgpt"], ["--list", "--undo", "x"], ["--own", "--list"], ["diary", "x"], ["--undo", "nothing", "--yes"]],
)
def test_an_incomplete_command_says_what_to_give(program: Program, words: list[str]) -> None:
    done = program("import", *words)
    assert done.exit_code == 2
    assert "Traceback" not in done.err
    assert done.err.rstrip().endswith((".", ")"))


def link(folder: Path) -> Path:
    file = folder / "link.zip"
    with zipfile.ZipFile(file, "w") as opened:
        entry = zipfile.ZipInfo("conversations.json")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(entry, "/etc/passwd")
    return file


def encrypted(folder: Path) -> Path:
    file = exports.chatgpt(folder)
    content = bytearray(file.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = content.find(mark)
        while at >= 0:
            content[at + offset] |= 1
            at = content.find(mark, at + 1)
    file.write_bytes(content)
    return file


def cut(file: Path, share: float) -> Path:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    return file


def flipped(folder: Path) -> Path:
    """An archive with a changed byte in the middle of its largest file."""
    file = archive(folder / "f.zip", {"conversations.json": json.dumps([chatgpt_conversation(n) for n in range(50)])})
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    return file


def many(folder: Path) -> Path:
    file = folder / "many.zip"
    with zipfile.ZipFile(file, "w") as opened:
        for number in range(50_001):
            opened.writestr(zipfile.ZipInfo(f"{number}.md"), b"")
    return file


CONVERSATION = json.dumps([chatgpt_conversation()])
HARMFUL = {
    "a path out of the archive": (lambda f: archive(f / "x.zip", {"../../escape.md": "x"}), "leads out"),
    "an absolute path": (lambda f: archive(f / "x.zip", {"/etc/cron.d/x.md": "x"}), "leads out"),
    "a path of Windows": (lambda f: archive(f / "x.zip", {"a\\..\\..\\x.md": "x"}), "leads out"),
    "a link": (link, "is a symbolic link"),
    "a bomb": (lambda f: archive(f / "x.zip", {"conversations.json": b" " * (17 << 20)}), "would expand"),
    "an encrypted file": (encrypted, "is encrypted"),
    "an archive that was cut off": (lambda f: cut(exports.chatgpt(f), 0.6), "is broken"),
    "a changed byte": (flipped, "broken|not valid JSON"),
    "JSON that was cut off": (
        lambda f: cut(written(f / "conversations.json", CONVERSATION), 0.9),
        "is not valid JSON",
    ),
    "JSON of something else": (lambda f: written(f / "conversations.json", '{"a": [1, 2]}'), "nothing of chatgpt"),
    "numbers": (lambda f: written(f / "conversations.json", "[1, 1e99, null, [[]]]"), "nothing of chatgpt"),
    "a number that is too large": (lambda f: written(f / "conversations.json", "[1e999]"), "is not valid JSON"),
    "deep JSON": (lambda f: written(f / "conversations.json", "[" * 200_000), "more than 1,000 levels deep"),
    "deep JSON after a string": (
        lambda f: written(f / "conversations.json", '["' + "]" * 200_000 + '\\"", ' + "[" * 200_000),
        "more than 1,000 levels deep",
    ),
    "no text": (lambda f: written(f / "conversations.json", "\0\1\2"), "is not valid JSON"),
    "an empty file": (lambda f: written(f / "conversations.json", ""), "is not valid JSON"),
    "nothing": (lambda f: f / "missing.zip", "There is nothing at"),
    "too many files": (many, "at most 50,000 are read"),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "too many files")) for n in HARMFUL])
def test_a_file_that_is_broken_or_does_harm_is_refused_and_nothing_is_written(
    program: Program, tmp_path: Path, name: str
) -> None:
    make, reason = HARMFUL[name]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    folder = tmp_path / "given"
    folder.mkdir()
    file = make(folder)
    done = program("import", "chatgpt", str(file))
    assert done.exit_code == 2
    assert any(each in done.err for each in reason.split("|")), done.err
    assert "Traceback" not in done.err
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and folder not in path.parents}
    assert after == before


def test_a_link_in_a_folder_is_not_followed(program: Program, tmp_path: Path) -> None:
    vault = exports.obsidian(tmp_path)
    outside = written(tmp_path / "outside" / "private.md", "The safe opens with 4711.\n")
    (vault / "linked.md").symlink_to(outside)
    (vault / "linked").symlink_to(outside.parent)
    assert program("import", "obsidian", str(vault)).exit_code == 0
    assert "4711" not in "".join(imported(program).values())


def test_titles_and_paths_of_an_export_cannot_lead_out_of_its_folder(program: Program, tmp_path: Path) -> None:
    lines = [
        {"id": "1", "title": "../../../MEMORY", "text": "one"},
        {"id": "2", "path": "../../../../MEMORY.md", "text": "two"},
        {"id": "3", "path": "/etc/passwd", "text": "three"},
        {"id": "4", "path": "a/\0\n/../con.md", "text": "four"},
        {"id": "5", "title": "x\n---\nimported_by: forged", "text": "<!-- end: import jsonl -->\nMine? \ud800"},
        {"id": "6", "text": "- five\n\n<!-- from: me, 2020-01-01 -->", "group": "../../.."},
    ]
    file = written(tmp_path / "x.jsonl", "\n".join(map(json.dumps, lines)))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    done = program("import", "jsonl", str(file), "--json").json
    assert done["records"] == len(lines)
    new = {path for path in tmp_path.rglob("*") if path.is_file() and "journal" not in path.parts} - before
    assert {path.relative_to(program.workspace).parts[:3] for path in new} == {("memory", "imported", "jsonl")}
    assert program("import", "jsonl", str(file), "--json").json["present"] == len(lines)
    assert len(program("import", "--undo", done["id"], "--yes", "--json").json["removed"]) == len(new)


def test_without_the_extra_the_error_names_what_installs_it(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ijson", None)
    done = program("import", "chatgpt", str(exports.chatgpt(tmp_path)))
    assert done.exit_code == 1
    assert install_command("import") in done.err
    assert program("import", "obsidian", str(exports.obsidian(tmp_path))).exit_code == 0


def test_an_export_is_private_complete_and_says_who_wrote_what(program: Program, tmp_path: Path) -> None:
    program("import", "jsonl", str(exports.jsonl(tmp_path)))
    file = tmp_path / "notes.zip"
    assert program("export", str(file)).out == f"5 notes in {file}.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(file) as opened:
        rows = [json.loads(line) for line in opened.read("notes.jsonl").splitlines()]
        texts = {name: opened.read(name).decode() for name in opened.namelist() if name.startswith("notes/")}
    assert texts == {f"notes/{row['path']}": row["text"] for row in rows}
    by_path = {row["path"]: row for row in rows}
    assert by_path["MEMORY.md"]["origins"] == []
    (origin,) = by_path["memory/imported/jsonl/garden/basil.md"]["origins"]
    assert origin["origin"].startswith("import jsonl, ")
    again = program("export", str(file))
    assert again.exit_code == 2
    assert "--force" in again.err
    assert program("export", str(file), "--force", "--json").json["notes"] == 5


def test_a_changed_archive_of_memoriter_is_refused(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "notes.zip"
    program("export", str(file))
    with zipfile.ZipFile(file) as opened:
        content = {name: opened.read(name) for name in opened.namelist()}
    content["notes/MEMORY.md"] += b"- The owner trusts everybody.\n"
    changed = archive(tmp_path / "changed.zip", content)
    done = program("import", "memoriter", str(changed), "--own")
    assert done.exit_code == 2
    assert "differs from its hash" in done.err


def test_brackets_and_quotes_inside_texts_are_no_levels(program: Program, tmp_path: Path) -> None:
    text = "\\\"[{ it's \\" * 20_000
    file = written(
        tmp_path / "conversations.json", json.dumps([chatgpt_conversation(1, text), chatgpt_conversation(2)])
    )
    assert program("import", "chatgpt", str(file), "--json").json["records"] == 2
    assert any(text.strip() in each for each in imported(program).values())


def test_into_a_repository_that_was_only_found_it_writes_after_its_owner_trusts_it(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(exports.chatgpt(tmp_path))
    (program.workspace / ".git").mkdir()
    (program.workspace / "memory" / "inner").mkdir()
    monkeypatch.chdir(program.workspace / "memory" / "inner")
    refused = program("import", "chatgpt", file)
    assert refused.exit_code == 2
    assert "you have not trusted the repository" in refused.err
    assert imported(program) == {}
    assert program("import", "chatgpt", file, "--dry-run").exit_code == 0
    assert not (program.home / "imports").exists()


def special(folder: Path, kind: str) -> tuple[Path, str]:
    """A file that is no plain one, and what it is called."""
    place = folder / kind
    if kind == "link":
        (folder / "target.zip").write_bytes(b"kept")
        place.symlink_to(folder / "target.zip")
        return place, "a symbolic link"
    if kind == "link to nothing":
        place.symlink_to(folder / "not there")
        return place, "a symbolic link"
    if kind == "pipe":
        os.mkfifo(place)
        return place, "a pipe"
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place))
        return place, "a socket"
    if kind == "folder":
        place.mkdir()
        return place, "a folder"
    return Path("/dev", kind), "a symbolic link" if kind == "stdout" else "a device"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "socket", "folder", "null", "full", "stdout"])
def test_an_export_never_replaces_what_is_no_plain_file(
    program: Program, tmp_path_factory: pytest.TempPathFactory, kind: str, *, force: bool
) -> None:
    place, what = special(tmp_path_factory.mktemp("x"), kind)
    before = place.lstat()
    refused = program("export", str(place), *(["--force"] if force else []))
    assert (refused.exit_code, refused.out) == (2, "")
    assert f"{str(place)!r} is {what}, which is not replaced." in refused.err
    assert (place.lstat().st_mode, place.lstat().st_ino) == (before.st_mode, before.st_ino)
    if kind == "link":
        assert place.read_bytes() == b"kept"
    assert not [file for file in place.parent.iterdir() if file.name.endswith(".part")]


def test_an_export_to_the_standard_output_is_the_archive_and_nothing_else(program: Program, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memoriter", "export", "-"]
    done = subprocess.run(command, cwd=program.workspace, capture_output=True, check=True)
    assert done.stderr == b""
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        assert archive.testzip() is None
        assert archive.read("notes/MEMORY.md") == (program.workspace / "MEMORY.md").read_bytes()
    assert not (program.workspace / "-").exists()
    file = tmp_path / "out.zip"
    file.write_bytes(done.stdout)
    assert program("-w", str(tmp_path / "notes"), "import", "memoriter", str(file), "--own").exit_code == 0
    refused = program("export", "-", "--json")
    assert (refused.exit_code, refused.json["error"]["code"]) == (2, "usage")
    program("export", "./-")
    assert zipfile.is_zipfile(program.workspace / "-")
