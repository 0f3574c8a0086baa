"""The owner's questions in Markdown are read, placed in the notes, and added to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.errors import UsageError
from memoriter.questions import LAST_LINE, AnswerLines, EvalQuestion, append_question, locate, read_eval_file

if TYPE_CHECKING:
    from pathlib import Path

HOUSE = "# House\n\n## Roof\n\n- Oye repairs it.\n\n### Gutter\n\n- It leaks.\n\n## Garden\n\n- Roses.\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "eval.md"
    file.write_text(text, "utf-8")
    return file


def test_every_form_of_an_answer_is_read(tmp_path):
    text = (
        "# Questions\n\nSome words about them.\n\n- Which database? → memory/ledger.md#L3-L5\n"
        "- Which town? -> MEMORY.md#L7\n\n## paraphrase\n\n1. Who repairs\n   the roof? => memory/house.md#Roof\n"
        "* 누가 지붕을 고치나? → memory/house.md, `memory/a, b.md#L2`\n- What is the cat's blood type? → Nothing\n"
        "\n```\n- not a question\n```\n<!-- - nor this -->\n"
    )
    assert read_eval_file(written(tmp_path, text)) == (
        EvalQuestion("L5", "Which database?", "latin", "any", (AnswerLines("memory/ledger.md", 3, 5),)),
        EvalQuestion("L6", "Which town?", "latin", "any", (AnswerLines("MEMORY.md", 7, 7),)),
        EvalQuestion(
            "L10",
            "Who repairs the roof?",
            "latin",
            "paraphrase",
            (AnswerLines("memory/house.md", 1, LAST_LINE, "Roof"),),
        ),
        EvalQuestion(
            "L12",
            "누가 지붕을 고치나?",
            "hangul",
            "paraphrase",
            (AnswerLines("memory/house.md", 1, LAST_LINE), AnswerLines("memory/a, b.md", 2, 2)),
        ),
        EvalQuestion("L13", "What is the cat's blood type?", "latin", "paraphrase"),
    )


def test_two_items_with_one_question_have_the_answers_of_both(tmp_path):
    (question,) = read_eval_file(written(tmp_path, "- Which? → a.md#L1\n- Which? → b.md#L2\n"))
    assert (question.id, [answer.path for answer in question.answers]) == ("L1", ["a.md", "b.md"])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("- Which database?", "line 3: 'Which database?' has no →"),
        ("- → memory/a.md", "line 3: there is no question"),
        ("- Which? →", "line 3: there is no answer"),
        ("- Which? → #L3", "line 3: '#L3' names no note"),
        ("- Which? → a.md#L5-L3", "line 3: 'a.md#L5-L3' has no lines"),
        ("- Which? → a.md#L0", "line 3: 'a.md#L0' has no lines"),
        ("- Which? → a.md, nothing", "line 3: 'nothing' names no note"),
        ("- Which? → `a.md", "line 3: 'Which? → `a.md' has no →"),
        ("- First? → nothing", "line 3: line 1 gives another answer"),
    ],
)
def test_a_line_of_another_form_is_named_with_its_number(tmp_path, line, fault):
    with pytest.raises(UsageError) as refused:
        read_eval_file(written(tmp_path, f"- First? → a.md#L1\n\n{line}\n"))
    assert fault in refused.value.message


def test_many_faults_are_told_together(tmp_path):
    with pytest.raises(UsageError, match=r"line 1: .*; line 5: .*; and 2 more\."):
        read_eval_file(written(tmp_path, "- ?\n" * 7))


@pytest.mark.parametrize("text", ["", "# Questions\n\nNone yet.\n"])
def test_a_file_without_questions_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="has no questions"):
        read_eval_file(written(tmp_path, text))


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    (tmp_path / "eval.md").write_bytes(b"\xff\xfe\xff")
    for file in (tmp_path / "gone.md", tmp_path / "eval.md"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_eval_file(file)


def test_a_heading_is_everything_below_it(tmp_path):
    questions = read_eval_file(written(tmp_path, "- Roof? → house.md#roof\n- House? → house.md#House\n"))
    roof, house = locate(questions, {"house.md": HOUSE}.get)
    assert [(answer.start_line, answer.end_line) for answer in (*roof.answers, *house.answers)] == [(3, 10), (1, 13)]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("gone.md", "line 1: 'gone.md' is not a note"),
        ("house.md#Cellar", "line 1: 'house.md' has no heading 'Cellar'"),
        ("house.md#L12-L14", "line 1: 'house.md' has 13 lines, not 14"),
    ],
)
def test_a_place_that_does_not_exist_is_named_with_its_line(tmp_path, place, fault):
    questions = read_eval_file(written(tmp_path, f"- Roof? → {place}\n"))
    with pytest.raises(UsageError) as refused:
        locate(questions, {"house.md": HOUSE}.get)
    assert fault in refused.value.message


def test_a_question_that_is_added_is_read_again(tmp_path):
    file = tmp_path / "eval.md"
    answers = (AnswerLines("memory/a, b.md", 3, 5), AnswerLines("c.md", 7, 7))
    assert append_question(file, "Which\n database → now?", answers)
    assert append_question(file, "What else?")
    assert file.read_text("utf-8").startswith("# Questions about these notes\n\n- Which database → now? → `memory/a, b")
    first, second = read_eval_file(file)
    assert (first.text, first.answers) == ("Which database → now?", answers)
    assert (second.text, second.answers) == ("What else?", ())


def test_a_question_is_added_once(tmp_path):
    file = written(tmp_path, "- Which? → a.md#L1")
    assert not append_question(file, "Which?", [AnswerLines("a.md", 1, 1)])
    assert file.read_text("utf-8") == "- Which? → a.md#L1"
    assert append_question(file, "Which?", [AnswerLines("b.md", 2, 2)])
    assert file.read_text("utf-8") == "- Which? → a.md#L1\n- Which? → b.md#L2\n"


@pytest.mark.parametrize(
    ("text", "answers", "message"),
    [
        (" ", (), "The question is empty"),
        ("Which?", (), "with another answer"),
        ("Where?", (AnswerLines("a`.md", 1, 1),), "a backtick"),
    ],
)
def test_what_could_not_be_read_again_is_not_added(tmp_path, text, answers, message):
    file = written(tmp_path, "- Which? → a.md#L1\n")
    with pytest.raises(UsageError, match=message):
        append_question(file, text, answers)
    assert file.read_text("utf-8") == "- Which? → a.md#L1\n"


@pytest.mark.slow
@given(
    st.text("abc dé한-=>→,`#.L1", min_size=1).filter(str.strip),
    st.text("abc dé한-=>→,L1", min_size=1).filter(str.strip).map(lambda text: text.strip() + ".md"),
    st.integers(1, 50),
    st.integers(0, 9),
)
def test_any_question_that_is_added_is_read_as_it_was(tmp_path_factory, text, path, first, more):
    file = tmp_path_factory.mktemp("any") / "eval.md"
    answer = AnswerLines(path, first, first + more)
    append_question(file, text, [answer])
    (question,) = read_eval_file(file)
    assert (question.text, question.answers) == (" ".join(text.split()), (answer,))
