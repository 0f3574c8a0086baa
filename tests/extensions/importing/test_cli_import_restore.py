"""What `memoriter export` wrote is put back by `memoriter import memoriter --own`, or the command fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from program import Program


@pytest.fixture
def vault_export(program: Program, tmp_path: Path) -> Path:
    vault = tmp_path / "Vault"
    file = tmp_path / "v.zip"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "House").mkdir()
    (vault / "House" / "Heater.md").write_text("The heater is on circuit 14.\n", encoding="utf-8")
    (vault / ".memoryignore").write_text("Drafts/\n", encoding="utf-8")
    assert program("-w", str(vault), "export", str(file)).exit_code == 0
    return file


def test_an_export_of_a_vault_is_restored_into_an_empty_folder(
    program: Program, tmp_path: Path, vault_export: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    planned = program("-w", str(empty), "import", "memoriter", str(vault_export), "--own", "--dry-run", "--json")
    assert (planned.exit_code, planned.json["notes"], list(empty.iterdir())) == (0, 1, [])
    done = program("-w", str(empty), "import", "memoriter", str(vault_export), "--own")
    assert (done.exit_code, done.err) == (0, "")
    assert (empty / "House" / "Heater.md").read_text(encoding="utf-8") == "The heater is on circuit 14.\n"
    assert (empty / ".memoryignore").read_text(encoding="utf-8") == "Drafts/\n"
    assert program("-w", str(empty), "config", "get", "memory.layout").out.strip() == "notes"
    again = program("-w", str(empty), "import", "memoriter", str(vault_export), "--own", "--json").json
    assert (again["notes"], again["present"], again["leftOut"]) == (0, 1, 0)


def test_notes_that_cannot_be_put_back_make_the_import_fail_with_the_reason(
    program: Program, vault_export: Path
) -> None:
    done = program("import", "memoriter", str(vault_export), "--own")
    assert done.exit_code == 1
    assert "The export has 1 note that could not be put back" in done.err
    assert not (program.workspace / "House").exists()
    assert program("import", "memoriter", str(vault_export), "--own", "--json").exit_code == 1


def test_a_note_of_an_export_that_is_too_large_makes_the_import_fail(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program.workspace / "memory" / "long.md").write_text("long " * 1_000, encoding="utf-8")
    file = tmp_path / "n.zip"
    empty = tmp_path / "empty"
    empty.mkdir()
    program("export", str(file))
    monkeypatch.setattr("memoriter.extensions.importing.formats._memoriter.MAX_BYTES", 4_000)
    done = program("-w", str(empty), "import", "memoriter", str(file), "--own", "--json")
    assert (done.exit_code, done.json["notRestored"], done.json["leftOut"]) == (1, 1, 1)


def test_an_ignore_file_that_differs_stays_and_is_named(program: Program, tmp_path: Path, vault_export: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / ".memoryignore").write_text("Private/\n", encoding="utf-8")
    done = program("-w", str(empty), "import", "memoriter", str(vault_export), "--own", "--json").json
    assert done["kept"] == [".memoryignore"]
    assert (empty / ".memoryignore").read_text(encoding="utf-8") == "Private/\n"


def test_an_export_cannot_write_an_ignore_file_elsewhere(program: Program, tmp_path: Path, vault_export: Path) -> None:
    import zipfile

    with zipfile.ZipFile(vault_export) as opened:
        content = {name: opened.read(name) for name in opened.namelist()}
    about = json.loads(content["export.json"])
    about["ignoreFiles"] = ["../.memoryignore", ".git/.memoryignore"]
    content |= {"export.json": json.dumps(about).encode(), "ignore/1.txt": b"*"}
    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(changed, "w") as opened:
        for name, each in content.items():
            opened.writestr(name, each)
    empty = tmp_path / "inner" / "empty"
    empty.mkdir(parents=True)
    done = program("-w", str(empty), "import", "memoriter", str(changed), "--own", "--json").json
    assert done["leftOut"] == 2
    assert not (empty.parent / ".memoryignore").exists()
    assert not (empty / ".git").exists()
