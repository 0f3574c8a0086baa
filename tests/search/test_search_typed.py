"""Which queries are typed, what their lines mean, and which mistakes are refused."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.errors import InvalidQuery
from memoriter.search import understand
from memoriter.types import Filters, Query, QueryLine

TODAY = date(2026, 2, 10)


@pytest.mark.parametrize(
    "question",
    [
        "what does vec: mean",
        "the lines lex: and hyde: of a query",
        "Lex: what did he say",
        "lex://host/path",
        "a question\nvec: over two lines",
        "title: plan\nowner: Dana",
        "intents: none",
    ],
)
def test_a_question_that_contains_a_type_stays_a_question(question: str) -> None:
    query = Query(question)
    assert understand(query, TODAY) == query
    assert understand(query, TODAY).lines == ()


def test_each_line_is_read_by_itself() -> None:
    asked = Query(
        ' lex: "connection pool" timeout -redis\r\n\nvec: why do they fail since:7d \n'
        'hyde: "It" was -the- tag:pool.\nintent:  an  incident',
        filters=Filters(path="memory"),
    )
    query = understand(asked, TODAY)
    pool = Filters(path="memory", phrases=("connection pool",), without=("redis",))
    assert query.lines == (
        QueryLine("lex", "connection pool timeout", pool),
        QueryLine("vec", "why do they fail", Filters(path="memory", since=date(2026, 2, 3))),
        QueryLine("hyde", '"It" was -the- tag:pool.', Filters(path="memory")),
    )
    assert (query.intent, query.filters) == ("an incident", Filters(path="memory"))
    assert query.text == "connection pool timeout why do they fail"
    assert query.understood == {
        "text": "connection pool timeout why do they fail",
        "lines": [
            {"type": "lex", "text": "connection pool timeout", "phrases": ["connection pool"], "without": ["redis"]},
            {"type": "vec", "text": "why do they fail", "since": "2026-02-03"},
            {"type": "hyde", "text": '"It" was -the- tag:pool.'},
        ],
        "intent": "an incident",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lex:\nvec: a", "Line 1 of the query has no text after 'lex:'."),
        ("lex: a\n\nintent:", "Line 3 of the query has no text after 'intent:'."),
        ("lex: a\nkey: b", "Line 2 of the query has the unknown type 'key'."),
        ("vex: a\nlex: b", "Line 1 of the query has the unknown type 'vex'."),
        ("lex: a\nand more", "Line 2 of the query has no type: 'and more'."),
        ("intent: a\nvec: b\nintent: c", "The query has more than one intent, in lines 1 and 3."),
        ("intent: a", "The query has an intent, and no line to search for."),
        ('vec: 5" pipes\nlex: "a b', "Line 2 of the query has a quote that is not closed: '\"a b'."),
        ("lex: “a b", "Line 1 of the query has a quote that is not closed: '“a b'."),
        ("lex: -guest", "Line 1 of the query has no word to search for."),
        ("lex: ...", "Line 1 of the query has no word to search for."),
        ("\n".join(["vec: a"] * 11), "The query has 11 lines to search for; 10 are allowed."),
    ],
)
def test_a_mistake_in_a_line_is_refused_with_its_number_and_a_remedy(text: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        understand(Query(text), TODAY)
    assert caught.value.message == message
    assert caught.value.remedy.endswith(".")


@given(st.text(st.sampled_from('lexvchydint: "-a\n'), max_size=40))
def test_any_text_is_a_question_a_typed_query_or_a_clear_error(text: str) -> None:
    try:
        query = understand(Query(text), TODAY)
    except InvalidQuery as error:
        assert error.message.endswith(".")  # noqa: PT017
        return
    assert all(line.text.strip() and "\n" not in line.text for line in query.lines)
