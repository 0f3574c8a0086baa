"""For any notes, an export that is imported again gives the same notes; any import is read back as it was written."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.extensions.importing.api import FORMATS, export_notes, past_imports, plan_undo, run_import, undo
from memoriter.workspace import Workspace, foreign_lines

NAMES = st.text(st.characters(categories=["L", "N"], include_characters=" -_"), min_size=1, max_size=12).map(str.strip)
PATHS = st.lists(NAMES.filter(bool), min_size=1, max_size=3).map(lambda names: "memory/" + "/".join(names) + ".md")
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=200).map(str.encode),
    st.binary(max_size=60),
    st.sampled_from(
        [b"- a <!-- from: agent, 2025-01-01 -->\n", b"---\ntitle: x\n---\n# y\r\n", b"\xef\xbb\xbf# bom\n"]
    ),
)
TIMES = st.integers(0, 4_000_000_000_000_000_000)


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (file for file in root.rglob("*.md") if file.is_file())
    return {file.relative_to(root).as_posix(): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.mark.slow
@given(st.dictionaries(PATHS, st.tuples(TEXTS, TIMES), max_size=5))
@settings(max_examples=25)
def test_an_export_that_is_imported_again_loses_nothing(notes: dict[str, tuple[bytes, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder, "first")
        second = Path(folder, "second")
        locks = Path(folder, "locks")
        for root in (first, second):
            root.mkdir()
            (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
        for path, (content, changed) in notes.items():
            file = first / path
            if any(parent.is_file() for parent in file.parents) or file.is_dir():
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            os.utime(file, ns=(changed, changed))
        exported = export_notes(Workspace(first), Path(folder, "x.zip"))
        assert exported.left_out == ()
        (second / "MEMORY.md").unlink()
        report = run_import(Workspace(second), FORMATS["memoriter"], exported.file, locks=locks, own=True)
        assert contents(second) == contents(first)
        assert (report.notes, report.present, report.kept) == (exported.notes, 0, [])
        again = run_import(Workspace(second), FORMATS["memoriter"], exported.file, locks=locks, own=True)
        assert (again.notes, again.present, again.kept) == (0, exported.notes, [])


FREE_PATHS = st.lists(NAMES.filter(bool), min_size=1, max_size=3).map(lambda names: "/".join(names) + ".md")
IGNORES = st.dictionaries(
    st.sampled_from(["", "memory/", "Drafts/"]), st.sampled_from([b"x.md\n", b"\xff\xfex\0\n\0", b""])
)


@pytest.mark.slow
@pytest.mark.parametrize("vault", [False, True], ids=["folder", "vault"])
@given(
    notes=st.dictionaries(st.one_of(FREE_PATHS, PATHS), st.tuples(TEXTS, TIMES), min_size=1, max_size=5),
    ignores=IGNORES,
)
@settings(max_examples=25)
def test_a_folder_whose_markdown_files_are_all_memory_is_restored_as_such(
    notes: dict[str, tuple[bytes, int]], ignores: dict[str, bytes], *, vault: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder, "first")
        second = Path(folder, "second")
        locks = Path(folder, "locks")
        (first / ".obsidian" if vault else first).mkdir(parents=True)
        second.mkdir()
        (first / "Here.md").write_text("# Here\n", encoding="utf-8")
        for path, (content, changed) in notes.items():
            file = first / path
            if not any(parent.is_file() for parent in file.parents) and not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                os.utime(file, ns=(changed, changed))
        for path, content in ignores.items():
            (first / path).mkdir(exist_ok=True)
            (first / path / ".memoryignore").write_bytes(content)
        source = Workspace(first, layout=None if vault else "notes")
        exported = export_notes(source, Path(folder, "x.zip"))
        kept = list[str]()
        target = Workspace(second, keep_layout=lambda: kept.append("notes"))
        report = run_import(target, FORMATS["memoriter"], exported.file, locks=locks, own=True)
        assert (report.notes, report.left_out, report.kept, kept) == (exported.notes, 0, [], ["notes"])
        remembered = {note.path for note in source.scan().sources}
        assert contents(second) == {path: each for path, each in contents(first).items() if path in remembered}
        assert {note.path for note in target.scan().sources} == remembered
        restored = {file.relative_to(second).as_posix(): file.read_bytes() for file in second.rglob(".memoryignore")}
        assert restored == {f"{path}.memoryignore": content for path, content in ignores.items()}


RECORDS = st.lists(
    st.fixed_dictionaries(
        {"text": st.text(max_size=120)},
        optional={
            "id": st.text(min_size=1, max_size=20),
            "title": st.text(max_size=40),
            "path": st.text(max_size=30),
            "date": st.sampled_from(["2025-03-14", "2024-02-29T23:59:59Z", "never", 17e8, -1, 1e300]),
            "group": st.text(max_size=10),
            "tags": st.lists(st.text(max_size=10), max_size=2),
        },
    ),
    max_size=6,
)


@pytest.mark.slow
@given(RECORDS)
@settings(max_examples=30)
def test_any_texts_are_imported_once_are_not_the_owners_and_can_be_undone(records: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "notes")
        file = Path(folder, "x.jsonl")
        locks = Path(folder, "locks")
        root.mkdir()
        (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
        before = contents(root)
        file.write_text("".join(f"{json.dumps(record)}\n" for record in [*records, {"text": "last"}]), encoding="utf-8")
        first = run_import(Workspace(root), FORMATS["jsonl"], file, locks=locks, zone="UTC")
        written = contents(root)
        second = run_import(Workspace(root), FORMATS["jsonl"], file, locks=locks, zone="UTC")
        assert contents(root) == written
        assert (second.notes, second.updated, second.kept) == (0, 0, [])
        for path in written.keys() - before.keys():
            lines = written[path][0].decode().split("\n")
            body = lines[lines.index("---", 1) + 1 :]
            marks = ("#", "<!-- from: import ", "<!-- end: import ")
            shown = zip(body, foreign_lines(body), strict=True)
            assert all(foreign for line, foreign in shown if line.strip() and not line.startswith(marks))
        (past,) = past_imports(root, locks)
        assert past.records == first.records
        undo(Workspace(root), plan_undo(root, first.id, locks), locks)
        assert contents(root) == before
