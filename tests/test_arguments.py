"""The library says no: a wrong argument is an error that names it, what was given and what is allowed."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

import memoriter
from memoriter import AsyncMemory, Memory, UsageError, WorkspaceNotFound, errors
from memoriter.arguments import FILTERS, RULES
from memoriter.journal import Change
from memoriter.tidy import Proposal
from memoriter.types import Filters, SearchArguments
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from memoriter.types import SourceKind

DOCS = Path(__file__).parents[1] / "docs"
VALUES: list[object] = [
    None,
    5,
    -1,
    2.5,
    float("nan"),
    True,
    b"x",
    "nope",
    "",
    ["nope"],
    [5],
    {"a": 1},
    object(),
    Path("x"),
]
"""Each is wrong for most arguments."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    yield env
    env.close()


@pytest.fixture
def memory(env: MemoryEnv) -> Iterator[Memory]:
    env.write("MEMORY.md", "# About\n\n- Tea at five. #work\n  - Green tea.\n- The door code is 4711.\n")
    with Memory.open(env.notes, home=env.home) as memory:
        yield memory


def methods() -> dict[str, inspect.Signature]:
    """Return the public methods of a memory that a program calls with arguments, with their parameters."""
    found = {name: each for name, each in vars(Memory).items() if inspect.isfunction(each) and name[0] != "_"}
    return {name: inspect.signature(each) for name, each in found.items()}


CHANGE = Change("3f2a91bc04", 0.0, "MEMORY.md", "agent", "append")
REQUIRED: dict[str, dict[str, Any]] = {
    "search": {"query": "tea"},
    "why_not": {"query": "tea", "citation": "MEMORY.md#L3"},
    "remember": {"text": "Coffee at six."},
    "replace": {"path": "memory/a.md", "text": "- Milk.\n", "expected": None},
    "session": {"key": "main"},
    "read": {"path": "MEMORY.md"},
    "authors": {"path": "MEMORY.md"},
    "file_of": {"path": "MEMORY.md"},
    "delete": {"citation": "MEMORY.md#L3"},
    "line_origin": {"path": "MEMORY.md", "line": 3},
    "undo": {"identifier": "3f2a91bc04"},
    "accept_proposal": {"proposal": Proposal("3f2a91bc04", "move", "It is a decision.", (), None)},
    "amend": {"change": CHANGE, "text": "Milk."},
    "watch": {"stop": Event()},
}
CASES = sorted(
    {
        (method, name)
        for method, signature in methods().items()
        for name in [*list(signature.parameters)[1:], *(FILTERS if "arguments" in signature.parameters else ())]
        if name != "arguments"
    }
)


@pytest.mark.parametrize(("method", "name"), CASES)
def test_each_argument_of_each_method_is_checked(memory: Memory, method: str, name: str) -> None:
    _, rule = RULES[name]
    default = methods()[method].parameters[name].default if name in methods()[method].parameters else None
    for value in VALUES:
        is_allowed = isinstance(value, rule) if isinstance(rule, type) else rule(value)
        if is_allowed or (value is None and (default is None or name == "expected")):
            continue
        with pytest.raises(UsageError) as refused:
            getattr(memory, method)(**REQUIRED.get(method, {}) | {name: value})
        assert name in refused.value.message, value
        assert repr(value) in refused.value.message, value
        assert refused.value.remedy.startswith("Give "), value


@pytest.mark.parametrize("sources", [[], (), set()])
def test_a_search_that_may_look_nowhere_is_refused(memory: Memory, sources: Collection[SourceKind]) -> None:
    with pytest.raises(UsageError, match="The value of sources is"):
        memory.search("tea", sources=sources)
    with pytest.raises(UsageError, match="The value of path is ' ', which is not a path"):
        memory.search("tea", path=" ")
    assert memory.search("tea", sources=None, tags=[]).results


@pytest.mark.parametrize("method", sorted(set(methods()) - {"close", "stop", "now"}))
def test_unknown_missing_and_too_many_arguments_are_named(memory: Memory, method: str) -> None:
    with pytest.raises(UsageError, match="has no argument 'nope'") as refused:
        getattr(memory, method)(**REQUIRED.get(method, {}), nope=1)
    assert all(name in refused.value.remedy for name in list(methods()[method].parameters)[1:] if name != "arguments")
    with pytest.raises(UsageError, match="arguments without names"):
        getattr(memory, method)(*range(9))
    if REQUIRED.get(method):
        with pytest.raises(UsageError, match="needs the argument"):
            getattr(memory, method)()


@pytest.mark.parametrize("method", sorted(set(methods()) - {"close", "stop", "now"}))
def test_no_method_works_after_close(env: MemoryEnv, memory: Memory, method: str) -> None:
    before = {file: file.read_bytes() for file in env.notes.rglob("*.md")}
    memory.close()
    memory.close()
    with pytest.raises(UsageError, match="The memory is closed"):
        getattr(memory, method)(**REQUIRED.get(method, {}))
    assert {file: file.read_bytes() for file in env.notes.rglob("*.md")} == before


