"""What every store of long-term memories must do."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from long_term_store import InMemoryStore
from memoriter.extensions.longterm.api import LanceStore, LongTermMemory, LongTermStore, Span
from s3 import bucket_options

if TYPE_CHECKING:
    from pathlib import Path

OpenAgain = Callable[..., LongTermStore]
"""Opens one more store at the same place, as another process does."""


def lance_opener(folder: Path) -> OpenAgain:
    return lambda model="first": LanceStore(str(folder / "lancedb"), model=model, dimensions=4)


def memory_opener(_: Path) -> OpenAgain:
    tables: dict[str, Any] = {}
    return lambda model="first": InMemoryStore(tables, model=model)


def bucket_opener(folder: Path) -> OpenAgain:
    place = f"s3://memories/{folder.name}"
    options = bucket_options()
    return lambda model="first": LanceStore(place, model=model, dimensions=4, options=options)


OPENERS = {"lancedb": lance_opener, "in-memory": memory_opener, "s3": bucket_opener}
PARAMS = [name if name != "s3" else pytest.param(name, marks=pytest.mark.slow) for name in OPENERS]


@pytest.fixture(params=PARAMS)
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenAgain]:
    opener = OPENERS[request.param](tmp_path)
    opened = list[LongTermStore]()

    def open_again(model: str = "first") -> LongTermStore:
        opened.append(opener(model))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(another: OpenAgain) -> LongTermStore:
    return another()


def memory(number: int, text: str = "I like tea.", principal: str = "ann", **fields: Any) -> LongTermMemory:
    fields = {"origin": "owner", "created_at": float(number)} | fields
    return LongTermMemory(id=str(uuid.UUID(int=number)), text=text, principal=principal, **fields)


def unit(*numbers: float) -> np.ndarray:
    vector = np.array([*numbers, *[0.0] * (4 - len(numbers))], dtype=np.float32)
    return vector / np.linalg.norm(vector)


def put(store: LongTermStore, *memories: LongTermMemory) -> None:
    store.store(memories, [unit(1, each.created_at) for each in memories])


def test_an_empty_store_answers(store: LongTermStore) -> None:
    assert store.search(unit(1), principal="ann", limit=3, words="tea") == []
    assert (store.count(principal="ann"), store.memories(principal="ann"), store.delete([], principal="ann")) == (
        0,
        [],
        0,
    )
    assert store.state().memories == 0
    store.maintain(erase=True)


def test_a_memory_comes_back_as_it_was_stored(store: LongTermStore) -> None:
    kept = memory(
        7,
        "It's “quoted”, 나는 TypeScript를 선호해,\nand has a second line.",
        importance=0.25,
        category="preference",
        created_at=1_770_000_000.125,
        origin="agent",
        session="agent:main:x'y",
        span=Span("user", 3, 0, 20),
        status="superseded",
        supersedes=str(uuid.UUID(int=6)),
        approved=True,
        note="abc",
    )
    store.store([kept], [unit(1)])
    assert store.get([kept.id], principal="ann") == [kept]
    assert store.memories(principal="ann") == [kept]
    assert store.search(unit(1), principal="ann", limit=1)[0].memory == kept


def test_two_principals_can_have_memories_with_the_same_id(store: LongTermStore) -> None:
    ann = memory(1, "I like tea.")
    bob = memory(1, "I like coffee.", principal="bob")
    store.store([ann], [unit(1)])
    store.store([bob], [unit(0, 1)])
    assert store.memories(principal="ann") == [ann]
    assert store.memories(principal="bob") == [bob]
    store.change(replace(bob, approved=True))
    assert store.delete([bob.id], principal="bob") == 1
    assert store.get([ann.id], principal="ann") == [ann]
    assert [each.memory for each in store.search(unit(1), principal="ann", limit=3)] == [ann]


def test_the_most_similar_memory_is_first_and_its_score_is_the_cosine(store: LongTermStore) -> None:
    near = memory(1)
    far = memory(2)
    other = memory(3)
    store.store([far, near, other], [unit(0, 1), unit(1, 1), unit(-1)])
    found = store.search(unit(1), principal="ann", limit=3)
    assert [each.memory for each in found] == [near, far, other]
    assert [each.similarity for each in found] == pytest.approx([np.sqrt(0.5), 0.0, -1.0], abs=1e-6)
    assert [each.memory for each in store.search(unit(1), principal="ann", limit=1)] == [near]
    assert [each.memory for each in store.search(unit(1), principal="ann", limit=3, floor=0.5)] == [near]


@pytest.mark.parametrize("words", ["TypeScript", "타입스크립트", "部署", "KLP-2267"])
def test_words_find_a_memory_that_its_vector_does_not(store: LongTermStore, words: str) -> None:
    worded = memory(1, f"About {words}: yes.")
    near = memory(2, "We chose oolong.")
    store.store([worded, near], [unit(-1), unit(1)])
    assert [each.memory for each in store.search(unit(1), principal="ann", limit=1, floor=0.9)] == [near]
    found = store.search(unit(1), principal="ann", limit=1, floor=0.9, words=words)
    assert [each.memory for each in found] == [near, worded]
    assert found[-1].similarity == pytest.approx(-1.0)


def test_words_are_compared_by_their_stems_and_without_stop_words(store: LongTermStore) -> None:
    worded = memory(1, "Migrations of the ledger.")
    near = memory(2, "We chose oolong.")
    store.store([worded, near], [unit(-1), unit(1)])

    def found(words: str) -> list[LongTermMemory]:
        return [each.memory for each in store.search(unit(1), principal="ann", limit=1, words=words)]

    assert found("When did it migrate?") == [near, worded]
    assert found("The cost of the tea?") == found("led") == found("?!") == [near]


def test_storing_a_memory_again_replaces_it(store: LongTermStore) -> None:
    put(store, memory(1), memory(2))
    put(store, memory(1, "I like coffee."))
    assert [each.text for each in store.memories(principal="ann")] == ["I like coffee.", "I like tea."]
    assert store.count(principal="ann") == 2


def test_a_change_keeps_the_vector(store: LongTermStore) -> None:
    store.store([memory(1)], [unit(0, 1)])
    store.change(replace(memory(1), status="superseded"))
    (found,) = store.search(unit(0, 1), principal="ann", limit=1)
    assert (found.memory.status, found.similarity) == ("superseded", pytest.approx(1.0))
    assert store.vectors([memory(1).id], principal="ann")[memory(1).id] == pytest.approx(unit(0, 1))


def test_no_operation_reaches_the_memories_of_another_principal(store: LongTermStore) -> None:
    mine = memory(1, "mine")
    theirs = memory(2, "theirs", principal="ann' OR '1'='1")
    put(store, mine, theirs)
    assert [each.memory for each in store.search(unit(1), principal="ann", limit=9, words="theirs")] == [mine]
    assert store.memories(principal="ann") == [mine]
    assert store.get([theirs.id], principal="ann") == []
    assert store.vectors([theirs.id], principal="ann") == {}
    assert store.delete([theirs.id], principal="ann") == 0
    assert (store.count(principal="ann"), store.count(principal=theirs.principal), store.count(principal="")) == (
        1,
        1,
        0,
    )


def test_only_current_memories_of_the_owner_or_with_their_approval_are_trusted(store: LongTermStore) -> None:
    owned = memory(1)
    approved = memory(2, origin="web", approved=True)
    others = [memory(3, origin="agent"), memory(4, origin="import"), memory(5, status="superseded")]
    put(store, owned, approved, *others)
    found = store.search(unit(1), principal="ann", limit=9, trusted=True, words="tea")
    assert [each.memory for each in found] == [owned, approved]
    assert len(store.search(unit(1), principal="ann", limit=9)) == 5
    assert (store.count(principal="ann", trusted=True), store.count(principal="ann")) == (2, 5)


def test_what_is_no_id_is_never_part_of_a_query(store: LongTermStore) -> None:
    put(store, memory(1))
    assert store.delete(["x') OR ('1'='1", "*"], principal="ann") == 0
    assert store.get(["' OR 1=1 --"], principal="ann") == []
    assert store.count(principal="ann") == 1


def test_another_store_sees_each_write_at_once(another: OpenAgain) -> None:
    first = another()
    second = another()
    put(first, memory(1))
    assert second.count(principal="ann") == 1
    put(second, memory(2))
    assert first.count(principal="ann") == 2
    assert second.delete([memory(1).id, memory(9).id], principal="ann") == 1
    assert [each.memory.id for each in first.search(unit(1), principal="ann", limit=5)] == [memory(2).id]


def test_vectors_of_two_models_are_never_mixed_and_deleted_together(another: OpenAgain) -> None:
    first = another("first")
    second = another("second")
    put(first, memory(1), memory(2))
    assert (second.count(principal="ann"), second.other_models(principal="ann")) == (0, {"first": 2})
    assert second.other_models(principal="bob") == {}
    put(second, memory(1))
    assert second.delete([memory(1).id, memory(2).id], principal="ann") == 2
    assert (first.count(principal="ann"), second.count(principal="ann")) == (0, 0)


def test_threads_may_share_a_store(store: LongTermStore) -> None:
    put(store, memory(0))
    errors = list[BaseException]()

    def work(start: int) -> None:
        try:
            for number in range(start, start + 5):
                put(store, memory(number))
                store.search(unit(1), principal="ann", limit=2)
        except BaseException as error:  # noqa: BLE001 - reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1 + 5 * each,)) for each in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.count(principal="ann") == 16
