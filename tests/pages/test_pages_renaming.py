"""Renaming a note: the links of all notes follow, as a whole or not at all, and all of it can be taken back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import UsageError, WriteConflict
from memoriter.pages._library import Library
from memoriter.pages._note_files import RenamePlan, plan_rename, rename_note, take_back
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

NOTES = {
    "memory/plan.md": "# Plan\n\nSee [[plan#Later]] and [the day](days/one.md).\n",
    "memory/days/one.md": "- [[plan]], [[Plan|it]] and [[memory/plan#Later|later]]\n"
    "- [by path](../plan.md#later), [from the root](memory/plan.md)\n",
    "memory/points.md": "![[plan]]\r\n[x](<plan.md>) [y](plan.md 'title')\n`[[plan]]` stays\n```\n[[plan]]\n```\n",
    "memory/other.md": "---\nup: '[[plan]]'\n---\n[[planner]] and [[../plan]]\n\n[1]: plan.md\n",
    "memory/planner.md": "# Planner\n",
    "MEMORY.md": "# Memory\n\nNo link.\n",
}


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    env.configure(provider="none")
    yield env
    env.close()


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    return env.open()


@pytest.fixture
def library() -> Library:
    return Library()


def planned(memory: Memory, library: Library, old: str, new: str) -> RenamePlan:
    file = memory.file_of(old)
    assert file is not None
    return plan_rename(memory, library, file, old, new)


def texts(env: MemoryEnv) -> dict[str, bytes]:
    return {file.relative_to(env.notes).as_posix(): file.read_bytes() for file in env.notes.rglob("*.md")}


def test_links_of_every_form_follow_to_another_name_and_folder(
    env: MemoryEnv, memory: Memory, library: Library
) -> None:
    rename_note(memory, planned(memory, library, "memory/plan.md", "memory/work/Great plan (2).md"))
    assert texts(env) == {
        **{path: text.encode() for path, text in NOTES.items() if path in {"memory/planner.md", "MEMORY.md"}},
        "memory/work/Great plan (2).md": (b"# Plan\n\nSee [[Great plan (2)#Later]] and [the day](../days/one.md).\n"),
        "memory/days/one.md": (
            b"- [[Great plan (2)]], [[Great plan (2)|it]] and [[memory/work/Great plan (2)#Later|later]]\n"
            b"- [by path](../work/Great%20plan%20%282%29.md#later), "
            b"[from the root](memory/work/Great%20plan%20%282%29.md)\n"
        ),
        "memory/points.md": (
            b"![[Great plan (2)]]\r\n[x](<work/Great plan (2).md>) [y](work/Great%20plan%20%282%29.md 'title')\n"
            b"`[[plan]]` stays\n```\n[[plan]]\n```\n"
        ),
        "memory/other.md": (
            b"---\nup: '[[Great plan (2)]]'\n---\n[[planner]] and [[work/Great plan (2)]]\n\n"
            b"[1]: work/Great%20plan%20%282%29.md\n"
        ),
    }


def test_pictures_and_files_beside_a_note_are_found_from_its_new_folder(
    env: MemoryEnv, memory: Memory, library: Library
) -> None:
    for name in ("memory/a b.png", "memory/img/c.png", "shared.pdf", "rooted.png"):
        (env.notes / name).parent.mkdir(exist_ok=True)
        (env.notes / name).write_bytes(b"x")
    text = (
        '![](a%20b.png) ![c](<img/c.png> "C") [d](../shared.pdf#page=2)\n'
        "![](rooted.png) ![](gone.png) ![](https://example.org/e.png) `![](a%20b.png)`\n\n[1]: img/c.png\n"
    )
    moved = (
        '![](../../a%20b.png) ![c](<../../img/c.png> "C") [d](../../../shared.pdf#page=2)\n'
        "![](rooted.png) ![](gone.png) ![](https://example.org/e.png) `![](a%20b.png)`\n\n[1]: ../../img/c.png\n"
    )
    (env.notes / "memory" / "planner.md").write_text(text, encoding="utf-8")

    plan = planned(memory, library, "memory/planner.md", "memory/planner 2.md")
    assert plan.own.after == plan.own.before, "it stays beside them"

    plan = planned(memory, library, "memory/planner.md", "memory/work/now/planner.md")
    rename_note(memory, plan)
    assert texts(env)["memory/work/now/planner.md"] == moved.encode()
    assert [number for number, _, _ in plan.own.lines] == [1, 4]


def test_the_plan_names_each_line_and_a_link_that_still_leads_there_is_no_part_of_it(
    memory: Memory, library: Library
) -> None:
    plan = planned(memory, library, "memory/plan.md", "memory/work/plan.md")
    assert [(each.path, each.lines) for each in plan.shown] == [
        (
            "memory/work/plan.md",
            (
                (
                    3,
                    "See [[plan#Later]] and [the day](days/one.md).",
                    "See [[plan#Later]] and [the day](../days/one.md).",
                ),
            ),
        ),
        (
            "memory/days/one.md",
            (
                (
                    1,
                    "- [[plan]], [[Plan|it]] and [[memory/plan#Later|later]]",
                    "- [[plan]], [[Plan|it]] and [[memory/work/plan#Later|later]]",
                ),
                (
                    2,
                    "- [by path](../plan.md#later), [from the root](memory/plan.md)",
                    "- [by path](../work/plan.md#later), [from the root](memory/work/plan.md)",
                ),
            ),
        ),
        ("memory/other.md", ((6, "[1]: plan.md", "[1]: work/plan.md"),)),
        (
            "memory/points.md",
            ((2, "[x](<plan.md>) [y](plan.md 'title')", "[x](<work/plan.md>) [y](work/plan.md 'title')"),),
        ),
    ]


def test_a_link_to_another_note_keeps_its_target_if_the_new_name_would_take_it(
    env: MemoryEnv, memory: Memory, library: Library
) -> None:
    env.write("memory/deep/planner.md", "# Deep\n")
    env.write("memory/deep/links.md", "[[planner]]\n")
    env.write("memory/far/links.md", "[[planner]]\n")
    rename_note(memory, planned(memory, library, "memory/deep/planner.md", "memory/far/planner.md"))
    assert texts(env)["memory/deep/links.md"] == b"[[memory/far/planner]]\n"
    assert texts(env)["memory/far/links.md"] == b"[[memory/planner]]\n"
    assert texts(env)["memory/other.md"] == NOTES["memory/other.md"].encode()


def test_one_undo_takes_everything_back_and_keeps_what_was_written_meanwhile(
    env: MemoryEnv, memory: Memory, library: Library
) -> None:
    before = texts(env)
    os.utime(env.notes / "memory/plan.md", (1_000, 1_000))
    name = rename_note(memory, planned(memory, library, "memory/plan.md", "memory/goal.md"))
    take_back(memory, library, name, "memory/plan.md", "memory/goal.md")
    assert texts(env) == before
    assert (env.notes / "memory/plan.md").stat().st_mtime == 1_000  # it is as old as before

    name = rename_note(memory, planned(memory, library, "memory/plan.md", "memory/goal.md"))
    one = env.notes / "memory/days/one.md"
    one.write_text(one.read_text(encoding="utf-8") + "- Written meanwhile.\n", encoding="utf-8")
    goal = env.notes / "memory/goal.md"
    goal.write_text(goal.read_text(encoding="utf-8") + "A new aim.\n", encoding="utf-8")
    env.write("memory/points.md", "[[goal]] was rewritten.\n")
    take_back(memory, library, name, "memory/plan.md", "memory/goal.md")
    assert texts(env) == before | {
        "memory/plan.md": before["memory/plan.md"] + b"A new aim.\n",
        "memory/days/one.md": before["memory/days/one.md"] + b"- Written meanwhile.\n",
        "memory/points.md": b"[[plan]] was rewritten.\n",
    }


def test_a_rename_is_one_entry_of_the_history(env: MemoryEnv, memory: Memory, library: Library) -> None:
    before = texts(env)
    name = rename_note(memory, planned(memory, library, "memory/plan.md", "memory/goal.md"))
    changes = [each for each in memory.history().changes if each.session == name]
    assert {(each.who, each.act) for each in changes} == {("owner", "rename")}
    assert {each.path for each in changes} >= {"memory/plan.md", "memory/goal.md", "memory/points.md"}
    memory.rollback(memory.plan_rollback(session=name))
    assert texts(env) == before


def test_a_note_that_changes_in_the_middle_leaves_all_as_it_was(
    env: MemoryEnv, memory: Memory, library: Library
) -> None:
    plan = planned(memory, library, "memory/plan.md", "memory/goal.md")
    env.write(plan.changes[-1].path, "Somebody was faster.\n")
    before = texts(env)
    with pytest.raises(WriteConflict):
        rename_note(memory, plan)
    assert texts(env) == before


def test_the_author_of_a_changed_line_stays(env: MemoryEnv, memory: Memory, library: Library) -> None:
    path = memory.remember("Look at [[plan]] first.", origin="agent").path.relative_to(env.notes).as_posix()
    authors = memory.authors(path)
    assert [each for each in authors if each]
    rename_note(memory, planned(memory, library, "memory/plan.md", "memory/goal.md"))
    assert b"[[goal]]" in texts(env)[path]
    assert memory.authors(path) == authors


def test_a_name_that_no_wiki_link_can_have_is_refused_while_one_needs_it(memory: Memory, library: Library) -> None:
    with pytest.raises(UsageError, match=r"\[\[(memory/)?plan\]\]"):
        planned(memory, library, "memory/plan.md", "memory/C#.md")
    assert planned(memory, library, "memory/planner.md", "memory/C.md").changes[0].path == "memory/other.md"
