"""What sessions keep of notes is reached by forgetting, and nothing that only a copy has goes with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

PIN = "The PIN of the card is 4711."
OTHER = "The rent is 900 euros."
FULL = 176_000


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


def forget(memory: Memory, path: str | None = None, **request: str) -> Any:
    return memory.forget(memory.plan_forget(path, **request))


def overwritten_log(memory: Memory, env: MemoryEnv) -> Path:
    """Ask for a flush of a log that has the PIN; return the log."""
    memory.remember(PIN)
    memory.remember(OTHER)
    turn = memory.session("chat").flush(FULL).turn
    assert turn is not None
    return env.notes / turn.path


def copies(env: MemoryEnv, agent: str = "main") -> list[str]:
    folder = env.home / "agents" / agent / "flushes"
    return [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())] if folder.is_dir() else []


def settled_without_its_lines(env: MemoryEnv) -> Memory:
    """A memory whose log lost all its lines in a flush, so that only the copy has them."""
    memory = env.open()
    log = overwritten_log(memory, env)
    log.write_text("- We ship on Friday.\n", encoding="utf-8")
    result = memory.session("chat").flushed("Done.")
    assert result is not None
    assert [reason.code for reason in result.reasons] == ["flush_changed"]
    assert PIN in copies(env)[0]
    return memory


def test_a_text_that_only_a_copy_holds_is_planned_for_and_goes_and_the_rest_of_the_copy_stays(env: MemoryEnv) -> None:
    memory = settled_without_its_lines(env)
    plan = memory.plan_forget(match="4711")
    assert (plan.notes, plan.empty, len(plan.kept)) == ((), False, 1)
    assert memory.forget(plan).left == ()
    assert [(PIN in copy, OTHER in copy) for copy in copies(env)] == [(False, True)]
    assert memory.plan_forget(match="4711").empty


def test_forgetting_something_else_leaves_the_only_copy_as_it_is(env: MemoryEnv) -> None:
    memory = settled_without_its_lines(env)
    before = copies(env)
    forget(memory, match="We ship on Friday")
    assert copies(env) == before


def test_marks_that_every_entry_has_stay_in_the_copies(env: MemoryEnv) -> None:
    memory = env.open()
    for title, text in (("Card", "The card is blue."), ("Key", "The key is red.")):
        memory.remember(f"# {title}\n\n```sh\n{text}\n```\n\n| a |\n|---|", origin="agent")
    path = overwritten_log(memory, env).relative_to(env.notes).as_posix()
    before = env.notes.joinpath(path).read_text(encoding="utf-8")
    first, last = (before.split("\n").index(line) + 1 for line in ("# Card", "<!-- end: agent -->"))
    forget(memory, f"{path}#L{first}-L{last}")
    (copy,) = copies(env)
    assert "Card" not in copy
    assert "The card is blue." not in copy
    assert before.partition("# Key")[2].replace("| a |\n", "") == copy.partition("# Key")[2]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
@pytest.mark.parametrize("way", ["match", "lines"])
def test_a_copy_that_cannot_be_changed_stays_and_is_named(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    memory = env.open()
    path = overwritten_log(memory, env).relative_to(env.notes).as_posix()
    (copy,) = (env.home / "agents" / "main" / "flushes").iterdir()
    monkeypatch.setattr("memoriter.workspace.writing._exchange.SETTLE_SECONDS", 0.05)
    with copy.open("a", encoding="utf-8"):
        receipt = forget(memory, match="4711") if way == "match" else forget(memory, f"{path}#L3")
    assert [str(copy) in reason.message for reason in receipt.left] == [True]
    assert OTHER in copy.read_text(encoding="utf-8")


@pytest.mark.parametrize("way", ["match", "lines", "note"])
def test_what_is_forgotten_while_a_flush_is_open_leaves_its_copy_and_is_no_change_of_the_flush(
    env: MemoryEnv, way: str
) -> None:
    memory = env.open()
    log = overwritten_log(memory, env)
    path = log.relative_to(env.notes).as_posix()
    line = log.read_text(encoding="utf-8").split("\n").index(f"- 12:00 {PIN}") + 1
    if way == "match":
        forget(memory, match="4711")
    else:
        forget(memory, f"{path}#L{line}" if way == "lines" else path)
    assert [(PIN in copy, OTHER in copy) for copy in copies(env)] == [(False, way != "note")]
    result = memory.session("chat").flushed("NO_REPLY")
    assert result is not None
    assert (result.step, result.reasons) == ("nothing_to_store", ())


def test_a_text_that_only_a_context_holds_is_planned_for_and_goes(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("Compare <b>bold</b> & plain.")
    assert "bold" in memory.session("chat", audience="private").start().text
    (log,) = [file for file in (env.notes / "memory").glob("2*.md") if "bold" in file.read_text(encoding="utf-8")]
    log.unlink()
    memory.sync()
    plan = memory.plan_forget(match="<b>bold</b> & plain")
    assert [file.parent.name for file in plan.kept] == ["contexts"]
    memory.forget(plan)
    assert list((env.home / "agents" / "main" / "contexts").iterdir()) == []
    assert memory.plan_forget(match="<b>bold</b> & plain").empty


def test_what_is_kept_for_sessions_of_other_agents_is_told(env: MemoryEnv) -> None:
    memory = env.open()
    log = overwritten_log(memory, env)
    his = env.open(agent="bob")
    assert PIN in his.session("his", audience="private").start().text
    assert his.session("his").flush(FULL).turn is not None
    path = log.relative_to(env.notes).as_posix()
    for plan in (memory.plan_forget(match="4711"), memory.plan_forget(path)):
        messages = {reason.code: reason.message for reason in plan.unreached}
        assert "flushes" in messages["other_sessions"]
        assert "contexts" in messages["other_sessions"]
    assert "other_sessions" not in {reason.code for reason in memory.plan_forget(match="900 euros nobody").unreached}
    forget(memory, match="4711")
    assert PIN in copies(env, "bob")[0]
