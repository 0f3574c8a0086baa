"""`memory_append` reports `findable` only for text that a search finds, and refuses text that would hide a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from faults import read_only
from memoriter import workspace
from memoriter.tools import APPEND, SEARCH
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TODAY = "memory/2026-03-10.md"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


@pytest.mark.parametrize(("to", "path"), [("daily", TODAY), ("long-term", "MEMORY.md")])
def test_an_entry_that_would_make_a_note_too_large_to_be_read_is_refused_before_a_byte_is_written(
    env: MemoryEnv, to: str, path: str
) -> None:
    limit = workspace.MAX_BYTES
    file = env.notes / path
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"\n- Zanzibar is in the note.\n\n{'word ' * 199_999}\n")
        room = limit - 900_000 - opened.tell()
        opened.write(f"{' ' * 999}\n" * (room // 1000) + "\n" * (room % 1000))
    before = file.read_bytes()
    memory = env.open()

    answer = APPEND.run(memory, {"text": "x" * 1_000_000, "to": to})

    assert answer["written"] is False
    assert f"{limit:,}" in answer["error"]
    assert "another note" in answer["action"]
    assert file.read_bytes() == before
    assert APPEND.run(memory, {"text": "Small enough.", "to": to})["findable"]
    assert memory._workspace.find(path)[1] is not None  # type: ignore[index]


def test_up_to_the_last_byte_that_fits_each_entry_is_found_and_the_next_one_is_refused(env: MemoryEnv) -> None:
    memory = env.open()
    memory._workspace._max_bytes = 4_000
    answers = [APPEND.run(memory, {"text": f"drawer{n} " + "paper " * 80}) for n in range(12)]
    refused = [n for n, answer in enumerate(answers) if not answer["written"]]
    assert refused == list(range(refused[0], 12))
    assert (env.notes / TODAY).stat().st_size <= 4_000
    assert all(answer.get("findable") for answer in answers[: refused[0]])
    assert SEARCH.run(memory, {"query": f"drawer{refused[0] - 1}"})["results"][0]["path"] == TODAY


def test_a_note_that_another_program_made_too_large_takes_no_entry(env: MemoryEnv) -> None:
    env.write(TODAY, "word\n" * 1_000)
    memory = env.open()
    memory._workspace._max_bytes = 4_000
    assert APPEND.run(memory, {"text": "Lost?"})["written"] is False
    assert (env.notes / TODAY).read_text(encoding="utf-8") == "word\n" * 1_000


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"enabled": False}, "disabled"), ({"sources": ["sessions"]}, "memory_off")],
)
def test_where_notes_are_not_searched_nothing_is_findable(env: MemoryEnv, settings: dict[str, Any], code: str) -> None:
    env.configure(provider="fake", experimental={"sessionMemory": True}, **settings)
    answer = APPEND.run(env.open(), {"text": "Hidden."})
    assert (answer["written"], answer["findable"]) == (True, False)
    assert [reason["code"] for reason in answer["health"]["reasons"]] == [code]


@pytest.mark.parametrize("opened", [True, False])
def test_while_the_index_can_only_be_read_nothing_new_is_findable_and_afterwards_it_is(
    env: MemoryEnv, *, opened: bool
) -> None:
    with env.open() as first:
        first.sync()
    memory = env.open()
    with read_only(env.home):
        if opened:
            SEARCH.run(memory, {"query": "ledger"})
        answer = APPEND.run(memory, {"text": "The zanzibar key is under the mat."})
        assert (answer["written"], answer["findable"]) == (True, False)
        assert [reason["code"] for reason in answer["health"]["reasons"]] == ["index_read_only"]
        assert TODAY not in str(SEARCH.run(memory, {"query": "zanzibar"})["results"])
    assert APPEND.run(memory, {"text": "The zanzibar lock is new."})["findable"]
    env.wait()
    assert SEARCH.run(memory, {"query": "zanzibar lock"})["results"][0]["path"] == TODAY


def test_a_note_whose_folder_became_a_link_meanwhile_is_not_findable(
    env: MemoryEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoriter.workspace.writing import _write

    memory = env.open()
    folder = env.notes / "memory"
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
    *_, line = (tmp_path / "moved" / TODAY.rpartition("/")[2]).read_text(encoding="utf-8").splitlines()
    assert line.startswith("- 12:00 Where? <!-- from: agent")
