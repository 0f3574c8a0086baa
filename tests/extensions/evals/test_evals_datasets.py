"""Sets are read, checked and cut the same way each time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import UsageError
from memoriter.extensions.evals.api import load_set, load_sets, set_files

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, name: str = "small", **fields: object) -> Path:
    file = folder / f"{name}.json"
    docs = [{"id": f"p{n}", "text": f"paragraph {n}"} for n in range(20)]
    queries = [{"id": f"q{n}", "text": f"what of {n}?", "relevant": [f"p{n}", "gone"]} for n in range(20)]
    file.write_text(json.dumps({"name": name, "lang": "en", "docs": docs, "queries": queries, **fields}), "utf-8")
    return file


def test_a_set_has_its_documents_and_the_questions_that_something_answers(tmp_path):
    queries = [{"id": "q0", "text": "?", "relevant": ["p3"]}, {"id": "q1", "text": "?", "relevant": ["gone"]}]
    found = load_set(written(tmp_path, queries=queries))
    assert (found.name, found.lang, len(found.documents)) == ("small", "en", 20)
    assert [(need.id, need.relevant) for need in found.needs] == [("q0", {"p3"})]


def test_a_cut_keeps_the_order_and_only_questions_that_are_answered(tmp_path):
    cut = load_set(written(tmp_path)).cut(5, 3)
    ids = [document.id for document in cut.documents]
    assert len(ids) == 5
    assert ids == sorted(ids, key=lambda name: int(name[1:]))
    assert len(cut.needs) == 3
    assert all(need.relevant and need.relevant <= set(ids) for need in cut.needs)


def test_a_cut_is_the_same_each_time(tmp_path):
    dataset = load_set(written(tmp_path))
    assert dataset.cut(7, 4) == dataset.cut(7, 4)


def test_a_cut_that_is_large_enough_keeps_everything(tmp_path):
    dataset = load_set(written(tmp_path))
    assert dataset.cut(100) == dataset


def test_conversations_are_pools_of_their_own_and_are_not_cut(tmp_path):
    docs = [{"id": f"{g}{n}", "group": g, "session": f"{g}/1", "text": str(n)} for g in "ab" for n in range(3)]
    queries = [{"id": "q", "group": "b", "text": "?", "relevant": ["b1"]}]
    dataset = load_set(written(tmp_path, docs=docs, queries=queries)).cut(1)
    assert [(pool.name, len(pool.documents), len(pool.needs)) for pool in dataset.pools] == [("a", 3, 0), ("b", 3, 1)]


def test_a_set_without_groups_is_one_pool_by_its_own_name(tmp_path):
    (pool,) = load_set(written(tmp_path)).pools
    assert (pool.name, len(pool.documents), len(pool.needs)) == ("small", 20, 20)


def test_sets_are_chosen_by_name(tmp_path):
    written(tmp_path, "one")
    written(tmp_path, "two")
    assert list(set_files(tmp_path)) == ["one", "two"]
    assert [each.name for each in load_sets([tmp_path], ["two"]).documents] == ["two"]


def test_a_name_may_be_in_any_of_several_folders(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, name)
    found = load_sets([tmp_path / "one", tmp_path / "two"], ["one", "two"])
    assert [each.name for each in found.documents] == ["one", "two"]


def test_sets_of_subfolders_are_found_but_not_those_of_hidden_or_deeper_ones(tmp_path):
    for folder in ("notes", ".hidden", "notes/deeper"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, "two")
    written(tmp_path, "one")
    written(tmp_path, "two")
    assert set_files(tmp_path) == {
        "one": tmp_path / "one.json",
        "two": tmp_path / "two.json",
        "notes/two": tmp_path / "notes" / "two.json",
    }


def test_a_json_file_beside_the_sets_is_left_out_and_named(tmp_path):
    written(tmp_path, "one")
    (tmp_path / "package.json").write_text('{"private": true}', "utf-8")
    found = load_sets([tmp_path])
    assert ([each.name for each in found.documents], found.left_out) == (["one"], (tmp_path / "package.json",))
    for chosen in ({"paths": [tmp_path / "package.json"]}, {"paths": [tmp_path], "names": ["package"]}):
        with pytest.raises(UsageError, match="is not a set"):
            load_sets(**chosen)


def test_a_folder_with_json_but_no_set_is_refused(tmp_path):
    (tmp_path / "package.json").write_text("{}", "utf-8")
    with pytest.raises(UsageError, match="None of the JSON files is a set"):
        load_sets([tmp_path])


def test_a_set_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    written(tmp_path, "one")
    with pytest.raises(UsageError, match="three") as refused:
        load_sets([tmp_path], ["three"])
    assert "one" in refused.value.remedy


def test_a_folder_without_sets_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no JSON files"):
        set_files(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "is not a set"),
        ('[{"id": "q"}]', "is not a set"),
        ('{"docs": []}', "queries is missing"),
        ('{"docs": {}, "queries": []}', "is not a list"),
        ('{"docs": [{"id": "p0"}], "queries": []}', "text is missing"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, text, message):
    file = tmp_path / "odd.json"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message):
        load_set(file)
