"""The table of OpenClaw's plugin: its memories are read as they are, searched by its vectors, and copied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from memoriter.agent import Message
from memoriter.extensions.longterm.api import import_text

if TYPE_CHECKING:
    from pathlib import Path

    from program import Program

SLOTS = {"slots": {"memory": ["memory-core", "memory-lancedb"]}}
DARK = "I prefer dark mode."
SEA = "I live in a town by the sea."


@pytest.fixture(autouse=True)
def long_term(program: Program) -> None:
    import lancedb  # noqa: F401 - before the test is timed

    configure(program)


def configure(program: Program, **config: Any) -> None:
    plugins = SLOTS | {"entries": {"memory-lancedb": {"config": config}}}
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "fake"}}}, "plugins": plugins}
    (program.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")


def ltm(program: Program, *words: str) -> Any:
    return program("-w", str(program.workspace), "ltm", *words)


def openclaw_table(program: Program, folder: Path, *, own_vectors: bool) -> dict[Path, bytes]:
    """Write a table as OpenClaw's plugin does, with vectors of the model of the settings or of another one.

    Returns:
        its files.
    """
    import lancedb
    import pyarrow as pa

    with Memory.open(program.workspace, home=program.home) as memory:
        vectors = [[3 * float(each) for each in row] for row in memory.long_term.embed([DARK, SEA])]
    dims = len(vectors[0]) if own_vectors else 8
    rows = [
        {"id": "__schema__", "text": "", "importance": 0, "category": "other", "createdAt": 0},
        {"id": "7cb97353-ac00-47cc-9906-f4ea459ed2de", "text": DARK, "importance": 0.8, "category": "preference"},
        {"id": "town", "text": SEA, "importance": 0.7, "category": "fact"},
    ]
    vector_of = {DARK: vectors[0], SEA: vectors[1]} if own_vectors else {DARK: [0.5] * 8, SEA: [-0.5] * 8}
    full = [
        {"createdAt": 1_770_000_000_000 + number} | row | {"vector": vector_of.get(str(row["text"]), [0.0] * dims)}
        for number, row in enumerate(rows, -1)
    ]
    kinds = [("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), dims))]
    kinds += [("importance", pa.float64()), ("category", pa.string()), ("createdAt", pa.float64())]
    lancedb.connect(str(folder)).create_table("memories", pa.Table.from_pylist(full, schema=pa.schema(kinds)))
    return files_in(folder)


def files_in(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_memories_of_openclaw_are_copied_and_its_table_stays_as_it_is(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "openclaw"
    before = openclaw_table(program, folder, own_vectors=False)
    assert ltm(program, "import", str(folder), "--json").json == {"added": 2, "present": 0, "skipped": 0}
    assert files_in(folder) == before
    memory, town = ltm(program, "list", "--json").json
    assert (memory["text"], memory["category"], memory["importance"]) == (DARK, "preference", 0.8)
    assert (memory["createdAt"], memory["origin"], town["text"]) == ("2026-02-02T02:40:00.000Z", "import", SEA)
    assert len(ltm(program, "search", "do I prefer dark mode", "--json").json["memories"]) == 1
    assert ltm(program, "import", str(folder)).out == "0 memories copied; 2 were there already, 0 have no text.\n"


def test_an_approved_copy_is_put_before_a_turn_without_reading_the_database(program: Program, tmp_path: Path) -> None:
    openclaw_table(program, tmp_path / "openclaw", own_vectors=False)
    ltm(program, "import", str(tmp_path / "openclaw"))
    ltm(program, "trust", "approve", "7cb97353")
    (program.home / "memory" / "lancedb").rename(tmp_path / "away")
    with Memory.open(program.workspace, home=program.home) as memory:
        assert DARK in memory.session("s", audience="private").recall("do I prefer dark mode").prepend_context


def test_a_folder_without_a_table_is_refused(program: Program, tmp_path: Path) -> None:
    outcome = ltm(program, "import", str(tmp_path))
    assert (outcome.exit_code, "holds no table 'memories' of OpenClaw" in outcome.err) == (2, True)


@pytest.mark.parametrize("way", ["--openclaw", "dbPath"])
def test_an_existing_table_is_listed_searched_and_counted_as_it_is(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    state = tmp_path / "state"
    folder = state / "memory" / "lancedb" if way == "--openclaw" else tmp_path / "openclaw"
    before = openclaw_table(program, folder, own_vectors=True)
    words = ["-w", str(program.workspace)]
    if way == "--openclaw":
        monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state))
        (state / "workspace").mkdir()
        (program.home / "memoriter.json5").replace(state / "openclaw.json")
        words = ["--openclaw"]
    else:
        configure(program, dbPath=str(folder))
    listed = program(*words, "ltm", "list")
    assert [line.partition("  (")[0] for line in listed.out.splitlines()] == [f"[preference] {DARK}", f"[fact] {SEA}"]
    assert all("(2026-02-02, import, in OpenClaw's table)" in line for line in listed.out.splitlines())
    note = "2 memories are in OpenClaw's table, which is only read. To copy all: memoriter ltm import"
    assert listed.err == f"{note} {folder}\n"
    first, second = program(*words, "ltm", "list", "--json").json
    assert (first["text"], first["inOpenClaw"], second["inOpenClaw"]) == (DARK, True, True)
    assert program(*words, "ltm", "list", "--as-of", "2026-02-01").out == ""
    found = program(*words, "ltm", "search", "dark", "mode", "--json").json
    assert [(each["text"], each["inOpenClaw"]) for each in found["memories"]] == [(DARK, True)]
    assert "reasons" not in found, "its vectors are those of the model, whatever their length"
    stats = program(*words, "ltm", "stats", "--json").json
    assert stats["openclaw"] == {"folder": str(folder), "memories": 2, "missing": 2}
    shown = program(*words, "ltm", "stats").out
    assert f"openclaw   {folder} (2 in its table, which is only read; 2 not copied: memoriter ltm import" in shown
    assert files_in(folder) == before


def test_memories_leave_the_folders_of_openclaw_as_they_are(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    openclaw_table(program, state / "memory" / "lancedb", own_vectors=True)
    (state / "workspace").mkdir()
    configure(program, autoCapture="inbox")
    (program.home / "memoriter.json5").replace(state / "openclaw.json")
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state))
    before = files_in(state)
    assert program("--openclaw", "ltm", "import", str(state / "memory" / "lancedb")).exit_code == 0
    assert program("--openclaw", "ltm", "store", "Our staging server is called heron.").exit_code == 0
    with Memory.open(config=state / "openclaw.json", home=program.home) as memory:
        session = memory.session("s", audience="private")
        session.end_turn([Message("user", "I prefer tea to coffee.")])
        assert "heron" in session.recall("What is our staging server called?").prepend_context
    assert "I prefer tea" in program("--openclaw", "ltm", "inbox").out
    (note,) = (program.home / "memory" / "long-term-notes").glob("*/memory/long-term.md")
    texts = {DARK, SEA, "Our staging server is called heron."}
    assert {text for text in texts if text in note.read_text(encoding="utf-8")} == texts
    assert program("--openclaw", "ltm", "forget", "Our staging server is called heron.", "--yes").exit_code == 0
    assert "heron" not in note.read_text(encoding="utf-8") + program("--openclaw", "ltm", "list").out
    assert files_in(state) == before


def test_a_search_names_the_table_only_if_it_shows_one_of_its_memories(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "openclaw"
    openclaw_table(program, folder, own_vectors=True)
    configure(program, dbPath=str(folder))
    ltm(program, "store", "Our staging server is called heron.")
    found = ltm(program, "search", "Our staging server is called heron.", "--min-score", "0.9")
    assert ("heron" in found.out, found.err) == (True, "")
    nearest = ltm(program, "search", "zebra", "--min-score", "1", "--json").json["nearest"]
    assert sum(each.get("inOpenClaw", False) for each in nearest) == 2
    assert "2 memories are in OpenClaw's table" in ltm(program, "search", "zebra", "--min-score", "1").err


def test_a_table_of_another_model_is_searched_by_words_and_says_so(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "openclaw"
    openclaw_table(program, folder, own_vectors=False)
    configure(program, dbPath=str(folder))
    found = ltm(program, "search", "dark mode")
    assert (DARK in found.out, SEA in found.out) == (True, False)
    assert "were compared by their words only: its vectors are not those of hashed-words-256 (fake)." in found.err
    assert f"`memoriter ltm import {folder}`" in found.err
    assert [each["code"] for each in ltm(program, "search", "dark mode", "--json").json["reasons"]] == ["no_vectors"]


def test_a_copied_memory_is_listed_once(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "openclaw"
    openclaw_table(program, folder, own_vectors=True)
    configure(program, dbPath=str(folder))
    ltm(program, "store", DARK)
    assert [each.get("inOpenClaw", False) for each in ltm(program, "list", "--json").json] == [True, False]
    assert ltm(program, "stats", "--json").json["openclaw"]["missing"] == 1
    ltm(program, "import", str(folder))
    listed = ltm(program, "list")
    assert (len(listed.out.splitlines()), listed.err) == (2, "")
    assert "(2 in its table, which is only read; all copied)" in ltm(program, "stats").out


def test_a_damaged_table_is_a_notice_and_does_not_hide_the_memories(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "openclaw"
    openclaw_table(program, folder, own_vectors=True)
    for file in (folder / "memories.lance" / "_versions").iterdir():
        file.write_bytes(b"LANC")
    configure(program, dbPath=str(folder))
    ltm(program, "store", "I prefer tea.")
    for words in (["list"], ["search", "do I prefer tea"], ["stats"]):
        shown = ltm(program, *words)
        assert (shown.exit_code, "tea" in shown.out or "memories   1" in shown.out) == (0, True)
        assert "The table of OpenClaw in" in shown.err


def test_an_import_that_fails_adds_nothing(program: Program, tmp_path: Path) -> None:
    openclaw_table(program, tmp_path / "openclaw", own_vectors=False)
    note = program.workspace / "memory" / "long-term.md"
    settings = json.loads((program.home / "memoriter.json5").read_text(encoding="utf-8"))
    settings["agents"]["defaults"]["memorySearch"]["provider"] = "none"
    (program.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
    assert ltm(program, "import", str(tmp_path / "openclaw")).exit_code != 0
    assert not note.exists()


def test_an_empty_export_adds_nothing(program: Program) -> None:
    with Memory.open(program.workspace, home=program.home) as memory:
        memory.long_term.store(DARK, origin="owner")
        assert import_text(memory.long_term, f"- {DARK}\n", own=True).added == 0
