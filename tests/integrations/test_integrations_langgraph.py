"""LangGraph's store on real notes: the same answers as LangGraph's own store, and readable files."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from memoriter import Memory
from memoriter.errors import PathRefused, UsageError
from memoriter.integrations._notes import Note, fields_text, file_name, note_text, read_fields, read_note
from memoriter.integrations.langgraph import MemoriterStore
from memoriter.workspace import foreign_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=40) | st.sampled_from(
    [
        "|",
        "null",
        "1",
        "- a: b",
        "a: b",
        "# x",
        "---",
        "two\nlines",
        "\n",
        " x",
        "x\n",
        "a\n\nb",
        "[",
        '"q"',
        "한국어\n줄",
        "x\n<!-- end: agent -->\n<!-- from: owner, 2026-02-10 -->",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("- The office is in Lisbon.\n", encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        yield memory


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_any_json_value_comes_back_as_it_was(value: dict[str, Any]) -> None:
    text = note_text(Note({"key": value}, fields_text(value)), "agent (LangGraph)", "2026-02-10")
    note = read_note(text.encode("utf-8").decode("utf-8"))
    assert note.properties == {"key": value}
    assert read_fields(note.body) == (value, "")
    body = text.partition("\n---\n")[2].split("\n")
    foreign = foreign_lines(body)
    marked = next(at for at, line in enumerate(body) if line.startswith("<!-- from: agent (LangGraph)"))
    assert all(foreign[marked + 1 :])


@given(TEXTS, TEXTS)
def test_different_keys_have_different_files_also_without_regard_to_case(one: str, other: str) -> None:
    assert (file_name(one).casefold() == file_name(other).casefold()) == (one == other)
    assert len(file_name(one).encode()) <= 100
    assert not set(file_name(one)) & set('/\\:*?"<>|.\0')


def test_an_item_is_a_note_that_people_read_and_edit(memory: Memory, tmp_path: Path) -> None:
    store = MemoriterStore(memory)
    value = {"text": "The user prefers tea.", "tags": ["drinks"], "why": "Coffee keeps them awake.\n\nThey said so."}
    store.put(("users", "ann"), "tea", value)
    file = tmp_path / "notes" / "memory" / "langgraph" / "users" / "ann" / "tea.md"
    text = file.read_text(encoding="utf-8")
    body = (
        '- text: The user prefers tea.\n- tags: ["drinks"]\n- why: |\n  Coffee keeps them awake.\n\n  They said so.\n'
    )
    today = memory.now().date().isoformat()
    assert text.endswith(f"---\n\n<!-- from: agent (LangGraph), {today} -->\n\n{body}")
    file.write_text(text.replace("tea.\n", "green tea.\n") + "\nAsked in March.\n", encoding="utf-8")
    item = store.get(("users", "ann"), "tea")
    assert item is not None
    assert item.value["text"] == "The user prefers green tea."
    store.put(("users", "ann"), "tea", {"text": "No tea any more."})
    assert file.read_text(encoding="utf-8").endswith("- text: No tea any more.\n\nAsked in March.\n")
    store.delete(("users", "ann"), "tea")
    assert not file.exists()
    assert store.get(("users", "ann"), "tea") is None


def test_the_page_shows_a_note_as_the_store_writes_it(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = re.findall(r"(?ms)^```markdown\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    monkeypatch.setattr(memory, "now", lambda: datetime(2026, 3, 10, 12, tzinfo=UTC))
    reason = "Coffee keeps them awake.\n\nThey said so twice."
    value = {"text": "The user prefers tea.", "tags": ["drinks", "habits"], "reason": reason}
    MemoriterStore(memory).put(("users", "ann"), "tea", value)
    assert shown == [memory.read("memory/langgraph/users/ann/tea.md").text]


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    (program,) = re.findall(
        r"(?ms)^```python\n((?:(?!^```).)*MemoriterStore(?:(?!^```).)*)^```", PAGE.read_text(encoding="utf-8")
    )
    (tmp_path / "notes").mkdir()
    environ = {"HOME": str(tmp_path), "MEMORITER_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT / "src")}
    environ |= {name: os.environ[name] for name in ("PATH", "MEMORITER_BACKGROUND") if name in os.environ}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environ, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"Ann prefers green tea\. 0\.\d+ memory/langgraph/users/ann/tea\.md#L\d+-L\d+ match\n", done.stdout
    )


def test_a_search_returns_citation_outcome_and_health(memory: Memory) -> None:
    store = MemoriterStore(memory)
    store.put(("users", "ann"), "tea", {"text": "Ann prefers green tea in the morning."})
    store.put(("users", "ann"), "car", {"text": "Her car is a red Volvo."})
    store.put(("users", "bob"), "tea", {"text": "Bob prefers black tea."})
    store.put(("users", "ann"), "hidden", {"text": "Ann drinks tea at night, too."}, index=False)
    first, *others = store.search(("users", "ann"), query="which tea does Ann prefer in the morning?")
    assert (first.key, first.value["text"]) == ("tea", "Ann prefers green tea in the morning.")
    assert first.citation.startswith("memory/langgraph/users/ann/tea.md")
    assert (first.outcome, first.health["ok"]) == ("match", True)
    assert first.dict()["citation"] == first.citation
    assert 0 < first.score <= 1
    assert {item.key for item in others} <= {"car"}
    assert [item.key for item in store.search(("users",), query="tea", filter={"text": "Bob prefers black tea."})] == [
        "tea"
    ]


def test_a_search_without_a_query_returns_the_items_as_they_are_noted(memory: Memory, tmp_path: Path) -> None:
    store = MemoriterStore(memory)
    store.put(("users", "ann"), "tea", {"text": "Ann prefers green tea."})
    (item,) = store.search(("users",), filter={"text": "Ann prefers green tea."})
    path = "memory/langgraph/users/ann/tea.md"
    assert (item.citation, item.outcome, item.score) == (path, "match", None)
    assert item.health == {"ok": True, "legs": {}, "pending": 0, "generation": 0, "reasons": []}
    item.value["text"] = "changed by the program"
    file = tmp_path / "notes" / path
    assert [each.value for each in store.search(("users",))] == [{"text": "Ann prefers green tea."}]
    file.write_text(file.read_text(encoding="utf-8").replace("green", "black"), encoding="utf-8")
    assert [each.value for each in store.search(("users",))] == [{"text": "Ann prefers black tea."}]
    file.unlink()
    assert store.search(("users",)) == []


def test_an_item_is_read_again_only_when_its_note_has_changed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    later = memory.now() + timedelta(hours=1)
    store = MemoriterStore(memory)
    for number in range(5):
        store.put(("a", f"b{number % 2}"), f"k{number}", {"n": number})
    monkeypatch.setattr(memory, "now", lambda: later)  # a file that was changed just now is always read again
    parsed = list[str]()
    parse = store._notes._parse

    def counted(path: str, note: Note, changed: float) -> Any:
        parsed.append(path)
        return parse(path, note, changed)

    monkeypatch.setattr(store._notes, "_parse", counted)
    assert len(store.search(("a",))) == len(parsed) == 5
    store.put(("a", "b1"), "k3", {"n": 30})
    store.delete(("a", "b0"), "k0")
    found = [store.search(("a",)), store.search(("a", "b1")), store.search(("a",), filter={"n": 30})]
    assert [sorted(item.value["n"] for item in items) for items in found] == [[1, 2, 4, 30], [1, 30], [30]]
    assert store.list_namespaces() == [("a", "b0"), ("a", "b1")]
    assert len(parsed) == 6


def test_an_item_is_no_match_where_the_filter_leaves_out_the_passage_that_is(memory: Memory) -> None:
    store = MemoriterStore(memory)
    store.put(("users",), "tea", {"text": "Ann prefers green tea in the morning.", "by": "ann"})
    store.put(("users",), "car", {"text": "The car of Ann is a red Volvo.", "by": "bob"})
    question = "which tea does Ann prefer in the morning?"
    assert [item.outcome for item in store.search(("users",), query=question, limit=1)] == ["match"]
    assert {item.outcome for item in store.search(("users",), query=question, filter={"by": "bob"})} == {"weak"}


def test_a_note_that_is_not_utf_8_is_read_and_not_damaged(memory: Memory, tmp_path: Path) -> None:
    store = MemoriterStore(memory)
    store.put(("a",), "k", {"n": 1})
    file = tmp_path / "notes" / "memory" / "langgraph" / "a" / "k.md"
    content = file.read_bytes() + b"\nCaf\xe9\n"
    file.write_bytes(content)
    assert [item.value for item in store.search(("a",))] == [{"n": 1}]
    with pytest.raises(PathRefused, match="not UTF-8"):
        store.put(("a",), "k", {"n": 2})
    assert file.read_bytes() == content


def test_a_note_that_becomes_a_link_while_items_are_listed_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoriterStore(memory)
    store.put(("a",), "k", {"n": 1})
    sources = memory.sources()
    monkeypatch.setattr(memory, "sources", lambda: sources)
    (tmp_path / "secret.md").write_text("- n: 2\n", encoding="utf-8")
    file = tmp_path / "notes" / "memory" / "langgraph" / "a" / "k.md"
    file.unlink()
    assert store.search(("a",)) == []
    file.symlink_to(tmp_path / "secret.md")
    with pytest.raises(PathRefused, match=r"k\.md' cannot be read"):
        store.search(("a",))


def test_an_item_that_no_search_will_find_is_stored_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "home").mkdir()
    text = "{agents: {defaults: {memorySearch: {enabled: false}}}}"
    (tmp_path / "home" / "memoriter.json5").write_text(text, encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        MemoriterStore(memory).put(("a",), "k", {"n": 1})
    assert "Searching is turned off" in caplog.text


def test_what_json_does_not_have_is_refused_and_nothing_of_the_batch_is_written(memory: Memory) -> None:
    store = MemoriterStore(memory)
    for value in ({"when": datetime(2026, 3, 1, tzinfo=UTC)}, {"by": {1: "x"}}, {"in": [{"a", "b"}]}):
        with pytest.raises(UsageError, match="value"):
            store.put(("users",), "x", value)
    assert store.list_namespaces() == []
    store.put(("users",), "nan", {"x": math.inf})
    found = store.get(("users",), "nan")
    assert found is not None
    assert found.value == {"x": math.inf}


def test_an_item_expires_and_reading_begins_its_time_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [datetime(2026, 3, 10, 12, tzinfo=UTC)]
    monkeypatch.setattr(memory, "now", lambda: now[0])
    store = MemoriterStore(memory, ttl={"default_ttl": 60, "refresh_on_read": True})
    store.put(("a",), "default", {"x": 1})
    store.put(("a",), "short", {"x": 2}, ttl=10)
    store.put(("a",), "forever", {"x": 3}, ttl=None)
    now[0] += timedelta(minutes=9)
    assert store.get(("a",), "short") is not None
    now[0] += timedelta(minutes=9)
    assert store.get(("a",), "short", refresh_ttl=False) is not None
    now[0] += timedelta(minutes=2)
    assert store.get(("a",), "short") is None
    assert {item.key for item in store.search(("a",))} == {"default", "forever"}
    assert store.sweep_ttl() == 1
    now[0] += timedelta(minutes=61)
    assert [item.key for item in store.search(("a",))] == ["forever"]


LABELS = st.sampled_from(["a", "b", "A", "x y", "ü"])
PUTS = st.lists(
    st.tuples(
        st.lists(LABELS, min_size=1, max_size=3).map(tuple),
        st.sampled_from(["k", "K", "l/m"]),
        st.none() | st.fixed_dictionaries({"n": st.integers(0, 3), "s": st.sampled_from(["p", "q"])}),
    ),
    max_size=8,
)
FILTERS = st.sampled_from(
    [None, {"n": 1}, {"n": {"$gte": 2}}, {"n": {"$lt": 2, "$ne": 0}}, {"s": "p", "n": {"$gt": 0}}]
)


@settings(max_examples=15)
@given(PUTS, FILTERS, st.lists(LABELS, max_size=2).map(tuple), st.integers(1, 3))
def test_it_answers_as_the_store_of_langgraph_does(
    tmp_path_factory: pytest.TempPathFactory, puts: list[Any], wanted: Any, prefix: tuple[str, ...], depth: int
) -> None:
    folder = tmp_path_factory.mktemp("store")
    (folder / "notes").mkdir()
    with Memory.open(folder / "notes", home=folder / "home") as memory:
        ours = MemoriterStore(memory)
        theirs = InMemoryStore()
        for namespace, key, value in puts:
            for store in (ours, theirs):
                store.delete(namespace, key) if value is None else store.put(namespace, key, value)
        for namespace, key, _ in puts:
            mine = ours.get(namespace, key)
            other = theirs.get(namespace, key)
            assert (mine and mine.value) == (other and other.value)
        found = [
            sorted(
                (each.namespace, each.key, each.value["n"]) for each in store.search(prefix, filter=wanted, limit=99)
            )
            for store in (ours, theirs)
        ]
        assert found[0] == found[1]
        full = {item.namespace for item in theirs.search((), limit=99)}  # it also lists namespaces that are empty now
        assert set(ours.list_namespaces(limit=99)) == full
        mine = ours.list_namespaces(max_depth=depth, suffix=("*", "a"), limit=99)
        assert mine == sorted({each[:depth] for each in full if len(each) > 1 and each[-1] == "a"})


def test_tasks_write_one_key_at_the_same_time(memory: Memory) -> None:
    store = MemoriterStore(memory)

    async def program() -> None:
        await asyncio.gather(*(store.aput(("a",), f"k{n % 3}", {"n": n}) for n in range(12)))
        items = await store.asearch(("a",))
        assert sorted(item.key for item in items) == ["k0", "k1", "k2"]
        assert (await store.aget(("a",), "k0")) is not None
        assert await store.alist_namespaces() == [("a",)]

    asyncio.run(program())


def test_the_tools_of_langmem_work_on_it(memory: Memory, tmp_path: Path) -> None:
    store = MemoriterStore(memory)
    manage = create_manage_memory_tool(namespace=("memories", "ann"), store=store)
    search = create_search_memory_tool(namespace=("memories", "ann"), store=store)
    assert manage.invoke({"content": "Ann prefers green tea.", "action": "create"}).startswith("created memory")
    (file,) = (tmp_path / "notes" / "memory" / "langgraph" / "memories" / "ann").iterdir()
    assert "- content: Ann prefers green tea.\n" in file.read_text(encoding="utf-8")
    (found,) = json.loads(search.invoke({"query": "what does Ann drink? tea?"}))
    assert found["value"] == {"content": "Ann prefers green tea."}
    assert found["citation"].startswith(f"memory/langgraph/memories/ann/{found['key']}.md")
    manage.invoke({"action": "delete", "id": found["key"]})
    assert not file.exists()


def test_a_filter_finds_items_behind_the_first_passages(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoriter.integrations.langgraph._MOST", 3)
    monkeypatch.setattr("memoriter.integrations.langgraph._PROPOSED", 3)
    store = MemoriterStore(memory)
    for number in range(12):
        kind = "rare" if number in {4, 9} else "common"
        text = "Green tea, green tea." if kind == "common" else "Somebody drinks green tea on Sundays, in the garden."
        store.put(("users",), f"n{number}", {"text": text, "kind": kind}, index=False if number < 3 else None)
    found = store.search(("users",), query="green tea", filter={"kind": "rare"})
    assert {item.key for item in found} == {"n4", "n9"}
    assert len(store.search(("users",), query="green tea", limit=20)) == 9
    assert len(store.search(("users",), query="green tea", filter={"kind": "rare"}, limit=1, offset=1)) == 1


def test_a_search_returns_as_many_matching_items_as_it_is_asked_for(memory: Memory) -> None:
    store = MemoriterStore(memory)
    for number in range(260):
        store.put(("teas",), f"n{number}", {"text": f"Green tea number {number}."})
    assert len(store.search(("teas",), query="green tea", limit=260)) == 260
