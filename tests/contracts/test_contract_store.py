"""What every store must do that `sync` and `backends` use, through their ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from os import getpid
from pathlib import Path

import numpy as np
import pytest

from followed_changes import ENDED, followed
from memoriter.errors import IndexBusy
from memoriter.extensions.postgres import _nearest
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.ids import text_key, vector_key
from memoriter.index import ENGINES, EngineName, Index
from memoriter.records import COUNTED_OF_FILE, ChunkRecord, ItemRecord
from memoriter.search import analyse, pack
from memoriter.store import Snapshot, Store
from memoriter.types import Chunk, Filters, Item, ModelSpec, Source, SourceKind
from postgres_server import postgres_dsn

SPEC = ModelSpec("fake", "contract", 4)
ANYTHING = Filters()

OpenAgain = Callable[[], Store]
"""Opens one more store at the same place, as another process does."""


def open_sqlite(folder: Path, engine: EngineName) -> Store:
    index = Index.open(folder / "main.sqlite", clock=lambda: 0.0, network=False)
    index.choose_engine(engine)
    return index


def open_postgres(folder: Path) -> Store:
    settings = ServerSettings(dsn=postgres_dsn(), schema=f"contract_{getpid()}")
    return PostgresStore.open(settings, str(folder), clock=lambda: 0.0)


STORES: dict[str, Callable[[Path], Store]] = {
    **{f"sqlite-{engine}": partial(open_sqlite, engine=engine) for engine in ENGINES},
    "postgres": open_postgres,
}
"""Each way to open a store. A new store is one more line, and passes every test of this file."""


@pytest.fixture(params=STORES)
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenAgain]:
    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(STORES[request.param](tmp_path))
        opened[-1].use_vectors(SPEC)
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(another: OpenAgain) -> Store:
    return another()


def source(path: str, size: int = 1) -> Source:
    kind: SourceKind = "sessions" if path.endswith(".jsonl") else "memory"
    return Source(path, kind, Path("/x"), size, 0)


def entries(*texts: str) -> list[ChunkRecord]:
    chunks = [Chunk(line, line, text) for line, text in enumerate(texts, 1)]
    return [ChunkRecord(chunk, vector_key(chunk), chunk.text, len(chunk.text.split()), b"", 1) for chunk in chunks]


def listing(*items: str) -> ChunkRecord:
    """Return a chunk that is a list, with its items."""
    chunk = Chunk(1, len(items), "\n".join(f"- {item}" for item in items), ("Log",))
    places = tuple(ItemRecord(Item(line, line), item_key(item)) for line, item in enumerate(items))
    return ChunkRecord(chunk, vector_key(chunk), " ".join(items), len(items), b"", 1, items=places)


def item_key(item: str) -> bytes:
    return text_key(f"Log\n{item}")


def unit(axis: int) -> np.ndarray:
    return np.eye(4, dtype=np.float32)[axis]


def put(store: Store, path: str, *texts: str) -> None:
    with store.lease():
        store.put_file(source(path), f"hash of {texts}", entries(*texts))


def embed(store: Store) -> None:
    missing = store.missing(100)
    with store.storing():
        store.put_vectors([key for key, _ in missing], np.stack([unit(len(text) % 4) for _, text in missing]))


def counted(*texts: str) -> list[ChunkRecord]:
    """Return chunks with their packed term counts."""
    return [replace(entry, term_counts=pack(analyse(entry.chunk.text))) for entry in entries(*texts)]


def texts(store: Store, ids: Sequence[int]) -> list[str]:
    rows = store.rows(ids)
    return [rows[row].chunk.text for row in ids]


def found(store: Store, *terms: str, filters: Filters = ANYTHING) -> list[str]:
    matches = store.keyword_search(terms, limit=10, filters=filters, frequency=None, weights=None)
    return sorted(texts(store, [row for row, _ in matches]))


def test_a_new_store_is_empty(store: Store) -> None:
    assert (store.files(), store.corpus().chunks, store.corpus().kinds, store.all_ids()) == ({}, 0, {}, [])
    assert (store.pending(), store.vectors(), store.failures(), store.forgetting, store.read_only) == (0,) * 3 + (
        False,
    ) * 2


def test_the_chunks_of_a_file_are_found_by_their_words_and_replaced_with_it(store: Store) -> None:
    put(store, "a.md", "green tea", "black coffee")
    put(store, "b.md", "green paint")
    assert found(store, "green") == ["green paint", "green tea"]
    assert store.document_frequency(["green", "blue"]) == {"green": 2, "blue": 0}
    put(store, "a.md", "white tea")
    assert (found(store, "green"), found(store, "tea")) == (["green paint"], ["white tea"])
    assert sorted(store.files()) == ["a.md", "b.md"] == sorted(store.files_at(["a.md", "b.md", "c.md"]))
    with store.lease():
        store.remove_files(["b.md", "never-there.md"])
    assert (found(store, "green"), store.corpus().files) == ([], 1)


def test_a_growing_file_keeps_its_first_chunks_and_new_ones_get_consecutive_ids(store: Store) -> None:
    put(store, "a.jsonl", "one", "two", "three")
    with store.lease():
        store.put_file(source("a.jsonl"), "grown", entries("four", "five"), keep=2, tail="here")
    ids = store.all_ids()
    assert texts(store, ids) == ["one", "two", "four", "five"]
    assert (ids[1] - ids[0], ids[3] - ids[2]) == (1, 1)
    assert (store.files()["a.jsonl"].tail, store.files()["a.jsonl"].hash) == ("here", "grown")
    with store.lease():
        store.touch_file(source("a.jsonl", size=9), tail="there")
    assert (store.files()["a.jsonl"].size, store.files()["a.jsonl"].tail) == (9, "there")
    assert store.corpus().kinds["sessions"].chunks == 4


def test_a_sample_has_a_few_chunks_of_each_file_and_near_copies_once(store: Store) -> None:
    subjects = (
        "bread oven flour",
        "tide harbour crane",
        "violin string bow",
        "orchid soil pot",
        "goal keeper pitch",
        "loom thread dye",
        "chess rook pawn",
        "kiln glaze clay",
        "sail mast rope",
    )
    with store.lease():
        store.put_file(source("many.md"), "many", counted(*(f"{each} log {each[::-1]}" for each in subjects * 3)))
        store.put_file(source("copies.md"), "copies", counted(*["one two three four five six"] * 3))
        store.put_file(source("few.md"), "few", counted("a kettle", "a saddle", "one, two: three four five six."))
    embed(store)
    sampled, vectors = store.sample(100)
    assert len([text for text in sampled if "log" in text]) == COUNTED_OF_FILE
    assert sorted(text for text in sampled if "log" not in text)[:2] == ["a kettle", "a saddle"]
    assert len([text for text in sampled if "three" in text]) == 1
    assert len(vectors) == len(sampled)
    assert store.sample(3)[0] == sampled[:3]


def test_the_mean_length_of_chunks_counts_a_few_of_each_file(store: Store) -> None:
    put(store, "long.md", *["one two three four five six seven eight"] * COUNTED_OF_FILE)
    put(store, "bulk.md", *["one two"] * 400)
    assert store.corpus().mean_length == pytest.approx(5.0)


def test_filters_narrow_both_retrievers(store: Store) -> None:
    put(store, "a.md", "green tea")
    put(store, "s.jsonl", "green talk")
    embed(store)
    only_notes = Filters(sources=frozenset({"memory"}))
    assert found(store, "green", filters=only_notes) == ["green tea"]
    hits = store.vector_search(unit(0), limit=5, filters=only_notes)
    assert (texts(store, [row for row, _ in hits]), store.count(only_notes)) == (["green tea"], 1)


def test_texts_wait_for_a_vector_until_they_have_one_or_are_refused(store: Store) -> None:
    put(store, "a.md", "xyz!", "w", "same")
    put(store, "b.md", "same")
    assert store.pending() == 4
    by_text = {text: key for key, text in store.missing(10)}
    assert sorted(by_text) == ["same", "w", "xyz!"], "one entry for each distinct text"
    with store.storing():
        store.put_vectors([by_text["same"], by_text["w"]], np.stack([unit(0), unit(1)]))
        store.put_failure(by_text["xyz!"], "refused")
    assert (store.pending(), store.vectors(), store.failures()) == (0, 3, 1)
    (first, cosine), *_ = store.vector_search(unit(1), limit=4, filters=ANYTHING)
    assert (texts(store, [first]), round(cosine, 5)) == (["w"], 1.0)
    ids, vectors = store.vectors_at([first])
    assert (ids, vectors.tolist()) == ([first], [unit(1).tolist()])
    with store.lease():
        store.clear_failures()
    assert store.missing(10) == [(by_text["xyz!"], "xyz!")]


def test_vectors_outlive_the_chunk_until_they_are_evicted(store: Store) -> None:
    put(store, "a.md", "tea")
    embed(store)
    with store.lease():
        store.remove_files(["a.md"])
    assert store.referenced([vector_key(Chunk(1, 1, "tea"))]) == set()
    put(store, "b.md", "tea")
    assert (store.pending(), store.vectors()) == (0, 1)
    with store.lease():
        store.remove_files(["b.md"])
        assert store.evict(max_entries=0, max_bytes=0) == 1
    put(store, "c.md", "tea")
    assert store.pending() == 1


def test_evicting_nothing_or_vectors_that_no_chunk_uses_does_not_change_the_content(store: Store) -> None:
    put(store, "a.md", "tea", "black coffee")
    embed(store)
    put(store, "a.md", "tea")
    content = store.content_version()
    with store.lease():
        assert store.evict(max_entries=2, max_bytes=1 << 20) == 0
    assert store.content_version() == content
    with store.lease():
        assert store.evict(max_entries=1, max_bytes=1 << 20) == 1
        assert store.evict(max_entries=0, max_bytes=0) == 0
    assert store.content_version() == content


def test_settings_are_kept_by_name(store: Store) -> None:
    with store.lease():
        store.set_meta("job:b", "2")
        store.set_meta("job:a", "1")
        store.set_meta("job:a", "3")
        store.set_meta("other", "4")
    assert (store.metas("job:"), store.get_meta("nothing")) == ({"job:a": "3", "job:b": "2"}, None)
    with store.lease():
        store.drop_meta("job:a")
        store.drop_meta("nothing")
    assert store.metas("job:") == {"job:b": "2"}


def test_the_version_changes_with_what_another_process_writes(store: Store, another: OpenAgain) -> None:
    version = store.version()
    content = store.content()
    assert (store.version(), store.content()) == (version, content)
    put(another(), "a.md", "tea")
    assert store.version() != version
    assert store.content() != content
    assert found(store, "tea") == ["tea"]


def test_a_process_that_follows_the_changes_learns_of_each_without_reading(
    store: Store, another: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.extensions.postgres._changes.RECHECK_SECONDS", 3_600.0)
    monkeypatch.setattr("memoriter.extensions.postgres._changes.STOP_SECONDS", 0.02)
    monkeypatch.setattr("memoriter.index._index.LOOK_SECONDS", 0.02)
    writer = another()
    version = store.content_version()
    with followed(store) as names:
        put(writer, "a.md", "tea")
        assert names.next() == store.content_version() == writer.content_version() != version
        embed(writer)
        names.until(store.content_version())
        with writer.lease():
            writer.set_meta("no content", "1")
        with writer.lease(), writer.rebuild() as rebuilt:
            rebuilt.put_file(source("b.md"), "h", entries("coffee"))
        assert names.next() in {another().content_version(), ENDED}  # where another file took the place, it ends
        assert names.silent
    store.refresh()
    assert store.content_version() == another().content_version()


def test_one_state_is_read_while_another_process_writes(store: Store, another: OpenAgain) -> None:
    put(store, "a.md", "tea")
    writer = another()
    reads = list[tuple[int, int]]()

    def read(snapshot: Snapshot) -> tuple[int, int]:
        files = len(snapshot.files_at(["a.md", "b.md"]))
        if not reads:
            put(writer, "b.md", "coffee")
        reads.append((files, snapshot.corpus().files))
        return reads[-1]

    # A store may read the state before the write or the one after it, and never half of each.
    assert store.at_one_state(read) in {(1, 1), (2, 2)}
    assert (len(store.files()), store.corpus().files) == (2, 2)


@pytest.mark.parametrize("right", ["lease", "storing", "embedding_lease", "watch_lease"])
def test_only_one_process_has_a_right_at_a_time(store: Store, another: OpenAgain, right: str) -> None:
    other = another()
    with getattr(store, right)():
        raised: list[type[BaseException]] = []

        def take() -> None:
            try:
                with getattr(other, right)():
                    pass
            except IndexBusy as error:
                raised.append(type(error))

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        assert raised == [IndexBusy]
    with getattr(other, right)():
        pass


def test_a_rebuild_replaces_the_store_at_its_end_and_keeps_the_vectors(store: Store, another: OpenAgain) -> None:
    put(store, "a.md", "tea")
    put(store, "b.md", "coffee")
    embed(store)
    reader = another()
    with store.rebuild() as fresh:
        fresh.put_file(source("a.md"), "again", entries("tea"))
        assert sorted(reader.files()) == ["a.md", "b.md"]
    reader.refresh()
    for each in (store, reader):
        assert (sorted(each.files()), each.files()["a.md"].hash, each.vectors()) == (["a.md"], "again", 1)


def test_a_rebuild_that_fails_changes_nothing(store: Store) -> None:
    put(store, "a.md", "tea")

    def rebuild() -> None:
        with store.rebuild() as fresh:
            fresh.put_file(source("b.md"), "h", entries("coffee"))
            raise KeyError

    with pytest.raises(KeyError):
        rebuild()
    assert (sorted(store.files()), found(store, "tea"), found(store, "coffee")) == (["a.md"], ["tea"], [])


def test_a_rebuild_without_vectors_computes_them_again(store: Store) -> None:
    put(store, "a.md", "tea")
    embed(store)
    with store.rebuild(vectors=False) as fresh:
        fresh.put_file(source("a.md"), "again", entries("tea"))
    assert (store.vectors(), store.pending()) == (0, 1)


def test_forgetting_is_announced_until_it_is_done_and_leaves_no_text(store: Store, tmp_path: Path) -> None:
    put(store, "a.md", "the doorcode is quincewax")
    put(store, "b.md", "tea")
    embed(store)
    assert [place[0] for place in store.places_of("quincewax")] == ["a.md"]
    store.begin_forgetting()
    assert store.forgetting
    with store.lease():
        store.remove_files(["a.md"])
        store.forget()
    assert (store.forgetting, store.places_of("quincewax"), found(store, "tea")) == (False, [], ["tea"])
    assert store.providers() == {SPEC.provider}
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(b"quincewax" in file.read_bytes() for file in files)


def test_compacting_changes_no_result(store: Store) -> None:
    put(store, "a.md", "green tea", "black coffee")
    embed(store)
    hits = store.vector_search(unit(1), limit=5, filters=ANYTHING)
    store.compact(max_entries=0, max_bytes=0)
    assert (store.vector_search(unit(1), limit=5, filters=ANYTHING), found(store, "tea")) == (hits, ["green tea"])
    store.check()


def test_the_newest_chunks_are_those_of_the_newest_days_and_each_file_comes_in_with_its_first_ones(
    store: Store,
) -> None:
    days = {"a.md": 30, "b.md": 20, "c.md": -40, "d.md": 10}
    for path, day in days.items():
        with store.lease():
            store.put_file(source(path), path, [replace(each, day=day) for each in entries(f"{path} 1", f"{path} 2")])

    def newest(limit: int, filters: Filters = ANYTHING) -> list[str]:
        return texts(store, store.newest(filters, limit))

    assert newest(2) == ["a.md 1", "b.md 1"]
    assert newest(4) == ["a.md 1", "a.md 2", "b.md 1", "d.md 1"]
    assert newest(99) == ["a.md 1", "a.md 2", "b.md 1", "b.md 2", "d.md 1", "d.md 2"]
    assert newest(0) == []
    last = Filters(until=date.fromordinal(20))
    assert newest(99, last) == ["b.md 1", "b.md 2", "d.md 1", "d.md 2"]
    assert newest(99, Filters(since=date.fromordinal(20), path="b.md")) == ["b.md 1", "b.md 2"]
    assert newest(1, Filters(changed=True)) == ["c.md 1"]
    since = Filters(since=date.fromordinal(15))
    counts = [store.count(each) for each in (last, since, replace(since, changed=True), replace(last, changed=True))]
    assert counts == [4, 4, 6, 4]


def test_only_chunks_that_pass_the_filters_are_passing(store: Store) -> None:
    put(store, "memory/a.md", "one", "two")
    put(store, "memory/b.md", "three")
    first, second = store.ids_at("memory/a.md")
    [other] = store.ids_at("memory/b.md")
    assert store.passing([first, second, other], ANYTHING) == {first, second, other}
    assert store.passing([first, other, other + 99], Filters(path="memory/a.md")) == {first}
    assert store.passing([first, second], Filters(phrases=("two",))) == {second}
    assert store.passing([], ANYTHING) == set()


def test_items_wait_for_vectors_after_all_chunks_and_their_chunk_waits_with_them(store: Store) -> None:
    with store.lease():
        store.put_file(source("a.md"), "h", [listing("paid the rent", "fed the cat")])
        store.put_file(source("b.md"), "h", entries("tea"))
    texts = [text for _, text in store.missing(10)]
    assert texts == ["Log\n- paid the rent\n- fed the cat", "tea", "Log\npaid the rent", "Log\nfed the cat"]
    assert (store.pending(), store.waiting(), store.missing(10)[:3]) == (2, 4, store.missing(3))
    with store.storing():
        store.put_vectors([key for key, _ in store.missing(3)], np.stack([unit(0), unit(1), unit(2)]))
    assert (store.vectors(), store.pending(), store.waiting()) == (2, 1, 1)
    with store.storing():
        store.put_failure(item_key("fed the cat"), "refused")
    assert (store.pending(), store.waiting(), store.missing(10)) == (0, 0, [])


def test_the_vectors_of_items_are_given_with_their_chunks_and_do_not_change_a_search(store: Store) -> None:
    with store.lease():
        store.put_file(source("a.md"), "h", [listing("paid the rent", "fed the cat"), *entries("tea")])
    own = vector_key(listing("paid the rent", "fed the cat").chunk)
    with store.storing():
        store.put_vectors(
            [own, item_key("paid the rent"), item_key("fed the cat")], np.stack([unit(0), unit(1), unit(2)])
        )
    log, tea = store.all_ids()
    owners, lines, scripts, vectors = store.item_vectors([tea, log])
    assert (owners, scripts) == ([log, log], ["latin"] * 2)
    assert sorted(zip(lines, vectors.argmax(axis=1).tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert store.item_vectors([tea])[3].shape == (0, 4)
    assert [(row, round(cosine, 5)) for row, cosine in store.vector_search(unit(1), limit=5, filters=ANYTHING)] == [
        (log, 0.0)
    ]


def test_an_item_that_is_known_is_not_embedded_again_and_a_removed_one_is_evicted(store: Store) -> None:
    with store.lease():
        store.put_file(source("a.md"), "h", [listing("paid the rent", "fed the cat")])
    embed(store)
    with store.lease():
        store.put_file(source("a.md"), "edited", [listing("paid the rent", "fed the dog")])
    assert [text for _, text in store.missing(10)] == ["Log\n- paid the rent\n- fed the dog", "Log\nfed the dog"]
    assert store.referenced([item_key("paid the rent"), item_key("fed the cat")]) == {item_key("paid the rent")}
    assert item_key("paid the rent") in store.vector_keys()
    with store.lease():
        assert store.evict(max_entries=0, max_bytes=0) == 2
        store.remove_files(["a.md"])
        assert store.evict(max_entries=0, max_bytes=0) == 1
    assert (store.referenced([item_key("paid the rent")]), store.waiting()) == (set(), 0)


def test_items_wait_again_after_their_failures_are_cleared_or_in_another_process(
    store: Store, another: OpenAgain
) -> None:
    with store.lease():
        store.put_file(source("a.md"), "h", [listing("paid the rent", "fed the cat")])
    with store.storing():
        for key, _ in store.missing(10):
            store.put_failure(key, "refused")
    assert (store.waiting(), another().waiting()) == (0, 0)
    with store.lease():
        store.clear_failures()
    assert (store.pending(), store.waiting(), another().waiting()) == (1, 3, 3)


def test_forgetting_leaves_neither_items_nor_their_vectors(store: Store) -> None:
    with store.lease():
        store.put_file(source("a.md"), "h", [listing("paid the rent", "fed the cat")])
    embed(store)
    with store.lease():
        store.remove_files(["a.md"])
        store.forget()
    assert (store.vector_keys(), store.referenced([item_key("fed the cat")])) == (set(), set())
    with store.lease():
        store.put_file(source("a.md"), "h", [listing("paid the rent", "fed the cat")])
    assert store.waiting() == 3, "no vector was kept"


def test_every_stored_vector_is_listed_by_key_with_its_model_also_one_that_no_chunk_uses(store: Store) -> None:
    put(store, "a.md", "one", "two two")
    embed(store)
    with store.lease():
        store.put_file(source("a.md"), "edited", entries("one"))
    used, unused = sorted(vector_key(entry.chunk) for entry in entries("one", "two two"))
    keys, vectors = store.stored_vectors(b"", 10)
    assert (list(keys), vectors.shape, store.models()) == ([used, unused], (2, 4), {SPEC: 2})
    assert [list(store.stored_vectors(after, 1)[0]) for after in (b"", used, unused)] == [[used], [unused], []]
    assert set(store.having_vectors([used, unused, b"other"])) == {used, unused}
    by_key = dict(zip(keys, vectors, strict=True))
    [row] = store.all_ids()
    assert np.allclose(by_key[vector_key(entries("one")[0].chunk)], store.vectors_at([row])[1][0])


def test_what_a_model_refused_is_listed_with_the_reason_and_each_model_has_its_own(store: Store) -> None:
    put(store, "a.md", "one")
    [(key, _)] = store.missing(1)
    with store.storing():
        store.put_failure(key, "too long")
    assert (store.refused(), store.models()) == ({key: "too long"}, {SPEC: 0})
    other = ModelSpec("fake", "other", 3, background=(0.25, 0.5))
    store.use_vectors(other)
    assert (store.refused(), list(store.having_vectors([key]))) == ({}, [])
    with store.storing():
        store.put_vectors([key], np.ones((1, 3), dtype=np.float32))
    assert store.models() == {SPEC: 0, other: 1}
    assert next(reversed(store.models())).background == (0.25, 0.5)


def test_vectors_that_no_other_memory_has_are_not_offered_or_copied(store: Store) -> None:
    text = f"only in {store.path}"
    put(store, "a.md", text)
    assert list(store.shared_vectors([text_key(text)])) == []
    with store.storing():
        assert list(store.take_vectors([text_key(text)])) == []
    embed(store)
    assert list(store.shared_vectors([text_key(text)])) == [], "its own vectors are not those of others"
    assert store.pending() == 0


@pytest.mark.slow
def test_a_store_that_does_not_compare_all_vectors_has_measured_what_it_finds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.index.vectors._codes_engine.COMPARE_ALL", 0)
    for name, bound in {"MOST_COMPARED": 200, "LARGE": 100, "MOST_TIME": 1e9}.items():
        monkeypatch.setattr(_nearest, name, bound)
    draw = np.random.default_rng(2)
    store.use_vectors(ModelSpec("fake", "measured", 64))
    put(store, "a.md", *(f"text {number} of {store.path}" for number in range(400)))
    keys = [key for key, _ in store.missing(400)]
    centres = draw.standard_normal((20, 64))
    rows = centres[draw.integers(0, 20, len(keys))] + 0.5 * draw.standard_normal((len(keys), 64))
    with store.lease():
        store.put_vectors(keys, rows.astype(np.float32))
    store.purge()
    assert (store.recall is None) == (store.oversampling is None) == (store.engine not in {"codes", "hnsw"})
    if store.recall is not None:
        assert 0.9 < store.recall <= 1
    if isinstance(store, PostgresStore):
        assert store.engine == "hnsw"