@pytest.mark.parametrize("name", ["tools", "daily_path", "long_term"])
def test_no_property_that_reads_works_after_close(memory: Memory, name: str) -> None:
    memory.close()
    with pytest.raises(UsageError, match="The memory is closed"):
        getattr(memory, name)


def test_an_asynchronous_memory_refuses_the_same(env: MemoryEnv) -> None:
    async def program() -> None:
        memory = await AsyncMemory.open(env.notes, home=env.home)
        with pytest.raises(UsageError, match="'longterm'"):
            await memory.remember("x", to="longterm")  # pyright: ignore[reportArgumentType]
        with pytest.raises(UsageError, match="no argument 'nope'"):
            await memory.search("x", nope=1)  # pyright: ignore[reportCallIssue]
        await memory.close()
        for call in (memory.search("tea"), memory.remember("x"), memory.list(), memory.status()):
            with pytest.raises(UsageError, match="The memory is closed"):
                await call
        with pytest.raises(UsageError, match="The memory is closed"):
            memory.warm()

    asyncio.run(program())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"workspace": 5}, "workspace"), ({"config": 5}, "config"), ({"home": 5}, "home"), ({"agent": 5}, "agent")],
)
def test_opening_a_memory_names_a_wrong_argument(env: MemoryEnv, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=f"The value of {named} is 5"):
        Memory.open(**{"workspace": env.notes, "home": env.home} | arguments)


def test_a_folder_that_is_not_there_is_named_without_the_words_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceNotFound, match="nowhere") as refused:
        Memory.open(tmp_path / "nowhere", home=tmp_path / "home")
    assert "-w" not in refused.value.message + refused.value.remedy


@pytest.mark.parametrize("arguments", [(), ("notes",), (None,)])
def test_a_memory_is_opened_and_not_called(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        Memory(*arguments)
    assert "Memory.open" in refused.value.remedy


def test_the_entries_of_a_note_are_listed_and_deleted(memory: Memory) -> None:
    memory.remember("Coffee at six.", origin="agent", to="long-term")
    entries = memory.list("MEMORY.md")
    assert [(each.citation, each.text) for each in entries] == [
        ("MEMORY.md#L3-L4", "- Tea at five. #work\n  - Green tea."),
        ("MEMORY.md#L5", "- The door code is 4711."),
        ("MEMORY.md#L6", "- Coffee at six."),
    ]
    assert [each.author.partition(",")[0] for each in entries] == ["", "", "agent"]
    assert set(entries) < set(memory.list())
    assert memory.list("memory/not-there.md") == ()
    receipt = memory.delete(entries[1].citation)
    assert receipt.left == ()
    assert "4711" not in memory.read("MEMORY.md").text
    assert [each.text for each in memory.list("MEMORY.md")] == [entries[0].text, entries[2].text]


@pytest.mark.parametrize("citation", ["MEMORY.md", "MEMORY.md#L0", "MEMORY.md#L99", "../x.md#L1", ""])
def test_what_is_no_entry_is_not_deleted(memory: Memory, citation: str) -> None:
    before = memory.read("MEMORY.md").text
    with pytest.raises(UsageError):
        memory.delete(citation)
    assert memory.read("MEMORY.md").text == before


@pytest.mark.parametrize(
    ("method", "arguments", "name"),
    [
        ("start", {"max_chars": "5"}, "max_chars"),
        ("start", {"renew": "yes"}, "renew"),
        ("recall", {"prompt": None}, "prompt"),
        ("recall", {"prompt": "tea", "seconds": "1"}, "seconds"),
        ("end_turn", {"messages": "tea"}, "messages"),
        ("end_turn", {"messages": [{"role": "user", "content": "tea"}]}, "messages"),
    ],
)
def test_a_session_names_a_wrong_argument(memory: Memory, method: str, arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"The value of {name} is"):
        getattr(memory.session("s"), method)(**arguments)


def test_every_answer_is_json_with_the_names_of_its_fields(memory: Memory) -> None:
    result = memory.search("tea", on="any", explain=True)
    values = json.loads(json.dumps(result.to_dict()))
    assert values["hits"][0]["path"] == "MEMORY.md"
    assert values["hits"][0]["start_line"] == result.hits[0].start_line
    answers = [memory.status(), memory.read("MEMORY.md"), *memory.list(), *memory.sources(), memory.remember("Milk.")]
    answers += [memory.why_not("tea", "MEMORY.md#L3"), memory.estimate(), memory.sync(), Filters()]
    for answer in answers:
        assert json.loads(json.dumps(answer.to_dict()))


def test_the_version_is_that_of_the_package() -> None:
    assert re.match(r"\d+\.\d+\.\d+", memoriter.__version__)
    assert "__version__" in dir(memoriter)


def test_every_error_is_named_in_the_docs() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    known = [name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, Exception)]
    assert len(known) > 20
    assert [name for name in known if not re.search(rf"\b{name}\b", page)] == []


def test_what_a_search_takes_is_what_is_checked() -> None:
    assert set(FILTERS) == set(SearchArguments.__annotations__)
