"""`memory_append` reports `findable` only for text that a search finds, and refuses text that would hide a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from desk import MemoryEnv
from faults import read_only
from memoriter import workspace
from memoriter.tools import APPEND, SEARCH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TODAY = "memory/2026-03-10.md"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MemoryEnv]:
    desk = MemoryEnv.at(tmp_path)
    desk.configure(provider="fake")
    yield desk
    desk.close()


@pytest.mark.parametrize(("to", "path"), [("daily", TODAY), ("long-term", "MEMORY.md")])
def test_an_entry_that_would_make_a_note_too_large_to_be_read_is_refused_before_a_byte_is_written(
    desk: MemoryEnv, to: str, path: str
) -> None:
    limit, file = workspace.MAX_BYTES, desk.notes / path
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"\n- Zanzibar is in the note.\n\n{'word ' * 199_999}\n")
        opened.write("\n" * (limit - 900_000 - opened.tell()))
    before = file.read_bytes()
    memory = desk.open()

    answer = APPEND.run(memory, {"text": "x" * 1_000_000, "to": to})

    assert answer["written"] is False
    assert f"{limit:,}" in answer["error"]
    assert "another note" in answer["action"]
    assert file.read_bytes() == before
    assert APPEND.run(memory, {"text": "Small enough.", "to": to})["findable"]
    assert memory._workspace.find(path)[1] is not None  # type: ignore[index]


def test_up_to_the_last_byte_that_fits_each_entry_is_found_and_the_next_one_is_refused(desk: MemoryEnv) -> None:
    memory = desk.open()
    memory._workspace._max_bytes = 4_000
    answers = [APPEND.run(memory, {"text": f"drawer{n} " + "paper " * 80}) for n in range(12)]
    refused = [n for n, answer in enumerate(answers) if not answer["written"]]
    assert refused == list(range(refused[0], 12))
    assert (desk.notes / TODAY).stat().st_size <= 4_000
    assert all(answer.get("findable") for answer in answers[: refused[0]])
    assert SEARCH.run(memory, {"query": f"drawer{refused[0] - 1}"})["results"][0]["path"] == TODAY


def test_a_note_that_another_program_made_too_large_takes_no_entry(desk: MemoryEnv) -> None:
    desk.write(TODAY, "word\n" * 1_000)
    memory = desk.open()
    memory._workspace._max_bytes = 4_000
    assert APPEND.run(memory, {"text": "Lost?"})["written"] is False
    assert (desk.notes / TODAY).read_text(encoding="utf-8") == "word\n" * 1_000


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"enabled": False}, "disabled"), ({"sources": ["sessions"]}, "memory_off")],
)
def test_where_notes_are_not_searched_nothing_is_findable(desk: MemoryEnv, settings: dict[str, Any], code: str) -> None:
    desk.configure(provider="fake", experimental={"sessionMemory": True}, **settings)
    answer = APPEND.run(desk.open(), {"text": "Hidden."})
    assert (answer["written"], answer["findable"]) == (True, False)
    assert [reason["code"] for reason in answer["health"]["reasons"]] == [code]


@pytest.mark.parametrize("opened", [True, False])
def test_while_the_index_can_only_be_read_nothing_new_is_findable_and_afterwards_it_is(
    desk: MemoryEnv, *, opened: bool
) -> None:
    with desk.open() as first:
        first.sync()
    memory = desk.open()
    with read_only(desk.home):
        if opened:
            SEARCH.run(memory, {"query": "ledger"})
        answer = APPEND.run(memory, {"text": "The zanzibar key is under the mat."})
        assert (answer["written"], answer["findable"]) == (True, False)
        assert [reason["code"] for reason in answer["health"]["reasons"]] == ["index_read_only"]
        assert TODAY not in str(SEARCH.run(memory, {"query": "zanzibar"})["results"])
    assert APPEND.run(memory, {"text": "The zanzibar lock is new."})["findable"]
    desk.wait()
    assert SEARCH.run(memory, {"query": "zanzibar lock"})["results"][0]["path"] == TODAY


def test_a_note_whose_folder_became_a_link_meanwhile_is_not_findable(
    desk: MemoryEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoriter.workspace.writing import _write

    memory, folder = desk.open(), desk.notes / "memory"
    (tmp_path / "outside").mkdir()

    def swapped(*arguments: Any) -> None:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "outside")
        write_once(*arguments)

    write_once = _write._write_once
    monkeypatch.setattr(_write, "_write_once", swapped)
    answer = APPEND.run(memory, {"text": "Where?"})
    assert (answer["written"], answer["findable"]) == (True, False)
    assert list((tmp_path / "outside").iterdir()) == []
    (line,) = (tmp_path / "moved" / TODAY.rpartition("/")[2]).read_text(encoding="utf-8").splitlines()
    assert line.startswith("- Where? <!-- from: agent")
