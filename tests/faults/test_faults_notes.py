"""Notes that are not what they should be: each is told, none stops the others, none is changed."""

from __future__ import annotations

import json
import os
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from faults import answered, bound_by_permissions, contents, follow, found, health, read_only, refused, run
from memoriter.workspace import Workspace
from memory_env import QUESTION, MemoryEnv, codes, paths
from odd_files import posix_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memoriter.types import Source
    from memoriter.workspace import Loaded

GIGABYTE = 1 << 30


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


def folder(file: Path) -> None:
    file.mkdir()


def pipe(file: Path) -> None:
    os.mkfifo(file)


def huge(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(GIGABYTE)


@pytest.mark.matrix
@pytest.mark.parametrize("make", [folder, pipe, huge])
@pytest.mark.parametrize("name", ["MEMORY.md", "memory/work/style.md"])
def test_what_is_no_note_under_the_name_of_a_note_is_a_reason_until_it_is_moved(
    env: MemoryEnv, make: Callable[[Path], None], name: str
) -> None:
    answered(env, "index")
    (env.notes / name).unlink()
    make(env.notes / name)
    before = {} if make is huge else contents(env.notes)
    assert found(env, "VLAN printers") == ["memory/2026-02-10.md"]
    if name.startswith("memory/") and make is folder:
        return  # a folder below memory/ may have any name
    reason = health(env)["notes_left_out"]
    assert name in reason["message"]
    assert "notes_left_out" in codes(env.open().search(QUESTION))
    if make is not huge:
        assert contents(env.notes) == before

    # the remedy, in both its ways
    ignore = env.notes / ".memoryignore"
    ignore.write_text(f"/{name}\n", encoding="utf-8")
    assert health(env) == {}
    ignore.unlink()
    (env.notes / name).rename(env.notes / "elsewhere")
    assert health(env) == {}


@pytest.mark.parametrize("make", [folder, pipe])
def test_nothing_is_remembered_into_what_is_no_note_and_the_remedy_helps(
    env: MemoryEnv, make: Callable[[Path], None]
) -> None:
    file = env.notes / "MEMORY.md"
    file.unlink()
    make(file)
    error = refused(env, "remember", "--to", "long-term", "Tea, not coffee.")
    assert error["remedy"].startswith("Move away what has this name")
    file.rename(env.notes / "elsewhere")
    answered(env, "remember", "--to", "long-term", "Tea, not coffee.")
    assert found(env, "tea coffee") == ["MEMORY.md"]


def test_a_note_that_became_a_link_is_forgotten_and_listed(env: MemoryEnv, tmp_path: Path) -> None:
    answered(env, "index")
    secret = tmp_path / "secret.md"
    secret.write_text("The zanzibar key is under the mat.\n", encoding="utf-8")
    (env.notes / "memory/work/style.md").unlink()
    (env.notes / "memory/work/style.md").symlink_to(secret)
    assert "memory/work/style.md" not in found(env, "zanzibar key")
    assert "memory/work/style.md" not in found(env, "imperative mood")
    left_out = {skip["path"]: skip["reason"] for skip in answered(env, "status")[0]["skipped"]}
    assert left_out == {"memory/work/style.md": "symlink"}
    assert secret.read_text(encoding="utf-8").startswith("The zanzibar")


@pytest.mark.slow
def test_bytes_that_are_not_utf8_are_told_searched_around_and_left_alone(env: MemoryEnv) -> None:
    file = env.notes / "memory/old.md"
    written = "# Alt\n\nDie Bücher der Zebraforscher liegen im Keller.\n"
    file.write_bytes(written.encode("cp1252"))
    before = contents(env.notes)
    assert found(env, "Zebraforscher Keller")[0] == "memory/old.md"
    assert "memory/old.md" in health(env)["not_utf8"]["message"]
    assert codes(env.open().search("Zebraforscher")) == ["not_utf8"]
    answered(env, "index", "--force")
    assert set(health(env)) == {"not_utf8"}
    assert contents(env.notes) == before
    file.write_text(written, encoding="utf-8")  # saved as UTF-8, as the remedy says
    answered(env, "index")
    assert health(env) == {}
    assert found(env, "Bücher")[0] == "memory/old.md"


def test_a_note_that_truly_holds_the_replacement_character_is_no_reason(env: MemoryEnv) -> None:
    env.write("memory/odd.md", "The sign \ufffd stands for what was lost.\n")
    answered(env, "index")
    assert health(env) == {}


@pytest.mark.matrix
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("query_form", ["NFC", "NFD"])
def test_names_and_words_are_found_and_read_however_they_are_composed(
    env: MemoryEnv, form: str, query_form: str
) -> None:
    name = unicodedata.normalize(form, "memory/Café Übersicht 서울.md")
    env.write(name, unicodedata.normalize(form, "# Café\n\nDer Kaffeeröster Müller wohnt in 서울.\n"))
    answered(env, "index")
    hit = answered(env, "search", unicodedata.normalize(query_form, "Müller Kaffeeröster 서울"))["results"][0]
    assert hit["path"] == name
    for cited in (hit["path"], unicodedata.normalize(query_form, name)):
        assert "ller wohnt" in answered(env, "get", cited)["text"]


def test_a_name_that_could_be_two_files_is_neither(env: MemoryEnv) -> None:
    for form in ("NFC", "NFD"):
        env.write(unicodedata.normalize(form, "memory/ệé.md"), f"# {form}\n")
    mixed = unicodedata.normalize("NFC", "memory/ệ") + unicodedata.normalize("NFD", "é") + ".md"
    assert json.loads(run(env, "get", mixed, "--json").out)["text"] == ""


def test_an_ignored_file_is_not_read_under_another_spelling(env: MemoryEnv) -> None:
    env.write(unicodedata.normalize("NFD", "memory/privé.md"), "the secret of the shed\n")
    env.write(".memoryignore", unicodedata.normalize("NFD", "memory/privé.md") + "\n")
    assert run(env, "get", unicodedata.normalize("NFD", "memory/privé.md")).json["disabled"]
    assert "shed" not in run(env, "get", unicodedata.normalize("NFC", "memory/privé.md")).out


@pytest.mark.matrix
@pytest.mark.parametrize("then", ["gone", "folder", "pipe", "link"])
def test_a_note_that_changes_between_the_scan_and_the_read_stops_nothing(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    memory = env.open()
    load = Workspace.load
    file = env.notes / "memory/2026-02-10.md"

    def late(self: Workspace, source: Source, *gone: Any) -> Loaded:
        if source.path == "memory/2026-02-10.md" and file.is_file() and not file.is_symlink():
            file.unlink()
            {"gone": lambda: None, "folder": file.mkdir, "pipe": lambda: os.mkfifo(file)}.get(
                then, lambda: file.symlink_to(env.notes / "MEMORY.md")
            )()
        return load(self, source, *gone)

    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "load", late)
        report = memory.sync()
    assert [reason.code for reason in report.reasons] == ["unreadable"]
    assert report.files == 3
    assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
    if then in {"folder", "pipe", "link"}:
        file.rmdir() if then == "folder" else file.unlink()
    env.wait()
    env.write("memory/2026-02-10.md", "# Router\n\nThe Omada keeps VLAN 10.\n")
    assert paths(memory.search("Omada VLAN"))[0] == "memory/2026-02-10.md"
    assert memory.status().health.ok


@pytest.mark.slow
def test_a_note_that_may_not_be_read_is_a_reason_until_it_may(env: MemoryEnv) -> None:
    bound = bound_by_permissions()
    file = env.notes / "MEMORY.md"
    file.chmod(0)
    assert found(env, "VLAN printers", before=bound) == ["memory/2026-02-10.md"]
    assert "MEMORY.md" in health(env, before=bound)["notes_left_out"]["message"]
    file.chmod(0o644)
    assert found(env, QUESTION, before=bound)[0] == "MEMORY.md"
    assert health(env, before=bound) == {}


def test_a_workspace_that_can_only_be_read_is_searched_and_a_new_entry_is_refused_with_the_way_out(
    env: MemoryEnv,
) -> None:
    before = contents(env.notes)
    with read_only(env.notes):
        assert found(env, QUESTION)[0] == "MEMORY.md"
        assert health(env) == {}
        error = refused(env, "remember", "Tea, not coffee.")
        assert error["remedy"].startswith("Make the file and its folder writable")
    assert contents(env.notes) == before
    answered(env, "remember", "Tea, not coffee.")


@posix_only
def test_a_note_that_nobody_may_write_to_is_not_replaced_by_whoever_could(env: MemoryEnv) -> None:
    file = env.notes / "MEMORY.md"
    file.chmod(0o444)
    before = file.read_bytes()
    for words in (("remember", "Tea, not coffee.", "--to", "long-term"), ("forget", "MEMORY.md#L3", "--yes")):
        error = refused(env, *words)
        assert error["message"] == f"{str(file)!r} is read-only, so it was not changed."
        assert f"`chmod u+w {file}`" in error["remedy"]
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (before, 0o444)
    file.chmod(0o644)
    answered(env, "remember", "Tea, not coffee.", "--to", "long-term")


@pytest.mark.slow
def test_a_workspace_whose_permissions_forbid_writing_is_searched_too(env: MemoryEnv) -> None:
    bound = bound_by_permissions()
    before = contents(env.notes)
    for each in (env.notes, env.notes / "memory"):
        each.chmod(0o555)
    assert found(env, QUESTION, before=bound)[0] == "MEMORY.md"
    error = refused(env, "remember", "Tea, not coffee.", before=bound)
    assert error["remedy"].startswith("Make the file and its folder writable")
    assert contents(env.notes) == before
    for each in (env.notes, env.notes / "memory"):
        each.chmod(0o755)
    answered(env, "remember", "Tea, not coffee.", before=bound)


def test_notes_left_out_stand_beside_other_reasons_with_commands_that_work(env: MemoryEnv) -> None:
    (env.notes / "MEMORY.md").unlink()
    (env.notes / "MEMORY.md").mkdir()
    assert follow(env, health(env)["notes_left_out"]["remedy"])[0]["skipped"][0]["path"] == "MEMORY.md"


def test_notes_that_are_not_indexed_yet_are_not_called_absent(env: MemoryEnv) -> None:
    assert follow(env, health(env)["not_indexed"]["remedy"])["files"] == 4
    assert health(env) == {}


@pytest.mark.slow
def test_the_doctor_says_that_they_are_not_indexed_yet_and_later_finds_them(env: MemoryEnv) -> None:
    findings = {finding["check"]: finding for finding in answered(env, "doctor")["findings"]}
    assert findings["index"]["message"].startswith("4 notes are there")
    assert env.run("index").exit_code == 0
    findings = {finding["check"]: finding for finding in answered(env, "doctor")["findings"]}
    assert "4 files" in findings["index"]["message"]
    assert findings["search"]["state"] == "good"
    assert health(env) == {}
