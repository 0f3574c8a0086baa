"""What every format that can be imported does, on an export in the form of its program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import memoriter
from exports import DAY, EXPORTS, FACT, SECRET
from memoriter.extensions.importing.api import FORMATS, past_imports, plan_undo, run_import, undo
from memoriter.workspace import Workspace, foreign_lines

if TYPE_CHECKING:
    from memoriter.extensions.importing.api import ImportReport

ROOT = Path(memoriter.__file__).parents[2]


class Case:
    """A folder of notes and an export."""

    def __init__(self, name: str, folder: Path) -> None:
        self.source, make = EXPORTS[name]
        self.export = make(folder / "export")
        self.notes = folder / "notes"
        self.notes.mkdir()
        (self.notes / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
        self.locks = folder / "locks"

    def run(self, *, dry_run: bool = False, own: bool = False) -> ImportReport:
        workspace = Workspace(self.notes)
        form = FORMATS[self.source]
        return run_import(
            workspace, form, self.export, locks=self.locks, zone="Europe/Berlin", own=own, dry_run=dry_run
        )

    def texts(self) -> dict[str, str]:
        files = (self.notes / "memory").rglob("*.md")
        return {file.relative_to(self.notes).as_posix(): file.read_text(encoding="utf-8") for file in files}


@pytest.fixture(params=EXPORTS)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(request.param, tmp_path)


def test_every_format_of_the_command_has_an_export_here() -> None:
    assert {source for source, _ in EXPORTS.values()} | {"memoriter"} == set(FORMATS)


def test_the_text_is_in_a_note_of_its_day_with_its_origin_and_is_not_the_owners(case: Case) -> None:
    case.run()
    found = [(path, text) for path, text in case.texts().items() if FACT in text]
    assert len(found) == 1 or case.source == "openclaw"
    path, text = found[0]
    assert path.startswith(f"memory/imported/{case.source}/")
    if path.endswith("MEMORY.md") or case.source in {"basic-memory", "notion"}:
        assert "\ndate: " in text or case.source == "notion"
    else:
        assert DAY in path or f"created: {DAY}" in text
    lines = text.split("\n")
    foreign = foreign_lines(lines)
    assert all(foreign[number] for number, line in enumerate(lines) if FACT in line)
    assert f"imported_from: {case.source}\n" in text


def test_secrets_are_masked(case: Case) -> None:
    case.run()
    texts = case.texts()
    assert not any(SECRET in text for text in texts.values())
    assert any("***" in text for text in texts.values())


def test_a_dry_run_writes_nothing_and_counts_what_the_import_then_does(case: Case) -> None:
    planned = case.run(dry_run=True)
    assert case.texts() == {}
    done = case.run()
    assert (planned.notes, planned.records, planned.left_out) == (done.notes, done.records, done.left_out)
    assert planned.samples
    assert {sample.path for sample in done.samples} <= case.texts().keys()
    assert done.notes == len(case.texts())


def test_a_second_run_adds_and_changes_nothing(case: Case) -> None:
    first = case.run()
    before = case.texts()
    second = case.run()
    assert (second.notes, second.records, second.updated, second.kept) == (0, 0, 0, [])
    assert second.present == first.records
    assert case.texts() == before


def test_a_run_continues_where_an_earlier_one_ended(case: Case) -> None:
    case.run()
    whole = case.texts()
    removed = max(whole)
    (case.notes / removed).unlink()
    case.run()
    assert case.texts() == whole


def test_undo_removes_all_notes_of_the_import_but_those_that_were_edited(case: Case) -> None:
    report = case.run()
    assert [past.id for past in past_imports(case.notes, case.locks)] == [report.id]
    edited = min(case.texts())
    with (case.notes / edited).open("a", encoding="utf-8") as note:
        note.write("\nA line of mine.\n")
    plan = plan_undo(case.notes, report.id, case.locks)
    undo(Workspace(case.notes), plan, case.locks)
    assert case.texts().keys() == {edited}
    assert plan.kept == (edited,)


def test_what_was_edited_here_is_never_overwritten(case: Case) -> None:
    case.run()
    for path in case.texts():
        note = case.notes / path
        note.write_text(note.read_text(encoding="utf-8").replace("circuit", "line"), encoding="utf-8")
    before = case.texts()
    again = case.run()
    assert again.updated == 0
    assert again.notes == 0
    assert case.texts() == before


@pytest.mark.parametrize("name", [name for name in EXPORTS if EXPORTS[name][0] not in {"basic-memory", "obsidian"}])
def test_a_folder_without_such_an_export_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    case = Case(name, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "photo.png").write_bytes(b"x")
    case.export = other
    with pytest.raises(memoriter.errors.UsageError, match=r"\.$") as refused:
        case.run()
    assert refused.value.remedy
    assert case.texts() == {}


@pytest.mark.parametrize("name", EXPORTS)
def test_the_export_of_a_test_has_the_form_of_the_version_that_the_pages_name(name: str) -> None:
    source, make = EXPORTS[name]
    assert make.__doc__
    assert FORMATS[source].read_as in make.__doc__


def test_the_table_of_the_page_has_every_format_with_the_version_that_it_reads() -> None:
    page = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    rows = {name.strip(): line for line in lines for name in line.split("|")[1].split(",")}
    for form in FORMATS.values():
        row = rows[f"`{form.name}`"]
        assert f"| {form.read_as} |" in row


def test_ids_and_dates_are_those_of_the_export(tmp_path: Path) -> None:
    case = Case("chatgpt", tmp_path)
    case.run()
    (export,) = [path for path in case.texts() if path.endswith("heater-1.md")]
    text = case.texts()[export]
    assert export == f"memory/imported/chatgpt/2025-03/{DAY}-greenhouse-heater-1.md"
    assert f"\nimported_id: {json.dumps('67d40000-0000-8000-9000-000000000001')}\n" in text
    assert f"\ndate: {DAY}\n" in text
