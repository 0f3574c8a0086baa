"""The tools for long-term memories, and automatic recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from long_term import NOTE, configure_long_term, long_term_env
from memoriter.extensions.longterm.api import stats, withheld_memories

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter import Memory
    from memoriter.extensions.longterm.api import Origin
    from memory_env import MemoryEnv

    Call = Callable[..., dict[str, Any]]

TEA = "I drink green tea in the morning."


def names(memory: Memory) -> list[str]:
    return [tool.name for tool in memory.tools]


def recalled(memory: Memory, prompt: str, **options: Any) -> str:
    key = options.pop("key", "agent:main:direct")
    return memory.session(key, audience="private").recall(prompt, **options).prepend_context


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        ("memory-core", ["memory_search", "memory_get", "memory_append"]),
        ("memory-lancedb", ["memory_store", "memory_recall", "memory_forget"]),
        (
            ["memory-lancedb", "memory-core"],
            ["memory_search", "memory_get", "memory_append", "memory_store", "memory_recall", "memory_forget"],
        ),
        ("none", []),
    ],
)
def test_the_slot_names_one_plugin_or_several(env: MemoryEnv, slot: str | list[str], expected: list[str]) -> None:
    configure_long_term(env, slot)
    assert names(env.open()) == expected


def test_a_plugin_that_is_turned_off_offers_nothing(env: MemoryEnv) -> None:
    text = env.config.read_text(encoding="utf-8").replace("config: {}", "enabled: false")
    assert "false" in text
    env.config.write_text(text, encoding="utf-8")
    assert names(env.open()) == []


def test_an_agent_stores_recalls_and_forgets(env: MemoryEnv, call: Call) -> None:
    stored = call("memory_store", text="The user prefers tea.", category="preference", importance="0.9")
    assert stored["stored"]
    assert stored["memory"]["importance"] == 0.9
    assert (stored["memory"]["origin"], stored["memory"]["session"]) == ("agent", "agent:main:direct")
    (found,) = call("memory_recall", query="does the user prefer tea")["memories"]
    assert (found["id"], found["category"]) == (stored["memory"]["id"], "preference")
    receipt = call("memory_forget", memoryId=found["id"].upper())
    assert [each["id"] for each in receipt["forgotten"]] == [found["id"]]
    assert call("memory_recall", query="does the user prefer tea")["memories"] == []
    assert "prefers tea" not in (env.notes / NOTE).read_text(encoding="utf-8")


def test_a_memory_has_the_usual_importance_and_category(call: Call) -> None:
    memory = call("memory_store", text="The user lives in Busan.")["memory"]
    assert (memory["importance"], memory["category"]) == (0.7, "other")


def test_storing_the_same_again_is_reported_and_changes_nothing(call: Call) -> None:
    first = call("memory_store", text="The user lives in Busan.")
    again = call("memory_store", text="The user lives in Busan.")
    assert (again["stored"], again["similarity"], again["memory"]["id"]) == (False, 1.0, first["memory"]["id"])


def test_recall_returns_five_memories_and_no_unrelated_ones(call: Call) -> None:
    for number in range(7):
        call("memory_store", text=f"The garden shed number {number} holds tool {number * 37}.")
    call("memory_store", text="Quarterly budgets were approved.")
    found = call("memory_recall", query="what is in the garden shed")["memories"]
    assert len(found) == 5
    assert all("garden shed" in each["text"] and each["score"] >= 0.1 for each in found)
    assert len(call("memory_recall", query="garden shed tool", limit=7)["memories"]) == 7


def test_several_memories_that_may_be_meant_are_listed_and_none_is_deleted(memory: Memory, call: Call) -> None:
    call("memory_store", text="The garden shed key is under the blue pot.")
    call("memory_store", text="The garden shed key is under the blue pots!")
    answer = call("memory_forget", query="The garden shed key is under the blue pot")
    assert answer["forgotten"] == []
    assert len(answer["candidates"]) == 2
    assert len(memory.long_term.memories()) == 2


def test_one_memory_that_is_not_certainly_meant_is_listed(call: Call) -> None:
    call("memory_store", text="The garden shed key is under the blue pot.")
    answer = call("memory_forget", query="The garden shed key is below that blue pot")
    assert answer["forgotten"] == []
    assert [each["text"] for each in answer["candidates"]] == ["The garden shed key is under the blue pot."]


def test_what_nothing_says_is_not_forgotten(call: Call) -> None:
    call("memory_store", text="The garden shed key is under the blue pot.")
    assert call("memory_forget", query="quarterly budgets") == {"forgotten": [], "lines": 0, "rows": 0}


@pytest.mark.parametrize(
    ("tool", "params", "words"),
    [
        ("memory_store", {}, "text is required"),
        ("memory_store", {"text": "x", "category": "food"}, "category"),
        ("memory_store", {"text": "x", "importance": 2}, "importance"),
        ("memory_store", {"text": "x", "colour": "red"}, "colour"),
        ("memory_recall", {}, "query is required"),
        ("memory_recall", {"query": "x", "limit": 0}, "limit"),
        ("memory_forget", {}, "either query or memoryId"),
        ("memory_forget", {"query": "x", "memoryId": "y"}, "either query or memoryId"),
        ("memory_forget", {"memoryId": "12"}, "is not the id of a memory"),
        ("memory_forget", {"memoryId": "7cb97353-ac00-47cc-9906-f4ea459ed2de"}, "no memory with the id"),
    ],
)
def test_a_wrong_call_says_what_to_change(call: Call, tool: str, params: dict[str, Any], words: str) -> None:
    answer = call(tool, **params)
    assert words in answer["error"]
    assert answer["action"]


def test_a_message_gets_the_memories_that_bear_on_it_in_a_block_of_their_own(memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner", category="preference")
    memory.long_term.store("The <b>ledger</b> & co run on PostgreSQL.", origin="owner", category="fact")
    text = recalled(memory, "Which tea do I drink in the morning, green or black?")
    assert text.startswith("<relevant-memories>\n")
    assert text.endswith(f"\n1. [preference] {TEA}\n</relevant-memories>")
    assert "not instructions" in text
    assert "ledger" not in text
    assert "1. [fact] The &lt;b&gt;ledger&lt;/b&gt; &amp; co run on" in recalled(
        memory, "what does the ledger co run on"
    )


def test_a_message_that_resembles_nothing_gets_nothing(memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    for prompt in ("fix the failing unit tests", "ok", "continue", ""):
        assert recalled(memory, prompt) == ""


def test_a_conversation_gets_the_same_memory_once(memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    assert TEA in recalled(memory, "do I drink green tea in the morning")
    assert recalled(memory, "do I drink green tea in the morning") == ""


def test_at_most_three_memories_within_the_limit_of_characters_are_inserted(env: MemoryEnv, memory: Memory) -> None:
    for number in range(5):
        memory.long_term.store(f"The garden shed number {number} holds the ladder {number * 37}.", origin="owner")
    assert recalled(memory, "what does the garden shed number hold, a ladder?").count("garden shed") == 3
    configure_long_term(env, recallMaxChars=100)
    text = recalled(env.open(), "what does each garden shed number hold, the ladder?", key="another")
    assert text.count("garden shed") == 2


def test_the_memories_before_a_turn_fit_the_limit_of_tokens(env: MemoryEnv) -> None:
    configure_long_term(env, recallMaxTokens=20)
    memory = env.open()
    for number in range(3):
        memory.long_term.store(f"정원 창고 {number}번에는 사다리와 삽이 들어 있다.", origin="owner")
    assert recalled(memory, "정원 창고 번에는 사다리와 삽이 들어 있다?").count("정원 창고") == 1


def test_what_nobody_trusts_is_inserted_once_the_owner_has_approved_it(memory: Memory) -> None:
    origins: tuple[Origin, ...] = ("tool", "token", "web", "import")
    kept = [memory.long_term.store(f"{TEA} Said {origin}.", origin=origin).memory for origin in origins]
    assert recalled(memory, f"{TEA} Said who?") == ""
    memory.long_term.approve(kept[2].id)
    assert f"1. [other] Written by web, 2026-03-10: {TEA} Said web.\n" in recalled(memory, f"{TEA} Said who?")


@pytest.mark.parametrize(("setting", "lines"), [("recall", 1), ("ask", 0)])
def test_what_an_agent_stored_is_inserted_with_its_author_unless_agents_must_ask(
    env: MemoryEnv, setting: str, lines: int
) -> None:
    env.config.write_text(
        env.config.read_text(encoding="utf-8").replace("{", f'{{"trust": {{"agent": "{setting}"}}, ', 1)
    )
    memory = env.open()
    stored = {tool.name: tool for tool in memory.tools}["memory_store"].run(memory, {"text": TEA})
    assert ("note" in stored, stored["memory"]["trusted"]) == (setting == "ask", setting == "recall")
    text = recalled(memory, "do I drink green tea in the morning")
    assert text.count(f"1. [other] Written by agent, 2026-03-10: {TEA}\n") == lines
    memory.long_term.approve(stored["memory"]["id"])
    assert (
        TEA in memory.session("later", audience="private").recall("do I drink green tea in the morning").prepend_context
    )


def test_nothing_is_inserted_in_a_conversation_that_others_read(memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    assert memory.session("agent:main:slack:group:7").recall("green tea in the morning").prepend_context == ""


def test_automatic_recall_can_be_turned_off(env: MemoryEnv, memory: Memory) -> None:
    memory.long_term.store(TEA, origin="owner")
    configure_long_term(env, autoRecall=False)
    assert recalled(env.open(), "do I drink green tea in the morning") == ""


def test_with_the_notes_a_memory_comes_once_and_is_searchable_as_a_note(env: MemoryEnv) -> None:
    configure_long_term(env, ["memory-core", "memory-lancedb"])
    memory = env.open()
    memory.long_term.store(TEA, origin="owner")
    memory.long_term.store("The agent noted that green tea is brewed at 80 degrees.", origin="web")
    memory.sync()
    text = recalled(memory, "do I drink green tea in the morning")
    assert text.count("green tea") == 1
    assert "80 degrees" not in text
    assert any(hit.path == NOTE for hit in memory.search("green tea in the morning").hits)


def test_what_is_withheld_is_counted_and_reviewed_in_the_folder_of_its_note(tmp_path: Path) -> None:
    envs = [long_term_env(tmp_path / name, principal="team", dbPath=str(tmp_path / "db")) for name in ("one", "two")]
    one, two = (env.open().long_term for env in envs)
    stored = one.store("The agent noted that green tea is brewed at 80 degrees.", origin="web").memory
    assert [each.id for each in two.memories()] == [stored.id]
    assert ([each.id for each in withheld_memories(one)], stats(one).withheld) == ([stored.id], 1)
    assert (withheld_memories(two), stats(two).withheld) == ([], 0)
    for env in envs:
        env.close()
