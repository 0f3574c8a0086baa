from __future__ import annotations

import random

import apsw
import numpy as np
import pytest

CANARY = b"qxzjkanary"


def bytes_on_disk(path):
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def crowd(index, make):
    for number in range(30):
        make.put(index, f"{number}.md", *(f"filler{number} words{i} and more of them" for i in range(5)))


def test_removed_text_leaves_every_byte_of_the_index(index, make, path):
    crowd(index, make)
    index.use_vectors(make.spec)
    with index.lease():
        index.put_file(make.source("secret.md"), "h", [make.entry(f"pad pad {CANARY.decode()} {'long ' * 4000}")])
        make.put(index, "crowd.md", "filler")
        make.embed(index)
    assert CANARY in bytes_on_disk(path)
    with index.lease():
        index.remove_files(["secret.md"])
    assert CANARY not in bytes_on_disk(path)


def test_in_a_large_index_words_leave_the_file_once_many_were_deleted_or_when_asked(index, make, path, monkeypatch):
    monkeypatch.setattr("memoriter.index._content.ALWAYS_PURGED", 0)
    monkeypatch.setattr("memoriter.index._content.PURGE_SHARE", 50)
    crowd(index, make)

    def edited_out(chunks):
        with index.lease():
            make.put(index, "note.md", CANARY.decode(), *(f"{n}" for n in range(chunks - 1)))
        with index.lease():
            make.put(index, "note.md")
        assert index.keyword_search([CANARY.decode()], limit=5) == []
        return CANARY in bytes_on_disk(path)

    assert edited_out(1)
    index.purge()
    assert CANARY not in bytes_on_disk(path)
    assert not edited_out(5)


def test_text_edited_out_of_a_note_during_a_rebuild_leaves_the_new_file(index, make, path, monkeypatch):
    monkeypatch.setattr("memoriter.index._content.ALWAYS_PURGED", 0)
    monkeypatch.setattr("memoriter.index._content.PURGE_SHARE", 0)
    with index.rebuild() as fresh:
        crowd(fresh, make)
        make.put(fresh, "note.md", CANARY.decode())
        make.put(fresh, "note.md", "second")
    assert CANARY not in bytes_on_disk(path)


def test_text_edited_out_of_a_note_leaves_every_byte_of_the_index(index, make, path):
    crowd(index, make)
    make.put(index, "note.md", f"first {CANARY.decode()}", "second")
    index.purge()
    assert CANARY in bytes_on_disk(path)
    make.put(index, "note.md", "second")
    index.purge()
    assert CANARY not in bytes_on_disk(path)


def test_the_vector_of_removed_text_leaves_with_an_eviction(index, make, path):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha")
    vector = np.array([[0.1, 0.2, 0.3, np.sqrt(1 - 0.14)]], dtype=np.float32)
    index.put_vectors([index.missing(1)[0][0]], vector)
    index.purge()
    assert vector.tobytes() in bytes_on_disk(path)
    index.remove_files(["a.md"])
    index.evict(max_entries=0, max_bytes=0)
    index.purge()
    assert vector.tobytes() not in bytes_on_disk(path)


def test_space_is_given_back_to_the_disk(index, make, path):
    make.put(index, "small.md", "alpha")
    index.purge()
    small = path.stat().st_size
    make.put(index, "large.md", *(f"{i} " + "beta " * 400 for i in range(400)))
    index.purge()
    large = path.stat().st_size
    index.remove_files(["large.md"])
    index.purge()
    assert large > 5 * small
    assert path.stat().st_size < 2 * small


@pytest.mark.slow
def test_twenty_rounds_of_editing_half_the_notes_leave_an_index_hardly_larger_than_a_new_one(index, make, path):
    rng = random.Random(1)
    index.use_vectors(make.spec)
    texts = {f"{n}.md": [" ".join(f"w{rng.randrange(3000)}" for _ in range(50)) for _ in range(5)] for n in range(60)}
    for name, chunks in texts.items():
        make.put(index, name, *chunks)
    make.embed(index)
    for _ in range(20):
        with index.lease():
            for name in rng.sample(sorted(texts), 30):
                texts[name][rng.randrange(5)] = " ".join(f"w{rng.randrange(3000)}" for _ in range(50))
                make.put(index, name, *texts[name])
            make.embed(index)
            index.evict(max_entries=300, max_bytes=10**9)
    edited = path.stat().st_size
    with index.rebuild() as fresh:
        for name, chunks in texts.items():
            make.put(fresh, name, *chunks)
    assert edited <= 1.5 * path.stat().st_size


def test_forgetting_leaves_no_code_refusal_or_unused_vector_of_what_has_gone(index, make, path):
    index.choose_engine("codes")
    index.use_vectors(make.spec)
    for number in range(40):
        make.put(index, f"{number}.md", *(f"text {number} {part}" for part in range(4)))
    index.put_failure(index.missing(1)[0][0], "refused: text 0 0")
    make.embed(index)
    index.vector_search(make.unit(1, 0, 0, 0), limit=3)
    index.remove_files(["0.md", "7.md"])

    report = index.forget()

    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        blobs = [bytes(blob) for (blob,) in connection.execute("SELECT ids FROM code_segments")]
        coded = {int(each) for blob in blobs for each in np.frombuffer(blob, dtype="<i8")}
        assert coded == set(index.all_ids())
        assert connection.execute("SELECT count(*) FROM code_tombs").get == 0
        assert connection.execute("SELECT count(*) FROM failures").get == 0
        assert connection.execute("SELECT count(*) FROM embedding_cache").get == index.vectors() == 152
    connection.close()
    assert report.vectors == 7
    assert len(index.vector_search(make.unit(1, 0, 0, 0), limit=200)) == 152
