"""A pipe, a device or a link in place of a session's file neither blocks the session nor leaks data."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from odd_files import KINDS, holding_the_secret, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter import Memory

    Open = Callable[..., Memory]
    Make = Callable[[Path], None]

pytestmark = [posix_only, pytest.mark.timeout(200)]

FULL = 176_000
TODAY = "memory/2026-02-10.md"
KEY = "agent:main:main"
odd = pytest.mark.parametrize("make", KINDS)


def put(make: Make, file: Path) -> None:
    """Replace a file by something else."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.is_file():
        file.unlink()
    make(file)


def kept(home: Path, folder: str) -> list[Path]:
    return sorted((home / "agents" / "main" / folder).iterdir())


@odd
def test_a_log_that_is_no_plain_file_is_not_copied_and_the_model_is_not_asked(
    at: Open, notes: Path, home: Path, make: Make
) -> None:
    put(make, notes / TODAY)
    answer = at().session(KEY).flush(FULL)
    assert (answer.turn, [reason.code for reason in answer.reasons]) == (None, ["flush_skipped"])
    assert TODAY in answer.reasons[0].message
    assert holding_the_secret(home) == []


@odd
def test_a_log_that_became_something_else_is_not_read_and_its_copy_is_kept(
    at: Open, notes: Path, home: Path, make: Make
) -> None:
    (notes / TODAY).write_text("- Standup moved to ten.\n", encoding="utf-8")
    session = at().session(KEY)
    assert session.flush(FULL).turn is not None
    put(make, notes / TODAY)
    result = session.flushed("Done.")
    assert result is not None
    assert (result.step, [reason.code for reason in result.reasons]) == ("failed", ["flush_unknown"])
    assert [copy.read_text(encoding="utf-8") for copy in kept(home, "flushes")] == ["- Standup moved to ten.\n"]
    assert holding_the_secret(home) == []
    assert session.compact() == ()


def test_a_folder_of_logs_that_became_a_link_is_not_followed(at: Open, notes: Path, home: Path, tmp_path: Path) -> None:
    session = at().session(KEY)
    assert session.flush(FULL).turn is not None
    shutil.move(notes / "memory", tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "2026-02-10.md").write_text("- Not of this memory.\n", encoding="utf-8")
    (notes / "memory").symlink_to(tmp_path / "elsewhere")
    result = session.flushed("Done.")
    assert result is not None
    assert (result.step, result.new, [reason.code for reason in result.reasons]) == ("failed", 0, ["flush_unknown"])


@odd
def test_a_copy_that_is_no_plain_file_is_not_read(at: Open, notes: Path, home: Path, make: Make) -> None:
    session = at().session(KEY)
    assert session.flush(FULL).turn is not None
    (copy,) = kept(home, "flushes")
    put(make, copy)
    (notes / TODAY).write_text("- We ship on Friday.\n", encoding="utf-8")
    result = session.flushed("Done.")
    assert result is not None
    assert (result.step, [reason.code for reason in result.reasons]) == ("failed", ["flush_unknown"])


@odd
def test_a_store_of_sessions_that_is_no_plain_file_is_told(at: Open, home: Path, make: Make) -> None:
    store = home / "agents" / "main" / "sessions" / "sessions.json"
    put(make, store)
    session = at().session(KEY)
    answer = session.flush(FULL)
    assert (answer.turn, [reason.code for reason in answer.reasons]) == (None, ["write"])
    assert "sessions.json" in answer.reasons[0].message
    assert [reason.code for reason in session.compact()] == ["write"]


@pytest.mark.matrix
@odd
def test_a_context_that_is_no_plain_file_is_told_and_the_session_goes_on(at: Open, home: Path, make: Make) -> None:
    text = at().session(KEY, audience="private").start().text
    (file,) = kept(home, "contexts")
    put(make, file)
    session = at().session(KEY, audience="private")
    context = session.start()
    assert context.text == text
    assert [reason.remedy for reason in context.reasons] == ["The context may change within this session."]
    session.recall("Why did we choose PostgreSQL for the ledger?")
    session.compact()
    assert holding_the_secret(home) == []


@pytest.mark.parametrize("name", ["../../../memoriter.json5", "../sessions/sessions.json", "..", ""])
def test_a_copy_that_is_named_with_a_path_is_neither_read_nor_removed(at: Open, home: Path, name: str) -> None:
    session = at().session(KEY)
    assert session.flush(FULL).turn is not None
    store = home / "agents" / "main" / "sessions" / "sessions.json"
    (copy,) = kept(home, "flushes")
    store.write_text(store.read_text(encoding="utf-8").replace(copy.name, name), encoding="utf-8")
    result = session.flushed("NO_REPLY")
    assert result is not None
    assert (result.step, [reason.code for reason in result.reasons]) == ("nothing_to_store", ["flush_unknown"])
    assert (home / "memoriter.json5").exists()
    assert store.exists()
