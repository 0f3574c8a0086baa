"""Making an index small again: what goes, what stays, and how large an index of notes that change may become."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from memoriter.embed import open_provider
from memoriter.errors import IndexBusy
from memoriter.index import ENGINES, Index
from memoriter.sync import Sync, SyncSettings
from memoriter.types import ModelSpec
from memoriter.workspace import Workspace

ALL = {"max_entries": 10**9, "max_bytes": 10**12}
NONE = {"max_entries": 0, "max_bytes": 0}
CANARY = b"qxzjkanary"


def vectors_for(texts, rng):
    return {text: rng.standard_normal(4).tolist() for text in texts}


@pytest.fixture
def churned(index, make):
    """Notes of which some were edited and removed, so that there are vectors without a chunk and pages with holes."""
    rng = np.random.default_rng(5)
    texts = [f"text{n} about matter{n % 7} " + "filler " * 40 for n in range(120)]
    edited = [f"edited{n} about matter{n % 7}" for n in range(20)]
    index.use_vectors(make.spec)
    for number in range(40):
        make.put(index, f"{number}.md", *texts[number * 3 : number * 3 + 3])
    make.embed(index, vectors_for(texts, rng))
    for number in range(20):
        make.put(index, f"{number}.md", edited[number])
    index.remove_files([f"{number}.md" for number in range(20, 30)])
    make.embed(index, vectors_for(edited, rng))
    return index


def answers(index, make):
    rows = index.rows(index.all_ids())
    return {
        "rows": rows,
        "words": [index.keyword_search([f"matter{n}", "filler"], limit=30) for n in range(7)],
        "vectors": [index.vector_search(make.unit(*axis), limit=30) for axis in np.eye(4).tolist()],
        "frequency": index.document_frequency(["filler", "edited3", "text3"]),
        "meta": index.get_meta("note"),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_every_answer_is_the_same_before_and_after(churned, make, engine, opened):
    churned.choose_engine(engine)
    churned.set_meta("note", "kept")
    before = answers(churned, make)

    churned.compact(**NONE)

    assert answers(churned, make) == before
    again = opened()
    again.use_vectors(make.spec)
    again.choose_engine(engine)
    assert answers(again, make) == before


def test_only_vectors_that_no_chunk_refers_to_go(churned):
    kept = churned.compact(**ALL)
    used = churned.vectors()
    assert (kept.vectors, kept.unused) == (0, 90)

    report = churned.compact(**NONE)

    assert (report.vectors, report.unused) == (90, 0)
    assert (churned.vectors(), churned.pending()) == (used, 0)


def test_the_limits_of_the_store_decide_how_many_unused_vectors_stay(churned):
    report = churned.compact(max_entries=churned.vectors() + 10, max_bytes=10**12)

    assert (report.vectors, report.unused) == (80, 10)


def test_vectors_of_another_model_for_the_same_text_stay(churned, make):
    other = type(make.spec)("fake", "other", 4)
    churned.use_vectors(other)
    make.embed(churned)
    churned.compact(**NONE)
    churned.use_vectors(make.spec)
    assert churned.pending() == 0


def test_the_report_says_what_the_file_takes(churned, path):
    churned.purge()
    before = path.stat().st_size

    report = churned.compact(**NONE)

    assert report.bytes_before == before
    assert report.bytes_after == path.stat().st_size < before


def test_a_second_time_finds_nothing_more(churned):
    churned.compact(**NONE)
    report = churned.compact(**NONE)
    assert (report.vectors, report.unused) == (0, 0)
    assert report.bytes_after == report.bytes_before


def test_new_chunks_after_it_get_new_ids(churned, make):
    before = set(churned.all_ids())
    churned.compact(**NONE)
    make.put(churned, "39.md", "something else")
    assert churned.ids_at("39.md")[0] > max(before)


def test_text_that_was_removed_is_in_no_file_afterwards(index, make, path):
    make.put(index, "a.md", f"pad {CANARY.decode()}")
    make.put(index, "b.md", *(f"filler{n}" for n in range(50)))
    index.remove_files(["a.md"])
    index.compact(**NONE)
    assert all(CANARY not in file.read_bytes() for file in path.parent.iterdir())


def test_others_that_read_go_on_reading(churned, make, opened):
    reader = opened()
    reader.use_vectors(make.spec)
    before = answers(reader, make)
    churned.compact(**NONE)
    assert answers(reader, make) == before
    assert reader.refresh()
    assert answers(reader, make) == before


def test_while_another_process_indexes_it_is_refused(churned, path):
    code = (
        "import sys; from pathlib import Path; from memoriter.index import Index\n"
        "index = Index.open(Path(sys.argv[1]), clock=lambda: 0.0)\n"
        "with index.lease():\n    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(IndexBusy):
            churned.compact(**NONE)
        other.stdin.close()


def test_a_copy_that_cannot_be_finished_changes_nothing(churned, make, path, monkeypatch):
    before = answers(churned, make)
    monkeypatch.setattr(
        "memoriter.index._files.IndexFiles.publish", lambda *_: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(Exception, match="full"):
        churned.compact(**ALL)
    assert answers(churned, make) == before
    assert [file.name for file in path.parent.iterdir() if ".new" in file.name] == []


@pytest.mark.slow
@pytest.mark.parametrize("network", [False, True])
def test_an_index_that_is_larger_than_the_page_cache_stays_sound(tmp_path, make, network):
    dimensions = 12_000  # 1,600 vectors are 77 MB; the cache has 32 MB
    rows = np.random.default_rng(1).standard_normal((400, dimensions), dtype=np.float32)
    with Index.open(tmp_path / "main.sqlite", clock=lambda: 0.0, network=network) as index:
        index.use_vectors(ModelSpec("fake", "large", dimensions))
        for number in range(160):
            make.put(index, f"{number}.md", *(f"text{number}-{part}" for part in range(10)))
        while waiting := index.missing(len(rows)):
            index.put_vectors([key for key, _ in waiting], rows)
        index.compact(**ALL)
        index.check()
        assert (index.notices, index.corpus().chunks, index.vectors()) == ((), 1600, 1600)


def test_damaged_indexes_that_were_set_aside_go_only_when_told(index, make, path):
    make.put(index, "a.md", "alpha")
    index.quarantine()
    aside = sorted(file.name for file in path.parent.iterdir() if ".damaged" in file.name)
    bystander = path.with_name("another.sqlite.damaged-1")
    bystander.write_text("another's")

    kept = index.compact(**ALL)
    assert (kept.damaged, kept.damaged_removed) == (tuple(aside), False)
    assert kept.damaged_bytes > 0
    gone = index.compact(**ALL, damaged=True)

    assert (gone.damaged, gone.damaged_removed) == (kept.damaged, True)
    assert [file.name for file in path.parent.iterdir() if ".damaged" in file.name] == [bystander.name]


# What DESIGN calls churn: half of the notes edited, twenty times, through the same syncs as always.


def edited(rng, text):
    lines = text.splitlines()
    lines[rng.randrange(2, len(lines))] = "- " + " ".join(f"w{rng.randrange(2000)}" for _ in range(30))
    return "\n".join(lines) + "\n"


def sync(index, notes):
    provider = open_provider("fake", cache_dir=notes)
    index.use_vectors(provider.spec)
    Sync(Workspace(notes), index, SyncSettings(), lambda: 0.0).run(lambda: provider)


@pytest.mark.slow
def test_after_twenty_rounds_of_editing_half_the_notes_an_index_is_hardly_larger_than_a_fresh_one(tmp_path):
    rng = random.Random(2)
    notes = tmp_path / "notes"
    files = [notes / "memory" / f"{number}.md" for number in range(60)]
    files[0].parent.mkdir(parents=True)
    for file in files:
        lines = ["# Title", "", *("- " + " ".join(f"w{rng.randrange(2000)}" for _ in range(30)) for _ in range(10))]
        file.write_text("\n".join(lines) + "\n")
    with (
        Index.open(tmp_path / "churn.sqlite", clock=lambda: 0.0) as index,
        Index.open(tmp_path / "fresh.sqlite", clock=lambda: 0.0) as fresh,
    ):
        sync(index, notes)
        for _ in range(20):
            for file in rng.sample(files, 30):
                file.write_text(edited(rng, file.read_text()))
            sync(index, notes)
        sync(fresh, notes)
        synced = index.path.stat().st_size
        report = index.compact(**NONE)
        new = fresh.path.stat().st_size

    # Vectors of text that is gone stay within the limits of the store, on purpose; the rest may not grow.
    a_vector = 4 * fresh.spec.dimensions + 64
    assert synced - report.vectors * a_vector <= 1.5 * new
    assert report.bytes_after <= 1.1 * new
