"""The operations about days and records of conversations show what is stored, and nothing of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from memory_env import MemoryEnv
    from web_client import ApiClient

CAPTURED = (
    "- 14:05 Conversation with Claude Code (session 7); what was asked: <!-- from: capture 0a1b2c3d (claude-code"
    " prompts), 2026-04-01 -->\n  - “Which port has the printer?”\n"
)


def test_the_days_of_a_year_have_the_lines_of_their_notes(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/2023-04-01.md", f"# Day\n\n- 09:00 One entry.\n{CAPTURED}")
    env.write("memory/2023-04-01-printer.md", "# Printer\n")
    env.write("memory/2022-12-31.md", "# Old year\n")
    answer = owner.get("/days", year=2023).json()
    assert {each["day"]: each["lines"] for each in answer["days"]} == {
        "2023-04-01": 5,
    }
    assert answer["days"][-1] == {
        "day": "2023-04-01",
        "paths": ["memory/2023-04-01-printer.md", "memory/2023-04-01.md"],
        "lines": 5,
        "captures": 1,
        "others": 1,
    }
    assert {2022, 2023, 2026} <= set(answer["years"])
    assert [each["day"] for each in owner.get("/days", year=2022).json()["days"]] == ["2022-12-31"]


def test_a_day_has_its_notes_its_records_and_why_it_has_no_memories(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/2026-04-01.md", f"# Day\n\n- 09:00 One entry.\n{CAPTURED}")
    answer = owner.get("/day", day="2026-04-01").json()
    note = next(each for each in answer["notes"] if each["path"] == "memory/2026-04-01.md")
    assert (note["lines"], note["others"]) == (
        4,
        [{"origin": "capture 0a1b2c3d (claude-code prompts), 2026-04-01", "startLine": 4, "endLine": 5}],
    )
    assert [(each["id"], each["citation"]) for each in answer["captures"]] == [
        ("0a1b2c3d", "memory/2026-04-01.md#L4-L5")
    ]
    assert (answer["memories"], answer["longTerm"]["code"]) == ([], "config")
    refused = owner.get("/day", day="2026-02-30")
    assert (refused.status_code, refused.json()["code"]) == (400, "usage")


def test_the_conversations_of_a_day_are_those_that_used_these_notes(env: MemoryEnv, owner: ApiClient) -> None:
    memory = env.open()
    memory.session("agent:main:direct", audience="private").start()
    other = env.home.parent / "other"
    (other / "memory").mkdir(parents=True, exist_ok=True)
    (other / "MEMORY.md").write_text("# Foreign\n", encoding="utf-8")
    from memoriter import Memory
    from memoriter.app import Environment, assemble

    environment = Environment({"MEMORITER_HOME": str(env.home)}, env.home, other, lambda: 0.0, lambda: 0.0)
    with Memory(assemble(other, env=environment)) as foreign:
        foreign.session("agent:other:direct", audience="private").start()
    env.close()
    (record,) = owner.get("/day").json()["recalled"]
    assert (record["session"], record["audience"], record["context"], record["passages"]) == (
        "agent:main:direct",
        "private",
        True,
        0,
    )


def test_a_record_of_a_conversation_is_listed_and_removed(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/2026-05-01.md", f"# Day\n\n- 09:00 One entry.\n{CAPTURED.replace('0a1b2c3d', '9a9b9c9d')}")
    assert "9a9b9c9d" in {each["id"] for each in owner.get("/captures").json()["captures"]}
    done = owner.post("/captures/undo", id="9a9b9c9d").json()
    assert [each["citation"] for each in done["captures"]] == ["memory/2026-05-01.md#L4-L5"]
    text = (env.notes / "memory/2026-05-01.md").read_text(encoding="utf-8")
    assert ("One entry." in text, "printer" in text) == (True, False)
    assert owner.post("/captures/undo", id="9a9b9c9d").status_code == 400


@pytest.mark.parametrize(
    ("pattern", "path", "day"),
    [
        ("Daily/%d.%m.%Y.md", "Daily/10.02.2026.md", "2026-02-10"),
        ("%Y/%m/%d.md", "2026/02/10.md", "2026-02-10"),
        ("Daily/%Y/%m/%Y-%m-%d.md", "Daily/2026/02/2026-02-10.md", "2026-02-10"),
        ("Daily/%y%m%d.md", "Daily/260210.md", "2026-02-10"),
        ("%e %B %Y.md", "5 March 2024.md", "2024-03-05"),
        ("memory/%Y-%m-%d.md", "journals/2024_03_05.md", "2024-03-05"),
        ("%G/W%V.md", "2026/W07.md", "2026-02-09"),
        ("memory/%Y-%m-%d.md", "memory/x/2026-02-10 printer.md", "2026-02-10"),
        ("memory/%Y-%m-%d.md", "memory/2026-02-31.md", None),
        ("memory/%Y-%m-%d.md", "memory/2026-02-101.md", None),
    ],
)
def test_a_note_belongs_to_a_day_by_the_pattern_or_by_its_name(pattern: str, path: str, day: str | None) -> None:
    from memoriter.web._operations import day_of_note

    found = day_of_note(path, pattern)
    assert (found.isoformat() if found else None) == day
