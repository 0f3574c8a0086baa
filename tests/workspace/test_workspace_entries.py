"""Entries that are remembered: their form in the note of the day, and entries that are already there."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.layout import DAILY_NOTE
from memoriter.workspace import scan_blocks
from memoriter.workspace.writing._entry import Addition, Entry, Existing, find_entry
from memory_env import MemoryEnv, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TODAY = "memory/2026-03-10.md"
TEXT = "We chose PostgreSQL."


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


def settings(env: MemoryEnv, memory: dict[str, Any], zone: str = "UTC") -> None:
    defaults = {"userTimezone": zone, "memorySearch": {"provider": "none"}}
    env.config.write_text(json.dumps({"agents": {"defaults": defaults}, "memory": memory}), encoding="utf-8")


def note(env: MemoryEnv, path: str = TODAY) -> str:
    return (env.notes / path).read_text(encoding="utf-8")


def test_a_new_note_of_the_day_has_a_title_and_entries_with_the_time_of_the_owner(env: MemoryEnv) -> None:
    settings(env, {}, zone="Asia/Seoul")
    memory = env.open()
    written = memory.remember(TEXT)
    env.wait(3_900)
    second = memory.remember("First line.\nSecond line.\n\nAnother paragraph.")
    assert note(env) == (
        f"# 2026-03-10\n\n- 21:00 {TEXT}\n- 22:05 First line.\n  Second line.\n\n  Another paragraph.\n"
    )
    assert (written.start_line, written.end_line, second.start_line, second.end_line) == (3, 3, 4, 7)
    assert memory.read(f"{TODAY}#L{second.start_line}-L{second.end_line}").text.startswith("- 22:05 First line.")


@pytest.mark.parametrize(
    ("pattern", "path", "written"),
    [
        ("Daily/%Y/%m/%d.md", "Daily/2026/03/10.md", f"# 2026-03-10\n\n- 12:00 {TEXT}\n"),
        ("Journal/%d.%m.%Y.md", "Journal/10.03.2026.md", f"# 10.03.2026\n\n- 12:00 {TEXT}\n"),
        ("Weeks/%G-W%V.md", "Weeks/2026-W11.md", f"# 2026-W11\n\n- 2026-03-10 12:00 {TEXT}\n"),
    ],
)
def test_the_title_suits_the_pattern_of_the_daily_note(env: MemoryEnv, pattern: str, path: str, written: str) -> None:
    settings(env, {"layout": "notes", "dailyNote": pattern})
    env.open().remember(TEXT)
    assert note(env, path) == written


@pytest.mark.parametrize(
    ("before", "added"),
    [
        ("# Tuesday\n\n- Woke up.\n- Had tea.\n", f"- {TEXT}\n"),
        ("# Tuesday\n\n* Woke up.\n* Had tea.", f"\n* {TEXT}\n"),
        ("- **09:15** – Woke up.\n- Had tea.\n", f"- **12:00** – {TEXT}\n"),
        ("+ [9:15:30] Woke up.\n", f"+ [12:00] {TEXT}\n"),
        ("# 2026-03-10\n", f"- 12:00 {TEXT}\n"),
        ("# 2026-03-10\n\n- Woke up.\n\n## 09:15\n\nWe talked.\n", f"- 12:00 {TEXT}\n"),
        ("## Log\n\n- 9:15 Woke up.\n\n## Tasks\n\n- [ ] Call Dana.\n", f"- 12:00 {TEXT}\n"),
        ("- 12:00 a\n- b\n- c\n- d\n", f"- {TEXT}\n"),
    ],
)
def test_an_entry_has_the_form_of_the_last_entries(env: MemoryEnv, before: str, added: str) -> None:
    env.write(TODAY, before)
    env.open().remember(TEXT)
    assert note(env) == before + added


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("- One.\n- [ ] Two.", "- 12:00 One.\n- [ ] Two.\n"),
        ("09:30 Stand-up with Priya.", "- 09:30 Stand-up with Priya.\n"),
        ("**Decision**: tea.", "- 12:00 **Decision**: tea.\n"),
        ("Run this:\n\n```sh\nmake\n```", "- 12:00 Run this:\n\n  ```sh\n  make\n  ```\n"),
        ("## Tea\n\nWe chose it.", "## Tea\n\nWe chose it.\n"),
        ("> Quoted.", "> Quoted.\n"),
        ("#work We met.", "- 12:00 #work We met.\n"),
    ],
)
def test_lists_keep_their_items_and_text_with_headings_stays_as_it_is(env: MemoryEnv, text: str, added: str) -> None:
    env.open().remember(text)
    assert note(env) == f"# 2026-03-10\n\n{added}"


@pytest.mark.parametrize(
    ("before", "text", "lines"),
    [
        (f"- 09:15 {TEXT}\n", TEXT, (1, 1)),
        ("# Day\n\n- **9:15** We\n  chose   PostgreSQL.\n", f" {TEXT}\n", (3, 4)),
        (f"{TEXT}\n\n- More.\n", f"- {TEXT}", (1, 1)),
        ("- 9:15 One.\n\n  Two.\n- Three.\n", "One.\n\nTwo.", (1, 3)),
        ("- 09:15 Took the pill.\n- 12:00 Had tea.\n", "09:15 Took the pill.", (1, 1)),
        (f"```\n{TEXT}\n```\n", TEXT, None),
        (f"- Priya said:\n  - {TEXT}\n", TEXT, None),
        (f"- We know that {TEXT}\n", TEXT, None),
        ("- 09:15 Took the pill.\n", "18:30 Took the pill.", None),
        (f"- {TEXT.upper()}\n", TEXT, None),
    ],
)
def test_an_entry_that_is_already_there_is_not_written_again(
    env: MemoryEnv, before: str, text: str, lines: tuple[int, int] | None
) -> None:
    env.write(TODAY, before)
    written = env.open().remember(text)
    assert written.existing == (note(env) == before) == (lines is not None)
    if lines:
        assert (written.start_line, written.end_line) == lines


def test_what_the_long_term_memory_has_is_not_added_to_the_log_but_the_other_way_round_it_is(env: MemoryEnv) -> None:
    memory = env.open()
    fact = "We chose PostgreSQL for the ledger because of ACID."
    known = memory.remember(fact)
    assert (known.existing, known.path.name, known.start_line) == (True, "MEMORY.md", 3)
    assert not (env.notes / TODAY).exists()
    assert not memory.remember(TEXT).existing
    assert not memory.remember(TEXT, to="long-term").existing
    assert memory.remember(TEXT, to="long-term").start_line == 4
    assert not memory.remember(fact, again=True).existing
    assert note(env).endswith(f"- 12:00 {fact}\n")


def test_of_many_that_begin_the_note_at_once_one_writes_the_title_and_one_writes_each_entry(env: MemoryEnv) -> None:
    memory = env.open()
    with ThreadPoolExecutor(8) as threads:
        written = list(threads.map(lambda number: memory.remember(f"Entry {number % 4}."), range(16)))
    assert sorted(note(env).splitlines()) == ["", "# 2026-03-10", *(f"- 12:00 Entry {number}." for number in range(4))]
    assert sum(not each.existing for each in written) == 4


OPENINGS = {"```": "```", "~~~~ x": "~~~~", "<pre>": "</pre>", "- a\n  ```": "", "# a\r\n```": "```"}


@pytest.mark.parametrize("opening", OPENINGS)
def test_what_an_entry_leaves_open_is_closed_and_the_entry_is_known_again(env: MemoryEnv, opening: str) -> None:
    memory = env.open()
    text = f"{opening}\n\nThe words of it."
    written = memory.remember(text, to="long-term")
    lines = note(env, "MEMORY.md").split("\n")
    assert lines[written.end_line - 1].strip() == (OPENINGS[opening] or "The words of it.")
    assert memory.remember(text, to="long-term").existing
    assert memory.remember("Another.", to="long-term").start_line == written.end_line + 1
    memory.forget(memory.plan_forget(match="Another."))
    assert note(env, "MEMORY.md").split("\n") == lines


@pytest.mark.parametrize("origin", [None, "agent"])
@pytest.mark.parametrize(
    ("opened", "closing"), [("```sh\nls\n", "\n```\n"), ("<!--\nb", "\n\n-->\n"), ("- a\n  ```\n", "")]
)
def test_an_entry_is_not_written_into_what_a_note_leaves_open(
    env: MemoryEnv, opened: str, closing: str, origin: str | None
) -> None:
    env.write(TODAY, opened)
    memory = env.open()
    written = [memory.remember(text, origin=origin) for text in (TEXT, "# A\n\ntitle")]
    assert note(env).startswith(f"{opened}{closing}- ")
    assert [memory.read(f"{TODAY}#L{each.start_line}").text[:2] for each in written] == [
        "- ",
        "<!" if origin else "# ",
    ]
    memory.forget(memory.plan_forget(match=TEXT))
    assert note(env).startswith(f"{opened}{closing}")
    assert "title" in note(env)


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_what_agents_leave_open_takes_no_entry_of_the_owner_along(env: MemoryEnv, fence: str) -> None:
    memory = env.open()
    facts = [f"Owner fact {number}" for number in range(4)]
    for number, fact in enumerate(facts):
        if number in {1, 3}:
            memory.remember(f"{fence}\nopen before {number}", origin="agent via MCP (codex)")
        memory.remember(fact)
    before = note(env)
    plan = memory.plan_forget(match=facts[2])
    assert [passage.text for each in plan.notes for passage in each.passages] == [f"- 12:00 {facts[2]}"]
    memory.forget(plan)
    assert note(env) == before.replace(f"- 12:00 {facts[2]}\n", "")


@pytest.mark.parametrize("text", ["-", "--- \n\nb", "<!-- b -->\n\nc", "===\n\nb"])
def test_an_entry_that_is_no_item_has_a_blank_line_above_it(env: MemoryEnv, text: str) -> None:
    env.write("MEMORY.md", "Mine")
    env.open().remember(text, to="long-term")
    assert note(env, "MEMORY.md").startswith("Mine\n\n")


def test_an_entry_with_a_time_is_found_and_can_be_forgotten(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("The walrus sleeps.\n\nAnd snores.")
    memory.remember(TEXT)
    assert paths(memory.search("walrus sleeps"))[0] == TODAY
    memory.forget(memory.plan_forget(match="The walrus"))
    assert note(env) == f"# 2026-03-10\n\n- 12:00 {TEXT}\n"
    assert not memory.remember("The walrus sleeps.\n\nAnd snores.").existing


@pytest.mark.parametrize("before", ["- Mine.\n", "- Mine."])
def test_a_table_below_an_item_is_no_part_of_it(env: MemoryEnv, before: str) -> None:
    env.write(TODAY, before)
    written = env.open().remember("| a | b |\n|---|---|\n| 1 | 2 |")
    assert note(env) == "- Mine.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert (written.start_line, written.end_line) == (3, 5)


PARTS = ["a", "b c", "- d", "* [ ] e", "12:30 f", "- 12:30 g", "  h", "", "> i", "#j k", "| l |"]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("\n".join).filter(str.strip))
def test_every_entry_that_was_added_is_recognized(text: str) -> None:
    entry = Entry(text, None, datetime(2026, 3, 10, 12, tzinfo=UTC), DAILY_NOTE)
    before = "# Day\n\n- 09:00 Something else.\n"
    addition = entry.add_to(before.encode())
    assert isinstance(addition, Addition)
    again = entry.add_to(f"{before}{addition.title}{addition.text}".encode())
    first = 4 + len(addition.title)
    assert again == Existing(first, first + addition.text.count("\n") - 1)


@pytest.mark.parametrize("opened", ["```\n", "<!--\n", "<pre>\n"])
def test_what_other_programs_wrote_below_an_open_fence_is_not_forgotten_together(env: MemoryEnv, opened: str) -> None:
    facts = "\nThe meter is 4711.\n\nThe boiler is serviced in May.\n"
    env.write("MEMORY.md", f"# Mine\n\n{opened}A paste.\n{facts}")
    memory = env.open()
    memory.remember("We chose PostgreSQL.", to="long-term")
    memory.remember("First.\n\nSecond.", to="long-term")
    memory.forget(memory.plan_forget(match="4711"))
    left = (env.notes / "MEMORY.md").read_text(encoding="utf-8")
    assert "4711" not in left
    for text in ("A paste.", "The boiler is serviced in May.", "- We chose PostgreSQL.", "First.", "Second."):
        assert text in left


LISTS = "# Lists\n\n## Groceries\n\n- Tea.\n\n### Weekend\n\n- Cake.\n\n## Repairs\n\nThe door.\n"


@pytest.mark.parametrize(
    ("before", "section", "after"),
    [
        (LISTS, "Groceries", LISTS.replace("- Tea.\n", "- Tea.\n- Milk.\n")),
        (LISTS, "## groceries ", LISTS.replace("- Tea.\n", "- Tea.\n- Milk.\n")),
        (LISTS, "Weekend", LISTS.replace("- Cake.\n", "- Cake.\n- Milk.\n")),
        (LISTS, "Repairs", LISTS + "\n- Milk.\n"),
        (LISTS, "Ideas", LISTS + "\n## Ideas\n\n- Milk.\n"),
        ("", "Ideas", "## Ideas\n\n- Milk.\n"),
        ("## A\n## B\n", "A", "## A\n\n- Milk.\n\n## B\n"),
        ("A\n---\n* Tea.\n", "A", "A\n---\n* Tea.\n- Milk.\n"),
        ("## A\n\n```sh\n## B\nls\n", "B", "## A\n\n```sh\n## B\nls\n\n```\n\n## B\n\n- Milk.\n"),
        ("## A\n\n```sh\nls\n", "A", "## A\n\n```sh\nls\n```\n\n- Milk.\n"),
        ("## A\n\n~~~\n## B\n~~~\n\n## B\n\nText.\n", "B", "## A\n\n~~~\n## B\n~~~\n\n## B\n\nText.\n\n- Milk.\n"),
        ("## A\n\n<!-- open\n", "A", "## A\n\n<!-- open\n-->\n\n- Milk.\n"),
        ("## A\r\n\r\n- Tea.\r\n\r\n## B\r\n", "A", "## A\r\n\r\n- Tea.\r\n- Milk.\r\n\r\n## B\r\n"),
        ("## A\n\n- Tea.", "A", "## A\n\n- Tea.\n- Milk.\n"),
    ],
)
def test_an_entry_is_put_below_a_heading(env: MemoryEnv, before: str, section: str, after: str) -> None:
    env.write("MEMORY.md", "")
    (env.notes / "MEMORY.md").write_bytes(before.encode())
    written = env.open().remember("Milk.", to="long-term", section=section)
    text = (env.notes / "MEMORY.md").read_bytes().decode()
    assert text == after
    assert text.split("\n")[written.start_line - 1].strip() == "- Milk."
    assert written.start_line == written.end_line
    again = env.open().remember("Milk.", to="long-term", section=section)
    assert (again.existing, again.start_line) == (True, written.start_line)


def test_an_entry_below_a_heading_of_the_day_has_the_form_of_that_section(env: MemoryEnv) -> None:
    env.write(TODAY, "# 2026-03-10\n\n## Calls\n\n* **09:30** – Kim.\n\n## Notes\n\n- 10:00 Rain.\n")
    env.open().remember("Lee.", section="Calls")
    assert (
        note(env) == "# 2026-03-10\n\n## Calls\n\n* **09:30** – Kim.\n* **12:00** – Lee.\n\n## Notes\n\n- 10:00 Rain.\n"
    )


def test_an_entry_of_an_agent_below_a_heading_is_marked_and_takes_nothing_from_others(env: MemoryEnv) -> None:
    env.write("MEMORY.md", "## A\n\n- Mine.\n\n## B\n\n- Mine too.\n")
    memory = env.open()
    memory.remember("Theirs.", to="long-term", section="A", origin="agent")
    memory.remember("Ours.", to="long-term", section="A")
    memory.remember("New.", to="long-term", section="C", origin="agent")
    authors = {entry.text: entry.author.partition(",")[0] for entry in memory.list("MEMORY.md")}
    assert authors == {"- Mine.": "", "- Theirs.": "agent", "- Ours.": "", "- Mine too.": "", "- New.": "agent"}
    heading = memory.authors("MEMORY.md")[note(env, "MEMORY.md").split("\n").index("## C")]
    assert heading.startswith("agent")


def test_entries_that_several_programs_put_below_one_heading_are_all_there(env: MemoryEnv) -> None:
    env.write("MEMORY.md", "## A\n\n- First.\n\n## B\n\n- Last.\n")
    memory = env.open()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: memory.remember(f"Entry {number}.", to="long-term", section="A"), range(8)))
    text = note(env, "MEMORY.md")
    assert all(f"- Entry {number}.\n" in text.partition("## B")[0] for number in range(8))
    assert text.endswith("\n## B\n\n- Last.\n")


def test_that_a_long_note_lacks_an_entry_is_known_without_parsing_it() -> None:
    long = "- a line of a long day with words\n" * 3_000

    def seconds(act: Callable[[], object]) -> float:
        times = list[float]()
        for _ in range(3):
            began = time.process_time()
            act()
            times.append(time.process_time() - began)
        return min(times)

    found = seconds(lambda: find_entry(long, "Another line with words", foreign=True))
    assert found < seconds(lambda: scan_blocks(long.split("\n"))) / 2
