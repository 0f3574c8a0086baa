"""Published forms of sets are recognized by their content, and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import UsageError
from memoriter.extensions.evals.api import Dataset, load_set, set_files, with_foreign
from memoriter.questions import AnswerLines, EvalQuestion

if TYPE_CHECKING:
    from pathlib import Path

NOTES = {
    "name": "farm",
    "lang": "en",
    "docs": [{"id": "memory/a.md", "text": "# A\n\n- Goats.\n"}, {"id": "MEMORY.md", "text": "- Farm.\n"}],
    "queries": [
        {"id": "q0", "text": "Which animals?", "type": "paraphrase", "lang": "de", "places": [["memory/a.md", 3, 3]]},
        {"id": "q1", "text": "How many?", "type": "unanswerable", "unanswerable": True},
    ],
}
TURNS = [
    {"role": "user", "content": "I adopted a goat."},
    {"role": "assistant", "content": "Its name?", "has_answer": False},
    {"role": "user", "content": "Tilda.", "has_answer": True},
]
MEMORIES = [
    {
        "question_id": "m1",
        "question_type": "single-session-user",
        "question": "What is my goat called?",
        "answer": "Tilda",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [TURNS, [{"role": "user", "content": "Rain again."}]],
        "answer_session_ids": ["s1"],
    },
    {
        "question_id": "m2",
        "question": "How was the weather?",
        "haystack_session_ids": ["s2"],
        "haystack_sessions": [[{"role": "user", "content": "Rain again."}]],
        "answer_session_ids": ["s2"],
    },
    {"question_id": "m3_abs", "question": "?", "haystack_session_ids": [], "haystack_sessions": []},
]


def written(folder: Path, value: object, name: str = "set.json") -> Path:
    (folder / name).write_text(json.dumps(value), "utf-8")
    return folder / name


def beir(folder: Path, qrels: str = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n") -> Path:
    set_folder = folder / "farming"
    (set_folder / "qrels").mkdir(parents=True)
    docs = [{"_id": "d1", "title": "Goats", "text": "They climb."}, {"_id": "d2", "title": "", "text": "Sheep."}]
    (set_folder / "corpus.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs), "utf-8")
    (set_folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "What climbs?"}), "utf-8")
    (set_folder / "qrels" / "test.tsv").write_text(qrels, "utf-8")
    (set_folder / "qrels" / "dev.tsv").write_text("q1\td2\t1\n", "utf-8")
    return set_folder


def test_notes_have_questions_with_lines_and_near_misses(tmp_path):
    (farm,) = load_set(written(tmp_path, NOTES))
    assert (farm.name, farm.notes[1]) == ("farm", ("MEMORY.md", "- Farm.\n"))
    answers = (AnswerLines("memory/a.md", 3, 3),)
    assert farm.answerable == (EvalQuestion("q0", "Which animals?", "de", "paraphrase", answers),)
    assert farm.unanswerable == (EvalQuestion("q1", "How many?", "en", "near-miss"),)


def test_groups_of_notes_are_workspaces_of_their_own(tmp_path):
    docs = [{"id": f"{name}/a.md", "text": "x", "group": name} for name in "ab"]
    queries = [{"id": name, "text": "?", "group": name, "places": [[f"{name}/a.md", 1, 1]]} for name in "ab"]
    sets = load_set(written(tmp_path, {"docs": docs, "queries": queries}))
    assert [(each.name, len(each.notes), [q.id for q in each.answerable]) for each in sets] == [
        ("set/a", 1, ["a"]),
        ("set/b", 1, ["b"]),
    ]
    first, second = with_foreign(sets)
    assert [(q.id, q.kind, q.answers) for q in first.unanswerable] == [("set/b:b", "foreign", ())]
    assert [q.id for q in second.unanswerable] == ["set/a:a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"docs": [{"id": "../a.md", "text": ""}]}, "is not the path of a note"),
        ({"docs": [{"id": "/a.md", "text": ""}]}, "is not the path of a note"),
        ({"queries": [{"id": "q", "text": "?", "places": [["gone.md", 1, 1]]}]}, "is not a place in these notes"),
        ({"queries": [{"id": "q", "text": "?", "places": [["MEMORY.md", 2, 1]]}]}, "is not a place in these notes"),
        ({"queries": [{"id": "q", "text": "?", "places": []}]}, "q has no places"),
        ({"queries": [{"id": "q", "text": "?", "group": "x", "places": []}]}, "no document has the group"),
    ],
)
def test_notes_of_another_form_are_refused(tmp_path, change, message):
    with pytest.raises(UsageError, match=message):
        load_set(written(tmp_path, {**NOTES, **change}), "notes")


def workspace(folder: Path, questions: str = "eval.md", text: str = "- Which animals? → memory/a.md#A\n") -> Path:
    (folder / "farm" / "memory").mkdir(parents=True)
    (folder / "farm" / "memory" / "a.md").write_text("# A\n\n- Goats.\n", "utf-8")
    (folder / "farm" / questions).write_text(text, "utf-8")
    (folder / "none.json").write_text('[{"id": "n", "question": "How many?", "domain": "near"}]', "utf-8")
    return written(folder, {"name": "farm", "workspace": "farm", "unanswerable": "none.json"}, "farm.json")


def test_a_folder_of_notes_is_a_set_with_the_questions_of_its_eval_file(tmp_path):
    (farm,) = load_set(workspace(tmp_path))
    assert (farm.name, farm.folder, farm.notes) == ("farm", (tmp_path / "farm").resolve(), ())
    answers = (AnswerLines("memory/a.md", 1, 3, "A"),)
    assert farm.answerable == (EvalQuestion("L1", "Which animals?", "latin", "any", answers),)
    assert [each.text for each in farm.unanswerable] == ["How many?"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workspace": "gone"}, "there is no folder"),
        ({"workspace": "farm", "questions": "gone.md"}, "cannot be read"),
        ({"workspace": "farm", "questions": "outside.md"}, "is not the path of a note"),
    ],
)
def test_a_folder_of_notes_that_cannot_be_used_is_named(tmp_path, change, message):
    workspace(tmp_path)
    (tmp_path / "outside.md").write_text("- Which? → ../none.json\n", "utf-8")
    with pytest.raises(UsageError, match=message):
        load_set(written(tmp_path, change))


def test_longmemeval_has_turns_in_sessions_and_leaves_out_abstentions(tmp_path):
    memories = load_set(written(tmp_path, MEMORIES))
    assert isinstance(memories, Dataset)
    assert [(need.id, need.kind, need.relevant) for need in memories.needs] == [
        ("m1", "single-session-user", {"m1/s1#2"}),
        ("m2", "", {"m2/s2#0"}),
    ]
    first, _ = memories.pools
    assert [(turn.session, turn.text) for turn in first.documents][1:] == [
        ("m1/s1", "assistant: Its name?"),
        ("m1/s1", "user: Tilda."),
        ("m1/s2", "user: Rain again."),
    ]
    assert [pool.name for pool in memories.cut(250, 1).pools] in (["m1"], ["m2"])


def test_beir_has_titles_and_the_test_split(tmp_path):
    beir(tmp_path)
    (file,) = set_files(tmp_path).values()
    farming = load_set(file)
    assert isinstance(farming, Dataset)
    assert [document.text for document in farming.documents] == ["Goats\n\nThey climb.", "Sheep."]
    assert [(need.text, need.relevant) for need in farming.needs] == [("What climbs?", {"d1"})]


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("q1\td1\t1\nq1 d2 1\n", r"test\.tsv', line 2: 'q1 d2 1' is not a judgement"),
        ("q9\td1\t1\n", "There is no query 'q9'"),
    ],
)
def test_wrong_judgements_are_named(tmp_path, qrels, message):
    with pytest.raises(UsageError, match=message):
        load_set(beir(tmp_path, qrels))


def test_a_wrong_line_of_a_corpus_is_named(tmp_path):
    folder = beir(tmp_path)
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": ""}\n{"_id": "d2"}\n', "utf-8")
    with pytest.raises(UsageError, match=r"corpus\.jsonl, line 2: text is missing"):
        load_set(folder)


def test_a_form_that_is_named_decides(tmp_path):
    plain = {"docs": NOTES["docs"], "queries": [{"id": "q", "text": "?", "relevant": ["MEMORY.md"]}]}
    assert isinstance(load_set(written(tmp_path, plain)), Dataset)
    with pytest.raises(UsageError, match="q has no places"):
        load_set(written(tmp_path, plain), "notes")
    with pytest.raises(UsageError, match="is not a list"):
        load_set(written(tmp_path, plain), "longmemeval")
